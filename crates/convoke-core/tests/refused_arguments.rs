//! Calls whose arguments are wrong, told again from journals that know more or less of them.

use std::sync::Arc;

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use convoke_core::{
    BoxFuture, EffectKind, Error, Invocation, Phase, Repeat, Tool, ToolCall, ToolEffect, ToolSpec, Workflow,
};
use convoke_steps::task_boxed;
use serde_json::{Value, json};

/// A tool that must not be called twice, and takes arguments or none.
struct Picky {
    spec: ToolSpec,
    takes_any: bool,
}

impl Tool for Picky {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        if self.takes_any { Ok(()) } else { Err("say less".to_owned()) }
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async { Ok("done".to_owned()) })
    }
}

fn calling(takes_any: bool) -> Workflow<Trail> {
    let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
    let tool: Arc<dyn Tool> = Arc::new(Picky { spec, takes_any });
    Workflow::new(task_boxed("main", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let call = ToolCall { id: "c".to_owned(), name: "pay".to_owned(), arguments: json!({"n": 1}) };
            trail.text = scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content;
            scope.now().await?;
            Ok(())
        })
    }))
}

/// Journals of older versions have no entry of a call that was refused.
#[tokio::test]
async fn a_call_that_was_refused_is_told_again_though_the_journal_does_not_know_it() {
    let (home, workflow) = (Home::new(echo()), calling(false));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(outcome.state.text, "invalid arguments: say less");
    let older = home.with_entries(&outcome.run, |entry| entry.effect != EffectKind::Tool).await;
    let told = home.runtime().replay(&workflow, &older).await.unwrap();
    assert_eq!((told.state, told.unused), (outcome.state, 0));
}

#[tokio::test]
async fn a_call_that_was_begun_is_not_told_as_refused_by_whoever_would_refuse_it_now() {
    let home = Home::new(echo());
    let run = home.start(&calling(true), Trail::default()).await.run;
    let begun = home.with_entries(&run, |entry| entry.phase == Phase::Started).await;
    let told = home.runtime().replay(&calling(false), &begun).await.unwrap();
    assert_eq!(told.state.text, "", "nobody knows what came of it");
}
