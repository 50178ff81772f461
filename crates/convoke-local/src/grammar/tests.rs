//! Tests of grammars against texts, over a vocabulary of single bytes: no model is needed.

use convoke_core::OutputSchema;
use llguidance::{Matcher, ParserFactory};
use toktrie::ApproximateTokEnv;

use super::*;

fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "get_weather".into(),
        description: "The weather of a city.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "format": "uint8", "minimum": 0}},
            "required": ["city"],
            "additionalProperties": false,
        }),
    }
}

fn clock() -> ToolDefinition {
    ToolDefinition {
        name: "now".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
    }
}

fn request(choice: ToolChoice) -> ModelRequest {
    ModelRequest { tools: vec![weather(), clock()], tool_choice: choice, ..ModelRequest::new("x") }
}

/// Whether the reply is one that may end here.
fn accepts(request: &ModelRequest, reply: &str) -> bool {
    let grammar = for_request(request, 2).unwrap().expect("a grammar");
    let mut factory = ParserFactory::new_simple(&ApproximateTokEnv::single_byte_env()).unwrap();
    factory.quiet();
    let mut matcher = Matcher::new(factory.create_parser(grammar));
    assert_eq!(matcher.get_error(), None);
    let tokens: Vec<u32> = reply.bytes().map(u32::from).collect();
    let read = matcher.try_consume_tokens(&tokens).unwrap();
    read == tokens.len() && (matcher.is_stopped() || matcher.is_accepting().unwrap())
}

const CALL: &str = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</tool_call>";
const NOW: &str = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

#[test]
fn a_required_call_is_a_call_and_nothing_else() {
    let request = request(ToolChoice::Required);
    assert!(accepts(&request, CALL));
    assert!(accepts(&request, &format!("{CALL}\n{NOW}")));
    assert!(!accepts(&request, &format!("{CALL}\n{NOW}\n{NOW}")), "two calls at most");
    assert!(!accepts(&request, "Sure."));
    assert!(!accepts(&request, &CALL.replace("get_weather", "get_whether")));
    assert!(!accepts(&request, &CALL.replace("3", "\"3\"")));
    assert!(!accepts(&request, &CALL.replace("city", "town")));
}

#[test]
fn a_possible_call_leaves_text_free_until_it_begins() {
    let request = request(ToolChoice::Auto);
    assert!(accepts(&request, "It rains, {\"name\": \"Bob\"} said.\n<b>Bring</b> ```json\n{}\n```"));
    assert!(accepts(&request, CALL));
    assert!(accepts(&request, &format!("Let me look.\n{CALL}\n{NOW}")));
    assert!(!accepts(&request, &format!("Let me look.\n{}", CALL.replace("3", "three"))));
    assert!(!accepts(&request, "Write <tool_call> to call."));
    assert!(!accepts(&request, &format!("{CALL} Done.")));
}

#[test]
fn a_call_without_tags_is_held_to_its_schema_too() {
    let request = request(ToolChoice::Auto);
    let bare = "```json\n{\n  \"name\": \"get_weather\",\n  \"arguments\": {\"city\": \"Oslo\"}\n}\n```";
    assert!(accepts(&request, bare));
    assert!(accepts(&request, &format!("I call:\n{}", &bare[8..bare.len() - 4])));
    assert!(!accepts(&request, &bare.replace("city", "town")));
    assert!(accepts(&request, "{\"name\": \"get_whether\", \"arguments\": 5}"), "not one of the tools: text");
}

#[test]
fn with_a_schema_a_reply_is_an_answer_or_a_call() {
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": false});
    let output = Some(OutputSchema { name: "sum".into(), description: String::new(), schema });
    let request = ModelRequest { output, ..request(ToolChoice::Auto) };
    assert!(accepts(&request, "{\"sum\": 3}"));
    assert!(accepts(&request, CALL));
    assert!(accepts(&request, "{\"name\": \"now\", \"arguments\": {}}"));
    assert!(!accepts(&request, "three"));
    assert!(!accepts(&request, "{\"sum\": \"3\"}"));
    let named = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false});
    let mut similar = request.clone();
    similar.output = Some(OutputSchema { name: "person".into(), description: String::new(), schema: named });
    assert!(accepts(&similar, "{\"name\": \"now\"}"), "an answer that begins like a call");
    assert!(accepts(&similar, "{\"name\": \"nowhere\"}"));
    assert!(accepts(&similar, "{\"name\": \"now\", \"arguments\": {}}"));
    let forbidden = ModelRequest { tool_choice: ToolChoice::None, ..request };
    assert!(accepts(&forbidden, "{\"sum\": 3}") && !accepts(&forbidden, CALL));
}

#[test]
fn names_of_tools_are_taken_literally() {
    let mut request = request(ToolChoice::Auto);
    request.tools[1].name = "a.b/c\"[x]".into();
    assert!(accepts(&request, "<tool_call>\n{\"name\": \"a.b/c\\\"[x]\", \"arguments\": {}}\n</tool_call>"));
    assert!(accepts(&request, "{\"name\": \"a.b/c\\\"[x]\", \"arguments\": {}}"));
    assert!(!accepts(&request, "{\"name\": \"a.b/c\\\"[x]\", \"arguments\": 1}"));
    assert!(accepts(&request, "{\"name\": \"axb/c\\\"[x]\", \"arguments\": 1}"));
}

#[test]
fn requests_without_sense_are_refused() {
    assert!(for_request(&ModelRequest::new("x"), 2).unwrap().is_none());
    let none = ModelRequest { tool_choice: ToolChoice::Required, ..ModelRequest::new("x") };
    assert_eq!(for_request(&none, 2).unwrap_err().kind, ModelErrorKind::InvalidRequest);
    let output = Some(OutputSchema { name: "odd".into(), description: String::new(), schema: json!(5) });
    let error = for_request(&ModelRequest { output, ..ModelRequest::new("x") }, 2).unwrap_err();
    assert!(error.message.contains("`odd`"), "{error}");
}

#[test]
fn a_list_in_an_answer_has_an_end() {
    let list = |length: usize| format!("{{\"facts\": [{}]}}", vec!["\"x\""; length].join(", "));
    let of = |facts: Value| {
        let schema = json!({
            "type": "object",
            "properties": {"facts": facts},
            "required": ["facts"],
            "additionalProperties": false,
        });
        let output = OutputSchema { name: "facts".into(), description: String::new(), schema };
        ModelRequest { output: Some(output), ..ModelRequest::new("x") }
    };
    let open = of(json!({"type": "array", "items": {"type": "string"}}));
    assert!(accepts(&open, &list(0)) && accepts(&open, &list(24)));
    assert!(!accepts(&open, &list(25)));
    let own = of(json!({"type": "array", "items": {"type": "string"}, "maxItems": 30}));
    assert!(accepts(&own, &list(30)) && !accepts(&own, &list(31)));
    let least = of(json!({"type": "array", "items": {"type": "string"}, "minItems": 26}));
    assert!(accepts(&least, &list(26)) && !accepts(&least, &list(25)));
}
