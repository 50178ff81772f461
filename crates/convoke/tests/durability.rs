//! Guarantees of resuming, replaying and forking.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use convoke::core::store::{Batch, NewRun};
use convoke::core::{Digest, EffectKind, ModelRequest, OnDoubt, Phase, StoreError, Visibility, WhenBusy};
use convoke::prelude::*;
use serde_json::json;
use tokio::sync::Semaphore;

fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

fn runtime(store: &Arc<MemoryStore>, model: &ScriptedModel) -> Runtime {
    Runtime::builder().shared_store(Arc::clone(store) as Arc<dyn Store>).model(model.clone()).build()
}

/// Asks a model for each of these, one after another.
fn asking(prompts: &'static [&'static str]) -> Workflow<Vec<String>> {
    Workflow::new(prompts.iter().fold(Chain::new("main"), |chain, text| {
        chain.then(prompt(*text, move |_: &Vec<String>| *text).text(|answers: &mut Vec<String>| {
            answers.push(String::new());
            answers.last_mut().unwrap()
        }))
    }))
}

#[tokio::test]
async fn a_completed_run_started_again_gives_its_outcome_without_asking_anybody() {
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies(["one", "two"]));
    let workflow = asking(&["a", "b"]);
    let first = runtime(&store, &model).start(&workflow, vec![]).id(id("run")).await.unwrap();
    let second = runtime(&store, &model).start(&workflow, vec![]).id(id("run")).await.unwrap();
    assert_eq!(first.state, second.state);
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn a_failed_run_resumed_tries_only_what_failed() {
    let store = Arc::new(MemoryStore::new());
    let model = ScriptedModel::builder()
        .replies([
            Reply::text("one"),
            Reply::error(convoke::core::ModelError::of_status(401, "no key")),
            Reply::text("two"),
        ])
        .build();
    let workflow = asking(&["a", "b"]);
    let first = runtime(&store, &model).start(&workflow, vec![]).id(id("run")).await.unwrap();
    assert_eq!((first.status, first.state), (RunStatus::Failed, vec!["one".to_owned()]));
    let second = runtime(&store, &model).resume(&workflow, id("run")).await.unwrap();
    assert_eq!(second.completed().unwrap(), ["one", "two"]);
    assert_eq!(model.calls(), 3);
}

