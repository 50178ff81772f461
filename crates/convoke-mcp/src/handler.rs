//! Handles notifications and requests of servers.

// Roots and sampling are on their way out of the protocol; servers in use still ask.
#![expect(deprecated, reason = "older servers ask for roots and samples")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;
use tokio::sync::oneshot;

use crate::calls::{CallEvent, Calls};

/// Our side of a connection.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) server: String,
    pub(crate) calls: Arc<Calls>,
    /// The folders a server is told it may work in.
    pub(crate) roots: Arc<[PathBuf]>,
    /// Whether the list of tools is no longer what it was.
    pub(crate) changed: Arc<AtomicBool>,
}

/// Why nobody's model is lent to a server.
const NO_SAMPLING: &str =
    "this client does not lend its model to servers: a server that needs one brings its own";

/// The refusal.
pub(crate) fn no_sampling() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, NO_SAMPLING, None)
}

impl Handler {
    /// The folders, as the protocol has them.
    pub(crate) fn root_list(&self) -> ListRootsResult {
        let root = |path: &PathBuf| {
            let uri = url::Url::from_directory_path(path).ok()?;
            Some(Root::new(String::from(uri).trim_end_matches('/')))
        };
        ListRootsResult::new(self.roots.iter().filter_map(root).collect())
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        let us = Implementation::new("convoke", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(no_sampling())
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.root_list())
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(request)) => Some(request),
            _ => None,
        };
        let call = match self.calls.asking(request) {
            Ok(call) => call,
            Err(stray) => {
                tracing::warn!(server = self.server, ?stray, "a question of an MCP server was turned away");
                return Ok(ElicitResult::new(ElicitationAction::Cancel));
            }
        };
        let (reply, answer) = oneshot::channel();
        let asking = async {
            call.send(CallEvent::Question { asked, reply }).await.ok()?;
            answer.await.ok()
        };
        let answer = tokio::select! {
            answer = asking => answer,
            () = context.ct.cancelled() => None,
        };
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let value = json!({
            "server": self.server,
            "progress": params.progress,
            "total": params.total,
            "message": params.message,
        });
        self.calls.progress(&params.progress_token, value);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
