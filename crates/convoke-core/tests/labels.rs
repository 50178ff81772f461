//! Labels: joined along the run, and the same when it is resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::meddling::Meddler;
use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, BoxFuture, EffectOutcome, EffectRequest, Error, Fork, Invocation, Labels, Outcome, Repeat,
    RunStatus, Runtime, Scope, Tool, ToolCall, ToolEffect, ToolSpec, Verdict, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, Join, Parallel, Retry, RetryPolicy, task_boxed};
use serde_json::json;

/// Labels every reply with what was said, and the results of tools with where they come from.
fn labelling(home: &Home) -> Runtime {
    let after =
        |request: &EffectRequest<'_>, outcome: &mut Result<EffectOutcome, Error>| match (request, outcome) {
            (_, Ok(EffectOutcome::Model(reply))) => format!("said={}", reply.text()).parse().unwrap(),
            (EffectRequest::Tool { spec, .. }, _) => format!("tool={}", spec.name()).parse().unwrap(),
            _ => Labels::new(),
        };
    home.builder().interceptor(Meddler { after, ..Meddler::called("labels") }).build()
}

/// A step that leaves what is known where it is.
fn looks(name: &'static str) -> AsyncFunc<Trail> {
    task_boxed(name, move |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.steps.push(format!("{name}: {}", scope.labels()));
            Ok(())
        })
    })
}

fn known(outcome: &Outcome<Trail>) -> Vec<&str> {
    outcome.state.steps.iter().filter(|step| step.contains(':')).map(String::as_str).collect()
}

/// What is known is the same when the run is told again, and when it is resumed after its question.
async fn stays(home: &Home, workflow: &Workflow<Trail>, expected: &[&str]) {
    let runtime = labelling(home);
    let first = runtime.start(workflow, Trail::default()).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended, "{:?}", first.error);
    home.answer(&first.run, "And now?", Answer::text("end")).await;
    // Whoever resumes it need not label anything: the journal has the labels.
    let resumed = home.resume(workflow, &first.run).await;
    assert_eq!(known(&resumed), expected, "resumed");
    let told = home.runtime().replay(workflow, &first.run).await.unwrap();
    assert_eq!(told.state.steps, resumed.state.steps, "told again");
    let all = home.entries(&first.run).await.last().unwrap().seq + 1;
    let fork = Fork::new(first.run, all).create(home.store()).await.unwrap();
    assert_eq!(known(&home.resume(workflow, &fork).await), expected, "forked");
}

#[tokio::test]
async fn what_a_step_has_learnt_those_after_it_know_and_those_before_it_do_not() {
    let home = Home::new(echo());
    let inner = Chain::new("inner").then(says("b")).then(looks("inside"));
    let main = Chain::new("main").then(says("a")).then(looks("before")).then(inner);
    let workflow = Workflow::new(main.then(asks("And now?")).then(looks("after")));
    let expected = ["before: said=a!", "inside: said=a! said=b!", "after: said=a! said=b!"];
    stays(&home, &workflow, &expected).await;
}

/// What a branch starts from.
fn nothing(_: &Trail) -> Trail {
    Trail::default()
}

fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

#[tokio::test]
async fn branches_do_not_know_each_others_and_what_follows_knows_all_of_them() {
    let home = Home::new(echo());
    let branch = |name: &'static str| Chain::new(name).then(says(name)).then(looks(name));
    let fan = Parallel::builder("fan", Join::all().cancel_rest())
        .project(branch("left"), nothing, take)
        .project(branch("right"), nothing, take)
        .build()
        .unwrap();
    let main = Chain::new("main").then(fan).then(asks("And now?")).then(looks("after"));
    let expected = ["left: said=left!", "right: said=right!", "after: said=left! said=right!"];
    stays(&home, &Workflow::new(main), &expected).await;
}

/// A step that waits.
fn waits(name: &'static str, patience: u64) -> AsyncFunc<Trail> {
    task_boxed(name, move |_, _: &mut Trail| {
        Box::pin(async move {
            tokio::time::sleep(millis(patience)).await;
            Ok(())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn what_the_loser_of_a_race_has_learnt_nobody_knows() {
    let home = Home::new(echo());
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .project(Chain::new("quick").then(says("quick")).then(waits("a little", 10)), nothing, take)
        .project(Chain::new("slow").then(says("slow")).then(waits("long", 40)), nothing, take)
        .build()
        .unwrap();
    let main = Chain::new("main").then(race).then(asks("And now?")).then(looks("after"));
    stays(&home, &Workflow::new(main), &["after: said=quick!"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_an_attempt_has_learnt_is_known_although_it_failed() {
    let home = Home::new(echo());
    let tries = Arc::new(AtomicUsize::new(0));
    let flaky = task_boxed("flaky", move |scope: &Scope, trail: &mut Trail| {
        let number = tries.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            scope.run(&says(if number == 0 { "first" } else { "later" }), trail).await?;
            if trail.count == 0 {
                trail.count = 1;
                return Err(Error::transient("once more"));
            }
            trail.steps.push(format!("attempt: {}", scope.labels()));
            Ok(())
        })
    });
    let policy = RetryPolicy::attempts(2).unwrap().initial(millis(10)).jitter(0.0);
    let main = Chain::new("main").then(Retry::new(flaky, policy)).then(looks("after"));
    let outcome = labelling(&home).start(&Workflow::new(main), Trail::default()).await.unwrap();
    assert_eq!(known(&outcome), ["attempt: said=first! said=later!", "after: said=first! said=later!"]);
}

/// A tool that has a step say something.
struct Nested(ToolSpec);

impl Tool for Nested {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            call.scope.run(&says("within"), &mut Trail::default()).await?;
            Ok("done".to_owned())
        })
    }
}

#[tokio::test]
async fn what_was_learnt_in_a_tool_is_known_although_the_journal_answers_its_call() {
    let home = Home::new(echo());
    let spec = ToolSpec::new("nested", "", ToolEffect::Reads.into()).repeat(Repeat::Reenter);
    let tool: Arc<dyn Tool> = Arc::new(Nested(spec));
    let calls = task_boxed("calls", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let call = ToolCall { id: "one".into(), name: "nested".into(), arguments: json!({}) };
            scope.tool_scope(&*tool, None).tool(&tool, &call).await?;
            trail.steps.push(format!("beside: {}", scope.labels()));
            Ok(())
        })
    });
    let main = Chain::new("main").then(calls).then(asks("And now?")).then(looks("after"));
    let expected = ["beside: said=within! tool=nested", "after: said=within! tool=nested"];
    stays(&home, &Workflow::new(main), &expected).await;
}

#[tokio::test]
async fn an_interceptor_is_told_what_was_learnt_before() {
    let home = Home::new(echo());
    let careful = Meddler {
        before: |about| match about.request {
            EffectRequest::Model { .. } if about.labels.has("said=a!") => Verdict::deny("after that, no"),
            _ => Verdict::Allow,
        },
        after: |_, outcome| match outcome {
            Ok(EffectOutcome::Model(reply)) => format!("said={}", reply.text()).parse().unwrap(),
            _ => Labels::new(),
        },
        ..Meddler::called("careful")
    };
    let runtime = home.builder().interceptor(careful).build();
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(says("b")));
    let outcome = runtime.start(&workflow, Trail::default()).await.unwrap();
    assert_eq!((outcome.status, outcome.state.steps.len()), (RunStatus::Denied, 1));
}
