//! Tools that look things up on the web: those that the policy does not rule out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::{
    Access, BoxFuture, Error, IdempotencyKey, Invocation, Origin, Preparation, Reconciled, Tool, ToolEffect,
    ToolSpec,
};
use convoke_models::Environment;
use convoke_models::choose::address;
use convoke_tools::policy::{Call, Outcome, Policy};
use convoke_tools::web::{Fetcher, Search, SearchService, web_fetch, web_search};
use serde_json::Value;

use crate::failure::Failure;
use crate::policies::Policies;
use crate::terminal::Output;

const FETCH: &str = "web_fetch";
const SEARCH: &str = "web_search";

/// The variables that name a service to search with.
const SETTINGS: &str = "BRAVE_API_KEY, TAVILY_API_KEY and SEARXNG_URL";

/// Those that the policies do not rule out. Where searching is allowed and there is no service for it, the tool says so, and
/// so does a note beforehand.
pub(super) fn tools(
    environment: &Environment,
    policies: &Arc<Policies>,
    output: &mut Output,
) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if !is_ruled_out(FETCH, policies) {
        tools.push(Arc::new(fetching(policies)?));
    }
    if !is_ruled_out(SEARCH, policies) {
        let unfit = |error: &dyn std::fmt::Display| {
            Failure::failed(format!("agents cannot search the web: {error}"))
                .hint(format!("see {SETTINGS} in docs/tools.md"))
        };
        let service =
            SearchService::from_settings(|name| environment.get(name)).map_err(|error| unfit(&error))?;
        if service.is_none() {
            output.note(&format!(
                "{SEARCH} is of no use here: no service is set up to search with; see {SETTINGS} in docs/tools.md"
            ));
        }
        let search = Search::new(service).map_err(|error| unfit(&error))?;
        tools.push(Arc::new(web_search(&search)));
    }
    Ok(tools)
}

/// Whether this is one of these tools, and the policies rule it out altogether.
pub(super) fn is_ruled_out(tool: &str, policies: &Policies) -> bool {
    match tool {
        FETCH => !policies.iter().all(may_fetch),
        SEARCH => !policies.iter().all(may_search),
        _ => false,
    }
}

fn may_search(policy: &Policy) -> bool {
    policy.decide(&Call::new(SEARCH, ToolEffect::Network.into())).outcome != Outcome::Deny
}

/// Whether there is any host that it may be called with.
fn may_fetch(policy: &Policy) -> bool {
    let elsewhere = policy.address(FETCH, "https://elsewhere.invalid/").outcome;
    let names_hosts = || {
        let lists = ["tools.web_fetch.domains.allow", "tools.web_fetch.domains.ask"];
        policy.settings().iter().any(|setting| lists.contains(&&*setting.key))
    };
    elsewhere != Outcome::Deny || names_hosts()
}

fn fetching(policies: &Arc<Policies>) -> Result<Fetching, Failure> {
    let agreed = Arc::new(Mutex::new(BTreeSet::<String>::new()));
    let (policies, known) = (Arc::clone(policies), Arc::clone(&agreed));
    let judge = move |url: &str, host: &str| {
        let decision = policies
            .iter()
            .map(|policy| policy.address(FETCH, url))
            .reduce(|one, other| one.or_stricter(other));
        match decision {
            Some(decision) if decision.outcome == Outcome::Deny => Err(decision.denial()),
            // Nobody can be asked in the middle of a call.
            Some(decision) if decision.outcome == Outcome::Ask && !lock(&known).contains(host) => {
                Err(format!(
                    "{}; call {FETCH} with {url} itself, so that a person can be asked",
                    decision.because
                ))
            }
            _ => Ok(()),
        }
    };
    let fetcher = Fetcher::builder()
        .judge(move |url| judge(url.as_str(), url.host_str().unwrap_or_default()))
        .build()
        .map_err(|error| Failure::failed(format!("agents cannot read the web: {error}")))?;
    Ok(Fetching { tool: Arc::new(web_fetch(&fetcher)), agreed })
}

fn lock(hosts: &Mutex<BTreeSet<String>>) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    hosts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `web_fetch`, which remembers what hosts calls of it were let through for: those may be gone to by redirections, too.
struct Fetching {
    tool: Arc<dyn Tool>,
    agreed: Arc<Mutex<BTreeSet<String>>>,
}

impl Tool for Fetching {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        if let Some(host) = call.arguments["url"].as_str().and_then(address::host) {
            lock(&self.agreed).insert(host);
        }
        self.tool.call(call)
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        self.tool.prepare(arguments)
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciled, Error>> {
        self.tool.reconcile(key, arguments, before)
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        self.tool.accesses(arguments)
    }

    fn origin(&self, arguments: &Value) -> Origin {
        self.tool.origin(arguments)
    }
}