#[tokio::test]
async fn a_failure_the_run_coped_with_is_not_tried_again() {
    let store = Arc::new(MemoryStore::new());
    let tries = Arc::new(AtomicU32::new(0));
    let broken = Arc::new(AtomicBool::new(true));
    let workflow = {
        let (tries, broken) = (Arc::clone(&tries), Arc::clone(&broken));
        let coped = task_boxed("coped", move |scope, log: &mut Vec<String>| {
            let tries = Arc::clone(&tries);
            Box::pin(async move {
                let attempt = scope.custom("flaky").repeatable().perform(|_| async move {
                    tries.fetch_add(1, Ordering::Relaxed);
                    Err::<u32, _>("no luck")
                });
                log.push(attempt.await.unwrap_err().to_string());
                Ok(())
            })
        });
        let fails = task_boxed("fails", move |scope, log: &mut Vec<String>| {
            let broken = broken.load(Ordering::Relaxed);
            Box::pin(async move {
                let effect = scope.custom("later").repeatable();
                let value =
                    effect.perform(|_| async move { if broken { Err("broken") } else { Ok(7) } }).await?;
                log.push(value.to_string());
                Ok(())
            })
        });
        Workflow::new(Chain::new("main").then(coped).then(fails))
    };
    let runtime = runtime(&store, &ScriptedModel::replies([""; 0]));
    assert_eq!(runtime.start(&workflow, vec![]).id(id("run")).await.unwrap().status, RunStatus::Failed);
    broken.store(false, Ordering::Relaxed);
    let log = runtime.resume(&workflow, id("run")).await.unwrap().completed().unwrap();
    assert_eq!(log, ["no luck", "7"]);
    assert_eq!(tries.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn code_that_asks_for_something_else_is_told_so_and_shown_both_requests() {
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies(["one", "two", "three"]));
    let before = asking(&["a", "b"]);
    let run = runtime(&store, &model).start(&before, vec![]).id(id("run")).await.unwrap().run;
    let changed = Workflow::new(Chain::new("main").then(
        prompt("a", |_: &Vec<String>| "something else").text(|answers: &mut Vec<String>| {
            answers.push(String::new());
            answers.last_mut().unwrap()
        }),
    ));
    let replay = runtime(&store, &model).replay(&changed, &run).await.unwrap();
    let text = replay.error.unwrap().to_string();
    assert!(text.contains("`main/a`") && text.contains("something else"), "{text}");
    assert!(text.contains(r#""last message":"a""#), "what was recorded is shown as well: {text}");
    assert_eq!(model.calls(), 2, "divergence must never call the model");
    let shorter = runtime(&store, &model).replay(&asking(&["a"]), &run).await.unwrap();
    assert_eq!(shorter.unused, 1, "an effect the code no longer asks for is noticed");
}

#[tokio::test]
async fn an_id_stands_for_one_piece_of_work() {
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies(["one"]));
    let runtime = runtime(&store, &model);
    let _ = runtime.start(&asking(&["a"]), vec![]).id(id("run")).await.unwrap();
    let other_state =
        runtime.start(&asking(&["a"]), vec!["more".into()]).id(id("run")).await.map(drop).unwrap_err();
    assert!(other_state.to_string().contains("began with another state"), "{other_state}");
    let other_workflow =
        runtime.start(&asking(&["a"]).named("other"), vec![]).id(id("run")).await.map(drop).unwrap_err();
    assert!(other_workflow.to_string().contains("belongs to workflow `main`"), "{other_workflow}");
}

#[tokio::test]
async fn a_run_of_an_older_version_is_migrated_or_refused() {
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies(["one"]));
    let runtime = runtime(&store, &model);
    let old = Workflow::new(task("main", ask_first));
    assert_eq!(runtime.start(&old, 5).id(id("run")).await.unwrap().status, RunStatus::Suspended);
    answer_all(&store, &Answer::approve()).await;
    let unprepared = Workflow::new(task("main", ask_first)).version(3);
    let error = runtime.resume(&unprepared, id("run")).await.map(drop).unwrap_err();
    assert!(
        error.to_string().contains("begun by version 1") && error.to_string().contains("migrate(1"),
        "{error}"
    );
    let add = |by: i64| move |state: serde_json::Value| Ok(json!(state.as_i64().unwrap_or(0) + by));
    let prepared = Workflow::new(task("main", ask_first)).version(3).migrate(1, add(10)).migrate(2, add(100));
    assert_eq!(runtime.resume(&prepared, id("run")).await.unwrap().completed().unwrap(), 116);
}

async fn ask_first(scope: &Scope, number: &mut i64) -> Result<(), Error> {
    if scope.ask(Question::approval("go on?")).await?.is_approval() {
        *number += 1;
    }
    Ok(())
}

async fn answer_all(store: &Arc<MemoryStore>, answer: &Answer) {
    for pending in store.questions(None).await.unwrap() {
        store.answer(&pending.run, &pending.id, answer.clone()).await.unwrap();
    }
}

#[tokio::test]
async fn a_swallowed_question_still_suspends_the_run() {
    async fn careless(scope: &Scope, number: &mut i64) -> Result<(), Error> {
        let approved = scope.ask(Question::approval("really?")).await.map(|answer| answer.is_approval());
        *number = if approved.unwrap_or(true) { 1 } else { 2 };
        Ok(())
    }
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies([""; 0]));
    let workflow = Workflow::new(Chain::new("main").then(task("careless", careless)));
    let outcome = runtime(&store, &model).start(&workflow, 0).id(id("run")).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert_eq!(outcome.questions().len(), 1);
    answer_all(&store, &Answer::reject("no")).await;
    assert_eq!(runtime(&store, &model).resume(&workflow, id("run")).await.unwrap().completed().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_expired_is_answered_as_it_said() {
    async fn impatient(scope: &Scope, text: &mut String) -> Result<(), Error> {
        let question =
            Question::text("name?").expires_with(Duration::ZERO, Decision::Text { text: "nobody".into() });
        if let Decision::Text { text: name } = scope.ask(question).await?.decision {
            *text = name;
        }
        Ok(())
    }
    let name = Runtime::new().start(&Workflow::new(task("main", impatient)), String::new()).await.unwrap();
    assert_eq!(name.completed().unwrap(), "nobody");
}

#[tokio::test]
async fn two_people_must_agree_where_a_quorum_says_so() {
    async fn guarded(scope: &Scope, number: &mut i64) -> Result<(), Error> {
        *number = i64::from(scope.ask(Question::approval("launch?").quorum(2)).await?.is_approval());
        Ok(())
    }
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies([""; 0]));
    let workflow = Workflow::new(task("main", guarded));
    let runtime = runtime(&store, &model);
    let status = |outcome: Outcome<i64>| outcome.status;
    assert_eq!(status(runtime.start(&workflow, 0).id(id("run")).await.unwrap()), RunStatus::Suspended);
    answer_all(&store, &Answer::approve().by("ann")).await;
    assert_eq!(status(runtime.resume(&workflow, id("run")).await.unwrap()), RunStatus::Suspended);
    answer_all(&store, &Answer::approve().by("ann")).await;
    assert_eq!(status(runtime.resume(&workflow, id("run")).await.unwrap()), RunStatus::Suspended);
    answer_all(&store, &Answer::approve().by("bob")).await;
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().completed().unwrap(), 1);
}

