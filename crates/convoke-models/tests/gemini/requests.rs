//! Tests of requests.

use convoke_core::{
    Media, MediaSource, Message, ModelParams, ModelRequest, OutputSchema, Part, ReasoningEffort, Role,
    ToolChoice, ToolDefinition, Transcript,
};
use serde_json::json;

use super::{KEY, body_for, hello, model_named, refusal_of};
use crate::common::{call, result};
use crate::server::{Server, ask};

fn shape() -> OutputSchema {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    OutputSchema { name: "Place".into(), description: String::new(), schema }
}

#[tokio::test]
async fn a_request_has_its_path_its_key_in_a_header_and_its_parts_in_their_places() {
    let server = Server::start([hello()]).await;
    let mut request = ModelRequest::new(Transcript::from_iter([
        Message::system("Be brief."),
        Message::system("Be kind."),
        Message::user("How is the weather in Oslo and Rome?"),
        Message { role: Role::Assistant, parts: vec![call("c1", "Oslo"), call("c2", "Rome")] },
        Message::tool_results([result("c1", "rain", false), result("c2", "no such city", true)]),
        Message::system("Answer in French."),
        Message::user("Well?"),
    ]));
    request.tools = vec![weather()];
    request.tool_choice = ToolChoice::Required;
    request.params = ModelParams::default().temperature(0.0).seed((1 << 31) + 7).max_tokens(99);
    request.params.top_p = Some(0.5);
    request.params.stop = vec!["END".into()];
    request.params.extra = Some(json!({"generationConfig": {"topK": 3}, "safetySettings": []}));
    ask(&model_named("gemini-2.5-flash", &server), request).await.unwrap();
    let asked = server.last();
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
    );
    assert_eq!(asked.headers["x-goog-api-key"], KEY);
    let called =
        |id: &str, city: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {"city": city}}});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "How is the weather in Oslo and Rome?"}]},
            {"role": "model", "parts": [called("c1", "Oslo"), called("c2", "Rome")]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "rain"}}},
                {"functionResponse": {"id": "c2", "name": "weather", "response": {"error": "no such city"}}},
            ]},
            {"role": "user", "parts": [{"text": "Answer in French."}]},
            {"role": "user", "parts": [{"text": "Well?"}]},
        ],
        "tools": [{"functionDeclarations": [{
            "name": "weather",
            "description": "How the weather is.",
            "parametersJsonSchema": weather().parameters,
        }]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "maxOutputTokens": 99, "temperature": 0.0, "topP": 0.5, "seed": 7, "stopSequences": ["END"], "topK": 3,
        },
        "safetySettings": [],
    });
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn a_plain_question_is_sent_without_anything_besides() {
    let body = body_for("tunedModels/mine", ModelRequest::new("Hi")).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
}

#[tokio::test]
async fn what_says_nothing_is_left_out() {
    let messages = [Message::user(""), Message::user("Hi").with(Part::Text { text: String::new() })];
    let body = body_for("gemini-3-flash", ModelRequest::new(Transcript::from_iter(messages))).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
}

#[tokio::test]
async fn tools_are_forbidden_or_left_to_the_model() {
    let mut request = ModelRequest::new("Hi");
    request.tools = vec![weather()];
    assert_eq!(body_for("gemini-2.5-flash", request.clone()).await.get("toolConfig"), None);
    request.tool_choice = ToolChoice::None;
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
}

#[tokio::test]
async fn results_of_one_turn_go_together_even_from_several_messages() {
    let request = ModelRequest::new(Transcript::from_iter([
        Message::user("Both?"),
        Message { role: Role::Assistant, parts: vec![call("c1", "Oslo"), call("c2", "Rome")] },
        Message::tool_results([result("c1", "rain", false)]),
        Message::tool_results([result("c2", "sun", false)]),
    ]));
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);
    assert_eq!(body["contents"][2]["parts"][1]["functionResponse"]["response"]["output"], "sun");
}

