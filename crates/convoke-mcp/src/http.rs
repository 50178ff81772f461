//! A server that is somewhere else.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};

use crate::secret::Secrets;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// The transport to a server. Redirects are not followed: headers may hold keys.
pub(crate) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    secrets: Arc<Secrets>,
) -> Result<StreamableHttpClientTransport<Discreet>, String> {
    let address = Url::parse(url).map_err(|error| format!("`{}` is not an address: {error}", shown(url)))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(format!("`{}` begins with neither http:// nor https://", shown(url)));
    }
    let headers: HashMap<HeaderName, HeaderValue> =
        headers.iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>()?;
    // Fails if there is a provider already, which then serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .connect_timeout(CONNECT)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")));
    // No proxy can reach this machine itself.
    let builder = if is_here(&address) { builder.no_proxy() } else { builder };
    let client = builder.build().map_err(|error| error.without_url().to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    Ok(StreamableHttpClientTransport::with_client(Discreet { client, secrets }, config))
}

/// A client whose errors do not say what must not be shown: they end up in logs before they come to us.
#[derive(Clone)]
pub(crate) struct Discreet {
    client: Client,
    secrets: Arc<Secrets>,
}

type Problem = StreamableHttpError<reqwest::Error>;

/// Why nobody could be talked to, if that is what happened: what the system says about it, and not what was asked for.
pub(crate) fn unreached(error: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    let Problem::Client(problem) = error.downcast_ref::<Problem>()? else { return None };
    let mut cause = problem.source().filter(|_| problem.is_connect())?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(format!("it cannot be reached: {cause}"))
}

impl Discreet {
    fn hide(&self, problem: Problem) -> Problem {
        match problem {
            Problem::Client(error) => Problem::Client(error.without_url()),
            // It quotes what the server said, which may quote what it was given.
            Problem::UnexpectedServerResponse(said) => {
                Problem::UnexpectedServerResponse(self.secrets.hide(&said).into())
            }
            other => other,
        }
    }
}

type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Discreet {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Problem> {
        let posted = self.client.post_message(uri, message, session, token, headers).await;
        posted.map_err(|problem| self.hide(problem))
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Problem> {
        let client = &self.client;
        let posted =
            client.post_message_with_max_sse_event_size(uri, message, session, token, headers, limit).await;
        posted.map_err(|problem| self.hide(problem))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Problem> {
        let deleted = self.client.delete_session(uri, session, token, headers).await;
        deleted.map_err(|problem| self.hide(problem))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Problem> {
        let got = self.client.get_stream(uri, session, last_event, token, headers).await;
        got.map_err(|problem| self.hide(problem))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxedSseResponse, Problem> {
        let client = &self.client;
        let got =
            client.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit).await;
        got.map_err(|problem| self.hide(problem))
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let key = name.parse::<HeaderName>().map_err(|_| format!("`{name}` is not the name of a header"))?;
    let mut value = value
        .parse::<HeaderValue>()
        .map_err(|_| format!("the header {name} has a value that no header can have"))?;
    value.set_sensitive(true);
    Ok((key, value))
}

fn is_here(address: &Url) -> bool {
    let Some(host) = address.host_str() else { return false };
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    number.map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |number| number.is_loopback())
}

/// An address without what may be secret in it.
pub(crate) fn shown(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut address) => {
            address.set_query(None);
            address.set_fragment(None);
            // They fail for addresses that cannot have either.
            let _ = address.set_username("");
            let _ = address.set_password(None);
            address.to_string()
        }
        Err(_) => "(not an address)".to_owned(),
    }
}
