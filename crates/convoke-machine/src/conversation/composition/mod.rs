//! Compositions, run as steps of the kernel: a DAG whose steps have paths of their own, so that a run that is killed anywhere goes on
//! where it was, and nothing that was paid for is paid for again.
//!
//! | to understand | read |
//! |---|---|
//! | what is run when | here, and `convoke_steps::Dag` |
//! | what steps know of each other | `board.rs` |
//! | what a step does | `step.rs` |

mod board;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use convoke_agent::AnswerShape;
use convoke_core::{Bounds, Error, Execution, OutputSchema, Scope, SharedStep, Toolset};
use convoke_steps::{Dag, RemainingBranches, Retry, RetryPolicy, StepExt, ToolStep};
use serde_json::{Value, json};

pub use self::board::UnfitValue;
use self::board::{Board, value_of};
use self::step::{Asked, ComposedStep, Tally, Work, give_result};
use super::activation::Activation;
use super::announce::tell;
use super::client::Clients;
use crate::pack::composition::{Action, Composition, OnFailure, Predicate, Step, said, waits};

/// A composition that can be run: its schemas and tools are there.
#[derive(Clone)]
pub struct ComposedWork {
    name: Arc<str>,
    composition: Arc<Composition>,
    tools: Toolset,
    schemas: Arc<BTreeMap<String, Value>>,
}

/// The reasons why a composition cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidComposition {
    /// A schema is missing.
    #[error("composition `{composition}` needs the JSON Schema in `{file}`, which was not read")]
    MissingSchema {
        /// The composition.
        composition: String,
        /// The file.
        file: String,
    },
    /// A step calls a tool that nobody here has.
    #[error("step `{step}` of composition `{composition}` calls `{tool}`, which nothing here has")]
    MissingTool {
        /// The composition.
        composition: String,
        /// The step.
        step: String,
        /// The tool.
        tool: String,
    },
}

/// What a composition gave, and the event that follows from it if the state has it, in the order of preference.
pub(super) type Composed = Result<(Value, Vec<String>), Error>;

/// Says how a prompt speaks.
type Activate<'a> = dyn Fn(&str) -> Result<Activation, Error> + Sync + 'a;

