//! One server: connected when it is needed, started again when it has died.
//!
//! A server that dies is started again by the next call, after a pause that grows with every failure in a row; one that
//! has failed too often is left alone. A call that was in flight when it died is made again only if the tool says that
//! this is safe.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convoke_core::{Backoff, Error, Repeat, Scope};
use rmcp::model::{CallToolRequestParams, CallToolResult, Tool};
use rmcp::service::ServiceError;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::{CallFailure, McpCall};
use crate::calls::Calls;
use crate::config::ServerConfig;
use crate::connection::Connection;
use crate::error::McpError;
use crate::footprint::Footprint;
use crate::handler::Handler;
use crate::listed_tools::ListedTools;
use crate::secret::ServerSecrets;
use crate::server_environment::ServerEnvironment;

/// The pauses from the second restart in a row on. The first comes at once.
const PAUSES: Backoff = Backoff::doubling(Duration::from_millis(200), Duration::from_secs(10));

/// How many files are named of those that changed.
const NAMED: usize = 8;

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerStatus {
    /// It is there.
    Ready {
        /// The revision of the protocol that is spoken with it.
        protocol: String,
        /// What it calls itself, with its version.
        identity: String,
    },
    /// It is not.
    Down {
        /// Why.
        problem: McpError,
    },
    /// It was closed.
    Closed,
}

/// A server.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    environment: Arc<ServerEnvironment>,
    changed: Arc<AtomicBool>,
    /// One connects at a time.
    turnstile: Semaphore,
    state: Mutex<State>,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    tools: Vec<Tool>,
    /// Those that it lists and that nobody can read.
    unreadable: Vec<String>,
    failures: u32,
    not_before: Option<Instant>,
    problem: Option<McpError>,
    /// What the last connection was given.
    secrets: Arc<ServerSecrets>,
    /// What it may load from workspaces, as it was when it was first started.
    footprints: Option<Vec<Footprint>>,
}

impl State {
    fn listed(&mut self, listed: ListedTools) {
        (self.tools, self.unreadable) = (listed.tools, listed.unreadable);
    }

    fn failed(&mut self, problem: McpError) {
        self.not_before = Some(Instant::now() + pause_after(self.failures));
        self.failures += 1;
        self.problem = Some(problem);
    }
}

/// How long to leave a server alone that has failed once more, after failing so often before.
fn pause_after(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        times => PAUSES.after(times - 1),
    }
}

