//! Replaying a run, and letting it go another way.

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, add, millis};
use convoke_core::{
    Answer, EffectKind, Error, EventKind, Fork, Message, ModelParams, ModelRequest, Outcome, Phase, Question,
    RunId, RunStatus, Scope, Step, Transcript, Visibility, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, Join, Loop, OnError, Parallel, RetryPolicy, task, task_boxed};
use serde_json::json;

/// Asks twice for approval, and acts each time.
async fn refund_twice(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    for name in ["ann", "bob"] {
        if scope.ask(Question::approval(format!("Pay {name}?"))).await?.is_approval() {
            let paid: String = scope
                .custom("pay")
                .request(&name)
                .perform(|_| async { Ok::<_, Error>(name.to_owned()) })
                .await?;
            trail.steps.push(paid);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_fork_asks_again_before_it_does_again_what_was_approved() {
    let home = Home::new(echo());
    let workflow = Workflow::new(task("refund", refund_twice));
    let run = home.start(&workflow, Trail::default()).await.run;
    for title in ["Pay ann?", "Pay bob?"] {
        home.answer(&run, title, Answer::approve()).await;
        let _ = home.resume(&workflow, &run).await;
    }
    let entries = home.entries(&run).await;
    let of = |effect: EffectKind, phase: Phase| {
        let found = entries.iter().filter(move |entry| (entry.effect, entry.phase) == (effect, phase));
        found.map(|entry| entry.seq).collect::<Vec<_>>()
    };
    let (begun, paid) = (of(EffectKind::Custom, Phase::Started), of(EffectKind::Custom, Phase::Finished));
    let answered = of(EffectKind::Ask, Phase::Finished);
    let forked = async |fork: Fork| {
        let fork = fork.create(home.store()).await.unwrap();
        let outcome = home.resume(&workflow, &fork).await;
        (outcome.status, outcome.state.steps, home.asked(&fork).await)
    };
    let waits = |paid: &[&str], title: &str| {
        (RunStatus::Suspended, paid.iter().map(|name| (*name).to_owned()).collect(), vec![title.to_owned()])
    };
    for at in [begun[0], paid[0]] {
        assert_eq!(forked(Fork::new(run.clone(), at)).await, waits(&[], "Pay ann?"), "at {at}");
    }
    for at in [begun[1], paid[1]] {
        assert_eq!(forked(Fork::new(run.clone(), at)).await, waits(&["ann"], "Pay bob?"), "at {at}");
    }
    let done = (RunStatus::Completed, vec!["ann".to_owned(), "bob".to_owned()], Vec::new());
    assert_eq!(forked(Fork::new(run.clone(), paid[1] + 1)).await, done, "what is paid is not paid again");
    let told = Fork::new(run.clone(), paid[1]).with_outcome(json!("bob"));
    assert_eq!(forked(told).await, done, "nothing is paid again");
    let approve = serde_json::to_value(Answer::approve()).unwrap();
    let approved = Fork::new(run.clone(), answered[1]).with_outcome(approve);
    assert_eq!(forked(approved).await, done, "whoever forks has approved");
}

fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

fn branch(step: impl Step<Trail> + 'static) -> Chain<Trail> {
    let clear = convoke_steps::func("clear", |trail: &mut Trail| {
        trail.steps.clear();
        Ok::<_, Error>(())
    });
    Chain::new("branch").then(clear).then(step)
}

/// Waits, looks at the clock and does something of its own.
fn custom(name: &str) -> AsyncFunc<Trail> {
    task_boxed(name, |scope, trail: &mut Trail| {
        Box::pin(async move {
            scope.sleep(millis(5)).await?;
            scope.now().await?;
            let effect = scope.custom("number").repeatable();
            let number: u64 = effect.perform(|_| async { Ok::<_, Error>(42) }).await?;
            trail.steps.push(number.to_string());
            Ok(())
        })
    })
}

/// A bit of everything, with the same outcome however often it is run.
fn everything() -> Workflow<Trail> {
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .branch(branch(says("quick")), take)
        .project(
            task_boxed("slow", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(500)))),
            |_| Trail::default(),
            take,
        )
        .build()
        .unwrap();
    let flaky = task_boxed("flaky", |_, _| Box::pin(async { Err(Error::transient("busy")) }));
    let policy = RetryPolicy::attempts(2).unwrap().initial(millis(1));
    let chain = Chain::new("main")
        .then(says("first"))
        .then(race)
        .then_or(convoke_steps::Retry::new(flaky, policy), OnError::Continue)
        .then(asks("well?"))
        .then(Loop::times("loop", 2, custom("custom")))
        .then(says("last"));
    Workflow::new(chain)
}

/// Answers whatever it asks until it is done.
async fn finish(home: &Home, workflow: &Workflow<Trail>, run: &RunId) -> Outcome<Trail> {
    loop {
        let outcome = home.resume(workflow, run).await;
        if outcome.status != RunStatus::Suspended {
            return outcome;
        }
        home.answer(run, "well?", Answer::text("well")).await;
    }
}

async fn completed(home: &Home) -> (Workflow<Trail>, RunId, Trail) {
    let workflow = everything();
    let run = home.start(&workflow, Trail::default()).await.run;
    let state = finish(home, &workflow, &run).await.completed().unwrap();
    assert_eq!(state.steps, ["first!", "quick!", "well", "42", "42", "last!"]);
    (workflow, run, state)
}

#[tokio::test(start_paused = true)]
async fn a_replay_comes_to_the_same_state_without_touching_the_world() {
    let home = Home::new(echo());
    let (workflow, run, state) = completed(&home).await;
    let (calls, entries) = (home.model.calls(), home.entries(&run).await.len());
    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert!(replay.error.is_none());
    assert_eq!((replay.state, replay.unused), (state, 0));
    assert_eq!((home.model.calls(), home.entries(&run).await.len()), (calls, entries));
    let told = replay.events.iter().filter(|event| matches!(event.kind, EventKind::MessageStarted { .. }));
    assert!(told.clone().count() == 3 && told.clone().all(|event| event.replayed));
}

#[tokio::test]
async fn a_replay_of_a_suspended_run_ends_where_the_run_did() {
    let (home, workflow) = (Home::new(echo()), everything());
    let suspended = home.start(&workflow, Trail::default()).await;
    let replay = home.runtime().replay(&workflow, &suspended.run).await.unwrap();
    assert!(matches!(
        replay.error.unwrap().root(),
        Error::NotRecorded { effect: EffectKind::Ask, path, .. } if path.as_str() == "main/well?"
    ));
    assert_eq!((replay.state, replay.unused), (suspended.state, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_forked_at_every_entry_and_comes_to_the_same_end() {
    let home = Home::new(echo());
    let (workflow, run, state) = completed(&home).await;
    let entries = home.entries(&run).await;
    for at in 1..=entries.len() as u64 + 1 {
        let fork = Fork::new(run.clone(), at).create(home.store()).await.unwrap();
        let outcome = finish(&home, &workflow, &fork).await;
        let entry = entries.get(at as usize - 1);
        assert_eq!(outcome.completed().unwrap(), state, "forked at {at}, before {entry:?}");
        let replay = home.runtime().replay(&workflow, &fork).await.unwrap();
        assert_eq!((replay.state, replay.unused), (state.clone(), 0), "forked at {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_can_say_what_an_effect_gave() {
    let home = Home::new(echo());
    let (workflow, run, _) = completed(&home).await;
    let entries = home.entries(&run).await;
    let answered = entries
        .iter()
        .find(|entry| entry.effect == EffectKind::Ask && entry.phase == Phase::Finished)
        .unwrap();
    let otherwise = serde_json::to_value(Answer::text("otherwise")).unwrap();
    let fork =
        Fork::new(run.clone(), answered.seq).with_outcome(otherwise).create(home.store()).await.unwrap();
    let calls = home.model.calls();
    let state = home.resume(&workflow, &fork).await.completed().unwrap();
    assert_eq!(state.steps, ["first!", "quick!", "otherwise", "42", "42", "last!"]);
    assert_eq!(home.model.calls(), calls + 1, "only what came after the fork");
}

#[tokio::test(start_paused = true)]
async fn a_fork_can_decide_a_race_otherwise() {
    let home = Home::new(echo());
    let (workflow, run, _) = completed(&home).await;
    let entries = home.entries(&run).await;
    let decision = entries.iter().find(|entry| entry.effect == EffectKind::Decision).unwrap();
    let fork = Fork::new(run.clone(), decision.seq).with_outcome(serde_json::json!([1]));
    let fork = fork.create(home.store()).await.unwrap();
    let state = finish(&home, &workflow, &fork).await.completed().unwrap();
    assert_eq!(state.steps, ["first!", "well", "42", "42", "last!"], "the slow branch won");
}

#[tokio::test]
async fn a_question_that_is_open_in_a_fork_is_asked_anew_and_its_time_begins_with_the_fork() {
    async fn ask(scope: &Scope, _: &mut Trail) -> Result<(), Error> {
        let question = Question::text("well?").expires_after(std::time::Duration::from_secs(3600));
        scope.ask(question).await.map(drop)
    }
    let home = Home::new(echo());
    let workflow = Workflow::new(task("ask", ask));
    let run = home.start(&workflow, Trail::default()).await.run;
    let asked = async |run: &RunId| home.store().questions(Some(run)).await.unwrap().remove(0).asked;
    let before = asked(&run).await;
    let written = home.entries(&run).await[0].at;
    std::thread::sleep(millis(2));
    let fork = Fork::new(run.clone(), 2).create(home.store()).await.unwrap();
    let anew = asked(&fork).await;
    assert!(anew > before && anew > written, "{anew:?} is not after {written:?}");
    assert_eq!(home.resume(&workflow, &fork).await.status, RunStatus::Suspended);
    assert_eq!(asked(&fork).await, anew, "going on with it changes nothing about that");
    assert_eq!(asked(&run).await, before, "in the other run it stays as it was");
}

#[tokio::test]
async fn a_forked_run_that_waits_has_questions_of_its_own() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")).then(add("b")));
    let run = home.start(&workflow, Trail::default()).await.run;
    let end = home.entries(&run).await.len() as u64 + 1;
    let fork = Fork::new(run.clone(), end).create(home.store()).await.unwrap();
    assert_eq!(home.asked(&fork).await, ["well?"]);
    home.answer(&fork, "well?", Answer::text("fork")).await;
    assert_eq!(home.resume(&workflow, &fork).await.completed().unwrap().steps, ["a!", "fork", "b"]);
    assert_eq!(home.asked(&run).await, ["well?"], "the other run still waits");
    assert_eq!(home.model.calls(), 1);
}

/// Says these things one after another, in one conversation.
async fn converse(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    let model = scope.default_model()?;
    let params = ModelParams::default().max_tokens(7);
    let mut said = Transcript::new();
    for prompt in ["COMMON", "LATER"] {
        said.push(Message::user(prompt));
        let request = ModelRequest { params: params.clone(), ..ModelRequest::new(said.clone()) };
        let reply = scope.model(&model, request, Visibility::Hidden).await?;
        trail.steps.push(reply.text());
        said.push(reply.message);
    }
    Ok(())
}

#[tokio::test]
async fn a_fork_has_of_what_was_said_only_what_its_past_refers_to() {
    let home = Home::new(echo());
    let workflow = Workflow::new(task("converse", converse));
    let run = home.start(&workflow, Trail::default()).await.run;
    let calls: Vec<u64> = home.entries(&run).await.iter().map(|entry| entry.seq).collect();
    let kept = async |run: &RunId| {
        let digests = home.store().blob_digests(run).await.unwrap();
        let blobs = home.store().blobs(run, &digests).await.unwrap();
        let has = |text: &str| blobs.values().any(|blob| String::from_utf8_lossy(blob).contains(text));
        (blobs.len(), has("COMMON"), has("LATER"))
    };
    let all = kept(&run).await;
    assert_eq!((all.1, all.2), (true, true));
    let forked = async |at: u64| Fork::new(run.clone(), at).create(home.store()).await.unwrap();
    let early = forked(calls[1]).await;
    assert_eq!(kept(&early).await, (2, true, false), "one message and the options of its request");
    assert_eq!(
        kept(&forked(calls[0]).await).await,
        (0, false, false),
        "nothing was said before the first call"
    );
    assert_eq!(kept(&forked(calls[1] + 1).await).await, all, "the end refers to everything");
    assert!(home.store().delete(&run).await.unwrap());
    let outcome = home.resume(&workflow, &early).await.completed().unwrap();
    assert_eq!(outcome.steps, ["COMMON!", "LATER!"]);
    assert_eq!(kept(&early).await, all, "it says anew what it had not said");
}
