//! Replies that came and that a step cannot use: a run that failed by one asks for it anew when it is resumed.

use std::sync::Arc;

use crate::common::Trail;
use crate::common::stored::{Home, says};
use crate::common::tools::TestTool;
use convoke_core::store::{Batch, OnBusy, RunChange};
use convoke_core::{
    Error, FinishReason, ModelError, ModelErrorKind, ModelRequest, RunId, RunStatus, Tool, ToolCall,
    ToolEffect, ToolSpec, UnusableReply, Visibility, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, Classifier, prompt, task_boxed};
use serde_json::{Value, json};

fn greet() -> Workflow<Trail> {
    let greet = prompt("greet", |_: &Trail| "Greet").text(|trail| &mut trail.text);
    Workflow::new(Chain::new("main").then(says("first")).then(greet))
}

/// Says hello at the second call; what it says to the first is of no use.
fn second_time(first: Reply) -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::last_equals("Greet"), first.once())
        .when(Match::last_equals("Greet"), Reply::text("Hello"))
        .otherwise(Reply::text("fine"))
        .build()
}

#[tokio::test]
async fn a_reply_that_was_cut_off_or_refused_is_asked_for_anew_when_the_run_is_resumed() {
    for finish in [FinishReason::Length, FinishReason::ContentFilter] {
        let home = Home::new(second_time(Reply::text("Hel").finish(finish)));
        let failed = home.start(&greet(), Trail::default()).await;
        assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 2));
        let resumed = home.resume(&greet(), &failed.run).await;
        assert_eq!(home.model.calls(), 3, "the one that was of no use, and no other");
        assert_eq!(resumed.totals.model_calls, 3, "what was of no use was paid for all the same");
        assert_eq!(resumed.completed().unwrap().text, "Hello");
        let keys = home.model.call_keys();
        assert_ne!(keys[1], keys[2], "whoever honours keys must not give the same reply again");
        let again = home.resume(&greet(), &failed.run).await;
        assert_eq!((again.totals.model_calls, home.model.calls()), (3, 3));
    }
}

#[tokio::test]
async fn another_model_is_asked_for_what_the_first_refused() {
    let refuses = Home::new(second_time(Reply::text("no").finish(FinishReason::ContentFilter)));
    let failed = refuses.start(&greet(), Trail::default()).await;
    let other = ScriptedModel::builder().otherwise(Reply::text("Hello")).name("other").build();
    let runtime = refuses.builder().model(other.clone()).build();
    let done = runtime.resume(&greet(), failed.run).await.unwrap().completed().unwrap();
    assert_eq!((done.text.as_str(), done.steps, other.calls()), ("Hello", vec!["fine".to_owned()], 1));
}

#[tokio::test]
async fn a_record_of_an_older_version_that_does_not_say_why_it_failed_is_resumed_too() {
    let home = Home::new(second_time(Reply::text("Hel").finish(FinishReason::Length)));
    let failed = home.start(&greet(), Trail::default()).await;
    forget_why(&home, &failed.run).await;
    let resumed = home.resume(&greet(), &failed.run).await;
    assert_eq!((resumed.completed().unwrap().text.as_str(), home.model.calls()), ("Hello", 3));
}

/// Writes the end of a run as older versions did.
async fn forget_why(home: &Home, run: &RunId) {
    let record = home.store().run(run).await.unwrap().unwrap();
    let mut outcome: Value = serde_json::from_slice(&record.outcome.unwrap()).unwrap();
    assert!(outcome.as_object_mut().unwrap().remove("unusable").is_some());
    let outcome = Some(outcome.to_string().into());
    let change = Some(RunChange {
        waits: Default::default(),
        worked: std::time::Duration::ZERO,
        status: record.status,
        outcome,
        totals: record.totals,
    });
    let lease = home.store().claim(run, OnBusy::Refuse).await.unwrap();
    home.store().append(&lease, Batch { change, ..Batch::default() }).await.unwrap();
    home.store().release(&lease);
}

#[tokio::test]
async fn a_reply_of_the_wrong_shape_is_asked_for_anew() {
    let model = ScriptedModel::replies(["perhaps", "yes", "never asked"]);
    let classifier = || {
        let asked = Classifier::builder("choose", |_: &Trail| "yes or no?");
        Workflow::new(
            asked
                .route("yes", crate::common::add("yes"))
                .route("no", crate::common::add("no"))
                .build()
                .unwrap(),
        )
    };
    let home = Home::new(model);
    let failed = home.start(&classifier(), Trail::default()).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 1), "{:?}", failed.error);
    let done = home.resume(&classifier(), &failed.run).await.completed().unwrap();
    assert_eq!((done.steps, home.model.calls()), (vec!["yes".to_owned()], 2));
}

