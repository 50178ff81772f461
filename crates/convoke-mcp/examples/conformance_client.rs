//! The client that the official conformance suite drives: `conformance_client URL` connects, calls every tool once, and
//! answers whatever it is asked with the defaults.

use std::process::ExitCode;
use std::sync::Arc;

use convoke_core::ask::QuestionKind;
use convoke_core::{
    Answer, BoxFuture, Error, PendingQuestion, Responder, Runtime, Scope, Step, Tool, ToolCall, Workflow,
};
use convoke_mcp::{McpServers, Protocol, ServerConfig};
use serde_json::{Value, json};

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
        McpServers::builder().server(ServerConfig::http("suite", url).protocol(protocol)).start().await?;
    if let [warning, ..] = &servers.warnings()[..] {
        return Err(warning.clone().into());
    }
    let tools = servers.tools::<String>([]);
    for tool in tools.iter() {
        let arguments = arguments(&tool.spec().definition.parameters);
        let workflow = Workflow::new(Calling { tool: Arc::clone(tool), arguments });
        let runtime = Runtime::builder().responder(Defaults).build();
        let outcome = runtime.start(&workflow, String::new()).await?;
        report(&format!("{}: {} {:?}", tool.spec().name(), outcome.state, outcome.error));
    }
    servers.close().await;
    Ok(())
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
