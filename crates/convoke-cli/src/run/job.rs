//! A file, its inputs and its model: ready to be started, or resumed.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use convoke_config::Config;
use convoke_core::store::NewRun;
use convoke_core::{
    Error, FORBID_LIVE_MODELS, Limits, Model, Outcome, RunId, RunStatus, Runtime, StoreError, WhenBusy,
};
use convoke_goals::agentfile::Agentfile;
use convoke_goals::{GoalState, NodeRef, Prepared, Problem, ProblemKind, Secrets, SkillShelf, Values};
use convoke_history::History;
use convoke_models::ModelName;

use super::arguments::{CommonArguments, Format};
use super::display::{Display, Loudness};
use super::equipment::{Unpriced, equipment};
use super::manifest::Manifest;
use super::offered::as_described;
use super::person::person;
use super::prompt::Prompt;
use super::result::{self, About};
use super::signals::Signals;
use super::tools::Hands;
use super::watch::Watch;
use crate::arguments::Color;
use crate::failure::Failure;
use crate::models::Models;
use crate::observe::Watchers;
use crate::onward;
use crate::progress::{Planned, Progress};
use crate::session::Session;
use crate::shell;
use crate::terminal::Output;
use crate::who;

/// What the user should know about a run in which a model did not say what it used.
const ESTIMATED: &str = "a model did not say how many tokens it used: they are estimated from what it was sent and what came \
                         back, and limits hold by that";

/// A checked file, and where it is from.
pub(crate) struct Source {
    pub(crate) file: Agentfile,
    pub(crate) manifest: Manifest,
}

/// Something that can be started or resumed.
pub(crate) struct Job {
    source: Source,
    models: Arc<Models>,
    /// The model for whatever names none.
    model: Option<ModelName>,
    secrets: Secrets,
    prepared: Prepared,
    /// Models whose price nobody knows.
    unpriced: Unpriced,
    planned: Planned,
    /// What was given, without secrets.
    values: Values,
    hands: Hands,
}

impl Job {
    /// Chooses the model and prepares the workflow, which finds out whatever is wrong with it. No model is fetched or loaded
    /// for that: [`load`](Self::load) does. `values` has secrets in it; they are kept in memory only.
    pub(crate) async fn prepare(
        mut source: Source,
        values: Values,
        config: Config,
        hands: Hands,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let models = Arc::new(Models::of(config)?);
        let manifest = &mut source.manifest;
        // A run that goes on does so with the model it began with, whatever would be found now.
        let choice = models.choose(manifest.model.as_deref()).await?;
        let model = match choice.model {
            Some(name) => {
                manifest.model = Some(name.to_string());
                // One that runs here may have to be fetched, which comes last.
                if !matches!(name, ModelName::Local { .. }) {
                    models.check(&name)?;
                }
                Some(name)
            }
            // The file says which one.
            None if source.file.overrides.model.is_some() => None,
            None => {
                let looked = choice.findings.iter().map(ToString::to_string);
                return Err(looked
                    .fold(Failure::failed("there is no model to run it with"), Failure::detail)
                    .hint("set a provider's key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a model with --model")
                    .hint("to see it run without one, with answers made up: --model scripted/rehearsal"));
            }
        };
        let tree = convoke_goals::Workflow::from(&source.file);
        let planned = Planned::from(NodeRef::from(&tree));
        let (secrets, values) = tree.separate_secrets(values);
        let stand_in = model.as_ref().map(|name| models.deferred(name.clone()));
        let (prepared, unpriced) = equipped(&models, stand_in, &source, &secrets, &hands)?;
        let mut notes: Vec<String> =
            prepared.warnings().iter().filter_map(|warning| told(warning, &hands)).collect();
        notes.dedup();
        for note in notes {
            output.note(&note);
        }
        Ok(Self { source, models, model, secrets, prepared, unpriced, planned, values, hands })
    }

    /// Whether the model could be had, as far as can be told without asking or fetching it.
    pub(crate) fn check_model(&self) -> Result<(), Failure> {
        self.model.as_ref().map_or(Ok(()), |name| self.models.check(name))
    }

