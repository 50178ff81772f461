//! The registry of workflows by name and version.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;

use super::start::EVENT_BUFFER;
use super::task::watched;
use super::{RunOptions, RunStream, Runner, Runtime, drive};
use crate::event::event_channel;
use crate::store::RunRecord;
use crate::{Error, RunId};

/// Runners by name and version. Shared and changed freely; runs under way keep the workflow they began with. A clone is the same
/// registry.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    runners: Arc<RwLock<Runners>>,
}

/// Several versions of a workflow may stand side by side, so that runs of an older one are gone on with by what they began with.
type Runners = BTreeMap<String, BTreeMap<u32, Runner>>;

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a runner under its name and version, in the place of one that had both before.
    pub fn register(&self, runner: Runner) {
        self.write().entry(runner.name().to_owned()).or_default().insert(runner.version(), runner);
    }

    /// Takes all versions of a workflow out. Says whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        self.write().remove(name).is_some()
    }

    /// The newest runner with this name.
    ///
    /// # Errors
    /// Says which there are.
    pub fn get(&self, name: &str) -> Result<Runner, Error> {
        let runners = self.read();
        let newest = runners.get(name).and_then(|versions| versions.values().next_back());
        newest.cloned().ok_or_else(|| unknown(&runners, name))
    }

    /// The runner that goes on with a stored run: of the version that worked on it last, or else of the next one after that, which must
    /// know how to take it over.
    ///
    /// # Errors
    /// Says which there are.
    pub fn for_run(&self, run: &RunRecord) -> Result<Runner, Error> {
        let runners = self.read();
        let versions = runners.get(&run.workflow).ok_or_else(|| unknown(&runners, &run.workflow))?;
        versions.range(run.latest..).next().map(|(_, runner)| runner.clone()).ok_or_else(|| {
            let known: Vec<String> = versions.keys().map(ToString::to_string).collect();
            let (id, name, version) = (&run.id, &run.workflow, run.latest);
            let message = format!(
                "version {version} of `{name}` has worked on run `{id}`, and only older ones are known here: {}",
                known.join(", ")
            );
            Error::Refused(message.into())
        })
    }

    /// Returns whether there is a runner with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// Returns all names, in alphabetical order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// Returns how many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Begins the named workflow and gives its events. An unknown name gives one event: the end.
    #[must_use]
    pub fn stream(
        &self,
        runtime: &Runtime,
        name: &str,
        input: Option<Value>,
        id: Option<RunId>,
        mut options: RunOptions,
    ) -> RunStream<Value> {
        match self.get(name) {
            Ok(runner) => runner.stream(runtime, input, id, options),
            Err(error) => {
                let (sender, receiver) = event_channel(EVENT_BUFFER);
                let (services, canceller) = (Arc::clone(&runtime.services), options.own_canceller());
                let name = name.to_owned();
                let task = tokio::spawn(async move {
                    drive::report_refused(&services, Some(sender), id, &name, &error).await;
                    Err(error)
                });
                RunStream::new(receiver, watched(task, Arc::default(), canceller.clone()), canceller)
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Runners> {
        self.runners.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Runners> {
        self.runners.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(runners: &Runners, name: &str) -> Error {
    let names: Vec<&str> = runners.keys().map(String::as_str).collect();
    let known = if names.is_empty() { "none is registered".into() } else { names.join(", ") };
    Error::Refused(format!("workflow not found: {name} (known: {known})").into())
}
