//! Tools that make ready before a call counts as begun.

use std::sync::{Arc, Mutex};

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use convoke_core::{
    Answer, BoxFuture, Error, IdempotencyKey, Invocation, Phase, Preparation, Reconciliation, RunId,
    RunStatus, Tool, ToolEffect, ToolSpec, Toolset, Workflow,
};
use convoke_steps::{Join, Parallel, ToolStep};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A tool whose calls take turns, and which never comes back from the first.
#[derive(Clone)]
struct TakesTurns {
    spec: ToolSpec,
    turn: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    hangs: bool,
    known: Arc<Mutex<Vec<Value>>>,
    calls: Arc<Mutex<u32>>,
}

impl TakesTurns {
    fn new() -> Self {
        Self {
            spec: ToolSpec::new("act", "", ToolEffect::Irreversible.into()),
            turn: Arc::new(Semaphore::new(1)),
            begun: Arc::new(Semaphore::new(0)),
            hangs: true,
            known: Arc::default(),
            calls: Arc::default(),
        }
    }
}

impl Tool for TakesTurns {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Preparation> {
        Box::pin(async move {
            let turn = Arc::clone(&self.turn).acquire_owned().await.unwrap();
            Preparation::default().holding(turn).keeping(json!({"seen": "before"}))
        })
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            assert!(call.prepared.held::<OwnedSemaphorePermit>().is_some(), "the turn is held in the call");
            assert_eq!(self.turn.available_permits(), 0);
            *self.calls.lock().unwrap() += 1;
            self.begun.add_permits(1);
            if self.hangs {
                std::future::pending::<()>().await;
            }
            Ok("acted".to_owned())
        })
    }

    fn reconcile<'a>(
        &'a self,
        _: &'a IdempotencyKey,
        _: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        self.known.lock().unwrap().extend(before.cloned());
        Box::pin(async { Ok(Reconciliation::Ask("Something of it still ran.".to_owned())) })
    }
}

fn many(tool: &TakesTurns) -> Workflow<Trail> {
    let mut tools = Toolset::new();
    tools.add(Arc::new(tool.clone())).unwrap();
    let mut all = Parallel::builder("all", Join::all().finish_rest());
    for number in 0..8 {
        let step =
            ToolStep::new(format!("act {number}"), &tools, "act", |_: &Trail| Ok::<_, Error>(json!({})));
        all = all.project(step.discard(), |_: &Trail| Trail::default(), |_, _| {});
    }
    Workflow::new(all.build().unwrap())
}

#[tokio::test]
async fn one_interruption_leaves_one_question_however_many_wait_for_their_turn() {
    let (home, tool) = (Home::new(echo()), TakesTurns::new());
    let (workflow, id): (_, RunId) = (many(&tool), "many".parse().unwrap());
    let running = tokio::spawn({
        let (runtime, workflow, id) = (home.runtime(), workflow.clone(), id.clone());
        async move { runtime.start(&workflow, Trail::default()).id(id).await }
    });
    tool.begun.acquire().await.unwrap().forget();
    running.abort();
    let _ = running.await;
    let begun = home.entries(&id).await.into_iter().filter(|entry| entry.phase == Phase::Started);
    assert_eq!(begun.count(), 1, "those that only wait have not begun");

    let goes_on = TakesTurns { hangs: false, turn: Arc::new(Semaphore::new(1)), ..tool.clone() };
    let suspended = home.resume(&many(&goes_on), &id).await;
    assert_eq!((suspended.status, suspended.questions().len()), (RunStatus::Suspended, 1));
    let question = &suspended.questions()[0].question;
    assert!(question.details.starts_with("Something of it still ran. It was called at"), "{question:?}");
    assert_eq!(*tool.known.lock().unwrap(), [json!({"seen": "before"})]);
    assert_eq!(*tool.calls.lock().unwrap(), 8, "the interrupted one, and the seven that had not begun");
    home.answer(&id, &question.title, Answer::choose("again")).await;
    let done = home.resume(&many(&goes_on), &id).await;
    assert_eq!((done.status, *tool.calls.lock().unwrap()), (RunStatus::Completed, 9), "{:?}", done.error);
}
