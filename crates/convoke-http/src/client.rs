//! The real transport: reqwest over rustls and ring.
//!
//! A reply that sends elsewhere is given as it came. Keys and conversations travel in headers and bodies that no client
//! knows to be secret; whoever wants to follow decides what to take along.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use convoke_core::BoxFuture;
use futures_util::TryStreamExt;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

use crate::address::is_local;
use crate::{HttpReply, HttpRequest, Transport, TransportError, TransportFailure};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// Begins a client like all of ours: TLS by rustls and ring, our name, a limit on how long connecting takes, and no
/// redirects. No proxy can reach this machine itself: whose address [`is_local`] adds `no_proxy`.
pub fn client_builder() -> ClientBuilder {
    // Fails if there is a provider already, which then serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(CONNECT)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
}

/// Sends requests over the network, through the proxy this machine's settings name, if any. Connections are kept and
/// shared by all clones. Redirects are not followed.
#[derive(Clone)]
pub struct HttpTransport {
    /// The clients, or why there are none: whoever sends the first request is told.
    clients: Result<Clients, TransportError>,
}

#[derive(Clone)]
struct Clients {
    usual: Client,
    /// For this machine itself, which no proxy can reach.
    direct: Client,
}

impl HttpTransport {
    /// The one that everything in this process shares unless it is given another.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<HttpTransport>> =
            LazyLock::new(|| Arc::new(HttpTransport::connecting_within(CONNECT)));
        Arc::clone(&SHARED)
    }

    /// Returns a transport whose connections must come about within this time.
    #[must_use]
    pub fn connecting_within(limit: Duration) -> Self {
        let builder = || client_builder().connect_timeout(limit);
        let clients = || Ok(Clients { usual: builder().build()?, direct: builder().no_proxy().build()? });
        Self { clients: clients().map_err(failed) }
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A client would show its proxy's address, which may carry a password.
        formatter.write_str("HttpTransport")
    }
}

impl Clients {
    fn to(&self, address: &str) -> &Client {
        if is_local(address) { &self.direct } else { &self.usual }
    }
}

impl Transport for HttpTransport {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        Box::pin(async move {
            let clients = self.clients.as_ref().map_err(Clone::clone)?;
            let client = clients.to(&request.url);
            let sent = client.request(request.method, request.url).headers(request.headers);
            let reply = sent.body(request.body).send().await.map_err(failed)?;
            let (status, headers) = (reply.status(), reply.headers().clone());
            Ok(HttpReply { status, headers, body: Box::pin(reply.bytes_stream().map_err(broken)) })
        })
    }
}

fn failed(error: reqwest::Error) -> TransportError {
    let failure = if error.is_builder() {
        TransportFailure::Invalid
    } else if error.is_timeout() {
        TransportFailure::TimedOut
    } else if error.is_connect() {
        TransportFailure::Connect
    } else {
        TransportFailure::Broken
    };
    transport_error(failure, error)
}

fn broken(error: reqwest::Error) -> TransportError {
    transport_error(TransportFailure::Broken, error)
}

/// The whole chain of causes in one line: the outermost says next to nothing. The host is named, the address is not: it
/// may carry a password.
fn transport_error(failure: TransportFailure, error: reqwest::Error) -> TransportError {
    let place = error.url().and_then(|url| url.host_str().map(|host| (host.to_owned(), url.port())));
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    let place = match place {
        Some((host, Some(port))) => format!("{host}:{port}: "),
        Some((host, None)) => format!("{host}: "),
        None => String::new(),
    };
    TransportError::new(failure, format!("{place}{text}"))
}