impl Server {
    pub(crate) fn new(config: ServerConfig, environment: Arc<ServerEnvironment>) -> Self {
        Self {
            config,
            environment,
            changed: Arc::default(),
            turnstile: Semaphore::new(1),
            state: Mutex::default(),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// How it is.
    pub(crate) fn status(&self) -> ServerStatus {
        if self.closed.is_cancelled() {
            return ServerStatus::Closed;
        }
        match (self.alive(), self.state().problem.clone()) {
            (Some(connection), _) => {
                let info = connection.info();
                let identity = info.server_info.as_ref();
                ServerStatus::Ready {
                    protocol: info.protocol_version.to_string(),
                    identity: identity.map_or(String::new(), |us| format!("{} {}", us.name, us.version)),
                }
            }
            (None, Some(problem)) => ServerStatus::Down { problem },
            (None, None) => ServerStatus::Down { problem: self.not_there("it is not connected") },
        }
    }

    /// The tools it offers, as far as they are to be had.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        let mut seen = std::collections::BTreeSet::new();
        let mut tools = self.state().tools.clone();
        tools.retain(|tool| self.config.offers(&tool.name) && seen.insert(tool.name.to_string()));
        tools
    }

    /// The tools that its configuration names and that it does not have.
    pub(crate) fn unknown_tools(&self) -> Vec<String> {
        let state = self.state();
        let has = |name: &&String| state.tools.iter().any(|tool| tool.name == **name);
        let named = self.config.allow.iter().flatten().chain(&self.config.deny);
        named.filter(|name| !has(name)).cloned().collect()
    }

    /// The tools that it lists in a way that cannot be read: they are left out.
    pub(crate) fn unreadable_tools(&self) -> Vec<String> {
        self.state().unreadable.clone()
    }

    /// Asks for its tools again if it said that they have changed. Says whether they have.
    pub(crate) async fn refresh(&self) -> Result<bool, McpError> {
        let before = self.state().tools.clone();
        let reconnected = self.alive().is_none();
        let connection = self.connection().await?;
        if self.changed.swap(false, Ordering::Relaxed) && !reconnected {
            let tools = self.listed(&connection, self.config.startup).await.inspect_err(|_| {
                self.changed.store(true, Ordering::Relaxed);
            })?;
            self.state().listed(tools);
        }
        Ok(self.state().tools != before)
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// What went wrong, in words for a model; or a stop of the scope.
    pub(crate) async fn call(
        &self,
        params: CallToolRequestParams,
        repeat: Repeat,
        scope: &Scope,
    ) -> Result<CallToolResult, Error> {
        let tool = params.name.to_string();
        let mut may_repeat = repeat == Repeat::Safe;
        loop {
            let connection = self.connection().await?;
            let call = McpCall { connection: &connection, scope };
            let failure = match call.make(params.clone()).await {
                Ok(result) => {
                    self.answered();
                    return Ok(result);
                }
                Err(failure) => failure,
            };
            match failure {
                CallFailure::Stop(stop) => return Err(stop),
                CallFailure::Service(error) => {
                    self.answered();
                    return Err(self.refused(&format!("`{tool}`"), error).into());
                }
                CallFailure::Lost(reason) => {
                    let output = connection.last_words().await;
                    if self.closed.is_cancelled() {
                        return Err(McpError::Closed { server: self.name().to_owned() }.into());
                    }
                    if !may_repeat {
                        let server = self.name().to_owned();
                        let reason = connection.secrets().hide(&reason);
                        let lost = McpError::Lost { server, tool, reason, output };
                        return Err(match repeat {
                            Repeat::Safe => Error::transient(lost),
                            _ => lost.into(),
                        });
                    }
                    may_repeat = false;
                }
            }
        }
    }

    /// The connection there is, or a new one.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        if let Some(connection) = self.alive() {
            return Ok(connection);
        }
        let closed = || McpError::Closed { server: self.name().to_owned() };
        let _turn = self.turnstile.acquire().await.map_err(|_| closed())?;
        if let Some(connection) = self.alive() {
            return Ok(connection);
        }
        let moment = self.next_attempt()?;
        let connecting = async {
            if let Some(moment) = moment {
                tokio::time::sleep_until(moment).await;
            }
            self.connect().await
        };
        let connected = tokio::select! {
            biased;
            () = self.closed.cancelled() => return Err(closed()),
            connected = connecting => connected,
        };
        let mut state = self.state();
        // Asked while nobody else can take the connection: who closes later finds it.
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        match connected {
            Ok((connection, tools)) => {
                state.connection = Some(Arc::clone(&connection));
                state.listed(tools);
                Ok(connection)
            }
            Err(problem) => {
                state.failed(problem.clone());
                Err(problem)
            }
        }
    }

    /// When to try next, if not at once.
    fn next_attempt(&self) -> Result<Option<Instant>, McpError> {
        let state = self.state();
        match &state.problem {
            Some(problem) if state.failures > self.config.restarts => Err(McpError::GivenUp {
                server: self.name().to_owned(),
                times: state.failures,
                reason: problem.to_string(),
            }),
            _ => Ok(state.not_before),
        }
    }

    async fn connect(&self) -> Result<(Arc<Connection>, ListedTools), McpError> {
        let handler = Handler {
            server: self.name().to_owned(),
            calls: Arc::new(Calls::default()),
            roots: Arc::clone(&self.environment.roots),
            changed: Arc::clone(&self.changed),
        };
        self.look_at_programs().await?;
        // Being ready and having listed its tools are one thing, with one limit.
        let begun = Instant::now();
        let connection = Arc::new(Connection::open(&self.config, &self.environment, &handler).await?);
        self.state().secrets = Arc::clone(connection.secrets());
        self.changed.store(false, Ordering::Relaxed);
        let left = self.config.startup.saturating_sub(begun.elapsed());
        let tools = self.listed(&connection, left).await?;
        Ok((connection, tools))
    }

