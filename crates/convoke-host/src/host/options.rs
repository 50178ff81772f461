//! Options for starting runs and for going on with them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Limits, Responder, RunId, WhenBusy, WhenDropped};
use convoke_goals::Values;

use crate::tools::ServerStartup;

/// Options for starting a run, beside its inputs.
#[derive(Default)]
#[non_exhaustive]
pub struct StartOptions {
    /// Its id. Without one, a new one is made up.
    pub id: Option<RunId>,
    /// The model for whatever names none, instead of the one that is configured or found.
    pub model: Option<String>,
    /// A policy, instead of the folder's.
    pub policy: Option<PathBuf>,
    /// What it may use, instead of what is configured.
    pub limits: Option<Limits>,
    /// How long it may be at work, instead of what is configured.
    pub timeout: Option<Duration>,
    /// Folders with skills besides those that are configured.
    pub skills: Vec<PathBuf>,
    /// What is done about MCP servers.
    pub servers: ServerStartup,
    /// Who starts it.
    pub started_by: Option<String>,
    /// Who answers its questions. Without anybody, it is suspended when it asks one.
    pub responder: Option<Arc<dyn Responder>>,
}

/// Options for going on with a stored run. What is said about its model, its limits, its folder and its policy is kept with the run,
/// in the place of what it began with.
#[derive(Default)]
#[non_exhaustive]
pub struct GoOnOptions {
    /// Secrets, which are not kept with a run.
    pub secrets: Values,
    /// Another model for whatever names none.
    pub model: Option<String>,
    /// The policy it was started with, if one was named then; or another one.
    pub policy: Option<PathBuf>,
    /// What it may use from now on. What is not limited here stays limited as it was.
    pub limits: Option<Limits>,
    /// How long it may be at work.
    pub timeout: Option<Duration>,
    /// Whether it may go on in another folder than the one it was begun in.
    pub anywhere: bool,
    /// What to do if somebody else is working on it.
    pub when_busy: WhenBusy,
    /// Who answers its questions.
    pub responder: Option<Arc<dyn Responder>>,
    /// How long it waits in this process for something to happen before it is suspended. Without it, as long as it takes.
    pub patience: Option<Duration>,
    /// What becomes of it when whoever waits for it does not any more.
    pub when_dropped: WhenDropped,
}
