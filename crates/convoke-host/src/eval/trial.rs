//! One run of a scenario: an ordinary durable run that is given what the scenario says.
//!
//! The run waits for nothing in this process. Whenever it is suspended, what it waits for is looked up in the scenario and sent, as
//! anybody else would send it, and the run goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{Error, EventKind, Outcome, RunId, RunStatus, Store, StoreError, WhenBusy};
use convoke_eval::observation::ObservedUsage;
use convoke_eval::scenario::ModelSource;
use convoke_eval::{AssertionReport, Facts, Observation, RunReport, Scenario};
use convoke_goals::Values;
use convoke_history::History;

use super::models::brought;
use super::observe::{UNANSWERED, observation, replies};
use super::person::Person;
use super::supply::Next;
use super::tools::ScenarioTool;
use super::{EvalOptions, USUAL_TIMEOUT};
use crate::definition::LoadedFile;
use crate::host::{GoOnOptions, Host, StartOptions};
use crate::prepared::{ExecutionOptions, PreparedRun};
use crate::store::cancel_run;
use crate::tools::ServerStartup;
use crate::{FailureKind, FailureReport, HostError};

/// So often it is looked whether another process is still at a run.
const LOOK: Duration = Duration::from_millis(100);

/// Tools that agents are given beside those of the host: to take up skills, to open further tools, to call agents in.
pub(super) const OWN_TOOLS: [&str; 4] = ["open_tools", "spawn_agent", "spawn_agents", "use_skill"];

/// The status of a run that did not come to be.
const NOT_BEGUN: &str = "not_begun";

/// Why a run does not go on.
enum DriveEnd {
    /// It is over.
    Over,
    /// The scenario has nothing for it.
    Stuck(String),
    /// Somebody else has gone on with it meanwhile.
    Outpaced,
}

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

/// Whether nothing more is done for a run: what has failed stays so.
fn is_over(record: &RunRecord) -> bool {
    record.status.is_final() || record.status == RunStatus::Failed
}

/// Whether the store cannot be used any more.
fn is_of_the_store(error: &Error) -> bool {
    FailureReport::from(error.clone()).kind == FailureKind::Store
}

