//! Tools, sets of tools, and the schemas of their arguments.
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Diary, agent, call, calls_then_done, echo, outcome, result, results};
use convoke_agent::{
    AgentStop, ClientTool, Conversation, FunctionTool, InvalidAgent, ToolContext, schema_of,
};
use convoke_core::{
    Error, Message, Repeat, Runtime, Tool, ToolCall, ToolEffect, ToolEffects, Toolset, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[test]
fn gains_190_193_194_a_set_keeps_order_and_refuses_a_name_that_is_taken() {
    let diary = Diary::default();
    let mut one = Toolset::new().with(echo("b", &diary)).unwrap();
    assert_eq!((one.len(), one.names().collect::<Vec<_>>()), (1, vec!["b"]));
    let duplicate = one.add(Arc::new(echo("b", &diary))).unwrap_err();
    assert_eq!(duplicate.to_string(), "there is already a tool called `b`; rename one of them");
    assert_eq!(one.len(), 1, "nothing was added");
    let tools = one.with(echo("a", &diary)).unwrap().with(echo("c", &diary)).unwrap();
    assert_eq!((tools.len(), tools.names().collect::<Vec<_>>()), (3, vec!["b", "a", "c"]));
    let duplicate = tools.with(echo("a", &diary)).unwrap_err();
    assert_eq!(duplicate.name, "a");
    let built =
        agent(&ScriptedModel::replies(["hi"])).tool(echo("a", &diary)).tool(echo("a", &diary)).build();
    assert!(matches!(built, Err(InvalidAgent::DuplicateTool(duplicate)) if duplicate.name == "a"));
}

#[tokio::test]
async fn gains_194_a_model_is_offered_the_tools_in_the_order_they_were_added() {
    let (diary, model) = (Diary::default(), ScriptedModel::builder().otherwise("hi").build());
    let names = ["zebra", "ant", "mole", "bee"];
    let builder = names.iter().fold(agent(&model), |builder, name| builder.tool(echo(name, &diary)));
    let helper = builder.build().unwrap();
    for _ in 0..2 {
        result(helper.clone()).await;
        let offered = model.last_request().unwrap().tools;
        assert_eq!(offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), names);
    }
}

#[tokio::test]
async fn gains_191_a_result_has_the_calls_id_and_says_whether_it_is_a_failure() {
    let picky = FunctionTool::new("picky", "Likes short texts", |args: crate::common::Text| async move {
        if args.text.len() > 3 { Err("too long") } else { Ok(args.text) }
    });
    let model = calls_then_done(call("picky", "abc").and_tool("picky", json!({"text": "abcd"})));
    let result = result(agent(&model).tool(picky).build().unwrap()).await;
    assert_eq!(results(&result), [("abc".to_owned(), false), ("too long".to_owned(), true)]);
    let calls: Vec<&ToolCall> = result.transcript.iter().flat_map(Message::tool_calls).collect();
    let answered: Vec<&str> =
        result.transcript.iter().flat_map(Message::results).map(|result| result.call_id.as_str()).collect();
    assert_eq!(answered, calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>());
}

#[tokio::test]
async fn gains_192_arguments_are_decoded_and_what_is_wrong_with_them_can_be_corrected() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("EOF while parsing"), Reply::tool("echo", json!({"text": ["x"]})))
        .when(Match::tool_result_contains("`/text`: [\"x\"] is not of type \"string\""), call("echo", "x"))
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("echo", json!("{\"text\": ")))
        .build();
    let result = result(agent(&model).tool(echo("echo", &diary)).build().unwrap()).await;
    assert_eq!((result.turns, diary.entries()), (4, vec!["echo(x)".to_owned()]));
    let failed: Vec<bool> = results(&result).into_iter().map(|(_, is_error)| is_error).collect();
    assert_eq!(failed, [true, true, false]);
}

/// A type that decodes less than its schema says.
#[derive(Debug, JsonSchema, Deserialize)]
struct Day {
    #[schemars(with = "String")]
    date: std::net::Ipv4Addr,
}

#[test]
fn what_the_schema_lets_through_is_decoded_before_the_call_too() {
    let tool =
        FunctionTool::new("day", "A day", |day: Day| async move { Ok::<_, Error>(day.date.to_string()) });
    assert!(tool.check(&json!({"date": "127.0.0.1"})).is_ok());
    let problem = tool.check(&json!({"date": "tomorrow"})).unwrap_err();
    assert_eq!(problem, "`date`: invalid IPv4 address syntax");
}