impl ComposedWork {
    /// A composition with the tools that its steps call and the schemas that it names.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(
        name: &str,
        composition: &Composition,
        tools: &Toolset,
        schemas: &BTreeMap<String, Value>,
    ) -> Result<Self, InvalidComposition> {
        let missing = composition.schema_files().into_iter().find(|(_, file)| !schemas.contains_key(*file));
        if let Some((_, file)) = missing {
            let (composition, file) = (name.to_owned(), file.to_owned());
            return Err(InvalidComposition::MissingSchema { composition, file });
        }
        let is_known = |tool: &String| tools.get(tool).is_some();
        for step in composition.steps.iter().flat_map(Step::parts) {
            let missing = match &step.action {
                Action::Tool { tool, .. } => Some(tool).filter(|tool| !is_known(tool)),
                Action::Agent { tools: Some(tools), .. } => tools.iter().find(|tool| !is_known(tool)),
                _ => None,
            };
            if let Some(tool) = missing {
                let (composition, tool) = (name.to_owned(), tool.clone());
                return Err(InvalidComposition::MissingTool { composition, step: step.id.clone(), tool });
            }
        }
        Ok(Self {
            name: name.into(),
            composition: Arc::new(composition.clone()),
            tools: tools.clone(),
            schemas: Arc::new(schemas.clone()),
        })
    }

    /// Whether a step may have to wait for what a client sends.
    pub(super) fn waits_for_clients(&self) -> bool {
        let is_client = |name: &String| {
            self.tools.get(name).is_some_and(|tool| tool.spec().execution == Execution::Client)
        };
        self.composition.steps.iter().flat_map(Step::parts).any(|step| match &step.action {
            Action::Tool { tool, .. } => is_client(tool),
            Action::Agent { tools, .. } => tools.iter().flatten().any(is_client),
            _ => false,
        })
    }

    /// Runs it below a scope on what somebody said, within bounds.
    /// `activate` says how a prompt speaks.
    pub(super) async fn run(
        &self,
        scope: &Scope,
        words: &str,
        activate: &Activate<'_>,
        bounds: Bounds,
        clients: &Clients,
    ) -> (Composed, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        let mut board = Board::new(value_of(words));
        tell(scope, "composition.started", json!({"composition": self.name, "input": board.input})).await;
        let building = Building { work: self, activate, tally: &tally, clients };
        let ended = self.steps(scope, &mut board, &building, bounds).await;
        let (output, error) = (ended.as_ref().ok(), ended.as_ref().err().map(ToString::to_string));
        let about = json!({"composition": self.name, "output": output, "error": error});
        tell(scope, "composition.completed", about).await;
        let events = ended.as_ref().map_or_else(|_| Vec::new(), |output| self.events(&board, output));
        (ended.map(|output| (output, events)), tally)
    }

    async fn steps(
        &self,
        scope: &Scope,
        board: &mut Board,
        building: &Building<'_>,
        bounds: Bounds,
    ) -> Result<Value, Error> {
        self.check(self.composition.input_schema.as_deref(), &board.input, "is given")?;
        let dag = building.dag(&self.name, &self.composition.steps, &waits(&self.composition.steps))?;
        scope.run(&dag.of_kind("composition").bounded(|own| *own = bounds), board).await?;
        let (steps, named) = (&self.composition.steps, self.composition.output.as_deref());
        let output = match named {
            Some(step) => board.output(step),
            None => steps.iter().rev().find_map(|step| board.output(&step.id)),
        };
        let output = output.ok_or_else(|| {
            let none = || "no step that gives anything was run".to_owned();
            let not = |step| format!("its output is that of step `{step}`, which was not run");
            let why = named.map_or_else(none, not);
            Error::permanent(format!("composition `{}` has nothing to give: {why}", self.name))
        })?;
        self.check(self.composition.output_schema.as_deref(), output, "gives")?;
        Ok(output.clone())
    }

    fn check(&self, file: Option<&str>, value: &Value, what: &str) -> Result<(), Error> {
        let Some((file, schema)) = file.and_then(|file| Some((file, self.schemas.get(file)?))) else {
            return Ok(());
        };
        let validator =
            jsonschema::validator_for(schema).map_err(|error| Error::permanent(error.to_string()))?;
        let wrong: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let (name, wrong) = (&self.name, wrong.join("; "));
        let unfit = format!("what composition `{name}` {what} does not fit {file}: {wrong}");
        Err(Error::permanent(UnfitValue(unfit)))
    }

    /// The events that follow: what the first rules say that hold, then what the output names itself.
    fn events(&self, board: &Board, output: &Value) -> Vec<String> {
        // What cannot be compared does not hold.
        let holds =
            |predicate| Predicate::parse(predicate).is_ok_and(|parsed| board.holds(&parsed).unwrap_or(false));
        let rules = self.composition.engine.on_output.iter();
        let rules = rules.filter(|rule| rule.predicate.as_ref().is_none_or(holds));
        let named = output.get("event").and_then(Value::as_str).map(str::to_owned);
        rules.map(|rule| rule.event.clone()).chain(named).collect()
    }
}

/// The steps of a composition, being put together for one run of it.
struct Building<'a> {
    work: &'a ComposedWork,
    activate: &'a Activate<'a>,
    tally: &'a Arc<Tally>,
    clients: &'a Clients,
}