    /// Starts nothing again that is not what was started first: agents work in the folders that it may be in.
    async fn look_at_programs(&self) -> Result<(), McpError> {
        let (config, environment) = (self.config.clone(), Arc::clone(&self.environment));
        let looking = tokio::task::spawn_blocking(move || {
            // In a sandbox it can do no more than who changes it.
            let workspaces = if environment.confines(&config) { &[][..] } else { &environment.workspaces };
            config.footprints(workspaces, &*environment.variables)
        });
        let now = looking.await.map_err(|lost| self.not_there(&lost.to_string()))?;
        let mut state = self.state();
        let Some(first) = &state.footprints else {
            state.footprints = Some(now);
            return Ok(());
        };
        let changed = now.iter().zip(first).flat_map(|(now, first)| now.changes_since(first));
        let changed: Vec<String> = changed.map(|name| format!("`{}`", name.display())).collect();
        let more = changed.len().saturating_sub(NAMED);
        let mut files = changed[..changed.len() - more].join(", ");
        if more > 0 {
            let _ = write!(files, " and {more} more");
        }
        if changed.is_empty() {
            return Ok(());
        }
        Err(McpError::Changed { server: self.name().to_owned(), files })
    }

    async fn listed(&self, connection: &Connection, left: Duration) -> Result<ListedTools, McpError> {
        match tokio::time::timeout(left, connection.tools()).await {
            Ok(tools) => tools.map_err(|error| self.refused("a list of its tools", error)),
            Err(_) => {
                let (server, limit) = (self.name().to_owned(), self.config.startup);
                Err(McpError::StartupTimedOut { server, limit })
            }
        }
    }

    /// The connection there is, unless it has died. One that has counts as a failure, once.
    fn alive(&self) -> Option<Arc<Connection>> {
        let mut state = self.state();
        let connection = state.connection.clone()?;
        if connection.is_alive() {
            return Some(connection);
        }
        state.connection = None;
        let (server, reason) = (self.name().to_owned(), "it went away".to_owned());
        state.failed(McpError::NotReady { server, reason, output: connection.output() });
        None
    }

    /// It works: what went wrong before is forgotten.
    pub(crate) fn answered(&self) {
        let mut state = self.state();
        (state.failures, state.not_before, state.problem) = (0, None, None);
    }

    /// Ends it for good.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        self.turnstile.close();
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Ends it for good, at once.
    pub(crate) fn abandon(&self) {
        self.closed.cancel();
        self.turnstile.close();
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            connection.abandon();
        }
    }

    pub(crate) fn refused(&self, request: &str, error: ServiceError) -> McpError {
        let server = self.name().to_owned();
        let secrets = Arc::clone(&self.state().secrets);
        match error {
            ServiceError::McpError(data) => McpError::Refused {
                server,
                request: request.to_owned(),
                message: secrets.hide(&data.message),
                code: data.code.0,
            },
            ServiceError::TransportClosed => self.not_there("it went away"),
            ServiceError::TransportSend(error) => self.not_there(&secrets.hide(&error.to_string())),
            other => McpError::Protocol { server, reason: secrets.hide(&other.to_string()) },
        }
    }

    /// What it said, without what it was given: models read it, and journals keep it.
    pub(crate) fn hide(&self, said: &str) -> String {
        let secrets = Arc::clone(&self.state().secrets);
        secrets.hide(said)
    }

    fn not_there(&self, reason: &str) -> McpError {
        let (server, reason) = (self.name().to_owned(), reason.to_owned());
        McpError::NotReady { server, reason, output: String::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses: Vec<u128> = (0..9).map(|failures| pause_after(failures).as_millis()).collect();
        assert_eq!(pauses, [0, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(pause_after(u32::MAX), Duration::from_secs(10));
    }
}
