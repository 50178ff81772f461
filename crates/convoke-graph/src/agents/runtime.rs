//! Running requests.

use std::collections::BTreeSet;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use convoke_agent::memory::Memories;
use convoke_core::store::{Batch, Launch, NewRun, RunChange, RunQuery, Totals, WaitConditions};
use convoke_core::{
    BoxFuture, Canceller, Error, Event, Message, Outcome, Registry, Role, RunId, RunOptions, RunStatus,
    Runner, Runtime, Timestamp, WhenDropped, Workflow,
};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::schedule::is_task;
use super::strategy::GRAPH_EQUIPMENT;
use super::tasks::{AGENT, DELAYED, TASK};
use super::work::Work;
use super::{Agent, AgentResult, Dependencies, Request, Tasks};
use crate::board::MAIN_CHANNEL;
use crate::inputs::QUERY;
use crate::{Board, BoardError, GraphEquipment};

/// Runs requests: as many side by side as it is told to, each with what is remembered of its conversation.
#[derive(Clone)]
pub struct Agents {
    pub(super) runtime: Runtime,
    dependencies: Dependencies,
    memories: Option<Arc<dyn Memories>>,
    pub(super) team: Arc<[Agent]>,
    max_pending: usize,
    working: Arc<Semaphore>,
    beside: Arc<Mutex<JoinSet<()>>>,
    under_way: Arc<Mutex<BTreeSet<RunId>>>,
    pub(super) attends: Arc<AtomicBool>,
    is_stopped: Arc<AtomicBool>,
}

/// The reasons why a request was not run. How a run ended is no such error: that is in its result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// There is nothing in it.
    #[error("the request says nothing and gives nothing")]
    EmptyRequest,
    /// It writes to what is not its own.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The agent cannot do its work here.
    #[error("agent `{agent}` cannot work: {error}")]
    Build {
        /// The agent.
        agent: String,
        /// Why.
        error: Error,
    },
    /// Nobody would begin it when it is time.
    #[error("nobody here begins tasks of `{agent}` later: name it with `Agents::team`")]
    NotOfTheTeam {
        /// The agent.
        agent: String,
    },
    /// So many tasks wait already.
    #[error("{limit} tasks wait already; ask again when some are done")]
    TooManyTasks {
        /// How many may wait.
        limit: usize,
    },
    /// Nothing is taken on any more.
    #[error("no more tasks are taken on here: it was stopped")]
    Stopped,
    /// The run could not be made or driven.
    #[error(transparent)]
    Run(#[from] Error),
}