#[tokio::test]
async fn only_those_a_question_is_for_can_answer_it_and_later_those_it_escalates_to() {
    async fn guarded(scope: &Scope, number: &mut i64) -> Result<(), Error> {
        let question = Question::approval("pay?").audience(["ann"]).escalates(Duration::ZERO, ["the boss"]);
        *number = i64::from(scope.ask(question).await?.is_approval());
        Ok(())
    }
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies([""; 0]));
    let (runtime, workflow) = (runtime(&store, &model), Workflow::new(task("main", guarded)));
    assert_eq!(runtime.start(&workflow, 0).id(id("run")).await.unwrap().status, RunStatus::Suspended);
    answer_all(&store, &Answer::approve().by("mallory")).await;
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().status, RunStatus::Suspended);
    answer_all(&store, &Answer::approve().by("the boss")).await;
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().completed().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_start_of_a_run_under_way_is_refused_waits_or_takes_over() {
    // Says that it is under way, and waits until it may go on.
    let (begun, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (beginning, ending) = (Arc::clone(&begun), Arc::clone(&may_end));
    let waits = task_boxed("main", move |scope, number: &mut i64| {
        let (begun, may_end) = (Arc::clone(&beginning), Arc::clone(&ending));
        Box::pin(async move {
            scope.sleep(Duration::from_millis(1)).await?;
            begun.add_permits(1);
            may_end.acquire().await.unwrap().forget();
            *number += scope.custom("one").repeatable().perform(|_| async { Ok::<_, Error>(1) }).await?;
            Ok(())
        })
    });
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies([""; 0]));
    let (runtime, workflow) = (runtime(&store, &model), Workflow::new(waits));
    let first = tokio::spawn(runtime.start(&workflow, 0).id(id("run")).into_future());
    begun.acquire().await.unwrap().forget();
    let refused = runtime.start(&workflow, 0).id(id("run")).await.map(drop).unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Busy { .. })), "{refused}");
    let mut waited = runtime.start(&workflow, 0).id(id("run")).when_busy(WhenBusy::Wait).into_future();
    assert!(futures_util::poll!(&mut waited).is_pending(), "the first is still under way");
    may_end.add_permits(1);
    assert_eq!(waited.await.unwrap().completed().unwrap(), 1);
    assert_eq!(first.await.unwrap().unwrap().completed().unwrap(), 1);

    let first = tokio::spawn(runtime.start(&workflow, 0).id(id("other")).into_future());
    begun.acquire().await.unwrap().forget();
    let second = runtime.start(&workflow, 0).id(id("other")).when_busy(WhenBusy::TakeOver);
    let second = tokio::spawn(second.into_future());
    begun.acquire().await.unwrap().forget();
    may_end.add_permits(2);
    let taken = second.await.unwrap().unwrap();
    assert_eq!(taken.completed().unwrap(), 1);
    let fenced = first.await.unwrap().unwrap();
    assert!(matches!(fenced.error, Some(Error::Store(StoreError::Fenced { .. }))), "{:?}", fenced.error);
}