impl Building<'_> {
    fn dag(
        &self,
        name: &str,
        steps: &[Step],
        waits: &BTreeMap<&str, std::collections::BTreeSet<&str>>,
    ) -> Result<Dag<Board>, Error> {
        let engine = &self.work.composition.engine;
        let rest = match engine.on_failure {
            OnFailure::Finish => RemainingBranches::Finish,
            OnFailure::Cancel => RemainingBranches::Cancel,
        };
        let mut dag = Dag::builder(name, rest);
        for step in steps {
            let id: Arc<str> = step.id.as_str().into();
            let own = Arc::clone(&id);
            let before: Vec<&str> = waits.get(&*id).into_iter().flatten().copied().collect();
            let (declared, branches) = (step.clone(), leading_to(steps, &step.id));
            dag = dag
                .shared_step(self.step(step, &id)?, &before, move |board: &mut Board, done: &Board| {
                    board.take_over(&own, done);
                })
                .when(move |board| board.reaches(&declared, &branches));
        }
        if let Some(limit) = engine.concurrency {
            dag = dag.concurrency(limit);
        }
        Ok(dag.build()?)
    }

    /// A step, tried again if it is to be and its failure may pass.
    fn step(&self, step: &Step, id: &Arc<str>) -> Result<SharedStep<Board>, Error> {
        let (work, tally) = (self.work(step, id)?, Arc::clone(self.tally));
        let (kind, clients) = (step.action.kind(), self.clients.clone());
        let input = match &step.action {
            Action::Prompt { input, .. } | Action::Agent { input, .. } => {
                Some(input.clone().unwrap_or_else(|| "${input}".into()))
            }
            Action::Tool { args, .. } => Some(args.clone().into()),
            Action::Branch { .. } | Action::Parallel { .. } => None,
        };
        let (id, attempts) = (Arc::clone(id), AtomicU64::default());
        let composed = ComposedStep { id, kind, input, attempts, work, tally, clients };
        let attempts = step.modifiers.retry.and_then(|retry| retry.max_attempts).unwrap_or(1).max(1);
        Ok(match attempts {
            1 => Arc::new(composed),
            attempts => Arc::new(Retry::new(composed, RetryPolicy::attempts(attempts)?).in_place()),
        })
    }

    fn work(&self, step: &Step, id: &Arc<str>) -> Result<Work, Error> {
        Ok(match &step.action {
            Action::Prompt { prompt_task, input, output_schema } => {
                Work::Ask(self.asked(id, prompt_task, input, output_schema.as_deref())?)
            }
            Action::Agent { prompt_task, input, tools, termination, output_schema } => {
                let asked = self.asked(id, prompt_task, input, output_schema.as_deref())?;
                let mut own = Toolset::new();
                for tool in asked.activation.tools.iter() {
                    let (name, is_here) = (tool.spec().name(), tool.spec().execution == Execution::Server);
                    // Nobody waits for a client who was not asked to.
                    if tools.as_ref().map_or(is_here, |tools| tools.iter().any(|known| known == name)) {
                        own.add(Arc::clone(tool)).map_err(Error::failed)?;
                    }
                }
                Work::Agent { asked, tools: own, termination: termination.clone() }
            }
            Action::Tool { tool, args } => {
                let args = args.clone();
                let called = self.work.tools.get(tool);
                if let Some(tool) = called.filter(|tool| tool.spec().execution == Execution::Client) {
                    return Ok(Work::Client { tool: Arc::clone(tool), args });
                }
                let tools = &self.work.tools;
                let counting = self.clients.delegated.as_ref().map(|delegated| delegated.counting(tools));
                let call =
                    ToolStep::new(&**id, counting.as_ref().unwrap_or(tools), tool, move |board: &Board| {
                        board.resolved_fields(&args)
                    });
                Work::Tool { tool: Arc::new(call.store(give_result(Arc::clone(id)))) }
            }
            Action::Branch { predicate, then, otherwise } => {
                let parsed = Predicate::parse(predicate);
                let wrong = |errors: Vec<_>| {
                    format!("step `{id}` depends on something that nobody understands: {errors:?}")
                };
                let predicate = parsed.map_err(|errors| Error::permanent(wrong(errors)))?;
                Work::Branch { predicate, then: then.clone(), otherwise: otherwise.clone() }
            }
            Action::Parallel { branches, reduce } => Work::Parallel {
                branches: self.dag(id, branches, &said(branches))?,
                ids: branches.iter().map(|branch| branch.id.as_str().into()).collect(),
                reduce: reduce.clone(),
            },
        })
    }

    fn asked(
        &self,
        id: &str,
        task: &str,
        input: &Option<Value>,
        schema: Option<&str>,
    ) -> Result<Asked, Error> {
        let activation = (self.activate)(task)?;
        let shape = schema.and_then(|file| self.work.schemas.get(file)).map(|schema| {
            let (name, schema) = (id.to_owned(), schema.clone());
            AnswerShape::with_schema(OutputSchema { name, description: String::new(), schema })
        });
        let shape = shape.transpose().map_err(Error::failed)?;
        Ok(Asked { activation, input: input.clone(), shape })
    }
}

/// The branches that lead to a step.
fn leading_to(steps: &[Step], target: &str) -> Vec<String> {
    let leads = |step: &&Step| match &step.action {
        Action::Branch { then, otherwise, .. } => then == target || otherwise.as_deref() == Some(target),
        _ => false,
    };
    steps.iter().filter(leads).map(|step| step.id.clone()).collect()
}