impl Trial<'_> {
    /// Runs it, as far as it has not been run before, and says what came of it.
    pub(super) async fn run(&self) -> Result<RunReport, HostError> {
        let store = self.host.store()?;
        let record = store.run(&self.id).await?;
        let is_over = record.as_ref().is_some_and(is_over);
        let mut notes = Vec::new();
        let driven = if is_over { Ok(None) } else { self.drive(&store, &mut notes).await };
        let (stuck, refused) = match driven {
            Ok(stuck) => (stuck, None),
            // Other scenarios are none the worse for it.
            Err(HostError::Scenario { reason, .. }) => (None, Some(reason)),
            Err(HostError::Inputs { problems }) => (None, Some(problems.join("; "))),
            Err(error) => return Err(error),
        };
        let refused = refused.map(|why| AssertionReport::failed("scenario", None, why));
        if let Some(refused) = &refused
            && store.run(&self.id).await?.is_none()
        {
            return Ok(self.not_begun(refused.clone()));
        }
        if let Some(why) = stuck
            && let Some(record) = store.run(&self.id).await?
        {
            match cancel_run(&*store, record, &why, |_| {}).await {
                // Whoever runs it, too, has just found the same.
                Ok(_) | Err(HostError::Ended { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let history = History::load(&*store, &self.id).await?;
        let observed = self.observed(&history).await?;
        let (mut assertions, judged) = self.assertions(&store, &observed).await?;
        notes.extend(self.sure_evals(&observed)?);
        let leftover = self.leftover(&history, &observed, &assertions, judged);
        notes.extend(leftover.notes);
        assertions.extend(leftover.failures.into_iter().chain(refused));
        let worked = history.record.worked.as_secs_f64();
        Ok(RunReport {
            run: self.id.to_string(),
            passed: !assertions.iter().any(AssertionReport::fails_its_run),
            status: observed.status,
            seconds: worked,
            duration_seconds: worked,
            usage: observed.usage,
            result: observed.whole.content,
            path: observed.whole.path,
            facts: observed.facts,
            assertions,
            notes,
        })
    }

    /// The report of a run that cannot be begun with what there is here.
    fn not_begun(&self, why: AssertionReport) -> RunReport {
        RunReport {
            run: self.id.to_string(),
            passed: false,
            status: NOT_BEGUN.to_owned(),
            seconds: 0.0,
            duration_seconds: 0.0,
            usage: ObservedUsage { cost: Some(0.0), ..ObservedUsage::default() },
            result: String::new(),
            path: Vec::new(),
            facts: Facts::default(),
            assertions: vec![why],
            notes: Vec::new(),
        }
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

    /// Lets the run go on until it is over, or the scenario has nothing more for it; then it is to be cancelled, and why.
    ///
    /// Another process that evaluates under the same name may be at it: then it is waited for. What is left of the script follows
    /// from what was said in the run, so whoever goes on after somebody else begins anew with what was said by then.
    async fn drive(
        &self,
        store: &Arc<dyn Store>,
        notes: &mut Vec<String>,
    ) -> Result<Option<String>, HostError> {
        loop {
            let prepared = match self.prepared(store).await {
                Err(HostError::Store(StoreError::Exists { .. })) => continue,
                prepared => prepared,
            };
            let prepared = prepared?;
            let uncounted = prepared.0.uncounted(&prepared.0.limits());
            notes.extend(uncounted.filter(|note| !notes.contains(note)));
            let (prepared, ended) = self.driven(store, prepared).await;
            prepared.close().await;
            match ended {
                Err(
                    HostError::Store(StoreError::Busy { .. })
                    | HostError::Run(Error::Store(StoreError::Busy { .. })),
                ) => {
                    tokio::time::sleep(LOOK).await;
                }
                Ok(DriveEnd::Outpaced) => {}
                Ok(DriveEnd::Over) => return Ok(None),
                Ok(DriveEnd::Stuck(why)) => return Ok(Some(why)),
                Err(error) => return Err(error),
            }
        }
    }

    async fn driven(
        &self,
        store: &Arc<dyn Store>,
        (mut prepared, mut heard): (PreparedRun, usize),
    ) -> (PreparedRun, Result<DriveEnd, HostError>) {
        loop {
            let history = match History::load(&**store, &self.id).await {
                Ok(history) => history,
                Err(error) => return (prepared, Err(error.into())),
            };
            let count = replies(&history.effects).count();
            if is_over(&history.record) {
                return (prepared, Ok(DriveEnd::Over));
            }
            if heard != count {
                return (prepared, Ok(DriveEnd::Outpaced));
            }
            let person = Person::new(Arc::clone(&self.scenario), &history);
            let how = ExecutionOptions {
                responder: Some(Arc::new(person)),
                patience: Duration::ZERO,
                undivided: true,
                // Whoever has gone on with it since has used up some of the script.
                when_busy: WhenBusy::RefuseSince { epoch: history.record.epoch },
                ..ExecutionOptions::default()
            };
            let active = prepared.go_on(Arc::clone(store), self.id.clone(), how, &mut Vec::new());
            let (stream, after) = active.into_parts();
            let outcome = stream.outcome().await;
            prepared = after.prepared;
            match outcome {
                Ok(outcome) if outcome.status == RunStatus::Suspended => {}
                // Nothing is written of how it ended, so nothing can be said of it.
                Ok(Outcome { error: Some(error), .. }) if is_of_the_store(&error) => {
                    return (prepared, Err(error.into()));
                }
                Ok(_) => return (prepared, Ok(DriveEnd::Over)),
                Err(error) => return (prepared, Err(error.into())),
            }
            match self.next(store).await {
                Ok(Next::GoOn(count)) => heard = count,
                Ok(Next::Stuck(why)) => return (prepared, Ok(DriveEnd::Stuck(format!("{UNANSWERED}{why}")))),
                Err(error) => return (prepared, Err(error)),
            }
        }
    }

    /// Makes ready to go on with the run, or begins it. Models have given so many replies in it by now.
    async fn prepared(&self, store: &Arc<dyn Store>) -> Result<(PreparedRun, usize), HostError> {
        let exists = store.run(&self.id).await?.is_some();
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
            created.await?;
        }
        Ok((prepared, given))
    }

    /// Lets the tools of this host give what the scenario says. What a client's tools give is sent when it is waited for.
    fn script_tools(&self, prepared: &mut PreparedRun) -> Result<(), HostError> {
        let known = self.loaded.valid()?.vocabulary();
        let here = &prepared.tools().tools;
        let refused = |reason: String| HostError::Scenario { scenario: self.scenario.name.clone(), reason };
        let with_results = || here.names().chain(known.client_tools.iter().map(String::as_str));
        if let Some(unknown) =
            self.scenario.tools.keys().find(|name| !with_results().any(|known| known == *name))
        {
            let known: Vec<&str> = with_results().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(refused(format!(
                "there is no tool `{unknown}` whose results it could have; there are: {known}"
            )));
        }
        // What files that this one names bring with them is not known here.
        if known.turns || self.loaded.beside == Default::default() {
            let own = known.tools.iter().map(String::as_str).chain(OWN_TOOLS);
            let callable: Vec<&str> = with_results().chain(own).collect();
            if let Some(finding) = self.scenario.unknown_tools(&callable).into_iter().next() {
                let help = finding.help.unwrap_or_else(|| format!("there are: {}", callable.join(", ")));
                return Err(refused(format!("{}: {}; {help}", finding.path, finding.message)));
            }
        }
        let scenario = Arc::clone(&self.scenario);
        prepared.replace_tools(Arc::new(move |tool| ScenarioTool::instead_of(tool, &scenario)))
    }

    pub(super) fn timeout(&self) -> Duration {
        self.options.timeout.or(self.host.config().wall_time()).unwrap_or(USUAL_TIMEOUT)
    }
}
