//! One run of a scenario: an ordinary durable run that is given what the scenario says.
//!
//! The run waits for nothing in this process. Whenever it is suspended, what it waits for is looked up in the scenario and sent, as
//! anybody else would send it, and the run goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{EventKind, RunId, RunStatus, Store, StoreError};
use convoke_eval::scenario::ModelSource;
use convoke_eval::{AssertionReport, Observation, RunReport, Scenario};
use convoke_goals::Values;
use convoke_history::History;

use super::models::brought;
use super::observe::{UNANSWERED, observation, replies};
use super::person::Person;
use super::supply::Next;
use super::tools::ScenarioTool;
use super::{EvalOptions, USUAL_TIMEOUT};
use crate::HostError;
use crate::definition::LoadedFile;
use crate::host::{GoOnOptions, Host, StartOptions};
use crate::prepared::{ExecutionOptions, PreparedRun};
use crate::store::cancel_run;
use crate::tools::ServerStartup;

/// One run of a scenario.
pub(super) struct Trial<'a> {
    pub(super) host: &'a Host,
    pub(super) loaded: &'a LoadedFile,
    pub(super) path: PathBuf,
    pub(super) scenario: Arc<Scenario>,
    pub(super) inputs: Values,
    pub(super) model: Option<ModelSource>,
    pub(super) id: RunId,
    pub(super) options: &'a EvalOptions,
}

