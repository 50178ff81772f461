//! A connection to a server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ProtocolVersion, ServerPeerInfo};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, model::SubscriptionFilter};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::calls::Calls;
use crate::config::{Protocol, ServerConfig};
use crate::error::McpError;
use crate::handler::Handler;
use crate::http;
use crate::listed_tools::ListedTools;
use crate::prepare::{PreparedTransport, prepare};
use crate::process::Process;
use crate::secret::ServerSecrets;
use crate::server_environment::ServerEnvironment;

/// How long closing may take before it is done the hard way.
const CLOSING: Duration = Duration::from_secs(2);

/// What a server that did not become ready may lack.
const IN_THE_SANDBOX: &str = " (it runs in the sandbox, where it sees the workspace and little else: `sandbox = false` in its section \
                              starts it with your rights)";

/// A connection. Dropping it ends it, and the process behind it if that is ours.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    handler: Handler,
    info: Arc<ServerPeerInfo>,
    running: Mutex<Option<RunningService<RoleClient, Handler>>>,
    process: Option<Process>,
    secrets: Arc<ServerSecrets>,
    gone: CancellationToken,
    listening: Mutex<Option<JoinHandle<()>>>,
}

/// What a failed attempt says, and whether to try the old greeting.
struct Attempt {
    error: McpError,
    may_be_older: bool,
}

impl Connection {
    /// Connects, within the time the configuration gives.
    pub(crate) async fn open(
        config: &ServerConfig,
        environment: &ServerEnvironment,
        handler: &Handler,
    ) -> Result<Self, McpError> {
        let connecting = async {
            let newest = vec![ProtocolVersion::V_2026_07_28];
            let lifecycle = match config.protocol {
                Protocol::Initialize => ClientLifecycleMode::Initialize,
                Protocol::Stateless => ClientLifecycleMode::Discover { preferred_versions: newest },
                Protocol::Auto => ClientLifecycleMode::Auto {
                    preferred_versions: newest,
                    legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
                },
            };
            match Self::attempt(config, environment, handler, lifecycle).await {
                Ok(connection) => Ok(connection),
                // Some older servers hang up on a question they do not know, instead of refusing it.
                Err(Attempt { may_be_older: true, .. }) if config.protocol == Protocol::Auto => {
                    let lifecycle = ClientLifecycleMode::Initialize;
                    Self::attempt(config, environment, handler, lifecycle)
                        .await
                        .map_err(|attempt| attempt.error)
                }
                Err(attempt) => Err(attempt.error),
            }
        };
        tokio::time::timeout(config.startup, connecting).await.unwrap_or_else(|_| {
            Err(McpError::StartupTimedOut { server: config.name.clone(), limit: config.startup })
        })
    }

