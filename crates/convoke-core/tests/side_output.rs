//! Questions and reports of tools while they work, and what interceptors let others see of them.

use std::sync::Arc;

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use convoke_core::{
    Answer, BoxFuture, Decision, Error, EventKind, Interceptor, Invocation, Question, QuestionKind,
    RunStatus, Runtime, SideOutput, Tool, ToolCall, ToolEffect, ToolSpec, Workflow,
};
use convoke_steps::task_boxed;
use serde_json::{Value, json};

/// Hides a word.
struct Hides;

fn hidden(text: &str) -> String {
    text.replace("hunter22", "#")
}

impl Interceptor for Hides {
    fn name(&self) -> &'static str {
        "hides"
    }

    fn side_output(&self, tool: &ToolSpec, said: &mut SideOutput) {
        assert_eq!(tool.name(), "choose");
        match said {
            SideOutput::Question(question) => {
                question.title = hidden(&question.title);
                question.details = hidden(&question.details);
                if let QuestionKind::Choice { options } = &mut question.kind {
                    options.iter_mut().for_each(|option| *option = hidden(option));
                }
            }
            SideOutput::Event { value, .. } => {
                *value = serde_json::from_str(&hidden(&value.to_string())).unwrap()
            }
            SideOutput::Remark(remark) => *remark = hidden(remark),
            other => panic!("{other:?}"),
        }
    }
}

/// Asks whether to use one of two words.
struct Choose(ToolSpec);

impl Tool for Choose {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        if arguments.is_null() { Err("say hunter22".to_owned()) } else { Ok(()) }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let value = json!({"word": "hunter22"});
            call.scope.child("below").emit(EventKind::Custom { name: "word".to_owned(), value }).await;
            let question = Question::choice("hunter22?", ["hunter22", "other"]).details("or not hunter22");
            let Decision::Choose { option } = call.scope.ask(question).await?.decision else { panic!() };
            if call.arguments["twice"] == true {
                call.scope.ask(Question::confirm("Sure?")).await?;
            }
            Ok(format!("{} characters", option.len()))
        })
    }
}

fn choosing(arguments: Value) -> Workflow<Trail> {
    let tool: Arc<dyn Tool> = Arc::new(Choose(ToolSpec::new("choose", "", ToolEffect::Reads.into())));
    Workflow::new(task_boxed("work", move |scope, trail: &mut Trail| {
        let (tool, arguments) = (Arc::clone(&tool), arguments.clone());
        Box::pin(async move {
            let call = ToolCall { id: "one".to_owned(), name: "choose".to_owned(), arguments };
            let own = scope.tool_scope(&*tool, None);
            trail.text = own.tool(&tool, &call).await?.content;
            Ok(())
        })
    }))
}

fn hiding(home: &Home) -> Runtime {
    home.builder().interceptor(Hides).build()
}

fn options(kind: &QuestionKind) -> &[String] {
    let QuestionKind::Choice { options } = kind else { panic!("{kind:?}") };
    options
}

#[tokio::test]
async fn what_is_hidden_is_in_no_question_and_no_event_and_the_answer_is_to_what_was_meant() {
    let (home, workflow) = (Home::new(echo()), choosing(json!({})));
    let start = hiding(&home).start(&workflow, Trail::default());
    let (events, outcome) = start.stream().collect().await;
    let outcome = outcome.unwrap();
    let told = format!("{events:?} {outcome:?} {:?}", home.entries(&outcome.run).await);
    assert!(!told.contains("hunter22") && told.contains("or not #"), "{told}");
    assert_eq!(options(&outcome.questions()[0].question.kind), ["#", "other"]);
    home.answer(&outcome.run, "#?", Answer::choose("#")).await;
    let resumed = hiding(&home).resume(&workflow, outcome.run).await.unwrap();
    assert_eq!(resumed.completed().unwrap().text, "8 characters");
}

#[tokio::test]
async fn a_question_that_was_asked_when_nothing_was_hidden_is_the_same_question() {
    let (home, workflow) = (Home::new(echo()), choosing(json!({"twice": true})));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(options(&outcome.questions()[0].question.kind), ["hunter22", "other"]);
    home.answer(&outcome.run, "hunter22?", Answer::choose("hunter22")).await;
    let asked = home.resume(&workflow, &outcome.run).await;
    home.answer(&asked.run, "Sure?", Answer::approve()).await;
    let resumed = hiding(&home).resume(&workflow, outcome.run).await.unwrap();
    assert_eq!(resumed.status, RunStatus::Completed, "{:?}", resumed.error);
    assert_eq!(resumed.state.text, "8 characters");
}

#[tokio::test]
async fn what_is_wrong_with_arguments_is_said_without_what_is_hidden() {
    let home = Home::new(echo());
    let outcome = hiding(&home).start(&choosing(Value::Null), Trail::default()).await.unwrap();
    assert_eq!(outcome.completed().unwrap().text, "invalid arguments: say #");
}
