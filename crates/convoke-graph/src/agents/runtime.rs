//! Running requests.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::store::{Launch, RunQuery};
use convoke_core::{
    BoxFuture, Canceller, Error, Event, Message, Outcome, Role, RunId, RunStatus, Runtime, Workflow,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::tasks::{AGENT, TASK};
use super::{Agent, AgentResult, Dependencies, Request, Session, Sessions, Tasks};
use crate::board::MAIN_CHANNEL;
use crate::inputs::QUERY;
use crate::{Board, BoardError};

/// Runs requests: as many side by side as it is told to, each with what is remembered of its conversation.
#[derive(Clone)]
pub struct Agents {
    runtime: Runtime,
    dependencies: Dependencies,
    sessions: Option<Arc<dyn Sessions>>,
    max_pending: usize,
    working: Arc<Semaphore>,
    submitted: Arc<Mutex<JoinSet<()>>>,
    is_stopped: Arc<AtomicBool>,
}

/// Why a request was not run, or its result not kept. How a run ended is no such error: that is in its result.
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
    /// The conversation cannot be opened, read or added to.
    #[error("the conversation cannot be {what}: {error}")]
    Session {
        /// What was to be done with it.
        what: &'static str,
        /// Why not.
        error: Error,
        /// What came of the request, if that is what could not be kept.
        result: Option<Box<AgentResult>>,
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
            sessions: None,
            max_pending: 100,
            working: Arc::new(Semaphore::new(4)),
            submitted: Arc::default(),
            is_stopped: Arc::default(),
        }
    }

    /// Sets what strategies need.
    #[must_use]
    pub fn dependencies(mut self, dependencies: Dependencies) -> Self {
        self.dependencies = dependencies;
        self
    }

    /// Remembers conversations.
    #[must_use]
    pub fn sessions(mut self, sessions: impl Sessions + 'static) -> Self {
        self.sessions = Some(Arc::new(sessions));
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
        let was_over = record.as_ref().is_some_and(|record| record.status.is_final());
        let launch = record.map(|record| record.launch).unwrap_or_default();
        let outcome = self.runtime.resume(&workflow, run.clone()).await?;
        let result = AgentResult::of(agent, launch.labels.get(TASK).cloned(), outcome);
        // What was said in a run that was over before has been kept before.
        let session = match (&self.sessions, &launch.thread) {
            (Some(sessions), Some(context)) if !was_over => opened(&**sessions, agent, context).await?,
            _ => None,
        };
        finished(session, result).await
    }

    /// Has an agent do something while whoever asks does something else. From now on it is a [task](Self::tasks), whatever becomes
    /// of this process.
    ///
    /// # Errors
    /// If the request or the agent is not fit for it, too many tasks wait, or there is no store.
    pub async fn submit(&self, agent: &Agent, request: Request) -> Result<RunId, AgentError> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(AgentError::Stopped);
        }
        let store = Arc::clone(self.runtime.store()?);
        let query = RunQuery { status: Some(RunStatus::Running), ..RunQuery::default() };
        let running = store.runs(&query).await.map_err(Error::from)?;
        let pending =
            running.iter().filter(|run| run.epoch <= 1 && run.launch.labels.contains_key(AGENT)).count();
        if pending >= self.max_pending {
            return Err(AgentError::TooManyTasks { limit: self.max_pending });
        }
        let (board, _) = self.board(agent, &request, Vec::new()).await?;
        let input = serde_json::to_vec(&board).map_err(Error::from)?;
        let id = request.run_id.clone().unwrap_or_else(RunId::mint);
        let mut run = self.workflow(agent)?.new_run(id.clone(), input);
        run.launch = launch(agent, &request);
        let lease = store.create(run).await.map_err(Error::from)?;
        store.release(&lease);
        let (agents, agent, task) = (self.clone(), agent.clone(), id.clone());
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
            let Ok(_turn) = agents.working.acquire().await else { return };
            // How it ends is in the store; nobody is here to be told.
            let _ = agents.resume(&agent, &task).await;
        });
        Ok(id)
    }

    /// Takes on nothing more, and leaves what is under way where it is: whoever has the store can go on with it.
    pub async fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let mut submitted =
            std::mem::take(&mut *self.submitted.lock().unwrap_or_else(PoisonError::into_inner));
        submitted.shutdown().await;
    }

    /// What agents have to do, have done and wait for.
    ///
    /// # Errors
    /// If there is no store.
    pub fn tasks(&self) -> Result<Tasks, AgentError> {
        Ok(Tasks::new(Arc::clone(self.runtime.store()?)))
    }

    fn workflow(&self, agent: &Agent) -> Result<Workflow<Board>, AgentError> {
        let step = agent.strategy.build(agent, &self.dependencies);
        let step = step.map_err(|error| AgentError::Build { agent: agent.id.clone(), error })?;
        Ok(Workflow::new(step).named(agent.id.as_str()))
    }

    /// The board that a request begins with, and its conversation.
    async fn board(
        &self,
        agent: &Agent,
        request: &Request,
        history: Vec<Message>,
    ) -> Result<(Board, Option<Box<dyn Session>>), AgentError> {
        if request.message.parts.is_empty() && request.inputs.is_empty() {
            return Err(AgentError::EmptyRequest);
        }
        let session = match (&self.sessions, request.context_id.as_deref().filter(|id| !id.is_empty())) {
            (Some(sessions), Some(context)) => opened(&**sessions, agent, context).await?,
            _ => None,
        };
        match prepared(session.as_deref(), request, history).await {
            Ok(board) => Ok((board, session)),
            Err(error) => {
                if let (Some(session), AgentError::Session { error, .. }) = (&session, &error) {
                    session.close(Some(error)).await;
                }
                Err(error)
            }
        }
    }
}

