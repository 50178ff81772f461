//! Workflows as tools of agents.
use crate::common::{Diary, agent, calls_then_done, result, results};
use convoke_agent::WorkflowTool;
use convoke_core::{
    BoxFuture, Error, EventKind, ModelRequest, Runner, Scope, Step, Tool, Visibility, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Analysis {
    query: String,
    result: Option<String>,
    output: Option<String>,
    notes: u32,
}

type Act = Box<dyn for<'a> Fn(&'a Scope, &'a mut Analysis) -> BoxFuture<'a, Result<(), Error>> + Send + Sync>;

/// A workflow of one step that does what a test wants.
struct Acting(Act);

impl Step<Analysis> for Acting {
    fn name(&self) -> &str {
        "analysis"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Analysis) -> BoxFuture<'a, Result<(), Error>> {
        (self.0)(scope, state)
    }
}

fn acting(
    act: impl for<'a> Fn(&'a Scope, &'a mut Analysis) -> BoxFuture<'a, Result<(), Error>> + Send + Sync + 'static,
) -> Workflow<Analysis> {
    Workflow::new(Acting(Box::new(act)))
}

fn tool(
    act: impl for<'a> Fn(&'a Scope, &'a mut Analysis) -> BoxFuture<'a, Result<(), Error>> + Send + Sync + 'static,
) -> WorkflowTool {
    WorkflowTool::new(Runner::new(&acting(act)))
}

/// What an agent that calls the tool gets to read.
async fn called(tool: WorkflowTool, arguments: Value) -> (String, bool) {
    let model = calls_then_done(Reply::tool("analysis", arguments));
    let result = result(agent(&model).tool(tool).build().unwrap()).await;
    results(&result).remove(0)
}

fn ok(content: &str) -> (String, bool) {
    (content.to_owned(), false)
}

#[test]
fn gains_146_the_tool_is_named_and_described_after_the_workflow() {
    let plain = tool(|_, _| Box::pin(async { Ok(()) }));
    let definition = &plain.spec().definition;
    assert_eq!(
        (definition.name.as_str(), definition.description.as_str()),
        ("analysis", "Invoke the analysis workflow")
    );
    assert_eq!(definition.parameters, json!({"type": "object", "properties": {}}));
    assert_eq!(plain.description("Analyses").spec().definition.description, "Analyses");
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    #[expect(dead_code, reason = "only its schema matters")]
    query: String,
}

#[tokio::test]
async fn gains_147_typed_parameters_are_the_types_schema() {
    let typed = tool(|_, _| Box::pin(async { Ok(()) })).parameters_of::<Question>();
    let expected =
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    assert_eq!(typed.spec().definition.parameters, expected);
    assert_eq!(typed.spec().definition.parameters, convoke_agent::schema_of::<Question>());
    let (content, is_error) = called(typed, json!({"query": 5})).await;
    assert!(is_error && content.contains("5 is not of type \"string\""), "{content}");
}

#[tokio::test]
async fn gains_148_no_arguments_are_no_input_and_broken_ones_an_error() {
    let inputs = Diary::default();
    let state = || {
        let (inputs, workflow) = (inputs.clone(), acting(|_, _| Box::pin(async { Ok(()) })));
        WorkflowTool::new(Runner::with_factory(&workflow, move |input| {
            inputs.note(input.as_ref().map_or("none".to_owned(), Value::to_string));
            Ok(serde_json::from_value(input.unwrap_or_else(|| json!({})))?)
        }))
    };
    let default = serde_json::to_string(&serde_json::to_value(Analysis::default()).unwrap()).unwrap();
    for none in [json!({}), json!("")] {
        assert_eq!(called(state(), none).await, ok(&default));
    }
    assert!(called(state(), json!({"query": "why?"})).await.0.contains("\"query\":\"why?\""));
    let (content, is_error) = called(state(), json!("[")).await;
    assert!(is_error && content.contains("not a JSON object: EOF while parsing"), "{content}");
    assert_eq!(inputs.entries(), ["none", "none", r#"{"query":"why?"}"#], "the last one did not run");
}

fn speaks<'a>(scope: &'a Scope, texts: &'static [&'static str]) -> BoxFuture<'a, Result<(), Error>> {
    replies(scope, texts.iter().copied().map(Reply::text).collect())
}

fn replies(scope: &Scope, replies: Vec<Reply>) -> BoxFuture<'_, Result<(), Error>> {
    Box::pin(async move {
        let times = replies.len();
        let model: std::sync::Arc<dyn convoke_core::Model> =
            std::sync::Arc::new(ScriptedModel::replies(replies));
        for _ in 0..times {
            scope.model(&model, ModelRequest::new("speak"), Visibility::Streamed).await?;
        }
        Ok(())
    })
}