#[test]
fn nulls_of_optional_arguments_are_as_good_as_their_absence() {
    #[derive(Deserialize, JsonSchema)]
    struct Search {
        #[expect(dead_code, reason = "only decoded")]
        query: String,
        #[serde(default)]
        #[expect(dead_code, reason = "only decoded")]
        limit: u32,
    }
    let tool = FunctionTool::new("search", "Searches", |_: Search| async { Ok::<_, Error>("") });
    assert_eq!(tool.check(&json!({"query": "x", "limit": null})), Ok(()));
    assert!(tool.check(&json!({"query": null})).is_err());
}

#[tokio::test]
async fn what_a_function_gives_is_text_as_it_is_or_json() {
    #[derive(Serialize)]
    struct Weather {
        sky: &'static str,
        degrees: i32,
    }
    let tools = Toolset::new()
        .with(FunctionTool::new("text", "", |_: crate::common::Text| async {
            Ok::<_, Error>("as \"it\" is")
        }))
        .unwrap()
        .with(FunctionTool::new("row", "", |_: crate::common::Text| async {
            Ok::<_, Error>(Weather { sky: "clear", degrees: -3 })
        }))
        .unwrap()
        .with(FunctionTool::new("list", "", |_: crate::common::Text| async { Ok::<_, Error>(vec![1, 2]) }))
        .unwrap();
    let calls = call("text", "").and_tool("row", json!({"text": ""})).and_tool("list", json!({"text": ""}));
    let result = result(agent(&calls_then_done(calls)).tools(tools).build().unwrap()).await;
    let contents: Vec<String> = results(&result).into_iter().map(|(content, _)| content).collect();
    assert_eq!(contents[0], "as \"it\" is");
    assert_eq!(serde_json::from_str::<Value>(&contents[1]).unwrap(), json!({"sky": "clear", "degrees": -3}));
    assert_eq!(contents[2], "[1,2]");
}

#[tokio::test]
async fn a_function_may_know_its_scope_and_key() {
    let tool =
        FunctionTool::with_context("where", "", |context: ToolContext, _: crate::common::Text| async move {
            Ok::<_, Error>(format!("{} {}", context.scope.path().as_str(), context.key.as_str().len()))
        });
    let result = result(agent(&calls_then_done(call("where", ""))).tool(tool).build().unwrap()).await;
    assert_eq!(results(&result), [("helper/turn/where 32".to_owned(), false)]);
}

#[tokio::test]
async fn a_tool_may_be_made_of_data() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let double = |schema| {
        FunctionTool::dynamic("double", "Doubles", schema, |_, arguments: Value| async move {
            Ok::<_, Error>(arguments["n"].as_i64().unwrap() * 2)
        })
    };
    let model =
        calls_then_done(Reply::tool("double", json!({"n": 21})).and_tool("double", json!({"n": "x"})));
    let result = result(agent(&model).tool(double(schema).unwrap()).build().unwrap()).await;
    assert_eq!(results(&result)[0], ("42".to_owned(), false));
    assert!(results(&result)[1].1);
    assert!(double(json!({"type": "no such type"})).is_err());
    assert!(ClientTool::new("x", "", json!({"type": 5})).is_err());
}

#[test]
fn effects_decide_about_repetition_unless_it_is_said() {
    let made = || FunctionTool::new("x", "", |_: crate::common::Text| async { Ok::<_, Error>("") });
    assert_eq!((made().spec().repeat, made().spec().effects), (Repeat::Never, ToolEffect::Network.into()));
    assert_eq!(
        (made().pure().spec().repeat, made().pure().spec().effects),
        (Repeat::Safe, ToolEffects::NONE)
    );
    assert_eq!(made().effects([ToolEffect::Reads]).spec().repeat, Repeat::Safe);
    assert_eq!(made().effects([ToolEffect::Writes]).spec().repeat, Repeat::Never);
    assert_eq!(made().idempotent().effects([ToolEffect::Writes]).spec().repeat, Repeat::Safe);
}

