//! Mail: taken once, in order, whether a run waits for it or not.

use std::future::IntoFuture;
use std::time::Duration;

use crate::common::stored::{Home, NeverAnswers, asks, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis};
use convoke_core::store::{NewMail, StoreError};
use convoke_core::{
    Answer, BoxFuture, CancelStatus, Error, EventKind, Fork, IdempotencyKey, PendingQuestion, Question,
    Repeat, Responder, RunId, RunStatus, Runtime, ToolEffect, ToolSpec, Toolset, Workflow, cancel_for_good,
};
use convoke_steps::{AsyncFunc, Chain, Join, Parallel, Retry, RetryPolicy, StepExt, ToolStep, task_boxed};
use serde_json::{Value, json};

/// A step that takes something from a channel, and leaves it with its sender.
fn takes(name: &str, channel: &'static str) -> AsyncFunc<Trail> {
    task_boxed(name, move |scope, trail: &mut Trail| {
        Box::pin(async move {
            let mail = scope.receive::<String>(channel).await?;
            trail.steps.push(format!("{}:{}", mail.sender, mail.payload));
            Ok(())
        })
    })
}

fn two() -> Workflow<Trail> {
    Workflow::new(
        Chain::new("main").then(says("a")).then(takes("one", "letters")).then(takes("two", "letters")),
    )
}

fn impatient(home: &Home) -> Runtime {
    home.builder().patience(Duration::ZERO).build()
}

async fn send(home: &Home, run: &RunId, channel: &str, words: &str) {
    let mail = NewMail::json(channel, words).unwrap().sender("ann");
    assert!(home.store().post(run, mail).await.unwrap().is_new);
}

#[tokio::test]
async fn a_run_that_has_no_mail_is_suspended_and_goes_on_with_what_it_is_sent_in_order() {
    let home = Home::new(echo());
    let first = impatient(&home).start(&two(), Trail::default()).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended);
    assert_eq!(first.error.unwrap().to_string(), "waiting for mail on `letters`");
    let record = home.store().run(&first.run).await.unwrap().unwrap();
    assert_eq!((record.channels, record.wake), (vec!["letters".to_owned()], None));

    send(&home, &first.run, "letters", "x").await;
    let second = impatient(&home).resume(&two(), first.run.clone()).await.unwrap();
    assert_eq!(second.status, RunStatus::Suspended, "it needs two");
    send(&home, &first.run, "others", "?").await;
    send(&home, &first.run, "letters", "y").await;
    send(&home, &first.run, "letters", "z").await;
    let done = impatient(&home).resume(&two(), first.run.clone()).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["a!", "ann:x", "ann:y"]);
    assert_eq!(home.model.calls(), 1);
    let replay = home.runtime().replay(&two(), &first.run).await.unwrap();
    assert_eq!((replay.state, replay.unused), (done, 0));
    assert!(replay.error.is_none());
}

#[tokio::test]
async fn what_is_expected_is_kept_and_a_wait_is_known_by_its_channel_alone() {
    let home = Home::new(echo());
    let expecting = |expected: Value| {
        Workflow::new(task_boxed("one", move |scope, trail: &mut Trail| {
            let expected = expected.clone();
            Box::pin(async move {
                trail.steps.push(scope.receive_expected::<String>("letters", expected).await?.payload);
                Ok(())
            })
        }))
    };
    let waits = impatient(&home).start(&expecting(json!({"calls": 2})), Trail::default()).await.unwrap();
    let entries = home.store().entries(&waits.run, 1, 9).await.unwrap();
    let request: Value = serde_json::from_slice(entries[0].request.as_deref().unwrap()).unwrap();
    assert_eq!(request, json!({"channel": "letters", "expected": {"calls": 2}}));
    send(&home, &waits.run, "letters", "x").await;
    // Code that expects something else, or says nothing of it, goes on with the same wait.
    let done = impatient(&home).resume(&expecting(Value::Null), waits.run).await.unwrap();
    assert_eq!(done.completed().unwrap().steps, ["x"]);
}

#[tokio::test]
async fn mail_that_comes_before_anybody_waits_is_there_when_they_do() {
    let home = Home::new(echo());
    let workflow = || Workflow::new(Chain::new("main").then(asks("well?")).then(takes("one", "letters")));
    let run = home.start(&workflow(), Trail::default()).await.run;
    send(&home, &run, "letters", "early").await;
    let again = NewMail::json("letters", "twice").unwrap().key("k");
    assert!(home.store().post(&run, again.clone()).await.unwrap().is_new);
    assert!(!home.store().post(&run, again).await.unwrap().is_new);
    home.answer(&run, "well?", Answer::text("well")).await;
    let done = impatient(&home).resume(&workflow(), run).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["well", "ann:early"]);
}