impl Agents {
    /// Runs requests with this runtime. Tasks need one with a store.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            dependencies: Dependencies::default(),
            memories: None,
            team: Arc::new([]),
            max_pending: 100,
            working: Arc::new(Semaphore::new(4)),
            beside: Arc::default(),
            under_way: Arc::default(),
            attends: Arc::default(),
            is_stopped: Arc::default(),
        }
    }

    /// Sets what strategies need.
    #[must_use]
    pub fn dependencies(mut self, dependencies: Dependencies) -> Self {
        self.dependencies = dependencies;
        self
    }

    /// Remembers conversations: a request with a [context](Request::context) is told what was said under that name, here and
    /// elsewhere, and what it comes to is remembered there.
    #[must_use]
    pub fn memories(mut self, memories: impl Memories + 'static) -> Self {
        self.memories = Some(Arc::new(memories));
        self
    }

    /// Names the agents whose tasks it goes on with by itself, if it [attends](Self::attend).
    #[must_use]
    pub fn team(mut self, agents: impl IntoIterator<Item = Agent>) -> Self {
        self.team = agents.into_iter().collect();
        self
    }

    /// Sets how many submitted tasks are worked on at once, and how many may wait: 4 and 100 unless said otherwise.
    #[must_use]
    pub fn tasks_at_once(mut self, working: usize, pending: usize) -> Self {
        (self.working, self.max_pending) = (Arc::new(Semaphore::new(working)), pending);
        self
    }

    /// Asks an agent. Await it for what comes of it.
    pub fn run<'a>(&'a self, agent: &'a Agent, request: Request) -> AgentRun<'a> {
        AgentRun {
            agents: self,
            agent,
            request,
            history: Vec::new(),
            canceller: Canceller::new(),
            listener: None,
        }
    }

    /// Goes on with a run of an agent; one that is over gives its result again.
    ///
    /// # Errors
    /// If the agent cannot work, or there is no such run.
    pub async fn resume(&self, agent: &Agent, run: &RunId) -> Result<AgentResult, AgentError> {
        let workflow = self.workflow(agent)?;
        let record = self.runtime.store()?.run(run).await.map_err(Error::from)?;
        let task = record.and_then(|record| record.launch.labels.get(TASK).cloned());
        let outcome = self.runtime.resume(&workflow, run.clone()).await?;
        Ok(AgentResult::of(agent, task, outcome))
    }

    /// Has an agent do something while whoever asks does something else. From now on it is a [task](Self::tasks), whatever becomes
    /// of this process.
    ///
    /// # Errors
    /// If the request or the agent is not fit for it, too many tasks wait, or there is no store.
    pub async fn submit(&self, agent: &Agent, request: Request) -> Result<RunId, AgentError> {
        self.must_take_on()?;
        let query = RunQuery { status: Some(RunStatus::Running), ..RunQuery::default() };
        let running = self.runtime.store()?.runs(&query).await.map_err(Error::from)?;
        let pending = running.iter().filter(|run| run.epoch <= 1 && is_task(run)).count();
        if pending >= self.max_pending {
            return Err(AgentError::TooManyTasks { limit: self.max_pending });
        }
        let registry = Registry::new();
        registry.register(Runner::new(&self.workflow(agent)?));
        let id = self.create(agent, &request, None, []).await?;
        let (agents, task) = (self.clone(), id.clone());
        self.spawn(async move {
            // How it ends is in the store; nobody is here to be told.
            let _ = agents.go_on(&registry, task).await;
        });
        Ok(id)
    }

    /// Takes on nothing more, ends what is under way here, and waits until it has ended. In the store it is left where it is: whoever has
    /// that can go on with it.
    pub async fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let mut beside = std::mem::take(&mut *locked(&self.beside));
        beside.shutdown().await;
        let left = std::mem::take(&mut *locked(&self.under_way));
        for run in left {
            self.released(&run).await;
        }
    }

    /// Waits until this process has let go of a run, which takes as long as ending what it is at.
    async fn released(&self, run: &RunId) {
        let Ok(store) = self.runtime.store() else { return };
        let mut held = None;
        while let Ok(Some(record)) = store.run(run).await {
            // Whoever has claimed it since is somebody else.
            if record.holder.is_none() || *held.get_or_insert(record.epoch) != record.epoch {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns what agents have to do, have done and wait for.
    ///
    /// # Errors
    /// If there is no store.
    pub fn tasks(&self) -> Result<Tasks, AgentError> {
        Ok(Tasks::new(Arc::clone(self.runtime.store()?)))
    }

    pub(super) fn must_take_on(&self) -> Result<(), AgentError> {
        if self.is_stopped.load(Ordering::Relaxed) { Err(AgentError::Stopped) } else { Ok(()) }
    }

    /// Goes on with a run, a task when it is its turn, and leaves it where it is when this is dropped.
    pub(super) async fn go_on(&self, registry: &Registry, run: RunId) -> Result<Outcome<Value>, Error> {
        let record = self.runtime.store()?.run(&run).await?;
        let _turn = match record.as_ref().is_some_and(is_task) {
            true => Some(self.working.acquire().await.map_err(Error::failed)?),
            false => None,
        };
        let mut options = RunOptions::default();
        options.when_dropped = WhenDropped::Leave;
        locked(&self.under_way).insert(run.clone());
        let outcome = self.runtime.go_on(registry, run.clone()).options(options).await;
        locked(&self.under_way).remove(&run);
        outcome
    }

    /// Works on something until it ends or everything here is stopped.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut beside = locked(&self.beside);
        while beside.try_join_next().is_some() {}
        beside.spawn(work);
    }

    pub(super) fn workflow(&self, agent: &Agent) -> Result<Workflow<Board>, AgentError> {
        let strategy = agent.strategy.build(agent, &self.dependencies);
        let strategy = strategy.map_err(|error| AgentError::Build { agent: agent.id.clone(), error })?;
        let (memories, referees) = (self.memories.clone(), agent.referees.clone());
        let answer_key = agent.strategy.answer_key().to_owned();
        let equipment = self.dependencies.get::<GraphEquipment>(GRAPH_EQUIPMENT).ok();
        let model = equipment.and_then(|equipment| equipment.model.clone());
        let work = Work { strategy, memories, model, referees, attempts: agent.attempts, answer_key };
        Ok(Workflow::new(work).named(agent.id.as_str()))
    }

    /// Makes the run of a request, which nobody works on yet; one that is begun later sleeps until then.
    pub(super) async fn create(
        &self,
        agent: &Agent,
        request: &Request,
        begin: Option<Timestamp>,
        labels: impl IntoIterator<Item = (String, String)>,
    ) -> Result<RunId, AgentError> {
        let input = serde_json::to_vec(&self.board(request, Vec::new())?).map_err(Error::from)?;
        let id = request.run_id.clone().unwrap_or_else(RunId::mint);
        let mut run = self.workflow(agent)?.new_run(id, input);
        run.launch = launch(agent, request);
        run.launch.labels.extend(labels);
        self.make(run, begin).await
    }

    pub(super) async fn make(&self, mut run: NewRun, begin: Option<Timestamp>) -> Result<RunId, AgentError> {
        let (store, id) = (self.runtime.store()?, run.id.clone());
        run.launch.labels.extend(begin.map(|begin| (DELAYED.to_owned(), begin.to_string())));
        let lease = store.create(run).await.map_err(Error::from)?;
        let sleeps = begin.map(|begin| RunChange {
            status: RunStatus::Suspended,
            outcome: None,
            totals: Totals::default(),
            worked: Duration::ZERO,
            waits: WaitConditions { until: Some(begin), channels: Vec::new() },
        });
        let written = match sleeps {
            Some(change) => store.append(&lease, Batch { change: Some(change), ..Batch::default() }).await,
            None => Ok(()),
        };
        store.release(&lease);
        written.map_err(Error::from)?;
        Ok(id)
    }

    /// The board that a request begins with.
    pub(super) fn board(&self, request: &Request, history: Vec<Message>) -> Result<Board, AgentError> {
        if request.message.parts.is_empty() && request.inputs.is_empty() {
            return Err(AgentError::EmptyRequest);
        }
        let mut board = Board::new();
        board.set_channel(MAIN_CHANNEL, history)?;
        board.mark_inherited(MAIN_CHANNEL);
        board.push(MAIN_CHANNEL, request.message.clone())?;
        for (name, value) in &request.inputs {
            board.set(name, value.clone())?;
        }
        let text = request.message.text();
        if request.message.role == Role::User && !text.is_empty() {
            board.set(QUERY, text)?;
        }
        if let (Some(_), Some(context)) = (&self.memories, request.context_id.as_deref()) {
            board.remember_as(context);
        }
        Ok(board)
    }
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn launch(agent: &Agent, request: &Request) -> Launch {
    let mut launch = Launch::default();
    launch.labels.insert(AGENT.to_owned(), agent.id.clone());
    launch.labels.extend(request.task_id.clone().map(|task| (TASK.to_owned(), task)));
    launch.thread.clone_from(&request.context_id);
    launch
}

type Listener<'a> = Box<dyn FnMut(&Event) + Send + 'a>;

/// A request about to be run. Await it for what comes of it.
#[must_use = "nothing is asked until it is awaited"]
pub struct AgentRun<'a> {
    agents: &'a Agents,
    agent: &'a Agent,
    request: Request,
    history: Vec<Message>,
    canceller: Canceller,
    listener: Option<Listener<'a>>,
}

impl<'a> AgentRun<'a> {
    /// Says what was said before. What is remembered of a conversation takes its place.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.history = messages.into_iter().collect();
        self
    }

    /// Lets it be ended from outside.
    pub fn canceller(mut self, canceller: &Canceller) -> Self {
        self.canceller = canceller.clone();
        self
    }

    /// Tells somebody everything that happens, as it happens. What they do about it has no effect on the run.
    pub fn on_event(mut self, listener: impl FnMut(&Event) + Send + 'a) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    async fn perform(self) -> Result<AgentResult, AgentError> {
        let Self { agents, agent, request, history, canceller, listener } = self;
        let (board, workflow) = (agents.board(&request, history)?, agents.workflow(agent)?);
        let launch = launch(agent, &request);
        let mut start = agents.runtime.start(&workflow, board).launch(launch).canceller(&canceller);
        if let Some(id) = request.run_id.clone() {
            start = start.id(id);
        }
        let outcome: Outcome<Board> = match listener {
            None => start.await?,
            Some(mut listener) => {
                let mut stream = start.stream();
                while let Some(event) = stream.next().await {
                    // Whoever listens is not part of the run: it ends as it would without them.
                    let _ = catch_unwind(AssertUnwindSafe(|| listener(&event)));
                }
                stream.outcome().await?
            }
        };
        Ok(AgentResult::of(agent, request.task_id, outcome))
    }
}

impl<'a> IntoFuture for AgentRun<'a> {
    type Output = Result<AgentResult, AgentError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.perform())
    }
}