async fn opened(
    sessions: &dyn Sessions,
    agent: &Agent,
    context: &str,
) -> Result<Option<Box<dyn Session>>, AgentError> {
    let opened = sessions.open(&agent.id, context).await;
    opened.map_err(|error| AgentError::Session { what: "opened", error, result: None })
}

async fn prepared(
    session: Option<&dyn Session>,
    request: &Request,
    history: Vec<Message>,
) -> Result<Board, AgentError> {
    let failed = |what| move |error| AgentError::Session { what, error, result: None };
    let mut board = Board::new();
    let mut before = history;
    if let Some(session) = session {
        before = session.load(request).await.map_err(failed("loaded"))?;
        for (name, value) in session.vars().await.map_err(failed("asked for its variables"))? {
            board.set(&name, value)?;
        }
    }
    board.set_channel(MAIN_CHANNEL, before)?;
    board.mark_inherited(MAIN_CHANNEL);
    board.push(MAIN_CHANNEL, request.message.clone())?;
    for (name, value) in &request.inputs {
        board.set(name, value.clone())?;
    }
    let text = request.message.text();
    if request.message.role == Role::User && !text.is_empty() {
        board.set(QUERY, text)?;
    }
    Ok(board)
}

/// Has the conversation keep what was said, if it came to its end.
async fn finished(session: Option<Box<dyn Session>>, result: AgentResult) -> Result<AgentResult, AgentError> {
    let Some(session) = session else { return Ok(result) };
    if result.status == super::Status::Completed
        && let Err(error) = session.append(&result.messages).await
    {
        session.close(Some(&error)).await;
        return Err(AgentError::Session { what: "added to", error, result: Some(Box::new(result)) });
    }
    session.close(result.error.as_ref()).await;
    Ok(result)
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
    /// Says what was said before. A conversation that is remembered takes precedence.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.history = messages.into_iter().collect();
        self
    }

    /// Lets it be ended from outside.
    pub fn canceller(mut self, canceller: &Canceller) -> Self {
        self.canceller = canceller.clone();
        self
    }

    /// Tells somebody everything that happens, as it happens.
    pub fn on_event(mut self, listener: impl FnMut(&Event) + Send + 'a) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    async fn perform(self) -> Result<AgentResult, AgentError> {
        let Self { agents, agent, request, history, canceller, listener } = self;
        let (board, session) = agents.board(agent, &request, history).await?;
        let workflow = match agents.workflow(agent) {
            Ok(workflow) => workflow,
            Err(error) => {
                if let (Some(session), AgentError::Build { error, .. }) = (&session, &error) {
                    session.close(Some(error)).await;
                }
                return Err(error);
            }
        };
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
                    listener(&event);
                }
                stream.outcome().await?
            }
        };
        finished(session, AgentResult::of(agent, request.task_id, outcome)).await
    }
}

impl<'a> IntoFuture for AgentRun<'a> {
    type Output = Result<AgentResult, AgentError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.perform())
    }
}