#[tokio::test]
async fn a_run_waits_for_mail_as_long_as_there_is_patience() {
    let home = Home::new(echo());
    let id: RunId = "waits".parse().unwrap();
    let (runtime, workflow) = (home.runtime(), two());
    let running = runtime.start(&workflow, Trail::default()).id(id.clone()).stream();
    let sending = async {
        for words in ["x", "y"] {
            tokio::time::sleep(millis(30)).await;
            send(&home, &id, "letters", words).await;
        }
    };
    let ((events, outcome), ()) = tokio::join!(running.collect(), sending);
    assert_eq!(outcome.unwrap().completed().unwrap().steps, ["a!", "ann:x", "ann:y"]);
    let received: Vec<&Value> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MailReceived { channel, payload, .. } if channel == "letters" => Some(payload),
            _ => None,
        })
        .collect();
    assert_eq!(received, [&json!("x"), &json!("y")]);
}

#[tokio::test]
async fn branches_side_by_side_take_each_letter_once_and_keep_what_they_took() {
    let home = Home::new(echo());
    let workflow = || {
        let fan = Parallel::builder("fan", Join::all().finish_rest());
        let fan = (0..8).fold(fan, |fan, number| {
            let keep = |into: &mut Trail, from: Trail| into.steps.extend(from.steps);
            fan.branch(takes(&format!("b{number}"), "letters"), keep)
        });
        Workflow::new(fan.build().unwrap())
    };
    let run = impatient(&home).start(&workflow(), Trail::default()).await.unwrap().run;
    for number in 0..5 {
        send(&home, &run, "letters", &number.to_string()).await;
    }
    let some = impatient(&home).resume(&workflow(), run.clone()).await.unwrap();
    assert_eq!(some.status, RunStatus::Suspended);
    for number in 5..9 {
        send(&home, &run, "letters", &number.to_string()).await;
    }
    let mut done =
        impatient(&home).resume(&workflow(), run.clone()).await.unwrap().completed().unwrap().steps;
    let replay = home.runtime().replay(&workflow(), &run).await.unwrap();
    assert_eq!(replay.state.steps, done);
    done.sort();
    assert_eq!(done, ["ann:0", "ann:1", "ann:2", "ann:3", "ann:4", "ann:5", "ann:6", "ann:7"]);
}

#[tokio::test]
async fn mail_that_is_not_what_is_expected_fails_the_step_and_says_whose_it_is() {
    let home = Home::new(echo());
    let run = impatient(&home).start(&two(), Trail::default()).await.unwrap().run;
    home.store().post(&run, NewMail::json("letters", &7).unwrap().sender("bob")).await.unwrap();
    let failed = impatient(&home).resume(&two(), run).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
    let words = failed.error.unwrap().to_string();
    assert!(words.contains("on `letters` by bob is not what is expected there"), "{words}");
    // It was taken all the same: whoever goes on takes the next.
    send(&home, &failed.run, "letters", "x").await;
    send(&home, &failed.run, "letters", "y").await;
    let done = impatient(&home).resume(&two(), failed.run.clone()).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["a!", "ann:x", "ann:y"]);
    let replay = home.runtime().replay(&two(), &failed.run).await.unwrap();
    assert_eq!((replay.state, replay.error.is_none()), (done, true));
}

#[tokio::test]
async fn a_wait_for_mail_ends_with_its_time_however_little_patience_there_is() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(takes("one", "letters").timeout(millis(20))));
    for runtime in [home.runtime(), impatient(&home)] {
        let outcome = runtime.start(&workflow, Trail::default()).await.unwrap();
        assert_eq!(outcome.status, RunStatus::TimedOut);
    }
}

#[tokio::test]
async fn another_attempt_is_given_the_letter_that_the_first_one_took() {
    let home = Home::new(echo());
    let handles = task_boxed("handles", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let letter = scope.receive::<String>("letters").await?.payload;
            // The state of a failed attempt is gone; which attempt it is can be seen by the path only.
            if scope.path().as_str().ends_with("handles") {
                return Err(Error::transient("the printer is busy"));
            }
            trail.steps.push(letter);
            Ok(())
        })
    });
    let policy = RetryPolicy::attempts(3).unwrap().initial(millis(1));
    let workflow = Workflow::new(Chain::new("main").then(Retry::new(handles, policy).named("retry")));
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    send(&home, &run, "letters", "first").await;
    send(&home, &run, "letters", "second").await;
    let done = home.runtime().resume(&workflow, run.clone()).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["first"]);
    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert_eq!((replay.state, replay.unused), (done, 0));
}

