//! The attendant: resumes whatever is due.

use std::future::IntoFuture;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, millis};
use convoke_core::store::NewMail;
use convoke_core::{
    Answer, Attendant, Error, Outcome, Registry, RunId, RunStatus, Runner, Runtime, StoreError, WhenBusy,
    Workflow,
};
use convoke_steps::{Chain, task_boxed};

fn impatient(home: &Home) -> Runtime {
    home.builder().patience(Duration::ZERO).build()
}

fn registry(workflow: &Workflow<Trail>) -> Registry {
    let registry = Registry::new();
    registry.register(Runner::new(workflow));
    registry
}

fn everything() -> Workflow<Trail> {
    let sleeps =
        task_boxed("sleeps", |scope, _: &mut Trail| Box::pin(async move { scope.sleep(millis(40)).await }));
    let takes = task_boxed("takes", |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.steps.push(scope.receive::<String>("letters").await?.payload);
            Ok(())
        })
    });
    Workflow::new(Chain::new("main").then(sleeps).then(asks("well?")).then(takes).then(says("b")))
}

/// Attends until a run has ended; gives how often it was gone on with.
async fn attend_until_over(home: &Home, attendant: Attendant, run: &RunId) -> usize {
    let rounds = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rounds);
    let attendant = attendant.report(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let over = async {
        while home.store().run(run).await.unwrap().unwrap().status != RunStatus::Completed {
            tokio::time::sleep(millis(2)).await;
        }
    };
    tokio::select! {
        ended = attendant.attend() => panic!("it attends for ever: {ended:?}"),
        () = over => {}
    }
    rounds.load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_run_goes_on_by_itself_when_time_answers_and_mail_come() {
    let home = Home::new(echo());
    let workflow = everything();
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    let attendant = Attendant::new(&impatient(&home), &registry(&workflow));
    let others = async {
        while home.asked(&run).await.is_empty() {
            tokio::time::sleep(millis(2)).await;
        }
        home.answer(&run, "well?", Answer::text("well")).await;
        tokio::time::sleep(millis(20)).await;
        home.store().post(&run, NewMail::json("letters", "x").unwrap()).await.unwrap();
    };
    let (rounds, ()) = tokio::join!(attend_until_over(&home, attendant, &run), others);
    assert!(rounds <= 3, "it is gone on with when there is something to do, not {rounds} times");
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["well", "x", "b!"]);
}

