//! A prepared run: a definition with its inputs, its model, its tools and its limits.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::Launch;
use convoke_core::{
    Error, Limits, Model, Registry, Responder, RunId, RunOptions, Runner, Runtime, Store, WhenBusy,
    WhenDropped,
};
use convoke_goals::agentfile::Agentfile;
use convoke_goals::{Problem, ProblemKind, Secrets, StandIn, Values};
use convoke_models::ModelName;

use crate::definition::{Definition, DefinitionKind, EquippedDefinition};
use crate::equipment::{UnpricedModels, equipment};
use crate::limits::uncounted;
use crate::manifest::AnswerRules;
use crate::models::Models;
use crate::running::ActiveRun;
use crate::telemetry::RunTelemetry;
use crate::tools::{AlwaysAllow, RunTools};
use crate::{HostError, Manifest};

/// A definition with everything it needs.
pub struct PreparedRun {
    pub(crate) kind: Arc<dyn DefinitionKind>,
    pub(crate) definition: Arc<dyn Definition>,
    manifest: Manifest,
    models: Arc<Models>,
    /// The model for whatever names none.
    model: Option<ModelName>,
    secrets: Secrets,
    equipped: Box<dyn EquippedDefinition>,
    /// Models whose price nobody knows.
    unpriced: UnpricedModels,
    /// What was given, without secrets.
    values: Values,
    tools: RunTools,
    /// Whether the run's record has something else than the manifest.
    is_retold: bool,
}

