//! Arguments of tools: what the model is told of them, and what they are checked for before a call.
use crate::common::{agent, calls_then_done, result, results};
use convoke_agent::{FunctionTool, schema_of};
use convoke_core::{Error, Tool};
use convoke_models::Reply;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct OfEveryType {
    /// Some words.
    text: String,
    count: i64,
    flag: bool,
    list: Vec<String>,
    #[serde(default = "three")]
    days: i64,
    note: Option<String>,
}

fn three() -> i64 {
    3
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn every_type() -> FunctionTool {
    FunctionTool::new("every", "", |arguments: OfEveryType| async move {
        let OfEveryType { text, count, flag, list, days, note } = arguments;
        Ok::<_, Error>(format!("{text} {count} {flag} {list:?} {days} {note:?}"))
    })
}

fn whole() -> Value {
    json!({"text": "x", "count": 2, "flag": true, "list": ["a"]})
}

fn with(name: &str, value: Value) -> Value {
    let mut arguments = whole();
    arguments[name] = value;
    arguments
}

fn without(name: &str) -> Value {
    let mut arguments = whole();
    arguments.as_object_mut().unwrap().remove(name);
    arguments
}

#[test]
fn agentcore_243_every_type_is_checked() {
    let tool = every_type();
    assert_eq!(tool.check(&whole()), Ok(()));
    for (name, wrong) in [
        ("text", json!(3)),
        ("text", json!(["x"])),
        ("count", json!("2")),
        ("count", json!(2.5)),
        ("flag", json!("true")),
        ("flag", json!(1)),
        ("list", json!("a")),
        ("list", json!([1])),
        ("days", json!("many")),
        ("note", json!(3)),
    ] {
        let problem = tool.check(&with(name, wrong.clone())).unwrap_err();
        assert!(problem.contains(name), "{name} {wrong}: {problem}");
    }
}

#[test]
fn agentcore_243_what_is_required_is_there_and_what_is_not_may_be_missing() {
    let tool = every_type();
    for name in ["text", "count", "flag", "list"] {
        for arguments in [without(name), with(name, Value::Null)] {
            let problem = tool.check(&arguments).unwrap_err();
            assert!(problem.contains(name), "{arguments}: {problem}");
        }
    }
    for name in ["days", "note"] {
        assert_eq!(tool.check(&with(name, Value::Null)), Ok(()), "{name}");
    }
    let none = FunctionTool::new("none", "", |_: Nothing| async { Ok::<_, Error>("") });
    for arguments in [Value::Null, json!({})] {
        assert_eq!(none.check(&arguments), Ok(()), "{arguments}");
    }
}

#[tokio::test]
async fn agentcore_243_a_function_gets_values_of_its_types_and_the_defaults() {
    let calls = Reply::tool("every", whole()).and_tool("every", with("days", json!(9)));
    let given = result(agent(&calls_then_done(calls)).tool(every_type()).build().unwrap()).await;
    let read = |days: i64| (format!("x 2 true [\"a\"] {days} None"), false);
    assert_eq!(results(&given), [read(3), read(9)]);
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Painted {
    colour: Colour,
    name: String,
    size: Option<i64>,
}

#[test]
fn agentcore_244_a_schema_says_what_there_is_and_no_more() {
    let empty = schema_of::<Nothing>();
    assert_eq!(empty["type"], "object");
    let is_empty = |member: &str| match empty.get(member) {
        None => true,
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(members)) => members.is_empty(),
        Some(_) => false,
    };
    assert!(is_empty("properties") && is_empty("required"), "{empty}");

    let painted = schema_of::<Painted>();
    assert_eq!(painted["required"], json!(["colour", "name"]));
    assert_eq!(painted["properties"]["colour"]["enum"], json!(["red", "blue"]));
    for plain in ["name", "size"] {
        assert!(painted["properties"][plain].get("enum").is_none(), "{painted}");
    }
    let every = every_type();
    let schema = &every.spec().definition.parameters;
    assert_eq!(schema["required"], json!(["text", "count", "flag", "list"]));
    assert_eq!(schema["properties"]["text"]["description"], "Some words.");
    let types = ["text", "count", "flag", "list"].map(|name| schema["properties"][name]["type"].clone());
    assert_eq!(types, ["string", "integer", "boolean", "array"].map(Value::from));
}