#[tokio::test]
async fn a_failure_that_is_not_about_the_reply_keeps_the_reply() {
    let home = Home::new(ScriptedModel::builder().otherwise(Reply::text("fine")).build());
    let fails: AsyncFunc<Trail> = task_boxed("fails", |scope, _: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            scope.model(&model, ModelRequest::new("dear"), Visibility::Hidden).await?.whole()?;
            Err(Error::failed("the disk is not there"))
        })
    });
    let workflow = Workflow::new(fails);
    let failed = home.start(&workflow, Trail::default()).await;
    let again = home.resume(&workflow, &failed.run).await;
    assert_eq!((again.status, home.model.calls()), (RunStatus::Failed, 1));
}

/// Asks a model, has a tool do what must not be done twice, and then finds that the reply was of no use.
fn late(tool: &TestTool) -> AsyncFunc<Trail> {
    let tool: Arc<dyn Tool> = Arc::new(tool.clone());
    task_boxed("late", move |scope, _: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let model = scope.default_model()?;
            scope.model(&model, ModelRequest::new("what?"), Visibility::Hidden).await?;
            let call = ToolCall { id: "1".into(), name: "pay".into(), arguments: json!({}) };
            scope.tool_scope(&*tool, None).tool(&tool, &call).await?;
            Err(Error::unusable_reply("it was nonsense"))
        })
    })
}

#[tokio::test]
async fn what_a_tool_did_on_the_strength_of_a_reply_is_never_done_again() {
    let pay = TestTool::new(ToolSpec::new("pay", "", ToolEffect::Irreversible.into()), Ok("paid".to_owned()));
    let home = Home::new(ScriptedModel::builder().otherwise(Reply::text("pay")).build());
    let workflow = Workflow::new(late(&pay));
    let failed = home.start(&workflow, Trail::default()).await;
    let again = home.resume(&workflow, &failed.run).await;
    assert_eq!((again.status, home.model.calls(), pay.calls()), (RunStatus::Failed, 1, 1));
}

#[tokio::test]
async fn a_call_that_failed_is_made_again_and_the_replies_before_it_are_kept() {
    let model = ScriptedModel::builder()
        .when(
            Match::last_equals("two"),
            Reply::error(ModelError::new(ModelErrorKind::Overloaded, "busy")).once(),
        )
        .otherwise(Reply::text("fine"))
        .build();
    let home = Home::new(model);
    let twice: AsyncFunc<Trail> = task_boxed("twice", |scope, trail: &mut Trail| {
        Box::pin(async move {
            for text in ["one", "two"] {
                let model = scope.default_model()?;
                let reply = scope.model(&model, ModelRequest::new(text), Visibility::Hidden).await?;
                trail.steps.push(reply.whole()?.text());
            }
            Ok(())
        })
    });
    let workflow = Workflow::new(twice);
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 2));
    let done = home.resume(&workflow, &failed.run).await.completed().unwrap();
    assert_eq!((done.steps.len(), home.model.calls()), (2, 3));
}

/// Takes what the model says, and notes that it lacks a number if it has none.
fn maker() -> AsyncFunc<Trail> {
    task_boxed("maker", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let reply =
                scope.model(&model, ModelRequest::new("a number"), Visibility::Hidden).await?.whole()?;
            match reply.text().parse() {
                Ok(number) => trail.count = number,
                Err(_) => scope.composing().note_lacking("number"),
            }
            Ok(())
        })
    })
}

fn needs_number() -> AsyncFunc<Trail> {
    task_boxed("needs", |_, trail: &mut Trail| {
        Box::pin(async move {
            match trail.count {
                0 => Err(Error::failed(UnusableReply::new("there is no number").lacking("number"))),
                _ => Ok(()),
            }
        })
    })
}

#[tokio::test]
async fn a_later_step_that_lacks_something_has_the_earlier_reply_asked_for_anew_with_what_followed_from_it() {
    let numbers = |first: &str| {
        ScriptedModel::builder()
            .when(Match::last_equals("a number"), Reply::text(first).once())
            .when(Match::last_equals("a number"), Reply::text("7"))
            .otherwise(Reply::text("fine"))
            .build()
    };
    let home = Home::new(numbers("seven"));
    let chain = || {
        let chain = Chain::new("main").then(says("before")).then(maker());
        Workflow::new(chain.then(says("between")).then(needs_number()))
    };
    let failed = home.start(&chain(), Trail::default()).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 3));
    let done = home.resume(&chain(), &failed.run).await.completed().unwrap();
    assert_eq!(
        (done.count, home.model.calls()),
        (7, 5),
        "the reply and the one after it, not the one before"
    );
}
