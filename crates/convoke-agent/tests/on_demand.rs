//! Tools that are offered by name until they are opened.
use crate::common::{Diary, agent, call, echo, result, results};
use convoke_agent::Agent;
use convoke_core::ModelRequest;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

fn offered(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn open(names: Value) -> Reply {
    Reply::tool("open_tools", json!({"names": names}))
}

/// Three tools, of which two are on demand.
fn clerk(model: &ScriptedModel, diary: &Diary) -> Agent {
    let builder = agent(model).tool(echo("read", diary)).tool(echo("write", diary)).tool(echo("look", diary));
    builder.on_demand(["read", "write", "nothing"]).build().unwrap()
}

#[tokio::test]
async fn what_is_on_demand_is_described_once_it_is_opened() {
    let (diary, model) = (
        Diary::default(),
        ScriptedModel::builder()
            .when(Match::tool_result_contains("[a]"), "done")
            .when(Match::tool_result_contains("open now: read"), call("read", "a"))
            .otherwise(open(json!(["read"])))
            .build(),
    );
    let result = result(clerk(&model, &diary)).await;
    assert_eq!(result.text(), "done");
    assert_eq!(diary.entries(), ["read(a)"]);
    let requests = model.requests();
    assert_eq!(offered(&requests[0]), ["look", "open_tools"]);
    let names = &requests[0].tools[1].parameters["properties"]["names"]["items"]["enum"];
    assert_eq!(*names, json!(["read", "write"]), "names of no tool are passed over");
    assert_eq!(offered(&requests[1]), ["read", "look", "open_tools"]);
    assert_eq!(offered(&requests[2]), ["read", "look", "open_tools"], "what is open stays open");
}

#[tokio::test]
async fn when_everything_is_open_there_is_nothing_to_open() {
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "done")
        .otherwise(open(json!(["read", "write"])))
        .build();
    result(clerk(&model, &Diary::default())).await;
    assert_eq!(offered(&model.requests()[1]), ["read", "write", "look"]);
}

#[tokio::test]
async fn a_tool_that_is_called_without_being_opened_is_called_and_open_from_then_on() {
    let (diary, model) = (
        Diary::default(),
        ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(call("write", "x")).build(),
    );
    result(clerk(&model, &diary)).await;
    assert_eq!(diary.entries(), ["write(x)"]);
    assert_eq!(offered(&model.requests()[1]), ["write", "look", "open_tools"]);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_opened_and_the_names_are_said() {
    for names in [json!(["raed"]), json!([]), json!("read")] {
        let model = ScriptedModel::builder()
            .when(Match::has_tool_result(), "done")
            .otherwise(open(names.clone()))
            .build();
        let result = result(clerk(&model, &Diary::default())).await;
        let (said, is_error) = results(&result).remove(0);
        assert!(is_error && said.ends_with("there are: read, write"), "{names}: {said}");
        assert_eq!(offered(&model.requests()[1]), ["look", "open_tools"], "{names}");
    }
}

#[tokio::test]
async fn a_tool_of_ones_own_that_is_called_open_tools_is_that_tool() {
    let (diary, model) = (
        Diary::default(),
        ScriptedModel::builder()
            .when(Match::has_tool_result(), "done")
            .otherwise(call("open_tools", "x"))
            .build(),
    );
    let own = agent(&model).tool(echo("open_tools", &diary)).tool(echo("read", &diary)).on_demand(["read"]);
    result(own.build().unwrap()).await;
    assert_eq!(diary.entries(), ["open_tools(x)"]);
    assert_eq!(offered(&model.requests()[0]), ["open_tools", "read"]);
}
