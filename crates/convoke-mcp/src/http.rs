//! The HTTP transport to remote servers.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;

use convoke_http::address::{is_local, shown};
use convoke_http::client_builder;
use http::{HeaderName, HeaderValue};
use reqwest::{Client, Url};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};

use crate::secret::ServerSecrets;

/// The transport to a server. Redirects are not followed: headers may hold keys.
pub(crate) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    secrets: Arc<ServerSecrets>,
) -> Result<StreamableHttpClientTransport<RedactingClient>, String> {
    let address = Url::parse(url).map_err(|error| format!("`{}` is not an address: {error}", shown(url)))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(format!("`{}` begins with neither http:// nor https://", shown(url)));
    }
    let headers: HashMap<HeaderName, HeaderValue> =
        headers.iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>()?;
    // No proxy can reach this machine itself.
    let builder = if is_local(&address) { client_builder().no_proxy() } else { client_builder() };
    let client = builder.build().map_err(|error| error.without_url().to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    Ok(StreamableHttpClientTransport::with_client(RedactingClient { client, secrets }, config))
}

/// A client whose errors do not say what must not be shown: they end up in logs before they come to us.
#[derive(Clone)]
pub(crate) struct RedactingClient {
    client: Client,
    secrets: Arc<ServerSecrets>,
}

type HttpError = StreamableHttpError<reqwest::Error>;

/// Why nobody could be talked to, if that is what happened: what the system says about it, and not what was asked for.
pub(crate) fn unreached(error: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    let HttpError::Client(problem) = error.downcast_ref::<HttpError>()? else { return None };
    let mut cause = problem.source().filter(|_| problem.is_connect())?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(format!("it cannot be reached: {cause}"))
}

impl RedactingClient {
    fn hide(&self, problem: HttpError) -> HttpError {
        match problem {
            HttpError::Client(error) => HttpError::Client(error.without_url()),
            // It quotes what the server said, which may quote what it was given.
            HttpError::UnexpectedServerResponse(said) => {
                HttpError::UnexpectedServerResponse(self.secrets.hide(&said).into())
            }
            other => other,
        }
    }
}

type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for RedactingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
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
    ) -> Result<StreamableHttpPostResponse, HttpError> {
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
    ) -> Result<(), HttpError> {
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
    ) -> Result<BoxedSseResponse, HttpError> {
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
    ) -> Result<BoxedSseResponse, HttpError> {
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