impl Trial<'_> {
    /// Runs it, as far as it has not been run before, and says what came of it.
    pub(super) async fn run(&self) -> Result<RunReport, HostError> {
        let store = self.host.store()?;
        let record = store.run(&self.id).await?;
        let is_over = record
            .as_ref()
            .is_some_and(|record| record.status.is_final() || record.status == RunStatus::Failed);
        let stuck = if is_over { None } else { self.drive(&store, record.is_some()).await? };
        if let Some(why) = stuck
            && let Some(record) = store.run(&self.id).await?
        {
            cancel_run(&*store, record, &format!("{UNANSWERED}{why}"), |_| {}).await?;
        }
        let history = History::load(&*store, &self.id).await?;
        let observed = self.observed(&history).await?;
        let assertions = self.assertions(&store, &observed).await?;
        Ok(RunReport {
            run: self.id.to_string(),
            passed: !assertions.iter().any(AssertionReport::fails_its_run),
            status: observed.status,
            seconds: history.record.worked.as_secs_f64(),
            usage: observed.usage,
            result: observed.whole.content,
            path: observed.whole.path,
            facts: observed.facts,
            assertions,
        })
    }

    /// What happened in the run, told again from its journal.
    async fn observed(&self, history: &History) -> Result<Observation, HostError> {
        let definition = self.loaded.valid()?;
        let state = history.ending.as_ref().and_then(|ending| ending.state.as_ref());
        let facts = state.map(|state| definition.facts(state)).unwrap_or_default();
        let result = state.and_then(|state| definition.result(state));
        let mut told = self.host.subscribe(&self.id, None).await?;
        let mut events = Vec::new();
        while let Some(event) = told.next().await.transpose()? {
            if matches!(event.kind, EventKind::RunEnded(_)) {
                break;
            }
            events.push((event.path.to_string(), event.kind));
        }
        Ok(observation(history, facts, result, events))
    }

    /// Lets the run go on until it is over, or the scenario has nothing more for it.
    async fn drive(&self, store: &Arc<dyn Store>, exists: bool) -> Result<Option<String>, HostError> {
        let mut prepared = self.prepared(store, exists).await?;
        let ended = loop {
            let history = History::load(&**store, &self.id).await?;
            let person = Person::new(Arc::clone(&self.scenario), &history);
            let how = ExecutionOptions {
                responder: Some(Arc::new(person)),
                patience: Duration::ZERO,
                undivided: true,
                ..ExecutionOptions::default()
            };
            let active = prepared.go_on(Arc::clone(store), self.id.clone(), how, &mut Vec::new());
            let (stream, after) = active.into_parts();
            let outcome = stream.outcome().await;
            prepared = after.prepared;
            match outcome {
                Ok(outcome) if outcome.status == RunStatus::Suspended => {}
                Ok(_) => break Ok(None),
                Err(error) => break Err(error.into()),
            }
            match self.next(store).await {
                Ok(Next::GoOn) => {}
                Ok(Next::Stuck(why)) => break Ok(Some(why)),
                Err(error) => break Err(error),
            }
        };
        prepared.close().await;
        ended
    }

    async fn prepared(&self, store: &Arc<dyn Store>, exists: bool) -> Result<PreparedRun, HostError> {
        let given = match exists {
            true => replies(&History::load(&**store, &self.id).await?.effects).count(),
            false => 0,
        };
        let models = self.host.models()?;
        let brought =
            self.model.as_ref().map(|source| brought(source, &models, &self.path, given)).transpose()?;
        let (host, name) = match (brought.flatten(), &self.model) {
            (Some(own), _) => {
                let host = self.host.bringing(Arc::new([(own.name.clone(), own.model)].into()));
                (host, Some(own.name))
            }
            (None, Some(ModelSource::Named(name))) => {
                (self.host.bringing(Arc::default()), Some(name.clone()))
            }
            (None, _) => (self.host.bringing(Arc::default()), None),
        };
        let notes = &mut Vec::new();
        let mut prepared = if exists {
            let record = store.run(&self.id).await?;
            let record = record.ok_or_else(|| StoreError::NotFound { run: self.id.clone() })?;
            let (loaded, manifest) = host.restore(&record)?;
            let options = GoOnOptions {
                policy: self.options.policy.clone(),
                limits: self.options.limits.clone(),
                timeout: self.options.timeout,
                secrets: self.inputs.clone(),
                ..GoOnOptions::default()
            };
            host.must_fit(&record, &manifest, &options)?;
            host.prepare_again(loaded, manifest, &options, ServerStartup::Start, notes).await?
        } else {
            let options = StartOptions {
                model: name,
                policy: self.options.policy.clone(),
                limits: self.options.limits.clone(),
                timeout: Some(self.timeout()),
                ..StartOptions::default()
            };
            host.prepare(self.loaded.clone(), self.inputs.clone(), &options, notes).await?
        };
        self.script_tools(&mut prepared)?;
        prepared.load(&mut |_| {}).await?;
        if !exists {
            let created = prepared.create(&**store, Some(self.id.clone()), self.options.started_by.clone());
            created.await.map_err(|error| match error {
                HostError::Store(StoreError::Exists { .. }) => HostError::Scenario {
                    scenario: self.scenario.name.clone(),
                    reason: format!("another process has just begun eval {}: wait for it", self.options.id),
                },
                error => error,
            })?;
        }
        Ok(prepared)
    }

    /// Lets the tools of this host give what the scenario says. What a client's tools give is sent when it is waited for.
    fn script_tools(&self, prepared: &mut PreparedRun) -> Result<(), HostError> {
        let of_client = self.loaded.valid()?.vocabulary().client_tools;
        let here = &prepared.tools().tools;
        let is_known = |name: &&String| here.get(name).is_some() || of_client.contains(name);
        if let Some(unknown) = self.scenario.tools.keys().find(|name| !is_known(name)) {
            let known: Vec<&str> = here.names().chain(of_client.iter().map(String::as_str)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let reason =
                format!("there is no tool `{unknown}` whose results it could have; there are: {known}");
            return Err(HostError::Scenario { scenario: self.scenario.name.clone(), reason });
        }
        prepared.replace_tools(|tool| ScenarioTool::instead_of(tool, &self.scenario))
    }

    pub(super) fn timeout(&self) -> Duration {
        self.options.timeout.or(self.host.config().wall_time()).unwrap_or(USUAL_TIMEOUT)
    }
}