    /// Gets hold of the model. One that runs in this process is fetched first if need be.
    pub(crate) async fn load(&mut self, output: &mut Output) -> Result<(), Failure> {
        let Some(name) = &self.model else { return Ok(()) };
        if matches!(name, ModelName::Local { .. }) && forbids_live_models() {
            return Err(Failure::failed(format!(
                "`{name}` is a real model, and real models are forbidden here ({FORBID_LIVE_MODELS})"
            ))
            .hint("use a scripted model, such as --model scripted/rehearsal, or lift the ban"));
        }
        let model = self.models.open(name, output).await?;
        (self.prepared, self.unpriced) =
            equipped(&self.models, Some(model), &self.source, &self.secrets, &self.hands)?;
        Ok(())
    }

    pub(crate) fn file(&self) -> &Agentfile {
        &self.source.file
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.source.manifest
    }

    /// The state a new run begins with.
    pub(crate) fn state(&self) -> Result<GoalState, Failure> {
        let bound = self.prepared.bind(self.values.clone()).map_err(|invalid| {
            let failure = Failure::usage("the inputs are not what the file needs");
            invalid.problems.iter().map(ToString::to_string).fold(failure, Failure::detail)
        })?;
        Ok(bound.state)
    }

    /// What the user should know about limits that cannot be kept.
    fn uncounted(&self, limits: &Limits) -> Vec<String> {
        let names = self.unpriced.names();
        if limits.cost.is_none() || names.is_empty() {
            return Vec::new();
        }
        let (names, has) = (names.join(", "), if names.len() == 1 { "has" } else { "have" });
        vec![format!(
            "the limit on money cannot be kept: {names} {has} no known price, so what its calls cost is not counted; \
             limit tokens or calls as well, or name a file with its price in `prices` of convoke.toml"
        )]
    }

    /// Makes a new run, which is started by resuming it: from the first moment on, whatever that takes is in the store.
    pub(crate) async fn create(
        &self,
        session: &Session<'_>,
        state: &GoalState,
        id: Option<RunId>,
    ) -> Result<RunId, Failure> {
        let id = id.unwrap_or_else(RunId::mint);
        let unwritable = |error| Failure::failed(format!("the run's inputs cannot be written down: {error}"));
        let input = serde_json::to_vec(state).map_err(unwritable)?;
        // It may be gone on with from another folder.
        let model = self.model.clone().map(|name| name.absolute().to_string());
        let manifest = Manifest { model, ..self.source.manifest.clone() };
        let launch = manifest.launch().map_err(unwritable)?;
        let who = who::name();
        let launch = if who.is_empty() { launch } else { launch.started_by(who) };
        let run = NewRun { launch, ..self.prepared.workflow().new_run(id.clone(), input) };
        let lease = session.store.create(run).await.map_err(|error| match error {
            StoreError::Exists { .. } => {
                let resume = session.command(&format!("resume {}", shell::quoted(id.as_str())));
                Failure::failed(format!("there is a run `{id}` already"))
                    .hint(format!("choose another id, or go on with that one: `{resume}`"))
            }
            other => other.into(),
        })?;
        session.store.release(&lease);
        Ok(id)
    }

    /// Runs it from where it is to its end, shows how it goes, and gives the result.
    pub(crate) async fn go_on(
        self,
        session: &mut Session<'_>,
        run: RunId,
        common: &CommonArguments,
        when_busy: WhenBusy,
        prompt: Prompt,
        color: Color,
    ) -> Result<(), Failure> {
        let format = common.output;
        // Where events are results, a terminal that shows them needs nothing else.
        let shows_events = format == Format::Ndjson && io::stdout().is_terminal();
        let loudness = if shows_events { Loudness::Quiet } else { common.loudness() };
        let (person, questions) = person();
        // Whoever began it here waits for it here.
        let builder = Runtime::builder().shared_store(Arc::clone(&session.store)).patience(Duration::MAX);
        let watchers = Watchers::start(&self.models.config, session.output);
        let builder = self.hands.guard(watchers.watch(builder));
        let runtime = if prompt.is_there { builder.responder(person) } else { builder }.build();
        let manifest = &self.source.manifest;
        let limits = match common.budget.as_ref().or(manifest.limits.as_ref()) {
            Some(given) => replaced(self.models.config.limits(), given),
            None => self.models.config.limits(),
        };
        let limits = self.hands.limited(&limits);
        let mut notes = self.uncounted(&limits);
        for note in &notes {
            session.output.note(note);
        }
        let start = runtime.resume(&self.prepared.workflow(), run.clone()).when_busy(when_busy);
        let start = match common.timeout.or(manifest.timeout).or(self.models.config.wall_time()) {
            Some(timeout) => start.limits(limits).timeout(timeout),
            None => start.limits(limits),
        };
        let Prompt { keyboard, is_there, .. } = prompt;
        let take_over = format!("{} --take-over", session.resume(&run, manifest));
        let history = History::load(&*session.store, &run).await?;
        let watch = Watch {
            progress: Progress::new(&self.planned).remembering(&history),
            display: Display::new(loudness, common.stream, color),
            signals: Signals::listen()?,
            keyboard,
            questions: is_there.then_some(questions),
            by: who::name(),
            always: self.hands.always(),
            granted: HashSet::new(),
            take_over,
            gives_events: format == Format::Ndjson,
            output: &mut *session.output,
        };
        let given = match watch.run(start).await {
            Ok(outcome) => {
                if outcome.totals.usage.is_estimated {
                    session.output.note(ESTIMATED);
                    notes.push(ESTIMATED.to_owned());
                }
                let policys = match outcome.error.as_ref().map(Error::root) {
                    // Policies limit whole runs only.
                    Some(Error::Budget(used_up)) if used_up.owner.as_str().is_empty() => {
                        self.hands.limit_of(used_up)
                    }
                    _ => None,
                };
                let cancelled = match outcome.status {
                    RunStatus::Cancelled => why_cancelled(session, &outcome).await?,
                    _ => None,
                };
                let about = About { policys, cancelled, notes, is_quiet: common.quiet };
                result::give(session, &self.source, format, &outcome, about).await
            }
            Err(failure) => Err(failure),
        };
        self.hands.finish().await;
        watchers.finish(session.output).await;
        given
    }
}

