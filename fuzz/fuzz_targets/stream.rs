//! Streams of model servers: however a body is cut into pieces, and whatever is in it, the same reply or the same error comes out.
#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use bytes::Bytes;
use convoke::core::{BoxFuture, CallContext, IdempotencyKey, Model, ModelRequest, Path, RunId};
use convoke::models::http::{HttpReply, HttpRequest, TransportError};
use convoke::models::{ApiKey, Provider, ProviderModel, ProviderSettings, Transport};
use futures_util::{StreamExt, stream};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Reply {
    provider: u8,
    cuts: Vec<u8>,
    body: Vec<u8>,
}

/// Answers with these pieces.
#[derive(Debug)]
struct Pieces(Vec<Bytes>);

impl Transport for Pieces {
    fn send<'a>(&'a self, _: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        let body = stream::iter(self.0.clone().into_iter().map(Ok));
        let reply =
            HttpReply { status: http::StatusCode::OK, headers: http::HeaderMap::new(), body: Box::pin(body) };
        Box::pin(async { Ok(reply) })
    }
}

/// Everything that comes of these pieces.
fn deltas(provider: Provider, pieces: Vec<Bytes>) -> String {
    let settings = ProviderSettings::new(provider)
        .base_url("http://fuzz.example")
        .key(ApiKey::new("very-secret-word"))
        .transport(Arc::new(Pieces(pieces)));
    let model = ProviderModel::new("m", settings).expect("a model");
    let run: RunId = "run".parse().expect("an id");
    let call = CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), 0) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let deltas: Vec<_> = runtime.block_on(model.reply(ModelRequest::new("Hi"), call).collect());
    format!("{deltas:?}")
}

fuzz_target!(|reply: Reply| {
    let provider = Provider::ALL[usize::from(reply.provider) % Provider::ALL.len()];
    let body = Bytes::from(reply.body);
    let mut rest = body.clone();
    let mut pieces: Vec<_> = reply
        .cuts
        .iter()
        .map(|&cut| rest.split_to(usize::from(cut).min(rest.len())))
        .filter(|piece| !piece.is_empty())
        .collect();
    pieces.push(rest);
    assert_eq!(
        deltas(provider, vec![body.clone()]),
        deltas(provider, pieces),
        "{}",
        String::from_utf8_lossy(&body)
    );
});
