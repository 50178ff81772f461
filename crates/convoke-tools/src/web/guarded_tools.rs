//! The web tools, guarded by the policies that hold: every hop of a redirect is judged like the
//! call itself.
//!
//! A host that must be asked about is reached by a redirection only after a call for it was let through: nobody can be
//! asked in the middle of one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::{Tool, ToolEffect};
use url::Url;

use super::{Fetcher, Search, SearchError, SearchService, WebError, web_fetch, web_search};
use crate::policy::{Policy, PolicyCall, PolicyOutcome, PolicySet};

const FETCH: &str = "web_fetch";
const SEARCH: &str = "web_search";

/// The variables that name a service to search with.
pub const SEARCH_SETTINGS: &str = "BRAVE_API_KEY, TAVILY_API_KEY and SEARXNG_URL";

/// The tools for the web that policies do not rule out, and what the user should know about them.
#[derive(Default)]
#[non_exhaustive]
pub struct WebTools {
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What is of no use here, and why.
    pub notes: Vec<String>,
}

/// Errors of making the web tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebToolsError {
    /// Pages cannot be fetched.
    #[error("agents cannot read the web: {0}")]
    Fetch(#[from] WebError),
    /// The service to search with cannot be used.
    #[error("agents cannot search the web: {0}")]
    Search(#[from] SearchError),
}

/// Makes the tools for the web that the policies do not rule out. `variable` looks up the settings of the search service.
/// Where searching is allowed and there is no service for it, the tool says so, and so does a note beforehand.
///
/// # Errors
/// If a client cannot be made, or the service to search with is not set up rightly.
pub fn web_tools(
    policies: &Arc<PolicySet>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<WebTools, WebToolsError> {
    let mut web = WebTools::default();
    if !is_ruled_out(FETCH, policies) {
        let fetcher = Fetcher::builder().judge(hop_judge(policies)).build()?;
        web.tools.push(Arc::new(web_fetch(&fetcher)));
    }
    if !is_ruled_out(SEARCH, policies) {
        let service = SearchService::from_settings(variable)?;
        if service.is_none() {
            web.notes.push(format!(
                "{SEARCH} is of no use here: no service is set up to search with; see {SEARCH_SETTINGS} in docs/tools.md"
            ));
        }
        web.tools.push(Arc::new(web_search(&Search::new(service)?)));
    }
    Ok(web)
}

/// Returns whether this is one of these tools, and the policies rule it out altogether.
#[must_use]
pub fn is_ruled_out(tool: &str, policies: &PolicySet) -> bool {
    match tool {
        FETCH => !policies.iter().all(may_fetch),
        SEARCH => !policies.iter().all(may_search),
        _ => false,
    }
}

fn may_search(policy: &Policy) -> bool {
    policy.decide(&PolicyCall::new(SEARCH, ToolEffect::Network.into())).outcome != PolicyOutcome::Deny
}

/// Whether there is any host that it may be called with.
fn may_fetch(policy: &Policy) -> bool {
    let elsewhere = policy.address(FETCH, "https://elsewhere.invalid/").outcome;
    let names_hosts = || {
        let lists = ["tools.web_fetch.domains.allow", "tools.web_fetch.domains.ask"];
        policy.settings().iter().any(|setting| lists.contains(&&*setting.key))
    };
    elsewhere != PolicyOutcome::Deny || names_hosts()
}

/// Judges every hop of a fetch by these policies, for [`FetcherBuilder::judge`](super::FetcherBuilder::judge). The call itself has been
/// let through when it is made: its host is known from then on, also for redirections of later calls.
pub fn hop_judge(
    policies: &Arc<PolicySet>,
) -> impl Fn(&Url, &Url) -> Result<(), String> + Send + Sync + use<> {
    let policies = Arc::clone(policies);
    let agreed = Mutex::new(BTreeSet::<String>::new());
    move |url, asked_for| {
        let host = |url: &Url| url.host_str().unwrap_or_default().to_owned();
        let is_agreed = {
            let mut agreed = agreed.lock().unwrap_or_else(PoisonError::into_inner);
            agreed.insert(host(asked_for));
            agreed.contains(&host(url))
        };
        let decisions = policies.iter().map(|policy| policy.address(FETCH, url.as_str()));
        match decisions.reduce(|one, other| one.or_stricter(other)) {
            Some(decision) if decision.outcome == PolicyOutcome::Deny => Err(decision.denial()),
            // Nobody can be asked in the middle of a call.
            Some(decision) if decision.outcome == PolicyOutcome::Ask && !is_agreed => Err(format!(
                "{}; call {FETCH} with {url} itself, so that a person can be asked",
                decision.because
            )),
            _ => Ok(()),
        }
    }
}
