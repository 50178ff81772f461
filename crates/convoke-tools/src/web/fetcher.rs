//! The fetcher: ports, sizes and times that are allowed, and redirects followed hop by hop, each checked before anything is sent.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use convoke_http::client_builder;
use convoke_http::header_time::retry_after;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response};
use url::Url;

use super::page::{Content, Page};
use super::resolver::CheckedResolver;
use super::rules::{Rules, forbidden, shown};
use super::{
    AddressRules, Domains, ForbiddenAddress, Resolver, SystemResolver, WebError, body, content_kind,
};
use crate::blocking::run_blocking;

/// Ports that pages are on.
const PORTS: [u16; 4] = [80, 443, 8_080, 8_443];
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// What is told of a reply that says no.
const SAID: usize = 500;

/// Limits on how much of a page is read, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebLimits {
    /// How long a page may take, with all its hops.
    pub time: Duration,
    /// The longest page, in bytes, unpacked.
    pub bytes: usize,
    /// How many redirects are followed.
    pub redirects: usize,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), bytes: 5 << 20, redirects: 5 }
    }
}

/// Reads pages of the public web.
///
/// ```
/// use convoke_tools::web::{Domains, Fetcher};
///
/// let fetcher = Fetcher::builder().domains(Domains::only(["*.rust-lang.org"])?).build()?;
/// # Ok::<(), convoke_tools::web::WebError>(())
/// ```
#[derive(Clone)]
pub struct Fetcher {
    client: Client,
    rules: Arc<Rules>,
}

/// A fetcher about to be made.
#[must_use = "nothing is made until `build` is called"]
pub struct FetcherBuilder {
    rules: Rules,
    resolver: Arc<dyn Resolver>,
}

impl Fetcher {
    /// Makes a fetcher for all of the public web.
    ///
    /// # Errors
    /// If this machine cannot make TLS connections.
    pub fn new() -> Result<Self, WebError> {
        Self::builder().build()
    }

    /// Returns a builder.
    pub fn builder() -> FetcherBuilder {
        let rules = Rules {
            addresses: AddressRules::public(),
            ports: PORTS.to_vec(),
            domains: None,
            judge: None,
            limits: WebLimits::default(),
        };
        FetcherBuilder { rules, resolver: Arc::new(SystemResolver) }
    }

    /// Its limits.
    #[must_use]
    pub fn limits(&self) -> WebLimits {
        self.rules.limits
    }

    /// Reads a page.
    ///
    /// # Errors
    /// Why it is not read.
    pub async fn fetch(&self, address: &str) -> Result<Page, WebError> {
        let url = parse(address)?;
        let limit = self.rules.limits.time;
        let reading = async { self.text(self.follow(url.clone()).await?).await };
        match tokio::time::timeout(limit, reading).await {
            Ok(read) => read,
            Err(_) => Err(WebError::TimedOut { url: Box::new(url), limit }),
        }
    }

    async fn text(&self, content: Content) -> Result<Page, WebError> {
        run_blocking(move |cancel| content.page(cancel)).await.unwrap_or(Err(WebError::GivenUp))
    }

    async fn follow(&self, first: Url) -> Result<Content, WebError> {
        let mut before: Vec<Url> = Vec::new();
        let mut url = first.clone();
        loop {
            let hop = self.hop(&url, &first).await;
            let reply = match (hop, before.last()) {
                (Err(error), Some(from)) => return Err(redirected(from, url.as_str(), error)),
                (reply, _) => reply?,
            };
            let Some(target) = target(&reply) else { return self.content(url, before, reply).await };
            if before.len() == self.rules.limits.redirects {
                return Err(WebError::TooManyRedirects { url: Box::new(first), most: before.len() });
            }
            let next = url
                .join(&target)
                .map_err(|error| WebError::Address { address: shown(&target), problem: error.to_string() });
            let next = next.map_err(|error| redirected(&url, &target, error))?;
            before.push(std::mem::replace(&mut url, next));
        }
    }

    /// One request, made only if everything about it is in order.
    async fn hop(&self, url: &Url, asked_for: &Url) -> Result<Response, WebError> {
        self.rules.check(url, asked_for)?;
        let request = self.client.get(url.clone()).header(ACCEPT_ENCODING, body::ACCEPTED);
        let request = request.header(ACCEPT, "text/html,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1");
        let reply = request
            .header(ACCEPT_LANGUAGE, "en,*;q=0.5")
            .send()
            .await
            .map_err(|error| failed(url, &error))?;
        // The resolver has checked it already, or the rules have; this is whom we really talk to.
        if let Some(peer) = reply.remote_addr() {
            self.rules.addresses.check(peer.ip()).map_err(|why| forbidden(url, why))?;
        }
        Ok(reply)
    }