impl PreparedRun {
    /// Chooses the model and equips the definition, which finds out whatever is wrong with it. No model is fetched or loaded
    /// for that: [`load`](Self::load) does. `values` has secrets in it; they are kept in memory only.
    pub(crate) async fn new(
        kind: Arc<dyn DefinitionKind>,
        definition: Arc<dyn Definition>,
        mut manifest: Manifest,
        values: Values,
        models: Models,
        tools: RunTools,
        notes: &mut Vec<String>,
    ) -> Result<Self, HostError> {
        models.check_prices()?;
        let models = Arc::new(models);
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
            None if definition.names_model() => None,
            None => {
                let looked = choice.findings.iter().map(ToString::to_string).collect();
                return Err(HostError::NoModel { looked });
            }
        };
        let (secrets, values) = definition.separate_secrets(values);
        let stand_in = model.as_ref().map(|name| models.deferred(name.clone()));
        let assembly =
            Assembly { kind: &*kind, definition: &*definition, manifest: &manifest, secrets: &secrets };
        let (equipped, unpriced) = assembly.equip(&models, stand_in, &tools)?;
        if let Some(used) = equipped.tools() {
            // Others are never told of: nothing of them has to be the same when it goes on.
            manifest.tools.retain(|tool| used.contains(&*tool.name));
        }
        let mut warnings: Vec<String> =
            equipped.warnings().iter().filter_map(|warning| warning_text(warning, &tools)).collect();
        warnings.dedup();
        notes.extend(warnings);
        let is_retold = false;
        Ok(Self {
            kind,
            definition,
            manifest,
            models,
            model,
            secrets,
            equipped,
            unpriced,
            values,
            tools,
            is_retold,
        })
    }

    /// Keeps the manifest with the run when it [goes on](Self::go_on), in the place of the one it has.
    pub(crate) fn retold(mut self) -> Self {
        self.is_retold = true;
        self
    }

    /// Checks that the model could be had, as far as can be told without asking or fetching it.
    ///
    /// # Errors
    /// Why not.
    pub fn check_model(&self) -> Result<(), HostError> {
        self.model.as_ref().map_or(Ok(()), |name| self.models.check(name))
    }

    /// The model for whatever names none.
    #[must_use]
    pub fn model(&self) -> Option<&ModelName> {
        self.model.as_ref()
    }

    /// Gets hold of the model. One that runs in this process is fetched first if need be, which is told.
    ///
    /// # Errors
    /// If it cannot be had, or is forbidden here.
    pub async fn load(&mut self, tell: &mut (dyn FnMut(&str) + Send)) -> Result<(), HostError> {
        let Some(name) = &self.model else { return Ok(()) };
        let model = self.models.open(name, tell).await?;
        self.equip(Some(model))
    }

    /// Puts other tools in the place of some of those that are here, or that the file brings itself.
    pub(crate) fn replace_tools(&mut self, replace: StandIn) -> Result<(), HostError> {
        let tools = std::mem::take(&mut self.tools.tools);
        for tool in tools.iter() {
            // No name is there twice.
            let _ = self.tools.tools.add(replace(tool).unwrap_or_else(|| Arc::clone(tool)));
        }
        self.tools.stand_in = Some(replace);
        let stand_in = self.model.as_ref().map(|name| self.models.deferred(name.clone()));
        self.equip(stand_in)
    }

    fn equip(&mut self, model: Option<Arc<dyn Model>>) -> Result<(), HostError> {
        let assembly = Assembly {
            kind: &*self.kind,
            definition: &*self.definition,
            manifest: &self.manifest,
            secrets: &self.secrets,
        };
        (self.equipped, self.unpriced) = assembly.equip(&self.models, model, &self.tools)?;
        Ok(())
    }

    /// Returns what it is a run of.
    #[must_use]
    pub fn definition(&self) -> &Arc<dyn Definition> {
        &self.definition
    }

    /// The Agentfile, if it is one.
    #[must_use]
    pub fn agentfile(&self) -> Option<&Agentfile> {
        self.definition.agentfile()
    }

    /// Returns what its record keeps for going on with it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The tools it has.
    #[must_use]
    pub fn tools(&self) -> &RunTools {
        &self.tools
    }

    /// The workflow.
    #[must_use]
    pub fn runner(&self) -> Runner {
        self.equipped.runner()
    }

    /// The state a new run begins with, as JSON.
    ///
    /// # Errors
    /// If the inputs do not fit.
    pub fn state(&self) -> Result<Vec<u8>, HostError> {
        self.equipped.bind(self.values.clone()).map_err(|problems| HostError::Inputs { problems })
    }

    /// Returns what the whole run may use: what it began with or was told since, what is configured for the rest, within what the
    /// policies allow.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let configured = self.models.config.limits();
        let limits = match &self.manifest.limits {
            Some(kept) => configured.replaced_by(kept),
            None => configured,
        };
        self.tools.limited(&limits)
    }

    /// Returns how long the run may be at work.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.manifest.timeout.or(self.models.config.wall_time())
    }

    /// Returns what the user should know about limits that cannot be kept.
    #[must_use]
    pub fn uncounted(&self, limits: &Limits) -> Option<String> {
        let is_limited = limits.cost.is_some() || self.definition.limits_cost();
        is_limited.then(|| uncounted(&self.unpriced.names())).flatten()
    }

    /// The key and the place in a policy that set the limit which ended a run, if a policy did.
    #[must_use]
    pub fn limit_of(&self, error: &Error) -> Option<String> {
        match error.root() {
            // Policies limit whole runs only.
            Error::Budget(used_up) if used_up.owner.as_str().is_empty() => self.tools.limit_of(used_up),
            _ => None,
        }
    }

    /// Returns the writer of a person's "always"; `None` for a user without a place for settings.
    #[must_use]
    pub fn always(&self) -> Option<AlwaysAllow> {
        self.tools.always()
    }

    /// Makes a new run, which is started by [going on](Self::go_on) with it: from the first moment on, whatever that takes is
    /// in the store.
    ///
    /// # Errors
    /// If the inputs do not fit, or there is a run of that id already.
    pub async fn create(
        &self,
        store: &dyn Store,
        id: Option<RunId>,
        started_by: Option<String>,
    ) -> Result<RunId, HostError> {
        let id = id.unwrap_or_else(RunId::mint);
        let input = self.state()?;
        let mut launch = self.launch().map_err(HostError::Unwritable)?;
        launch.started_by = started_by.filter(|who| !who.is_empty());
        let mut run = self.equipped.runner().new_run(id.clone(), input);
        run.launch = launch;
        let lease = store.create(run).await?;
        store.release(&lease);
        Ok(id)
    }

    /// What the run's record keeps for going on with it.
    fn launch(&self) -> serde_json::Result<Launch> {
        // It may be gone on with from another folder.
        let model = self.model.clone().map(|name| name.absolute().to_string());
        Manifest { model, ..self.manifest.clone() }.launch(self.kind.name())
    }

    /// Goes on with a stored run of it: its events, and in the end what came of it. What was said for that and differs from what
    /// its record has is in the record then.
    ///
    /// Must be called within a Tokio runtime.
    pub fn go_on(
        self,
        store: Arc<dyn Store>,
        run: RunId,
        how: ExecutionOptions,
        notes: &mut Vec<String>,
    ) -> ActiveRun {
        let telemetry = RunTelemetry::start(&self.models.config, notes);
        // Whoever began it here waits for it here.
        let builder =
            Runtime::builder().shared_store(store).patience(how.patience).waits_out_time(how.waits_out_time);
        let answers = self.manifest.answers.clone();
        let AnswerRules { by, within } =
            answers.unwrap_or_else(|| (&self.models.config.supervision()).into());
        let builder = builder.answered_by(by).answered_within(within);
        let builder = self.tools.guard(telemetry.watch(builder));
        let runtime = match how.responder {
            Some(responder) => builder.responder(Asking(responder)),
            None => builder,
        }
        .build();
        let limits = self.limits();
        notes.extend(self.uncounted(&limits));
        let registry = Registry::new();
        let runner = if how.undivided { self.equipped.undivided() } else { self.runner() };
        registry.register(runner);
        let mut options = RunOptions::default();
        match self.is_retold.then(|| self.launch()).transpose() {
            Ok(retold) => options.launch = retold.unwrap_or_default(),
            Err(error) => notes.push(format!("whoever goes on with the run later is not told this: {error}")),
        }
        options.launch.limits = Some(limits);
        options.launch.timeout = self.timeout();
        options.when_busy = how.when_busy;
        options.when_dropped = how.when_dropped;
        let stream = runtime.go_on(&registry, run).options(options).stream();
        ActiveRun::new(stream, self, telemetry)
    }

    /// Lets go of everything: servers are given a moment to end.
    pub async fn close(self) {
        self.tools.finish().await;
    }
}