#[tokio::test]
async fn a_result_that_is_too_long_is_an_error_and_not_a_cut() {
    let long =
        FunctionTool::new("long", "", |_: crate::common::Text| async { Ok::<_, Error>("x".repeat(2_000)) });
    let result =
        result(agent(&calls_then_done(call("long", ""))).tool(long.max_output(1_000)).build().unwrap()).await;
    let (content, is_error) = results(&result).remove(0);
    assert!(is_error && content.contains("gave 2000 bytes, more than the 1000"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn gains_195_tools_of_one_request_are_nobody_elses() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "hi")
        .when(Match::offers_tool("x"), call("x", "from the page").delay(Duration::from_secs(1)))
        .otherwise(call("echo", "from the backend"))
        .build();
    let helper = agent(&model).tool(echo("echo", &diary)).build().unwrap();
    let of_request = |name: &str, page: &str| {
        Toolset::new().with(ClientTool::typed::<crate::common::Text>(name, page)).unwrap()
    };
    let overlaid = |page: &str| helper.with_tools(&of_request("x", page)).unwrap();
    let runtime = Runtime::new();
    let began = tokio::time::Instant::now();
    let (ann, bob) = tokio::join!(
        outcome(&runtime, overlaid("Of Ann's page")),
        outcome(&runtime, overlaid("Of Bob's page"))
    );
    assert!(began.elapsed() < Duration::from_secs(2), "both at once, on the paused clock");
    for talk in [ann, bob] {
        let result = talk.completed().unwrap().result.unwrap();
        assert_eq!((result.stop, result.pending_calls[0].name.as_str()), (AgentStop::ClientToolCalls, "x"));
    }
    let mut offered: Vec<Vec<(String, String)>> = model
        .requests()
        .iter()
        .map(|r| r.tools.iter().map(|tool| (tool.name.clone(), tool.description.clone())).collect())
        .collect();
    offered.sort();
    let seen = |page: &str| [("echo", "Echoes"), ("x", page)].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(offered, [seen("Of Ann's page"), seen("Of Bob's page")]);

    let clash = helper.with_tools(&of_request("echo", "Of the page")).unwrap_err();
    assert_eq!(clash.name, "echo");
    assert_eq!(helper.tools().names().collect::<Vec<_>>(), ["echo"]);
    let talk = runtime.start(&Workflow::new(helper), Conversation::from("go")).await.unwrap();
    assert_eq!(talk.completed().unwrap().text(), "hi");
    assert_eq!(diary.entries(), ["echo(from the backend)"]);
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Inner {
    x: f64,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Everything {
    /// A code of capitals.
    #[schemars(length(min = 1, max = 9), regex(pattern = "^[A-Z]+$"))]
    code: String,
    #[schemars(range(min = -5, max = 5))]
    level: i64,
    count: u32,
    colour: Colour,
    inner: Inner,
    #[schemars(length(min = 1, max = 3))]
    list: Vec<bool>,
    #[serde(default = "three")]
    days: u8,
    note: Option<String>,
}

fn three() -> u8 {
    3
}

#[test]
fn gains_196_a_schema_says_everything_the_type_says() {
    let schema = schema_of::<Everything>();
    assert_eq!(
        schema["properties"],
        json!({
            "code": {
                "type": "string", "description": "A code of capitals.",
                "minLength": 1, "maxLength": 9, "pattern": "^[A-Z]+$",
            },
            "level": {"type": "integer", "minimum": -5, "maximum": 5},
            "count": {"type": "integer", "minimum": 0},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "inner": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
            "days": {"type": "integer", "minimum": 0, "maximum": 255, "default": 3},
            "note": {"type": ["string", "null"]},
        })
    );
    assert_eq!(schema["required"], json!(["code", "level", "count", "colour", "inner", "list"]));
    assert!(schema.get("$schema").is_none() && schema.get("title").is_none());
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Tree {
    value: Value,
    maybe: Option<Value>,
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Forest {
    trees: Vec<Tree>,
}

#[test]
fn gains_197_dynamic_values_are_free_recursion_is_a_reference_and_options_are_nullable() {
    let schema = schema_of::<Tree>();
    assert_eq!(schema["properties"]["value"], json!({}));
    assert_eq!(schema["properties"]["maybe"], json!({}));
    assert_eq!(schema["properties"]["children"]["items"], json!({"$ref": "#"}));
    assert_eq!(schema["properties"]["parent"]["anyOf"], json!([{"$ref": "#"}, {"type": "null"}]));
    assert_eq!(schema["required"], json!(["value", "children"]));
    assert_eq!(
        schema_of::<Forest>()["$defs"]["Tree"]["properties"]["children"]["items"],
        json!({"$ref": "#/$defs/Tree"})
    );
    let tool = FunctionTool::new("plant", "", |_: Forest| async { Ok::<_, Error>("") });
    let leaf = json!({"value": [1, {"any": "thing"}], "children": []});
    assert_eq!(tool.check(&json!({"trees": [{"value": null, "children": [leaf], "parent": null}]})), Ok(()));
}