#[tokio::test]
async fn without_a_store_nothing_can_be_sent_and_bad_channels_are_refused() {
    let outcome = Runtime::new()
        .start(&Workflow::new(Chain::new("main").then(takes("one", "letters"))), Trail::default())
        .await
        .unwrap();
    assert!(outcome.error.unwrap().to_string().contains("through a store"));
    let home = Home::new(echo());
    for channel in ["", "convoke:cancel", "a\nb"] {
        let workflow = Workflow::new(Chain::new("main").then(takes("one", channel)));
        let error = home.start(&workflow, Trail::default()).await.error.unwrap();
        assert!(matches!(error.root(), Error::Store(StoreError::NoChannel { .. })), "{error}");
        assert!(NewMail::json(channel, &1).is_err());
    }
}

#[tokio::test]
async fn a_fork_waits_for_mail_of_its_own() {
    let home = Home::new(echo());
    let run = impatient(&home).start(&two(), Trail::default()).await.unwrap().run;
    send(&home, &run, "letters", "x").await;
    send(&home, &run, "letters", "y").await;
    impatient(&home).resume(&two(), run.clone()).await.unwrap().completed().unwrap();
    // After the first letter.
    let at = home.entries(&run).await.iter().find(|entry| entry.path.as_str() == "main/two").unwrap().seq;
    let fork = Fork::new(run, at).create(home.store()).await.unwrap();
    let waits = impatient(&home).resume(&two(), fork.clone()).await.unwrap();
    assert_eq!(
        (waits.status, waits.state.steps),
        (RunStatus::Suspended, vec!["a!".to_owned(), "ann:x".to_owned()])
    );
    send(&home, &fork, "letters", "other").await;
    let done = impatient(&home).resume(&two(), fork).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["a!", "ann:x", "ann:other"]);
}

#[tokio::test]
async fn an_answer_that_comes_before_its_question_is_taken_when_it_is_asked() {
    let home = Home::new(echo());
    let workflow = || Workflow::new(Chain::new("main").then(takes("one", "letters")).then(asks("well?")));
    let run = impatient(&home).start(&workflow(), Trail::default()).await.unwrap().run;
    let question = IdempotencyKey::derive(&run, &"main/well?".into(), 0);
    let reply = NewMail::reply(&question, &Answer::text("well, early")).unwrap();
    home.store().post(&run, reply).await.unwrap();
    send(&home, &run, "letters", "x").await;
    let done = impatient(&home).resume(&workflow(), run).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["ann:x", "well, early"]);
}