/// Why a run was cancelled for good, if it was.
async fn why_cancelled<S>(session: &Session<'_>, outcome: &Outcome<S>) -> Result<Option<String>, Failure> {
    let record = session.store.run(&outcome.run).await?;
    let reason = match outcome.error.as_ref().map(Error::root) {
        Some(Error::Cancelled(reason)) => reason.to_string(),
        _ => "for good".to_owned(),
    };
    Ok(record.filter(onward::is_cancelled_for_good).map(|_| reason))
}

/// The workflow with this model for whatever names none.
fn equipped(
    models: &Arc<Models>,
    model: Option<Arc<dyn Model>>,
    source: &Source,
    secrets: &Secrets,
    hands: &Hands,
) -> Result<(Prepared, Unpriced), Failure> {
    let manifest = &source.manifest;
    let (mut equipment, unpriced) = equipment(models, model, manifest.model_asked, &manifest.workspace)
        .map_err(|problem| Failure::failed(format!("there is no model to supervise with: {problem}")))?;
    if let Some(answers) = &manifest.answers {
        equipment.human.audience.clone_from(&answers.by);
        equipment.human.expiry = answers.within;
    }
    equipment.secrets = secrets.clone();
    equipment.tools_on_demand = true;
    equipment.tools = as_described(&manifest.tools, &hands.tools);
    equipment.skills = SkillShelf::of(manifest.skills.clone());
    let prepared = convoke_goals::Workflow::from(&source.file).prepare(&equipment).map_err(|invalid| {
        let failure = Failure::failed("the Agentfile cannot be run here");
        invalid.problems.iter().map(ToString::to_string).fold(failure, Failure::detail)
    })?;
    Ok((prepared, unpriced))
}

/// Whether real models are forbidden in this process.
fn forbids_live_models() -> bool {
    std::env::var(FORBID_LIVE_MODELS).is_ok_and(|value| !value.is_empty() && value != "0")
}

/// A warning, if there is reason for it. Of a built-in tool, what matters is why it is not there.
fn told(warning: &Problem, hands: &Hands) -> Option<String> {
    let ProblemKind::UnknownTool { tool, .. } = &warning.kind else { return Some(warning.to_string()) };
    if hands.may_be_left_alone(tool) {
        return None;
    }
    Some(match hands.why_absent(tool) {
        Some(why) => format!("there is no `{tool}` here: {why}"),
        None => warning.to_string(),
    })
}

/// Limits on the command line replace those that are configured.
fn replaced(mut limits: Limits, given: &Limits) -> Limits {
    limits.model_calls = given.model_calls.or(limits.model_calls);
    limits.tokens = given.tokens.or(limits.tokens);
    limits.cost = given.cost.or(limits.cost);
    limits.tool_calls = given.tool_calls.or(limits.tool_calls);
    limits.turns = given.turns.or(limits.turns);
    limits.per_tool.extend(given.per_tool.clone());
    limits
}