#[tokio::test]
async fn going_on_reads_nothing_of_earlier_generations() {
    async fn talk(scope: &Scope, said: &mut Vec<String>) -> Result<(), Error> {
        let model = scope.default_model()?;
        let messages = said.iter().map(Message::user).collect::<Transcript>();
        scope.ask(Question::text("well?")).await?;
        let reply = scope.model(&model, ModelRequest::new(messages), Visibility::Hidden).await?;
        said.push(reply.text());
        if said.len() < 4 { scope.continue_with(said) } else { Ok(()) }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let workflow = Workflow::new(task("talk", talk));
    let model = ScriptedModel::builder().otherwise(Reply::text("again")).build();
    let runtime = || {
        let store = SqliteStore::open(&file).unwrap();
        Runtime::builder().store(store).model(model.clone()).build()
    };
    let mut outcome = runtime().start(&workflow, vec!["first".to_owned()]).await.unwrap();
    for _ in 0..3 {
        assert_eq!(outcome.status, RunStatus::Suspended);
        let open = runtime();
        let store = open.store().unwrap();
        let pending = store.questions(Some(&outcome.run)).await.unwrap().remove(0);
        store.answer(&outcome.run, &pending.id, Answer::text("well")).await.unwrap();
        outcome = open.resume(&workflow, outcome.run).await.unwrap();
        let begins_at = open.store().unwrap().run(&outcome.run).await.unwrap().unwrap().generation.begins_at;
        drop(open);
        // What was before is gone; whoever read it would find a gap.
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection
            .execute("DELETE FROM entries WHERE place & 0xffffffff < ?1", [begins_at.cast_signed()])
            .unwrap();
        connection.execute("DELETE FROM blobs", []).unwrap();
    }
    assert_eq!((outcome.totals.model_calls, outcome.completed().unwrap().len()), (3, 4));
}

/// A run whose journal says that an effect was begun, and nothing more: the process died.
async fn interrupted(store: &Arc<dyn Store>, workflow: &Workflow<i64>, done: &Runtime) -> RunId {
    let run = done.start(workflow, 0).await.unwrap().run;
    let record = store.run(&run).await.unwrap().unwrap();
    let mut entries = store.entries(&run, 1, 100).await.unwrap();
    entries.truncate(1);
    assert_eq!(entries[0].phase, Phase::Started);
    let died = NewRun {
        launch: Default::default(),
        id: RunId::mint(),
        workflow: record.workflow,
        version: record.version,
        input: record.input,
        outline: record.outline,
        seed: record.seed,
        forked_from: None,
        past: Batch { entries, ..Batch::default() },
    };
    let lease = store.create(died).await.unwrap();
    store.release(&lease);
    lease.run
}

#[tokio::test]
async fn an_effect_in_doubt_asks_a_person_or_fails_as_configured() {
    async fn charge(scope: &Scope, number: &mut i64) -> Result<(), Error> {
        *number += scope.custom("charge").perform(|_| async { Ok::<_, Error>(1) }).await?;
        Ok(())
    }
    let memory = Arc::new(MemoryStore::new());
    let store: Arc<dyn Store> = memory.clone();
    let asking = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let failing = Runtime::builder().shared_store(Arc::clone(&store)).on_doubt(OnDoubt::Fail).build();
    let workflow = Workflow::new(task("main", charge));

    let run = interrupted(&store, &workflow, &asking).await;
    let failed = failing.resume(&workflow, run.clone()).await.unwrap();
    let text = failed.error.unwrap().to_string();
    assert!(text.contains("`charge` at `main`") && text.contains("may or may not have acted"), "{text}");
    let suspended = asking.resume(&workflow, run.clone()).await.unwrap();
    let question = &suspended.questions()[0].question;
    assert!(question.title.contains("may have acted already"));
    let when = &question.details;
    assert!(
        when.contains("had not ended when the run stopped") && !when.contains("the process ended"),
        "{when}"
    );
    assert!(when.contains("say what it gave. `again`") && !when.contains("convoke"), "{when}");
    // Journals of earlier versions know the question by the words it had then.
    let mut as_ever = question.clone();
    as_ever.details = when
        .replace("and had not ended when the run stopped", "when the process ended")
        .replace("what it gave.", "what it gave (`convoke fork RUN --at N --outcome JSON`).");
    let entries = store.entries(&run, 1, 10).await.unwrap();
    let asked = entries.iter().find(|entry| entry.effect == EffectKind::Ask).unwrap();
    assert_eq!(asked.digest, Digest::of_json(&serde_json::to_value(&as_ever).unwrap()));
    answer_all(&memory, &Answer::choose("again")).await;
    assert_eq!(asking.resume(&workflow, run).await.unwrap().completed().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_effect_interrupted_twice_is_asked_about_twice() {
    let hangs = Arc::new(AtomicBool::new(true));
    let hanging = Arc::clone(&hangs);
    let charge = task_boxed("main", move |scope, number: &mut i64| {
        let hangs = hanging.load(Ordering::Relaxed);
        Box::pin(async move {
            let act = |_| async move { if hangs { std::future::pending().await } else { Ok::<_, Error>(1) } };
            *number += scope.custom("charge").perform(act).await?;
            Ok(())
        })
    });
    let (store, workflow) = (Arc::new(MemoryStore::new()), Workflow::new(charge));
    let runtime = runtime(&store, &ScriptedModel::replies([""; 0]));
    let die = |start: convoke::core::Start<i64>| async {
        let canceller = Canceller::new();
        let run = start.canceller(&canceller).into_future();
        let cancel = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            canceller.cancel("the process dies");
        };
        tokio::join!(run, cancel).0.unwrap().status
    };
    assert_eq!(die(runtime.start(&workflow, 0).id(id("run"))).await, RunStatus::Cancelled);
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().status, RunStatus::Suspended);
    answer_all(&store, &Answer::choose("again")).await;
    assert_eq!(die(runtime.resume(&workflow, id("run"))).await, RunStatus::Cancelled);
    hangs.store(false, Ordering::Relaxed);
    let again = runtime.resume(&workflow, id("run")).await.unwrap();
    assert_eq!(again.status, RunStatus::Suspended, "the first answer is about the first attempt only");
    answer_all(&store, &Answer::choose("again")).await;
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().completed().unwrap(), 1);
}