#[tokio::test]
async fn an_early_answer_that_does_not_fit_is_none() {
    let home = Home::new(echo());
    let question = Question::choice("which?", ["a", "b"]);
    let asks = task_boxed("asks", move |scope, trail: &mut Trail| {
        let question = question.clone();
        Box::pin(async move {
            trail.steps.push(format!("{:?}", scope.ask(question).await?.decision));
            Ok(())
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(takes("one", "letters")).then(asks));
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    let question = IdempotencyKey::derive(&run, &"main/asks".into(), 0);
    for answer in [Answer::text("blah"), Answer::choose("zzz"), Answer::choose("b").by("ben")] {
        home.store().post(&run, NewMail::reply(&question, &answer).unwrap()).await.unwrap();
    }
    send(&home, &run, "letters", "x").await;
    let done = impatient(&home).resume(&workflow, run).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["ann:x", "Choose { option: \"b\" }"]);
}

#[tokio::test]
async fn mail_that_is_too_large_or_no_json_does_no_harm() {
    assert!(NewMail::json("letters", &"x".repeat(17 << 20)).is_err());
    let home = Home::new(echo());
    let run = impatient(&home).start(&two(), Trail::default()).await.unwrap().run;
    let mut odd = NewMail::json("letters", "").unwrap();
    odd.payload = "no json".into();
    home.store().post(&run, odd).await.unwrap();
    let failed = impatient(&home).resume(&two(), run.clone()).await.unwrap();
    assert!(failed.error.unwrap().to_string().contains("is not what is expected there"));
    for words in ["x", "y"] {
        send(&home, &run, "letters", words).await;
    }
    let done = impatient(&home).resume(&two(), run).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["a!", "ann:x", "ann:y"]);
}

/// Somebody who is asked, and has left.
struct HasLeft;

impl Responder for HasLeft {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async { None })
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_not_come_is_not_waited_for_once_the_one_who_was_asked_has_left() {
    let home = Home::new(echo());
    let both = Parallel::builder("both", Join::all().finish_rest())
        .branch(asks("well?"), |_, _| ())
        .branch(takes("one", "letters"), |_, _| ());
    let workflow = Workflow::new(both.build().unwrap());
    let begun = tokio::time::Instant::now();
    let left = home.builder().responder(HasLeft).build().start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(left.status, RunStatus::Suspended);
    assert_eq!(begun.elapsed(), Duration::ZERO, "nothing was waited for");
    let record = home.store().run(&left.run).await.unwrap().unwrap();
    assert_eq!(record.channels, ["letters"], "what comes later is not lost");
}

#[tokio::test]
async fn a_run_that_is_cancelled_twice_keeps_who_did_it_first_and_what_it_came_to() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")));
    let id: RunId = "twice".parse().unwrap();
    let canceller = convoke_core::Canceller::new();
    let thinks = home.builder().responder(NeverAnswers).build();
    let running = thinks.start(&workflow, Trail::default()).id(id.clone()).canceller(&canceller);
    let stopping = async {
        while home.asked(&id).await.is_empty() {
            tokio::time::sleep(millis(1)).await;
        }
        canceller.cancel("stopped by Ctrl-C");
    };
    let (stopped, ()) = tokio::join!(running.into_future(), stopping);
    assert_eq!(stopped.unwrap().status, RunStatus::Cancelled);
    for by in ["by ann", "by ben"] {
        assert_eq!(cancel_for_good(&**home.store(), &id, by).await.unwrap(), CancelStatus::Done);
    }
    let outcome = home.store().run(&id).await.unwrap().unwrap().outcome.unwrap();
    let outcome: Value = serde_json::from_slice(&outcome).unwrap();
    assert_eq!(
        (&outcome["error"], &outcome["state"]["steps"]),
        (&json!("cancelled: by ann"), &json!(["a!"]))
    );
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_nobody_works_on_it_has_used_what_its_journal_says() {
    let home = Home::new(echo());
    let chain = [Repeat::Never, Repeat::Safe].into_iter().fold(Chain::new("main"), |chain, repeat| {
        let spec = ToolSpec::new("note", "", ToolEffect::Writes.into()).repeat(repeat);
        let tools = Toolset::new().with(TestTool::new(spec, Ok("noted".into()))).unwrap();
        let note = ToolStep::new("note", &tools, "note", |_: &Trail| Ok::<_, Error>(json!({}))).discard();
        chain.then(note).then(says("a"))
    });
    let before = home.start(&Workflow::new(chain.then(asks("well?"))), Trail::default()).await;
    assert_eq!((before.totals.model_calls, before.totals.tool_calls), (2, 2));
    // A run with the same past whose record says nothing yet: as if the process had died just before it did.
    let entries = home.entries(&before.run).await;
    let killed = Fork::new(before.run, entries.len() as u64 + 1).create(home.store()).await.unwrap();
    assert_eq!(home.store().run(&killed).await.unwrap().unwrap().totals.model_calls, 0);
    cancel_for_good(&**home.store(), &killed, "by ann").await.unwrap();
    assert_eq!(home.store().run(&killed).await.unwrap().unwrap().totals, before.totals);
}

#[tokio::test]
async fn whoever_works_on_a_run_is_told_that_it_is_cancelled_and_ends_it_for_good() {
    let home = Home::new(echo());
    let id: RunId = "told".parse().unwrap();
    let (runtime, workflow) = (home.runtime(), two());
    let running = runtime.start(&workflow, Trail::default()).id(id.clone());
    let telling = async {
        tokio::time::sleep(millis(30)).await;
        cancel_for_good(&**home.store(), &id, "by ann").await.unwrap()
    };
    let (outcome, told) = tokio::join!(running.into_future(), telling);
    assert!(matches!(told, CancelStatus::Requested { .. }));
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert_eq!(outcome.error.unwrap().to_string(), "cancelled: by ann");
    let again = home.runtime().resume(&two(), id.clone()).await.unwrap_err();
    assert!(again.to_string().contains("cancelled for good"), "{again}");
    assert!(matches!(cancel_for_good(&**home.store(), &id, "again").await, Ok(CancelStatus::Done)));
}

#[tokio::test]
async fn a_run_that_was_told_to_end_while_nobody_worked_on_it_does_nothing_when_somebody_does() {
    let home = Home::new(echo());
    let workflow = || Workflow::new(Chain::new("main").then(asks("well?")).then(says("b")));
    let run = home.start(&workflow(), Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    // As if whoever cancels it was killed before they could end it themselves.
    home.store().post(&run, NewMail::cancel("by ann").unwrap()).await.unwrap();
    let outcome = home.resume(&workflow(), &run).await;
    assert_eq!((outcome.status, home.model.calls()), (RunStatus::Cancelled, 0));
    assert!(home.runtime().resume(&workflow(), run).await.is_err());
}