#[tokio::test]
async fn pictures_and_files_go_by_value_or_by_address() {
    let media = |kind: &str, source| Media { media_type: kind.into(), name: None, source };
    let message = Message::user("What is this?")
        .with(Part::Image(media("image/png", MediaSource::Base64("aGk=".into()))))
        .with(Part::Image(media("image/jpeg", MediaSource::Url("https://example.org/a.jpg".into()))))
        .with(Part::File(media("application/pdf", MediaSource::Base64("cGRm".into()))));
    let body = body_for("gemini-2.5-flash", ModelRequest::new(message)).await;
    let expected = json!([
        {"text": "What is this?"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.org/a.jpg"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
    ]);
    assert_eq!(body["contents"][0]["parts"], expected);
}

#[tokio::test]
async fn what_gemini_cannot_be_asked_is_refused_with_advice() {
    let with = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = ModelRequest::new("Hi");
        change(&mut request);
        request
    };
    let file = |kind: &str, url: &str| {
        let source = MediaSource::Url(url.into());
        Part::File(Media { media_type: kind.into(), name: Some("a.zip".into()), source })
    };
    let cases = [
        (with(&|request| request.messages = Transcript::new()), "user's message"),
        (with(&|request| request.messages = Message::system("Be kind.").into()), "user's message"),
        (with(&|request| request.tool_choice = ToolChoice::Required), "has none"),
        (with(&|request| request.params.extra = Some(json!([1]))), "JSON object"),
        (with(&|request| request.params.stop = vec!["x".into(); 6]), "5 strings"),
        (
            with(&|request| {
                request.messages.push(Message::user("").with(file("application/zip", "https://a.b/c")));
            }),
            "a.zip",
        ),
        (
            with(&|request| {
                request.messages.push(Message::user("").with(file("text/plain", "file:///etc/x")));
            }),
            "base64",
        ),
        (
            with(&|request| {
                let picture = file("image/png", "https://a.b/c.png");
                request.messages = Message { role: Role::System, parts: vec![picture] }.into();
            }),
            "text only",
        ),
        (
            with(&|request| {
                request.tools = vec![weather()];
                request.output = Some(shape());
            }),
            "Gemini 3",
        ),
    ];
    for (request, sign) in cases {
        let message = refusal_of("gemini-2.5-flash", request).await;
        assert!(message.contains(sign), "{message}");
    }
}

#[tokio::test]
async fn an_answer_s_shape_is_sent_as_it_is_and_beside_tools_only_where_that_is_possible() {
    let mut request = ModelRequest::new("Where?");
    request.output = Some(shape());
    let expected = json!({"responseMimeType": "application/json", "responseJsonSchema": shape().schema});
    assert_eq!(body_for("gemini-2.5-flash", request.clone()).await["generationConfig"], expected);
    request.tools = vec![weather()];
    let body = body_for("gemini-3-flash-preview", request.clone()).await;
    assert_eq!((&body["generationConfig"], body["tools"].is_array()), (&expected, true));
    // Tools that must not be called need not be declared.
    request.tool_choice = ToolChoice::None;
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!((&body["generationConfig"], body.get("tools")), (&expected, None));
}

#[tokio::test]
async fn effort_becomes_a_budget_or_a_level_by_the_model_s_generation() {
    let asking = |effort| {
        let mut request = ModelRequest::new("Hi");
        request.params = ModelParams::default().reasoning(effort);
        request
    };
    for (name, effort, expected) in [
        ("gemini-2.5-flash", ReasoningEffort::Off, json!({"thinkingBudget": 0})),
        ("gemini-2.5-pro", ReasoningEffort::Low, json!({"thinkingBudget": 1024, "includeThoughts": true})),
        (
            "gemini-2.5-flash",
            ReasoningEffort::High,
            json!({"thinkingBudget": 24576, "includeThoughts": true}),
        ),
        ("gemini-3-flash", ReasoningEffort::Off, json!({"thinkingLevel": "MINIMAL"})),
        (
            "gemini-3.1-pro",
            ReasoningEffort::Medium,
            json!({"thinkingLevel": "MEDIUM", "includeThoughts": true}),
        ),
    ] {
        let body = body_for(name, asking(effort)).await;
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{name}");
    }
    assert_eq!(
        body_for("gemini-2.0-flash", asking(ReasoningEffort::Off)).await.get("generationConfig"),
        None
    );
    assert!(refusal_of("gemini-2.0-flash", asking(ReasoningEffort::Low)).await.contains("cannot think"));
    for pro in ["gemini-2.5-pro", "gemini-3-pro-preview"] {
        assert!(refusal_of(pro, asking(ReasoningEffort::Off)).await.contains("always thinks"));
    }
}

fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "How the weather is.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": {"type": "string"}}}),
    }
}
