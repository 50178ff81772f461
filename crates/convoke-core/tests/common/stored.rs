//! Runs that are kept, and resumed.

use std::sync::Arc;

use convoke_core::store::{Batch, NewRun};
use convoke_core::{
    Answer, BoxFuture, Decision, Entry, ModelRequest, Outcome, PendingQuestion, Question, Responder, RunId,
    Runtime, RuntimeBuilder, State, Store, Visibility, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, task_boxed};
use convoke_store::MemoryStore;

use super::Trail;

/// A store, and runtimes on it: each is a process of its own as far as runs can tell.
#[derive(Clone)]
pub(crate) struct Home {
    store: Arc<dyn Store>,
    pub(crate) model: ScriptedModel,
}

impl Home {
    pub(crate) fn new(model: ScriptedModel) -> Self {
        Self::in_store(MemoryStore::new(), model)
    }

    pub(crate) fn in_store(store: impl Store, model: ScriptedModel) -> Self {
        Self { store: Arc::new(store), model }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn builder(&self) -> RuntimeBuilder {
        Runtime::builder().shared_store(Arc::clone(&self.store)).model(self.model.clone())
    }

    pub(crate) fn runtime(&self) -> Runtime {
        self.builder().build()
    }

    pub(crate) async fn start<S: State>(&self, workflow: &Workflow<S>, state: S) -> Outcome<S> {
        self.runtime().start(workflow, state).await.unwrap()
    }

    pub(crate) async fn resume<S: State>(&self, workflow: &Workflow<S>, run: &RunId) -> Outcome<S> {
        self.runtime().resume(workflow, run.clone()).await.unwrap()
    }

    /// Answers the open question with this title.
    pub(crate) async fn answer(&self, run: &RunId, title: &str, answer: Answer) {
        let open = self.store.questions(Some(run)).await.unwrap();
        let pending = open.iter().find(|pending| pending.question.title == title);
        let pending = pending.unwrap_or_else(|| panic!("nobody asks {title:?}; open are {open:?}"));
        self.store.answer(run, &pending.id, answer).await.unwrap();
    }

    /// The titles of the open questions.
    pub(crate) async fn asked(&self, run: &RunId) -> Vec<String> {
        let open = self.store.questions(Some(run)).await.unwrap();
        open.into_iter().map(|pending| pending.question.title).collect()
    }

    /// A run like another, whose journal has only these of its entries.
    pub(crate) async fn with_entries(&self, run: &RunId, kept: impl Fn(&Entry) -> bool) -> RunId {
        self.with_changed_entries(run, |entry| Some(entry).filter(&kept)).await
    }

    /// A run like another, whose journal has what this makes of its entries.
    pub(crate) async fn with_changed_entries(
        &self,
        run: &RunId,
        change: impl Fn(Entry) -> Option<Entry>,
    ) -> RunId {
        let record = self.store.run(run).await.unwrap().unwrap();
        let entries = self.entries(run).await.into_iter().filter_map(change).zip(1..);
        let entries = entries.map(|(entry, seq)| Entry { seq, ..entry }).collect();
        let new = NewRun {
            id: "another".parse().unwrap(),
            workflow: record.workflow,
            version: record.version,
            input: record.input,
            outline: record.outline,
            launch: record.launch,
            seed: record.seed,
            forked_from: None,
            past: Batch { entries, ..Batch::default() },
        };
        let lease = self.store.create(new).await.unwrap();
        self.store.release(&lease);
        lease.run
    }

    pub(crate) async fn entries(&self, run: &RunId) -> Vec<Entry> {
        self.store.entries(run, 1, usize::MAX).await.unwrap()
    }
}

/// Somebody who is there and never answers.
pub(crate) struct NeverAnswers;

impl Responder for NeverAnswers {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(std::future::pending())
    }
}

/// A model that says what it was told, with an exclamation mark.
pub(crate) fn echo() -> ScriptedModel {
    let shouted = |request: &ModelRequest| {
        format!("{}!", request.messages.last().map(convoke_core::Message::text).unwrap_or_default())
    };
    ScriptedModel::builder().otherwise(Reply::with(shouted)).build()
}

/// A step that has the model say its name, and leaves that.
pub(crate) fn says(name: &str) -> AsyncFunc<Trail> {
    let own = name.to_owned();
    task_boxed(name, move |scope, trail: &mut Trail| {
        let own = own.clone();
        Box::pin(async move {
            let model = scope.default_model()?;
            let reply = scope.model(&model, ModelRequest::new(own), Visibility::Streamed).await?;
            trail.steps.push(reply.text());
            Ok(())
        })
    })
}

/// A step that asks a person for a text, and leaves it.
pub(crate) fn asks(title: &str) -> AsyncFunc<Trail> {
    let own = title.to_owned();
    task_boxed(title, move |scope, trail: &mut Trail| {
        let question = Question::text(own.clone());
        Box::pin(async move {
            if let Decision::Text { text } = scope.ask(question).await?.decision {
                trail.steps.push(text);
            }
            Ok(())
        })
    })
}
