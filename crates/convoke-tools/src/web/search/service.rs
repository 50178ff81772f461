//! Search services: their requests and replies.

use std::fmt;
use std::time::Duration;

use convoke_text::redaction::Secrets;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::super::body;
use super::SearchError;

const BRAVE_KEY: &str = "BRAVE_API_KEY";
const TAVILY_KEY: &str = "TAVILY_API_KEY";
const SEARXNG_URL: &str = "SEARXNG_URL";

/// Whom searches are sent to.
#[derive(Clone)]
pub struct SearchService {
    kind: ServiceKind,
    key: SecretString,
    at: Url,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServiceKind {
    Brave,
    Tavily,
    SearXng,
}

/// One result.
#[derive(Debug, Default)]
pub(super) struct SearchResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl SearchService {
    /// Brave Search, with this key.
    ///
    /// # Errors
    /// If the key is none.
    pub fn brave(key: &str) -> Result<Self, SearchError> {
        Self::with_key(ServiceKind::Brave, key, "https://api.search.brave.com/res/v1/web/search")
    }

    /// Tavily, with this key.
    ///
    /// # Errors
    /// If the key is none.
    pub fn tavily(key: &str) -> Result<Self, SearchError> {
        Self::with_key(ServiceKind::Tavily, key, "https://api.tavily.com/search")
    }

    /// A SearXNG of one's own, at this address.
    ///
    /// # Errors
    /// If that is not an address.
    pub fn searxng(address: &str) -> Result<Self, SearchError> {
        let address = address.trim().trim_end_matches('/');
        let at = parsed(ServiceKind::SearXng, &format!("{address}/search"))?;
        Ok(Self { kind: ServiceKind::SearXng, key: SecretString::from(""), at })
    }

    /// The first one that is set up: `BRAVE_API_KEY`, `TAVILY_API_KEY`, `SEARXNG_URL`, looked up by name.
    ///
    /// ```
    /// use convoke_tools::web::SearchService;
    ///
    /// let none = SearchService::from_settings(|_| None)?;
    /// assert!(none.is_none());
    /// let tavily = SearchService::from_settings(|name| (name == "TAVILY_API_KEY").then(|| "tvly-secret".to_owned()))?;
    /// assert_eq!(format!("{:?}", tavily), "Some(SearchService(Tavily))");
    /// # Ok::<(), convoke_tools::web::SearchError>(())
    /// ```
    ///
    /// # Errors
    /// If what is set up makes no sense.
    pub fn from_settings(look_up: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, SearchError> {
        let set = |name| look_up(name).filter(|value| !value.trim().is_empty());
        if let Some(key) = set(BRAVE_KEY) {
            return Self::brave(&key).map(Some);
        }
        if let Some(key) = set(TAVILY_KEY) {
            return Self::tavily(&key).map(Some);
        }
        set(SEARXNG_URL).map(|address| Self::searxng(&address)).transpose()
    }

    /// Sets another address for the service: a gateway, or a stand-in.
    ///
    /// # Errors
    /// If that is not an address.
    pub fn asked_at(mut self, address: &str) -> Result<Self, SearchError> {
        self.at = parsed(self.kind, address)?;
        Ok(self)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            ServiceKind::Brave => "Brave",
            ServiceKind::Tavily => "Tavily",
            ServiceKind::SearXng => "SearXNG",
        }
    }

    fn with_key(kind: ServiceKind, key: &str, at: &str) -> Result<Self, SearchError> {
        let setting = if kind == ServiceKind::Brave { BRAVE_KEY } else { TAVILY_KEY };
        let key = key.trim();
        if key.is_empty() || HeaderValue::from_str(key).is_err() {
            return Err(SearchError::Setting { setting, problem: "is not a key".to_owned() });
        }
        Ok(Self { kind, key: SecretString::from(key), at: parsed(kind, at)? })
    }

    pub(super) fn at(&self) -> &Url {
        &self.at
    }