#[tokio::test]
async fn a_fork_with_another_reply_goes_another_way() {
    let (store, model) =
        (Arc::new(MemoryStore::new()), ScriptedModel::replies(["one", "two", "another two"]));
    let (runtime, workflow) = (runtime(&store, &model), asking(&["a", "b"]));
    let run = runtime.start(&workflow, vec![]).await.unwrap().run;
    let store: Arc<dyn Store> = store;
    let entries = store.entries(&run, 1, 10).await.unwrap();
    let recorded: serde_json::Value = serde_json::from_slice(entries[0].outcome.as_ref().unwrap()).unwrap();
    let mut reply = recorded["ok"].clone();
    reply["message"]["parts"][0]["text"] = json!("what if");
    let fork = Fork::new(run.clone(), 1).with_outcome(reply).create(&store).await.unwrap();
    let outcome = runtime.resume(&workflow, fork.clone()).await.unwrap();
    assert_eq!(outcome.completed().unwrap(), ["what if", "another two"]);
    let record = store.run(&fork).await.unwrap().unwrap();
    assert_eq!(record.forked_from.unwrap().run, run);
    let beyond = Fork::new(run, 99).create(&store).await.unwrap_err();
    assert!(beyond.to_string().contains("entries 1 to 2"), "{beyond}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_says_why_and_can_be_resumed() {
    async fn nap(scope: &Scope, number: &mut i64) -> Result<(), Error> {
        scope.sleep(Duration::from_secs(60)).await?;
        *number += 1;
        Ok(())
    }
    let (store, model) = (Arc::new(MemoryStore::new()), ScriptedModel::replies([""; 0]));
    let (runtime, workflow) = (runtime(&store, &model), Workflow::new(task("main", nap)));
    let canceller = Canceller::new();
    let run = runtime.start(&workflow, 0).id(id("run")).canceller(&canceller).into_future();
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel("lunch");
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert_eq!(outcome.error.unwrap().to_string(), "cancelled: lunch");
    assert_eq!(runtime.resume(&workflow, id("run")).await.unwrap().completed().unwrap(), 1);
}

#[tokio::test]
async fn a_cost_that_is_known_in_part_is_not_the_whole_cost() {
    let usage =
        convoke::core::Usage { cost: Some(Money::from_cents(2)), ..convoke::core::Usage::tokens(1, 1) };
    let replies = [Reply::text("priced").usage(usage), Reply::text("not priced")];
    let model = ScriptedModel::builder().when(convoke::models::Match::any(), replies).build();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).model(model).build();
    let twice = Chain::new("main")
        .then(prompt("one", |_: &String| "a").text(|state: &mut String| state))
        .then(prompt("two", |_: &String| "b").text(|state: &mut String| state));
    let outcome = runtime.start(&Workflow::new(twice), String::new()).await.unwrap();
    assert_eq!((outcome.totals.model_calls, outcome.totals.unpriced_calls), (2, 1));
    assert_eq!((outcome.totals.whole_cost(), outcome.totals.usage.cost), (None, Some(Money::from_cents(2))));
    assert_eq!(store.run(&outcome.run).await.unwrap().unwrap().totals, outcome.totals);
}
