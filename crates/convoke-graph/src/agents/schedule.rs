//! Tasks that are begun later, or again and again.
//!
//! A task that is begun later is a run that sleeps until then. One that is repeated is begun by a run of its own, which sleeps, begins
//! it, and goes on with the next time. Both are in the store: they outlast the process, and whoever [attends](Agents::attend) goes on
//! with them. What was missed while nobody did is begun once, and not once for every time that was missed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{
    Attendant, BoxFuture, Error, Launch, Registry, RunId, Runner, Scope, Step, StoreError, Timestamp,
    Workflow, cancel_for_good,
};
use convoke_text::duration::{self, DurationError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tasks::AGENT;
use super::{Agent, AgentError, Agents, Cron, CronError, Request};

/// The name of the workflow that begins repeated tasks.
const REPEATS: &str = "convoke.repeats";
/// The label of its runs with the agent whose task is repeated.
const REPEATS_FOR: &str = "repeats-for";
/// The label of those that [`Agents::sync`] made, with the job's name.
const JOB: &str = "job";
/// The label of tasks with what began them.
const BEGUN_BY: &str = "begun-by";

/// The time when a task is begun.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum When {
    /// Once, after so long.
    After(Duration),
    /// Again and again. While a task that was begun so is not over, it is not begun another time.
    Repeatedly(Cron),
}

impl When {
    /// After so long: `90s`, `1h30m`.
    ///
    /// # Errors
    /// If that is no duration.
    pub fn after(delay: &str) -> Result<Self, DurationError> {
        duration::parse(delay).map(Self::After)
    }

    /// At the times of a cron expression, in UTC or a time zone.
    ///
    /// # Errors
    /// If that is none, or there is no such time zone.
    pub fn cron(expression: &str, zone: Option<&str>) -> Result<Self, CronError> {
        Cron::new(expression, zone).map(Self::Repeatedly)
    }
}

/// A task that is repeated because an agent's configuration says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Job {
    /// Its name, of which an agent has one.
    pub name: String,
    /// When it is begun.
    pub cron: String,
    /// The time zone of that; UTC unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// What is asked.
    pub request: Request,
    /// Whether it is left out for now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// What a run that repeats a task begins with, and goes on with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Repeated {
    agent: String,
    cron: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    request: Request,
}

impl Agents {
    /// Has an agent of the [team](Self::team) do something later. Gives the task; or, if it is repeated, the run that begins the
    /// tasks, which is [cancelled](super::Tasks::cancel) like one.
    ///
    /// From now on this process attends to the store, until it is [stopped](Self::stop).
    ///
    /// # Errors
    /// If the agent is not of the team, the request or the agent is not fit for it, or there is no store.
    pub async fn schedule(&self, agent: &Agent, request: Request, when: When) -> Result<RunId, AgentError> {
        self.must_be_there(agent)?;
        let id = match when {
            When::After(delay) => self.create(agent, &request, Some(Timestamp::now() + delay), []).await?,
            When::Repeatedly(cron) => self.repeat(&self.repeated(agent, &cron, request)?, None).await?,
        };
        self.attend_beside()?;
        Ok(id)
    }

    /// Makes the jobs of an agent the ones it has: those that are new or other than before are begun, those that are gone are ended.
    /// What was [scheduled](Self::schedule) otherwise stays as it is. Gives the jobs that were left out, and why.
    ///
    /// # Errors
    /// As of [`schedule`](Self::schedule).
    pub async fn sync(&self, agent: &Agent, jobs: &[Job]) -> Result<BTreeMap<String, String>, AgentError> {
        self.must_be_there(agent)?;
        let (mut wanted, mut left_out) = (BTreeMap::new(), BTreeMap::new());
        for job in jobs {
            match self.repeated_job(agent, job) {
                Ok(repeated) => drop(wanted.insert(job.name.as_str(), repeated)),
                Err(reason) => drop(left_out.insert(job.name.clone(), reason)),
            }
        }
        let store = Arc::clone(self.runtime.store()?);
        let query = labelled(REPEATS_FOR, &agent.id);
        for run in store.runs(&query).await.map_err(Error::from)? {
            let Some(name) = run.launch.labels.get(JOB).filter(|_| !run.status.is_final()) else { continue };
            let known: Option<Repeated> = serde_json::from_slice(&run.input).ok();
            match wanted.get(name.as_str()).is_some_and(|wanted| known.as_ref() == Some(wanted)) {
                true => drop(wanted.remove(name.as_str())),
                false => drop(cancel_for_good(&*store, &run.id, "the job is another by now, or gone").await?),
            }
        }
        for (name, repeated) in wanted {
            self.repeat(&repeated, Some(name)).await?;
        }
        self.attend_beside()?;
        Ok(left_out)
    }

    /// Goes on with everything that the agents of the [team](Self::team) have to do, as soon as it can go on, until it is dropped:
    /// tasks that are begun later or repeated, that were left by a process that is gone, or whose question was answered.
    ///
    /// # Errors
    /// If an agent cannot work, or there is no store, or it fails.
    pub async fn attend(&self) -> Result<(), AgentError> {
        Ok(self.attendant()?.attend().await?)
    }