    async fn attempt(
        config: &ServerConfig,
        environment: &ServerEnvironment,
        handler: &Handler,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Attempt> {
        let final_error = |error| Attempt { error, may_be_older: false };
        let server = &config.name;
        let (means, secrets) =
            prepare(config, &environment.variables, &environment.workspaces).map_err(final_error)?;
        let secrets = Arc::new(secrets);
        let (running, process) = match means {
            PreparedTransport::Process(launch) => {
                let launcher = environment.launcher(config).map_err(final_error)?;
                let command = config.command().to_owned();
                let launched = launcher.launch(launch).await.map_err(|error| {
                    let (server, reason) = (server.clone(), secrets.hide(&error.to_string()));
                    final_error(McpError::NotStarted { server, command, reason })
                })?;
                let (process, stdout, stdin) = Process::keep(launched, Arc::clone(&secrets));
                let transport = AsyncRwTransport::new_client(stdout, stdin);
                let running = handler.clone().serve_with_lifecycle(transport, lifecycle).await;
                (running, Some(process))
            }
            PreparedTransport::Address { url, headers } => {
                let transport = http::transport(&url, &headers, Arc::clone(&secrets))
                    .map_err(|reason| final_error(McpError::BadConfig { server: server.clone(), reason }))?;
                (handler.clone().serve_with_lifecycle(transport, lifecycle).await, None)
            }
        };
        match running {
            Ok(running) => Ok(Self::established(running, process, handler, secrets)),
            Err(error) => {
                let output = match &process {
                    Some(process) => {
                        process.kill().await;
                        process.output()
                    }
                    None => String::new(),
                };
                let may_be_older = is_hang_up(&error);
                let mut reason = secrets.hide(&reason(&error));
                if process.is_some() && environment.confines(config) {
                    reason.push_str(IN_THE_SANDBOX);
                }
                Err(Attempt {
                    error: McpError::NotReady { server: server.clone(), reason, output },
                    may_be_older,
                })
            }
        }
    }

    fn established(
        running: RunningService<RoleClient, Handler>,
        process: Option<Process>,
        handler: &Handler,
        secrets: Arc<ServerSecrets>,
    ) -> Self {
        let peer = running.peer().clone();
        let info = peer.peer_info().unwrap_or_else(|| {
            let version = ProtocolVersion::LATEST_WITH_INITIALIZE;
            Arc::new(ServerPeerInfo::new(version, rmcp::model::ServerCapabilities::default()))
        });
        let gone = process.as_ref().map_or_else(CancellationToken::new, |process| process.ended().clone());
        let connection = Self {
            peer,
            handler: handler.clone(),
            info,
            running: Mutex::new(Some(running)),
            process,
            secrets,
            gone,
            listening: Mutex::new(None),
        };
        connection.listen();
        connection
    }

    /// Hears of changed tools from a stateless server, which tells only those who ask.
    fn listen(&self) {
        let offers = self.info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true);
        if self.info.protocol_version.has_initialize() || !offers {
            return;
        }
        let (peer, changed) = (self.peer.clone(), Arc::clone(&self.handler.changed));
        let listening = tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut subscription) = peer.listen(filter).await else { return };
            while let Ok(Some(_)) = subscription.next().await {
                changed.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        });
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening);
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) fn handler(&self) -> &Handler {
        &self.handler
    }

    pub(crate) fn server(&self) -> &str {
        &self.handler.server
    }

    pub(crate) fn calls(&self) -> &Arc<Calls> {
        &self.handler.calls
    }

    pub(crate) fn info(&self) -> &ServerPeerInfo {
        &self.info
    }

    /// What it must not show.
    pub(crate) fn secrets(&self) -> &Arc<ServerSecrets> {
        &self.secrets
    }

    /// Is told when the process behind it has ended, or nobody wants it any more.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.gone.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// The last the process wrote to its standard error, once it has ended.
    pub(crate) async fn last_words(&self) -> String {
        let Some(process) = &self.process else { return String::new() };
        // Its pipes close a moment before it is seen to have ended.
        let _ = tokio::time::timeout(Duration::from_millis(500), self.gone.cancelled()).await;
        process.output()
    }

    /// What the process has written to its standard error so far.
    pub(crate) fn output(&self) -> String {
        self.process.as_ref().map_or_else(String::new, Process::output)
    }

    /// Everything that the server has for tools.
    pub(crate) async fn tools(&self) -> Result<ListedTools, ServiceError> {
        match self.info.capabilities.tools {
            Some(_) => ListedTools::of(&self.peer).await,
            None => Ok(ListedTools::default()),
        }
    }

    /// Ends it: the server is told, and its process given a moment to end by itself.
    pub(crate) async fn close(&self) {
        self.stop_listening();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(CLOSING).await;
        }
        if let Some(process) = &self.process {
            process.finish().await;
        }
    }

    /// Ends it at once, whoever still waits for something.
    pub(crate) fn abandon(&self) {
        self.stop_listening();
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
        match &self.process {
            Some(process) => process.end(),
            None => self.gone.cancel(),
        }
    }

    fn stop_listening(&self) {
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listening) = listening {
            listening.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

/// Whether the server hung up, rather than saying no.
fn is_hang_up(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })
        && !wants_a_key(error)
}

/// Whether the server does not let us in. Not all that do not say how to get in.
fn wants_a_key(error: &ClientInitializeError) -> bool {
    error.is_authorization_required()
        || matches!(error, ClientInitializeError::TransportError { error, .. }
            if ["HTTP 401", "HTTP 403"].iter().any(|status| error.error.to_string().contains(status)))
}

fn reason(error: &ClientInitializeError) -> String {
    if wants_a_key(error) {
        return "it wants to know who asks: give it a key in `headers`".to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it hung up".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => reason(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            http::unreached(&*error.error).unwrap_or_else(|| error.error.to_string())
        }
        other => other.to_string(),
    }
}