/// Options for executing a prepared run.
#[non_exhaustive]
pub struct ExecutionOptions {
    /// What to do if somebody else is working on it.
    pub when_busy: WhenBusy,
    /// Who answers its questions. Without anybody, it is suspended when it asks one.
    pub responder: Option<Arc<dyn Responder>>,
    /// How long it waits in this process for something to happen before it is suspended.
    pub patience: Duration,
    /// Whether it waits in this process for time to pass however long that takes.
    pub waits_out_time: bool,
    /// What becomes of it when whoever waits for it does not any more.
    pub when_dropped: WhenDropped,
    /// Whether it stays one generation however long it is, so that all of it can be looked at in the end.
    pub undivided: bool,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        let (when_busy, patience) = (WhenBusy::default(), Duration::MAX);
        let when_dropped = WhenDropped::default();
        Self { when_busy, responder: None, patience, waits_out_time: false, when_dropped, undivided: false }
    }
}

/// A responder that others have too.
struct Asking(Arc<dyn Responder>);

impl Responder for Asking {
    fn respond<'a>(
        &'a self,
        question: &'a convoke_core::PendingQuestion,
    ) -> convoke_core::BoxFuture<'a, Option<convoke_core::Answer>> {
        self.0.respond(question)
    }

    fn left(&self) -> convoke_core::BoxFuture<'_, ()> {
        self.0.left()
    }
}

/// What is put together.
struct Assembly<'a> {
    kind: &'a dyn DefinitionKind,
    definition: &'a dyn Definition,
    manifest: &'a Manifest,
    secrets: &'a Secrets,
}

impl Assembly<'_> {
    /// The workflow with this model for whatever names none.
    fn equip(
        &self,
        models: &Arc<Models>,
        model: Option<Arc<dyn Model>>,
        tools: &RunTools,
    ) -> Result<(Box<dyn EquippedDefinition>, UnpricedModels), HostError> {
        let (equipment, unpriced) =
            equipment(models, model, self.manifest.model_asked).map_err(HostError::NoSupervisor)?;
        let mut equipment = self.manifest.applied_to(equipment, self.secrets.clone(), &tools.tools);
        equipment.absent_tools = tools.absent();
        equipment.stand_in.clone_from(&tools.stand_in);
        equipment.memories.clone_from(&tools.memories);
        equipment.knowledge.clone_from(&tools.knowledge);
        let equipped = self.definition.equip(&equipment);
        let equipped =
            equipped.map_err(|problems| HostError::CannotRun { kind: self.kind.title(), problems })?;
        Ok((equipped, unpriced))
    }
}

/// A warning, if there is reason for it. Of a built-in tool, what matters is why it is not there.
fn warning_text(warning: &Problem, tools: &RunTools) -> Option<String> {
    let ProblemKind::UnknownTool { tool, .. } = &warning.kind else { return Some(warning.to_string()) };
    if tools.may_be_left_alone(tool) {
        return None;
    }
    Some(match tools.why_absent(tool) {
        Some(why) => format!("there is no `{tool}` here: {why}"),
        None => warning.to_string(),
    })
}
