//! Events of a workflow, for whoever watches it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ArtifactMode, Status};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WorkflowEvent {
    /// A state was left.
    Exited {
        /// Which.
        state: Arc<str>,
    },
    /// The machine moved.
    Transitioned(Box<Transitioned>),
    /// A state was entered.
    Entered {
        /// Which.
        state: Arc<str>,
        /// How often by now.
        visit: u64,
    },
    /// An artifact was set.
    ArtifactSet {
        /// Which.
        name: Arc<str>,
        /// How.
        mode: ArtifactMode,
        /// How many bytes it has now.
        bytes: usize,
    },
    /// Something ended the workflow.
    Concluded(Status),
}

/// A transition that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Transitioned {
    /// The state it left.
    pub from: Arc<str>,
    /// The state it entered.
    pub to: Arc<str>,
    /// The event.
    pub event: Arc<str>,
    /// Why it entered another state than the event says.
    #[serde(flatten)]
    pub redirect: Option<Redirect>,
    /// What else the call of the tool said, for the host.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub host_extras: Map<String, Value>,
}

/// The reason why a transition entered another state than its event says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Redirect {
    /// Always true: the Go program has a flag for what is a value here.
    redirected: bool,
    /// The reason, for people.
    pub redirect_reason: String,
    /// The state that the event says.
    pub original_target: Arc<str>,
    /// Every state that was tried, from the one the event says to the one that was entered.
    pub chain: Vec<Arc<str>>,
    /// How often the first of them was entered.
    #[serde(skip)]
    pub visit_count: u64,
    /// How often it may be.
    #[serde(skip)]
    pub max_visits: u64,
}

impl Redirect {
    pub(super) fn new(chain: Vec<Arc<str>>, visit_count: u64, max_visits: u64) -> Option<Self> {
        let original_target = Arc::clone(chain.first()?);
        let redirect_reason = format!("max_visits ({max_visits}) reached for \"{original_target}\"");
        Some(Self { redirected: true, redirect_reason, original_target, chain, visit_count, max_visits })
    }
}
