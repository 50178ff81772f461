//! Tools that ask people and do more in their calls: interrupted there, gone on with, and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::Trail;
use crate::common::meddling::Meddler;
use crate::common::stored::{Home, asks, echo};
use crate::common::tools::TestTool;
use convoke_core::{
    Answer, BoxFuture, CategorisedError, Category, EffectOutcome, EffectRequest, Error, EventKind,
    IdempotencyKey, Invocation, Labels, ModelRequest, PendingQuestion, Question, Reconciliation,
    RecordedError, Registry, Repeat, Responder, RunStatus, Runner, Tool, ToolCall, ToolEffect, ToolSpec,
    Visibility, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, task_boxed};
use serde_json::{Value, json};

/// A tool that must not be called twice, and asks these questions before it acts.
#[derive(Clone)]
struct Asking {
    spec: ToolSpec,
    questions: Vec<&'static str>,
    /// Whether it has done nothing while it asks.
    is_careful: bool,
    /// What it finds out of a call that was interrupted.
    known: Option<&'static str>,
    acted: Arc<AtomicUsize>,
}

impl Asking {
    fn new(questions: &[&'static str]) -> Self {
        let spec = ToolSpec::new("act", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
        Self { spec, questions: questions.to_vec(), is_careful: true, known: None, acted: Arc::default() }
    }

    fn acted(&self) -> usize {
        self.acted.load(Ordering::Relaxed)
    }
}

impl Tool for Asking {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            for title in &self.questions {
                let question = Question::approval(*title).about(json!({"careful": self.is_careful}));
                call.scope.ask_named(title, question).await?;
            }
            self.acted.fetch_add(1, Ordering::Relaxed);
            Ok("acted".to_owned())
        })
    }

    fn is_undone_while_asking(&self, about: &Value) -> bool {
        about["careful"] == true
    }

    fn reconcile<'a>(
        &'a self,
        _: &'a IdempotencyKey,
        _: &'a Value,
        _: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        let known =
            self.known.map_or(Reconciliation::Unknown, |known| Reconciliation::Done(known.to_owned()));
        Box::pin(async { Ok(known) })
    }
}

/// Somebody who answers one question, and is not there for others.
struct Answers(&'static str, Answer);

impl Responder for Answers {
    fn respond<'a>(&'a self, asked: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move { (asked.question.title == self.0).then(|| self.1.clone()) })
    }
}

/// Calls a tool, leaves what came of it and what is known then, and asks what is next.
fn calls(tool: impl Tool + 'static) -> Workflow<Trail> {
    let tool: Arc<dyn Tool> = Arc::new(tool);
    let call: AsyncFunc<Trail> = task_boxed("call", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let name = tool.spec().name().to_owned();
            let call = ToolCall { id: "c".to_owned(), name, arguments: json!({}) };
            trail.text = scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content;
            trail.steps.push(scope.labels().to_string());
            Ok(())
        })
    });
    Workflow::new(Chain::new("main").then(call).then(asks("next?")))
}

#[tokio::test]
async fn a_call_that_had_done_nothing_while_it_asked_is_made_again_and_nobody_asks_what_became_of_it() {
    let (home, tool) = (Home::new(echo()), Asking::new(&["may I?"]));
    let workflow = calls(tool.clone());
    let run = home.start(&workflow, Trail::default()).await.run;
    assert_eq!(home.asked(&run).await, ["may I?"]);
    home.answer(&run, "may I?", Answer::approve()).await;
    let resumed = home.resume(&workflow, &run).await;
    assert_eq!((resumed.state.text.as_str(), tool.acted()), ("acted", 1));
    assert_eq!(home.asked(&run).await, ["next?"]);
}

#[tokio::test]
async fn a_call_that_was_allowed_something_before_it_asked_again_may_have_acted() {
    for (first, is_asked_about) in [(Answer::approve(), true), (Answer::reject("no"), false)] {
        let (home, tool) = (Home::new(echo()), Asking::new(&["may I?", "and now?"]));
        let workflow = calls(tool.clone());
        let attended = home.builder().responder(Answers("may I?", first)).build();
        let run = attended.start(&workflow, Trail::default()).await.unwrap().run;
        home.answer(&run, "and now?", Answer::approve()).await;
        assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
        let open = home.asked(&run).await;
        let in_doubt = open.iter().any(|title| title.contains("may have acted already"));
        assert_eq!((in_doubt, tool.acted()), (is_asked_about, usize::from(!is_asked_about)), "{open:?}");
    }
}

#[tokio::test]
async fn what_a_call_had_asked_is_withdrawn_when_it_is_known_what_became_of_it() {
    let home = Home::new(echo());
    let tool = Asking { is_careful: false, ..Asking::new(&["may I?"]) };
    let run = home.start(&calls(tool.clone()), Trail::default()).await.run;
    assert_eq!(home.asked(&run).await, ["may I?"]);
    let known = Asking { known: Some("found out"), ..tool.clone() };
    let after = |request: &EffectRequest<'_>, _: &mut Result<EffectOutcome, Error>| match request {
        EffectRequest::Tool { .. } => "found".parse().unwrap(),
        _ => Labels::new(),
    };
    let labelling = home.builder().interceptor(Meddler { after, ..Meddler::called("labels") }).build();
    let resumed = labelling.resume(&calls(known), run.clone()).await.unwrap();
    assert_eq!((resumed.state.text.as_str(), tool.acted()), ("found out", 0));
    assert_eq!(resumed.state.steps, ["found"]);
    assert_eq!(home.asked(&run).await, ["next?"]);
}

