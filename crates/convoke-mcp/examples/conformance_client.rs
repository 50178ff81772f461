//! The client that the official conformance suite drives: `conformance_client URL` connects, makes the calls that the suite
//! asks for (or calls every tool once, if it asks for none), and answers whatever it is asked with the defaults.

use std::process::ExitCode;
use std::sync::Arc;

use convoke_core::ask::QuestionKind;
use convoke_core::{
    Answer, BoxFuture, Error, PendingQuestion, Responder, Runtime, Scope, Step, Tool, ToolCall, Workflow,
};
use convoke_mcp::{McpServers, Protocol, ServerConfig};
use serde_json::{Value, json};

/// What the suite's server is called here.
const SERVER: &str = "suite";
/// The tools of `json-schema-2020-12-preservation`: one with a rich schema, and one that is told it.
const FOCAL: &str = "json_schema_2020_12_tool";
const ECHO: &str = "json_schema_echo";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else { return ExitCode::from(2) };
    match drive(url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn drive(url: String) -> Result<(), Box<dyn std::error::Error>> {
    let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let protocol = if version.as_str() >= "2026" { Protocol::Stateless } else { Protocol::Initialize };
    let servers =
        McpServers::builder().server(ServerConfig::http(SERVER, url).protocol(protocol)).start().await?;
    if let [warning, ..] = &servers.warnings()[..] {
        return Err(warning.clone().into());
    }
    for (tool, arguments) in calls(&servers).await? {
        let name = tool.spec().name().to_owned();
        let workflow = Workflow::new(Calling { tool, arguments });
        let runtime = Runtime::builder().responder(Defaults).build();
        let outcome = runtime.start(&workflow, String::new()).await?;
        report(&format!("{name}: {} {:?}", outcome.state, outcome.error));
    }
    servers.close().await;
    Ok(())
}

/// What to call, and with what.
async fn calls(servers: &McpServers) -> Result<Vec<(Arc<dyn Tool>, Value)>, Box<dyn std::error::Error>> {
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };
    let mut calls = Vec::new();
    for wanted in context["toolCalls"].as_array().into_iter().flatten() {
        let name = wanted["name"].as_str().unwrap_or_default();
        calls.push((servers.tool(SERVER, name).await?, wanted["arguments"].clone()));
    }
    if !calls.is_empty() {
        return Ok(calls);
    }
    let tools = servers.table::<String>([]);
    for row in &tools {
        let arguments = match tools.iter().find(|row| row.tool == FOCAL) {
            // This one says back what we understood of the other one's schema.
            Some(focal) if row.tool == ECHO => json!({"schema": focal.spec.definition.parameters}),
            _ => arguments(&row.spec.definition.parameters),
        };
        calls.push((servers.tool(SERVER, &row.tool).await?, arguments));
    }
    Ok(calls)
}

/// Something for every argument that is needed.
fn arguments(schema: &Value) -> Value {
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    };
    Value::Object(needed.map(|name| (name.to_owned(), value(name))).collect())
}

struct Calling {
    tool: Arc<dyn Tool>,
    arguments: Value,
}

impl Step<String> for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut String) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = self.tool.spec().name().to_owned();
            let call = ToolCall { id: "one".to_owned(), name, arguments: self.arguments.clone() };
            *state = scope.tool_scope(&*self.tool, None).tool(&self.tool, &call).await?.content;
            Ok(())
        })
    }
}

/// Says what was suggested.
struct Defaults;

impl Responder for Defaults {
    fn respond<'a>(&'a self, pending: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        let answer = match &pending.question.kind {
            QuestionKind::Choice { options } => {
                let default = &pending.question.subject["default"];
                let said = default.as_str().map_or_else(
                    || if *default == json!(false) { "no".to_owned() } else { "yes".to_owned() },
                    str::to_owned,
                );
                let fits = options.iter().find(|option| **option == said).or(options.first());
                fits.map(Answer::choose)
            }
            QuestionKind::Text => Some(Answer::text("")),
            _ => Some(Answer::approve()),
        };
        Box::pin(async move { answer })
    }
}

#[expect(clippy::print_stderr, reason = "the suite shows it when something is wrong")]
fn report(line: &str) {
    eprintln!("{line}");
}