#[tokio::test]
async fn no_more_are_gone_on_with_at_once_than_there_are_hands_and_none_is_forgotten() {
    let home = Home::new(echo());
    let under_way = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (Arc::clone(&under_way), Arc::clone(&most));
    let works = task_boxed("works", move |scope, trail: &mut Trail| {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        Box::pin(async move {
            trail.steps.push(scope.receive::<String>("letters").await?.payload);
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(millis(3)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(works));
    let mut runs = Vec::new();
    for _ in 0..30 {
        let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
        home.store().post(&run, NewMail::json("letters", "x").unwrap()).await.unwrap();
        runs.push(run);
    }
    let ended = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ended);
    let attendant = Attendant::new(&impatient(&home), &registry(&workflow))
        .at_once(NonZeroUsize::new(4).unwrap())
        .report(move |run, outcome| {
            assert_eq!(outcome.as_ref().unwrap().status, RunStatus::Completed);
            seen.lock().unwrap().push(run.clone());
        });
    attendant.attend_once().await.unwrap();
    let mut ended = ended.lock().unwrap().clone();
    ended.sort();
    runs.sort();
    assert_eq!(ended, runs);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_run_of_an_unknown_workflow_is_left_alone_and_stops_nobody() {
    let home = Home::new(echo());
    let other = Workflow::new(Chain::new("other").then(asks("well?")));
    let stranger = home.start(&other, Trail::default()).await.run;
    home.answer(&stranger, "well?", Answer::text("well")).await;
    let workflow = everything();
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    home.store().post(&run, NewMail::json("letters", "x").unwrap()).await.unwrap();
    let failures = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&failures);
    let attendant = Attendant::new(&impatient(&home), &registry(&workflow)).report(move |_, outcome| {
        counted.fetch_add(usize::from(outcome.is_err()), Ordering::Relaxed);
    });
    let work = async {
        while home.asked(&run).await.is_empty() {
            tokio::time::sleep(millis(2)).await;
        }
        home.answer(&run, "well?", Answer::text("well")).await;
        while home.store().run(&run).await.unwrap().unwrap().status != RunStatus::Completed {
            tokio::time::sleep(millis(2)).await;
        }
    };
    tokio::select! {
        ended = attendant.attend() => panic!("it attends for ever: {ended:?}"),
        () = work => {}
    }
    assert_eq!(failures.load(Ordering::Relaxed), 1, "it was tried once, and is left alone for a while");
    assert_eq!(home.store().run(&stranger).await.unwrap().unwrap().status, RunStatus::Suspended);
}

/// A step that takes a while, and says when it has begun.
fn slow(begun: &Arc<tokio::sync::Notify>) -> Workflow<Trail> {
    let begun = Arc::clone(begun);
    let works = task_boxed("works", move |scope, trail: &mut Trail| {
        let begun = Arc::clone(&begun);
        Box::pin(async move {
            scope.receive::<String>("letters").await?;
            begun.notify_one();
            tokio::time::sleep(millis(50)).await;
            trail.steps.push("done".to_owned());
            Ok(())
        })
    });
    Workflow::new(Chain::new("main").then(works))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_attendant_has_in_hand_when_it_is_dropped_is_left_to_the_next() {
    let home = Home::new(echo());
    let begun = Arc::new(tokio::sync::Notify::new());
    let workflow = slow(&begun);
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    home.store().post(&run, NewMail::json("letters", "x").unwrap()).await.unwrap();
    let first = Attendant::new(&impatient(&home), &registry(&workflow));
    tokio::select! {
        ended = first.attend() => panic!("{ended:?}"),
        () = begun.notified() => {}
    }
    let next = Attendant::new(&impatient(&home), &registry(&workflow));
    attend_until_over(&home, next, &run).await;
    assert_eq!(home.resume(&workflow, &run).await.completed().unwrap().steps, ["done"]);
}

#[tokio::test]
async fn a_run_that_was_left_in_the_middle_is_gone_on_with() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")));
    // As a process leaves it that was killed before it came to anything.
    let input = serde_json::to_string(&Trail::default()).unwrap();
    let lease = home.store().create(workflow.new_run("left".parse().unwrap(), input)).await.unwrap();
    home.store().release(&lease);
    Attendant::new(&impatient(&home), &registry(&workflow)).attend_once().await.unwrap();
    let record = home.store().run(&lease.run).await.unwrap().unwrap();
    assert_eq!((record.status, home.model.calls()), (RunStatus::Completed, 1));
}

#[tokio::test]
async fn a_run_that_the_store_failed_is_left_alone_for_a_while_and_not_tried_again_at_once() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")));
    let input = serde_json::to_string(&Trail::default()).unwrap();
    let lease = home.store().create(workflow.new_run("left".parse().unwrap(), input)).await.unwrap();
    home.store().release(&lease);
    let reports = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reports);
    // Nothing was written of how it ended, so its record says that it is under way, and nobody holds it.
    let lost = |run: RunId| async {
        Ok(Outcome {
            run,
            status: RunStatus::Failed,
            state: serde_json::Value::Null,
            error: Some(Error::Store(StoreError::Failed("the disk is full".into()))),
            totals: Default::default(),
        })
    };
    let attendant = Attendant::with(Arc::clone(home.store()), lost).report(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    tokio::time::timeout(millis(2_000), attendant.attend_once()).await.unwrap().unwrap();
    assert_eq!(reports.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_run_that_somebody_has_gone_on_with_meanwhile_can_be_left_alone() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(asks("well?")).then(says("a")));
    let run = home.start(&workflow, Trail::default()).await.run;
    let epoch = home.store().run(&run).await.unwrap().unwrap().epoch;
    let since = WhenBusy::RefuseSince { epoch };
    let resumed = || home.builder().build().resume(&workflow, run.clone()).when_busy(since).into_future();
    assert_eq!(resumed().await.unwrap().status, RunStatus::Suspended, "nobody has since");
    let refused = resumed().await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Busy { .. })), "{refused}");
    assert_eq!(home.store().run(&run).await.unwrap().unwrap().holder, None, "it was let go of");
}