    async fn content(&self, url: Url, before: Vec<Url>, reply: Response) -> Result<Content, WebError> {
        let status = reply.status();
        let retry_after = retry_after(reply.headers(), SystemTime::now());
        let content_type = text_of(reply.headers(), &CONTENT_TYPE);
        let is_text = content_kind::kind_of(content_type.as_deref()).is_some();
        if status.is_success() && !is_text {
            let kind = content_type.as_deref().map(content_kind::essence).unwrap_or_default();
            return Err(WebError::NotText { url: Box::new(url), kind, bytes: reply.content_length() });
        }
        let content = |bytes| Content { url: url.clone(), redirected_from: before, content_type, bytes };
        if status.is_success() {
            return Ok(content(body::read(reply, &url, self.rules.limits.bytes).await?));
        }
        // What it says about it is of use if it can be had.
        let text = match body::read(reply, &url, self.rules.limits.bytes).await {
            Ok(bytes) if is_text => match self.text(content(bytes)).await {
                Ok(page) => page.text().chars().take(SAID).collect(),
                Err(_) => String::new(),
            },
            _ => String::new(),
        };
        Err(WebError::Status { url: Box::new(url), status, retry_after, text })
    }
}

impl FetcherBuilder {
    /// Sets which addresses may be connected to, instead of public ones only.
    pub fn addresses(mut self, rules: AddressRules) -> Self {
        self.rules.addresses = rules;
        self
    }

    /// Allows a port, besides 80, 443, 8080 and 8443.
    pub fn port(mut self, port: u16) -> Self {
        self.rules.ports.push(port);
        self
    }

    /// Only these domains, on every hop.
    pub fn domains(mut self, domains: Domains) -> Self {
        self.rules.domains = Some(domains);
        self
    }

    /// Has every hop judged, beside what was asked for; an error says why it is not made. A policy that allows a domain for a call
    /// decides here about the domains that pages of it redirect to.
    pub fn judge(mut self, judge: impl Fn(&Url, &Url) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.rules.judge = Some(Box::new(judge));
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: WebLimits) -> Self {
        self.rules.limits = limits;
        self
    }

    /// Sets the resolver. What it gives is checked all the same.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// If this machine cannot make TLS connections.
    pub fn build(self) -> Result<Fetcher, WebError> {
        let checked = CheckedResolver { resolver: self.resolver, rules: self.rules.addresses.clone() };
        let client = client(CONNECT)
            .dns_resolver(Arc::new(checked))
            // A connection is for one hop: the next one is looked at again.
            .pool_max_idle_per_host(0);
        let client = client.build().map_err(|error| WebError::Client(body::causes(&error)))?;
        Ok(Fetcher { client, rules: Arc::new(self.rules) })
    }
}

/// What all clients here have in common: no proxy, beside what all of ours have.
pub(super) fn client(connect: Duration) -> reqwest::ClientBuilder {
    client_builder().no_proxy().connect_timeout(connect)
}

fn parse(address: &str) -> Result<Url, WebError> {
    let unfit =
        |error: url::ParseError| WebError::Address { address: shown(address), problem: error.to_string() };
    let mut url = Url::parse(address.trim()).map_err(unfit)?;
    url.set_fragment(None);
    Ok(url)
}

/// Where a reply sends to, if it does.
fn target(reply: &Response) -> Option<String> {
    let sends = matches!(reply.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    text_of(reply.headers(), &LOCATION).filter(|_| sends)
}

fn redirected(from: &Url, to: &str, error: WebError) -> WebError {
    WebError::Redirected { from: Box::new(from.clone()), to: shown(to), error: Box::new(error) }
}

fn failed(url: &Url, error: &reqwest::Error) -> WebError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = cause {
        if let Some(why) = inner.downcast_ref::<ForbiddenAddress>() {
            return forbidden(url, why.clone());
        }
        cause = inner.source();
    }
    WebError::Connection { host: url.host_str().unwrap_or_default().to_owned(), problem: body::causes(error) }
}

fn text_of(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Fetcher").field("limits", &self.rules.limits).finish_non_exhaustive()
    }
}

impl fmt::Debug for FetcherBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FetcherBuilder").field("limits", &self.rules.limits).finish_non_exhaustive()
    }
}