    pub(super) fn request(
        &self,
        client: &Client,
        query: &str,
        count: usize,
    ) -> Result<RequestBuilder, SearchError> {
        let url = self.at.clone();
        let request = match self.kind {
            ServiceKind::Brave => client
                .get(with_query(url, &[("q", query), ("count", &count.to_string())]))
                .header("X-Subscription-Token", self.secret("")?),
            ServiceKind::Tavily => client
                .post(url)
                .header(AUTHORIZATION, self.secret("Bearer ")?)
                .header("content-type", "application/json")
                .body(json!({"query": query, "max_results": count}).to_string()),
            ServiceKind::SearXng => client.get(with_query(url, &[("q", query), ("format", "json")])),
        };
        Ok(request.header(ACCEPT, "application/json").header(ACCEPT_ENCODING, body::ACCEPTED))
    }

    fn secret(&self, prefix: &str) -> Result<HeaderValue, SearchError> {
        let text = format!("{prefix}{}", self.key.expose_secret());
        let mut value = HeaderValue::from_str(&text).map_err(|_| SearchError::Setting {
            setting: self.setting(),
            problem: "is not a key".to_owned(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(super) fn read(&self, content: &[u8]) -> Result<Vec<SearchResult>, SearchError> {
        let nonsense = |error: serde_json::Error| SearchError::Answer {
            service: self.name(),
            problem: error.to_string(),
        };
        let results = match self.kind {
            ServiceKind::Brave => {
                let answer: BraveAnswer = serde_json::from_slice(content).map_err(nonsense)?;
                answer.web.unwrap_or_default().results
            }
            ServiceKind::Tavily | ServiceKind::SearXng => {
                serde_json::from_slice::<Results>(content).map_err(nonsense)?.results
            }
        };
        Ok(results.into_iter().map(Row::found).collect())
    }

    /// What a status says.
    pub(super) fn refused(
        &self,
        status: StatusCode,
        retry_after: Option<Duration>,
        said: &str,
    ) -> SearchError {
        let (service, status) = (self.name(), status.as_u16());
        match (self.kind, status) {
            (ServiceKind::SearXng, 403) => {
                let said =
                    "it does not give JSON; add `json` to `search.formats` in its settings.yml".to_owned();
                SearchError::Status { service, status, said }
            }
            (ServiceKind::Brave | ServiceKind::Tavily, 401 | 403) => {
                SearchError::Key { service, status, setting: self.setting() }
            }
            // 432 and 433 are Tavily's words for a plan that is used up.
            (_, 429) | (ServiceKind::Tavily, 432 | 433) => {
                SearchError::TooMany { service, status, retry_after }
            }
            _ => SearchError::Status { service, status, said: self.redact(said) },
        }
    }

    /// The text without the key: some servers repeat what they were sent.
    pub(super) fn redact(&self, text: &str) -> String {
        [self.key.expose_secret()].into_iter().collect::<Secrets>().hide_cut(text)
    }

    fn setting(&self) -> &'static str {
        match self.kind {
            ServiceKind::Brave => BRAVE_KEY,
            ServiceKind::Tavily => TAVILY_KEY,
            ServiceKind::SearXng => SEARXNG_URL,
        }
    }
}

/// Shows neither the key nor the address, which may carry a password.
impl fmt::Debug for SearchService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SearchService({})", self.name())
    }
}

fn parsed(kind: ServiceKind, address: &str) -> Result<Url, SearchError> {
    let setting = if kind == ServiceKind::SearXng { SEARXNG_URL } else { "the service's address" };
    let unfit = |problem: &str| SearchError::Setting { setting, problem: problem.to_owned() };
    let at = Url::parse(address).map_err(|_| unfit("is not an address"))?;
    match at.scheme() {
        "http" | "https" => Ok(at),
        _ => Err(unfit("must begin with https:// or http://")),
    }
}

fn with_query(mut url: Url, pairs: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(pairs);
    url
}

#[derive(Deserialize)]
struct BraveAnswer {
    /// Missing when nothing was found.
    web: Option<Results>,
}

#[derive(Default, Deserialize)]
struct Results {
    #[serde(default)]
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    title: Option<String>,
    url: String,
    /// Brave's word for it.
    #[serde(default)]
    description: Option<String>,
    /// The others'.
    #[serde(default)]
    content: Option<String>,
}

impl Row {
    fn found(self) -> SearchResult {
        SearchResult {
            title: self.title.unwrap_or_default(),
            url: self.url,
            snippet: self.description.or(self.content).unwrap_or_default(),
        }
    }
}
