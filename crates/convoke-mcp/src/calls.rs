//! The calls in flight on a connection, so that progress and questions of a server find the call they belong to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ElicitRequestParams, ElicitResult, ProgressToken, RequestId};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// How much of what a server says waits for a call that is busy. Progress beyond it is dropped.
const WAITING: usize = 16;

/// A message of a server during a call.
pub(crate) enum CallEvent {
    /// How far it is.
    Progress(Value),
    /// What it wants to know from a person.
    Question { asked: ElicitRequestParams, reply: oneshot::Sender<ElicitResult> },
}

/// The reason why a question belongs to no call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnmatchedQuestion {
    NoCall,
    SeveralCalls,
}

/// The calls in flight.
#[derive(Default)]
pub(crate) struct Calls {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Entry>,
}

struct Entry {
    sender: mpsc::Sender<CallEvent>,
    identity: Option<(RequestId, ProgressToken)>,
}

/// A call in flight, until it is dropped.
pub(crate) struct OpenCall {
    calls: Arc<Calls>,
    number: u64,
    events: mpsc::Receiver<CallEvent>,
}

impl Calls {
    /// Enters a call. Must come before its request is sent.
    pub(crate) fn open(self: &Arc<Self>) -> OpenCall {
        let (sender, events) = mpsc::channel(WAITING);
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, Entry { sender, identity: None });
        OpenCall { calls: Arc::clone(self), number, events }
    }

    /// Tells a call how far it is.
    pub(crate) fn progress(&self, token: &ProgressToken, progress: Value) {
        let state = self.state();
        let matches = |entry: &&Entry| entry.identity.as_ref().is_some_and(|(_, own)| own == token);
        if let Some(entry) = state.open.values().find(matches) {
            // A call that does not keep up misses some: the next one says more anyway.
            let _ = entry.sender.try_send(CallEvent::Progress(progress));
        }
    }

    /// Where a question goes: to the call whose request it came with, or, if nobody says, to the only one there is.
    pub(crate) fn asking(
        &self,
        request: Option<&RequestId>,
    ) -> Result<mpsc::Sender<CallEvent>, UnmatchedQuestion> {
        let state = self.state();
        let of = |entry: &&Entry| entry.identity.as_ref().is_some_and(|(own, _)| Some(own) == request);
        if let Some(entry) = state.open.values().find(of) {
            return Ok(entry.sender.clone());
        }
        let mut open = state.open.values();
        match (open.next(), open.next()) {
            (Some(only), None) => Ok(only.sender.clone()),
            (None, _) => Err(UnmatchedQuestion::NoCall),
            _ => Err(UnmatchedQuestion::SeveralCalls),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCall {
    /// Says which request it is.
    pub(crate) fn identify(&self, request: RequestId, token: ProgressToken) {
        if let Some(entry) = self.calls.state().open.get_mut(&self.number) {
            entry.identity = Some((request, token));
        }
    }

    /// What the server has said already.
    pub(crate) fn waiting(&mut self) -> Option<CallEvent> {
        self.events.try_recv().ok()
    }

    /// What the server says next.
    pub(crate) async fn next(&mut self) -> CallEvent {
        match self.events.recv().await {
            Some(event) => event,
            // Cannot be: the table holds a sender as long as this call is open.
            None => std::future::pending().await,
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.state().open.remove(&self.number);
    }
}