/// A tool that takes no arguments any more, once it has been called.
#[derive(Clone)]
struct Changed(Asking, bool);

impl Tool for Changed {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        if self.1 { Err("say less".to_owned()) } else { Ok(()) }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        self.0.call(call)
    }
}

#[tokio::test]
async fn a_call_in_doubt_is_asked_about_also_if_it_would_be_refused_now_and_counts() {
    let (home, tool) = (Home::new(echo()), Asking { is_careful: false, ..Asking::new(&["may I?"]) });
    let run = home.start(&calls(Changed(tool.clone(), false)), Trail::default()).await.run;
    let picky = calls(Changed(tool.clone(), true));
    assert_eq!(home.resume(&picky, &run).await.status, RunStatus::Suspended);
    let open = home.asked(&run).await;
    let doubt = open.iter().find(|title| title.contains("may have acted already"));
    home.answer(&run, doubt.expect("it is in doubt"), Answer::choose("again")).await;
    let refused = home.resume(&picky, &run).await;
    assert_eq!((refused.state.text.as_str(), tool.acted()), ("invalid arguments: say less", 0));
    home.answer(&run, "next?", Answer::text("nothing")).await;
    let done = home.resume(&picky, &run).await;
    assert_eq!((done.status, done.totals.tool_calls), (RunStatus::Completed, 1), "it was begun once");
}

/// A tool that is made of effects: it asks the model and calls another tool, with arguments that are wrong the second time.
struct Nested(ToolSpec, Arc<dyn Tool>);

impl Tool for Nested {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let model = call.scope.default_model()?;
            let said = call.scope.model(&model, ModelRequest::new("inside"), Visibility::Streamed).await?;
            for arguments in [json!({}), json!("wrong")] {
                let inner = ToolCall { id: "i".to_owned(), name: "inner".to_owned(), arguments };
                call.scope.tool_scope(&*self.1, None).tool(&self.1, &inner).await?;
            }
            Ok(said.text())
        })
    }
}

/// A tool that takes objects only.
struct Objects(TestTool);

impl Tool for Objects {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        if arguments.is_object() { Ok(()) } else { Err("an object, please".to_owned()) }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        self.0.call(call)
    }
}

fn nested() -> Workflow<Trail> {
    let spec = ToolSpec::new("outer", "", ToolEffect::Reads.into()).repeat(Repeat::Reenter);
    calls(Nested(spec, Arc::new(Objects(TestTool::gives("inner", "stars")))))
}

#[tokio::test]
async fn what_was_done_in_a_call_that_is_over_counts_as_much_when_the_run_goes_on() {
    let (home, workflow) = (Home::new(echo()), nested());
    let suspended = home.start(&workflow, Trail::default()).await;
    let counted = |totals: convoke_core::store::Totals| (totals.model_calls, totals.tool_calls);
    assert_eq!(counted(suspended.totals), (1, 2), "one was refused, and not made");
    home.answer(&suspended.run, "next?", Answer::text("nothing")).await;
    assert_eq!(counted(home.resume(&workflow, &suspended.run).await.totals), (1, 2));
}

#[tokio::test]
async fn whoever_reads_a_run_later_hears_what_was_said_in_calls_of_tools() {
    let (home, workflow) = (Home::new(echo()), nested());
    let run = home.start(&workflow, Trail::default()).await.run;
    let registry = Registry::new();
    registry.register(Runner::new(&workflow));
    let mut events = home.runtime().subscribe(&registry, run, None);
    let said = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let event = events.next().await.expect("there is more to come").unwrap();
            match event.kind {
                EventKind::MessageEnded { text, .. } => break text,
                EventKind::QuestionAsked { .. } => panic!("nothing was said before"),
                _ => {}
            }
        }
    });
    assert_eq!(said.await.unwrap(), "inside!");
}

/// A tool that is asked to wait.
struct Busy(ToolSpec);

impl Tool for Busy {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let error =
            CategorisedError::new(Category::Transient, "busy").with_retry_after(Duration::from_secs(7));
        Box::pin(async { Err(Error::failed(error)) })
    }
}

#[tokio::test]
async fn how_long_the_other_side_asked_to_wait_is_known_to_whoever_tries_again() {
    let tool: Arc<dyn Tool> = Arc::new(Busy(ToolSpec::new("busy", "", ToolEffect::Reads.into())));
    let step = task_boxed("call", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let call = ToolCall { id: "c".to_owned(), name: "busy".to_owned(), arguments: json!({}) };
            let failed = scope.tool_scope(&*tool, None).try_tool(&tool, &call).await?.unwrap_err();
            let RecordedError::Failed { category, retry_after, .. } = failed else { return Ok(()) };
            trail.text = format!("{category:?} {retry_after:?}");
            Ok(())
        })
    });
    let outcome = Home::new(echo()).start(&Workflow::new(step), Trail::default()).await;
    assert_eq!(outcome.state.text, "Transient Some(7s)");
}
