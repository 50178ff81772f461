//! One call of a tool.
//!
//! Dropping it tells the server that nobody waits any more. What the server says meanwhile is heard here: progress becomes
//! events of the call's scope, questions go to a person through it.

use std::time::Duration;

use convoke_core::{Error, EventKind, Scope};
use futures_util::FutureExt;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitResult, InputRequest,
    InputRequiredResult, InputResponses, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};

use crate::calls::{CallEvent, OpenCall};
use crate::connection::Connection;
use crate::elicit;

/// The event that says how far a call is.
const PROGRESS: &str = "mcp.progress";

/// How often one call may ask for more before it is done.
const MAX_ROUNDS: usize = 10;

/// How long to leave a server alone that wants to be asked again, and nothing else.
const PAUSE: Duration = Duration::from_millis(100);

/// The failure of a call.
pub(crate) enum CallFailure {
    /// The connection was lost: nobody knows what the call did. How it was lost, if that is known.
    Lost(String),
    /// The server refused it, or did not keep to the protocol.
    Service(ServiceError),
    /// The run stopped.
    Stop(Error),
}

impl From<ServiceError> for CallFailure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::TransportClosed => Self::Lost(String::new()),
            ServiceError::TransportSend(error) => Self::Lost(error.error.to_string()),
            other => Self::Service(other),
        }
    }
}

/// A call on a connection, within the scope of whoever makes it.
pub(crate) struct McpCall<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) scope: &'a Scope,
}

impl McpCall<'_> {
    /// Makes it. A server that wants to know something first is answered, and asked again.
    pub(crate) async fn make(
        &self,
        mut params: CallToolRequestParams,
    ) -> Result<CallToolResult, CallFailure> {
        for _ in 0..MAX_ROUNDS {
            match self.round(params.clone()).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    params.request_state.clone_from(&wanted.request_state);
                    params.input_responses = self.provide(wanted).await?;
                }
                _ => return Err(CallFailure::Service(ServiceError::UnexpectedResponse)),
            }
        }
        Err(CallFailure::Service(ServiceError::InputRequiredRoundsExceeded { max_rounds: MAX_ROUNDS }))
    }

    async fn round(&self, params: CallToolRequestParams) -> Result<ServerResult, CallFailure> {
        let mut open = self.connection.calls().open();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handle = self
            .connection
            .peer()
            .send_request_with_option(request, PeerRequestOptions::no_options())
            .await?;
        open.identify(handle.id.clone(), handle.progress_token.clone());
        let mut pending = Pending(Some(handle));
        loop {
            tokio::select! {
                biased;
                response = pending.response() => {
                    pending.0 = None;
                    // What it said before it answered comes before the answer.
                    while let Some(CallEvent::Progress(value)) = open.waiting() {
                        self.progress(value).await;
                    }
                    return Ok(response?);
                }
                () = self.connection.gone().cancelled() => return Err(CallFailure::Lost(String::new())),
                event = OpenCall::next(&mut open) => self.attend(event).await?,
            }
        }
    }

    async fn progress(&self, value: serde_json::Value) {
        let value = self.connection.secrets().hide_in_value(value);
        self.scope.emit(EventKind::Custom { name: PROGRESS.to_owned(), value }).await;
    }

    async fn attend(&self, event: CallEvent) -> Result<(), CallFailure> {
        match event {
            CallEvent::Progress(value) => self.progress(value).await,
            CallEvent::Question { asked, mut reply } => {
                let answer = tokio::select! {
                    answer = elicit::ask(self.scope, self.connection, asked) => answer,
                    () = self.connection.gone().cancelled() => return Err(CallFailure::Lost(String::new())),
                    // It no longer wants to know.
                    () = reply.closed() => return Ok(()),
                };
                // It may not want to know any more by now.
                let _ = reply.send(answer.map_err(CallFailure::Stop)?);
            }
        }
        Ok(())
    }

    /// Answers what a stateless server wants to know before it goes on.
    async fn provide(&self, wanted: InputRequiredResult) -> Result<Option<InputResponses>, CallFailure> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted.input_requests.unwrap_or_default() {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let asked = elicit::ask(self.scope, self.connection, request.params).await;
                    written::<ElicitResult>(&asked.map_err(CallFailure::Stop)?)?
                }
                InputRequest::ListRoots(_) => written(&self.connection.handler().root_list())?,
                _ => {
                    return Err(CallFailure::Service(ServiceError::McpError(crate::handler::no_sampling())));
                }
            };
            responses.insert(key, response);
        }
        if responses.is_empty() {
            // It only wants more time.
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        }
        Ok(Some(responses))
    }
}

fn written<T: serde::Serialize>(response: &T) -> Result<serde_json::Value, CallFailure> {
    serde_json::to_value(response).map_err(|error| CallFailure::Stop(error.into()))
}

/// A request that the server is told to forget if nobody waits for it any more.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Pending {
    async fn response(&mut self) -> Result<ServerResult, ServiceError> {
        match &mut self.0 {
            Some(handle) => (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed)),
            None => std::future::pending().await,
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            // The notice only has to get into the queue, which it does at once or not at all.
            let _ = handle.cancel(Some("nobody waits for it any more".to_owned())).now_or_never();
        }
    }
}
