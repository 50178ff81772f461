//! Tasks: what agents have to do, have done and wait for, over the index of runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::store::{RunQuery, RunRecord, RunStatus};
use convoke_core::{CancelStatus, Error, RunId, Store, Timestamp, cancel_for_good};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Status;

/// The label of runs with the agent they are of.
pub(super) const AGENT: &str = "agent";
/// The label of runs with the task they are of, by whoever asked.
pub(super) const TASK: &str = "task";

/// The label of runs that are begun later, with when.
pub(super) const DELAYED: &str = "begins";

/// A task of an agent: a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Task {
    /// The run.
    pub run: RunId,
    /// The agent.
    pub agent: String,
    /// The task, by whoever asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The conversation it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// The column it is in.
    pub stage: Stage,
    /// Why it is over and not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When something last became of it.
    pub updated: Timestamp,
}

/// A column of the board of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nobody has begun.
    Pending,
    /// Somebody has begun, and it is not over.
    Claimed,
    /// It is done.
    Done,
    /// It is over, and not done.
    Failed,
}

/// The tasks of agents.
#[derive(Clone)]
pub struct Tasks {
    store: Arc<dyn Store>,
}

impl Tasks {
    /// The tasks whose runs are in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The tasks of an agent, or of all, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn list(&self, agent: Option<&str>) -> Result<Vec<Task>, Error> {
        let mut query = RunQuery::default();
        query.labels.extend(agent.map(|agent| (AGENT.to_owned(), agent.to_owned())));
        let mut tasks = Vec::new();
        for record in self.store.runs(&query).await? {
            if record.launch.labels.contains_key(AGENT) {
                tasks.push(self.task(&record).await?);
            }
        }
        Ok(tasks)
    }

    /// The tasks of an agent, or of all, by the column they are in.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn kanban(&self, agent: Option<&str>) -> Result<BTreeMap<Stage, Vec<Task>>, Error> {
        let mut columns: BTreeMap<Stage, Vec<Task>> = BTreeMap::new();
        for task in self.list(agent).await? {
            columns.entry(task.stage).or_default().push(task);
        }
        Ok(columns)
    }

    /// A task, if there is such a run and it is one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn get(&self, run: &RunId) -> Result<Option<Task>, Error> {
        match self.store.run(run).await? {
            Some(record) if record.launch.labels.contains_key(AGENT) => Ok(Some(self.task(&record).await?)),
            _ => Ok(None),
        }
    }

    /// Cancels a task for good. Whoever works on it is told.
    ///
    /// # Errors
    /// If it is over already, and failures of the store.
    pub async fn cancel(&self, run: &RunId, reason: &str) -> Result<CancelStatus, Error> {
        cancel_for_good(&*self.store, run, reason).await
    }

    /// Waits until a task is over, or cannot go on without somebody.
    ///
    /// # Errors
    /// If there is no such run, and failures of the store.
    pub async fn wait(&self, run: &RunId) -> Result<Task, Error> {
        let mut news = self.store.follow(run);
        loop {
            let task = self
                .get(run)
                .await?
                .ok_or_else(|| Error::Refused(format!("there is no task `{run}`").into()))?;
            let goes_on = task.stage == Stage::Pending || task.status == Status::Working;
            if !goes_on || news.next().await.is_none() {
                return Ok(task);
            }
        }
    }

    async fn task(&self, record: &RunRecord) -> Result<Task, Error> {
        let asks = record.status == RunStatus::Suspended
            && !self.store.questions(Some(&record.id)).await?.is_empty();
        // Whoever makes a run holds it for that moment; whoever works on it has claimed it anew.
        let sleeps = record.status == RunStatus::Suspended && record.launch.labels.contains_key(DELAYED);
        let is_begun = record.epoch > 1 || !(sleeps || record.status == RunStatus::Running);
        let status = match Status::of(record.status, record.holder.is_some(), asks) {
            Status::Interrupted if !is_begun => Status::Working,
            status => status,
        };
        let stage = match status {
            _ if !is_begun => Stage::Pending,
            Status::Completed => Stage::Done,
            Status::Failed | Status::Canceled | Status::Aborted => Stage::Failed,
            _ => Stage::Claimed,
        };
        let ended = record.outcome.as_deref().filter(|_| stage == Stage::Failed);
        let ended = ended.and_then(|outcome| serde_json::from_slice::<Value>(outcome).ok());
        let label = |name: &str| record.launch.labels.get(name).cloned();
        Ok(Task {
            run: record.id.clone(),
            agent: label(AGENT).unwrap_or_default(),
            task_id: label(TASK),
            context_id: record.launch.thread.clone(),
            status,
            stage,
            error: ended.and_then(|ended| Some(ended["error"].as_str()?.to_owned())),
            created: record.created,
            updated: record.updated,
        })
    }
}