#[tokio::test]
async fn gains_149_the_last_words_win_over_earlier_ones_and_over_snapshots() {
    let workflow = tool(|scope, state| {
        Box::pin(async move {
            let wordless = Reply::tool("look", json!({}));
            replies(scope, vec![Reply::text("First."), Reply::text("Last words."), wordless]).await?;
            state.result = Some("published".to_owned());
            scope.publish(state).await
        })
    });
    assert_eq!(called(workflow, json!({})).await, ok("Last words."));
}

#[tokio::test]
async fn gains_150_of_snapshots_the_result_else_the_output_else_all_of_it() {
    let publishes = |result: Option<&'static str>, output: Option<&'static str>| {
        tool(move |scope, state| {
            Box::pin(async move {
                state.output = output.map(str::to_owned);
                scope.publish(state).await?;
                // Told as a change only: the last state counts, not the last snapshot.
                state.result = result.map(str::to_owned);
                scope.publish(state).await
            })
        })
    };
    assert_eq!(called(publishes(Some("R"), Some("O")), json!({})).await, ok("R"));
    assert_eq!(called(publishes(None, Some("O")), json!({})).await, ok("O"));
    let all = serde_json::to_value(Analysis::default()).unwrap().to_string();
    assert_eq!(called(publishes(None, None), json!({})).await, ok(&all));

    // The last one counts, and not the final state.
    let tells = |last: Value| {
        tool(move |scope, _| {
            let snapshots = [json!({"result": "too early"}), last.clone()];
            Box::pin(async move {
                for state in snapshots {
                    scope.emit(EventKind::StateSnapshot { state }).await;
                }
                Ok(())
            })
        })
    };
    let both = json!({"result": "from elsewhere", "output": "not this"});
    assert_eq!(called(tells(both), json!({})).await, ok("from elsewhere"));
    assert_eq!(called(tells(json!({"output": "O", "pages": 3})), json!({})).await, ok("O"));
    assert_eq!(called(tells(json!({"pages": 3})), json!({})).await, ok(r#"{"pages":3}"#));
}

#[tokio::test]
async fn gains_151_without_words_and_snapshots_the_final_state() {
    let counts = tool(|_, state| {
        Box::pin(async move {
            state.notes = 7;
            Ok(())
        })
    });
    let (content, is_error) = called(counts, json!({})).await;
    let expected = json!({"query": "", "result": null, "output": null, "notes": 7});
    assert_eq!((serde_json::from_str::<Value>(&content).unwrap(), is_error), (expected, false));
}

#[tokio::test]
async fn gains_152_a_failing_workflow_is_a_tool_error() {
    let fails = tool(|_, _| Box::pin(async { Err("no data".into()) }));
    assert_eq!(called(fails, json!({})).await, ("workflow error: no data".to_owned(), true));
}

#[tokio::test]
async fn gains_153_an_error_that_the_workflow_copes_with_is_none() {
    struct Failing;
    impl Step<Analysis> for Failing {
        fn name(&self) -> &str {
            "failing"
        }

        fn run<'a>(&'a self, _: &'a Scope, _: &'a mut Analysis) -> BoxFuture<'a, Result<(), Error>> {
            Box::pin(async { Err("no data".into()) })
        }
    }
    let copes = tool(|scope, state| {
        Box::pin(async move {
            assert!(scope.run(&Failing, state).await.is_err());
            speaks(scope, &["Never mind."]).await
        })
    });
    assert_eq!(called(copes, json!({})).await, ok("Never mind."));
}

#[tokio::test]
async fn gains_154_a_mapper_gets_all_events_in_order_and_its_error_is_the_tools() {
    let mapped = || {
        tool(|scope, state| {
            Box::pin(async move {
                scope.publish(state).await?;
                speaks(scope, &["Hello."]).await
            })
        })
    };
    let listing = mapped().result(|events, state| {
        let kinds: Vec<String> = events.iter().map(|(_, event)| crate::common::kind(event)).collect();
        Ok(format!("{} / {}", kinds.join(" "), state["notes"]))
    });
    let expected = "step_started state_snapshot model_call_started message_started message_delta message_ended \
                    model_call_ended step_ended / 0";
    assert_eq!(called(listing, json!({})).await, ok(expected));
    let failing = mapped().result(|_, _| Err("nothing to show".into()));
    assert_eq!(called(failing, json!({})).await, ("nothing to show".to_owned(), true));
}