    fn attendant(&self) -> Result<Attendant, AgentError> {
        let registry = Registry::new();
        for agent in &*self.team {
            registry.register(Runner::new(&self.workflow(agent)?));
        }
        // It is only ever gone on with.
        let read = |input: Option<Value>| Ok(serde_json::from_value(input.unwrap_or_default())?);
        registry.register(Runner::with_factory(&self.repeats(), read));
        let (agents, store) = (self.clone(), Arc::clone(self.runtime.store()?));
        Ok(Attendant::with(store, move |run| {
            let (agents, registry) = (agents.clone(), registry.clone());
            async move {
                agents.must_know(&run).await?;
                agents.go_on(&registry, run).await
            }
        }))
    }

    /// Attends in this process from now on, unless it does already.
    fn attend_beside(&self) -> Result<(), AgentError> {
        if !self.attends.swap(true, Ordering::Relaxed) {
            let attendant = self.attendant()?;
            self.spawn(async move {
                // A store that fails is said by whatever else needs it.
                let _ = attendant.attend().await;
            });
        }
        Ok(())
    }

    fn must_be_there(&self, agent: &Agent) -> Result<(), AgentError> {
        self.must_take_on()?;
        match self.member(&agent.id) {
            Some(_) => Ok(()),
            None => Err(AgentError::NotOfTheTeam { agent: agent.id.clone() }),
        }
    }

    fn member(&self, id: &str) -> Option<&Agent> {
        self.team.iter().find(|agent| agent.id == id)
    }

    /// Leaves what begins tasks of others to those who know them.
    async fn must_know(&self, run: &RunId) -> Result<(), Error> {
        let record = self.runtime.store()?.run(run).await?;
        let agent = record.and_then(|record| record.launch.labels.get(REPEATS_FOR).cloned());
        match agent.filter(|agent| self.member(agent).is_none()) {
            Some(agent) => Err(Error::Refused(AgentError::NotOfTheTeam { agent }.to_string().into())),
            None => Ok(()),
        }
    }

    fn repeated(&self, agent: &Agent, cron: &Cron, request: Request) -> Result<Repeated, AgentError> {
        self.board(&request, Vec::new())?;
        let (cron, zone) = (cron.as_str().to_owned(), cron.zone().map(str::to_owned));
        Ok(Repeated { agent: agent.id.clone(), cron, zone, request })
    }

    /// What a job comes to, or why it is left out.
    fn repeated_job(&self, agent: &Agent, job: &Job) -> Result<Repeated, String> {
        if job.disabled {
            return Err("it is disabled".to_owned());
        }
        let cron = Cron::new(&job.cron, job.timezone.as_deref()).map_err(|error| error.to_string())?;
        self.repeated(agent, &cron, job.request.clone()).map_err(|error| error.to_string())
    }

    async fn repeat(&self, repeated: &Repeated, job: Option<&str>) -> Result<RunId, AgentError> {
        let mut launch = Launch::default().label(REPEATS_FOR, &repeated.agent);
        launch.labels.extend(job.map(|job| (JOB.to_owned(), job.to_owned())));
        let input = serde_json::to_vec(repeated).map_err(Error::from)?;
        let mut run = self.repeats().new_run(RunId::mint(), input);
        run.launch = launch;
        self.make(run, None).await
    }

    fn repeats(&self) -> Workflow<Repeated> {
        Workflow::new(Repeats(self.clone())).named(REPEATS)
    }

    /// Begins a repeated task, unless the one before is not over.
    async fn begin_again(&self, repeats: &Scope, state: &Repeated) -> Result<(), Error> {
        let store = self.runtime.store()?;
        let earlier = store.runs(&labelled(BEGUN_BY, repeats.run_id().as_str())).await?;
        if earlier.iter().any(|run: &RunRecord| !run.status.is_final()) {
            return Ok(());
        }
        let unknown = || AgentError::NotOfTheTeam { agent: state.agent.clone() };
        let agent = self.member(&state.agent).ok_or_else(|| Error::failed(unknown()))?;
        let mut request = state.request.clone();
        // Known by its number, so that it is begun once.
        let id = format!("{}-{}", repeats.run_id(), repeats.generation() + 1);
        request.run_id = Some(id.parse().map_err(Error::permanent)?);
        let labels = [(BEGUN_BY.to_owned(), repeats.run_id().to_string())];
        match self.create(agent, &request, None, labels).await {
            Ok(_) | Err(AgentError::Run(Error::Store(StoreError::Exists { .. }))) => Ok(()),
            Err(AgentError::Run(error)) => Err(error),
            Err(error) => Err(Error::failed(error)),
        }
    }
}

fn labelled(name: &str, value: &str) -> RunQuery {
    RunQuery { labels: BTreeMap::from([(name.to_owned(), value.to_owned())]), ..RunQuery::default() }
}

/// Whether a run is a task of an agent, and not one that begins tasks.
pub(super) fn is_task(run: &RunRecord) -> bool {
    run.launch.labels.contains_key(AGENT)
}

/// Sleeps, begins a task, and goes on with the next time.
struct Repeats(Agents);

impl Step<Repeated> for Repeats {
    fn name(&self) -> &str {
        "repeats"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Repeated) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let next = scope.custom("next time").repeatable();
            let pause = next.perform(|_| {
                let next =
                    Cron::new(&state.cron, state.zone.as_deref()).map(|cron| cron.next(SystemTime::now()));
                let pause =
                    next.map(|next| next.and_then(|next| next.duration_since(SystemTime::now()).ok()));
                std::future::ready(pause.map(Option::unwrap_or_default))
            });
            scope.sleep(pause.await?).await?;
            let begin = scope.custom("begin").repeatable();
            begin.perform(|_| self.0.begin_again(scope, state)).await?;
            scope.continue_with(state)
        })
    }
}
