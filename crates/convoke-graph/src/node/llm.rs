//! The `llm` node: a model asked once, with the tools it names. Going on until no tool is wanted is the graph's business: an edge on
//! `tool_pending`; an `agent` node does all of it by itself.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    Error, EventKind, Message, ModelReply, ModelRequest, ReasoningEffort, Role, Scope, ToolCall, ToolResult,
    Toolset, Transcript, Visibility,
};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ports::{output, response};
use super::{GraphEquipment, NodeCall, NodeSite, Port, PortType, Ports, Typed};
use crate::Board;
use crate::board::{MAIN_CHANNEL, TOOL_CALLS};

const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Llm(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmConfig {
    /// Instructions, before the conversation.
    #[serde(default)]
    system_prompt: String,
    /// What is asked, instead of going on with a channel of messages. Such a question leaves no trace in channels.
    prompt: Option<String>,
    /// The model; the run's unless said otherwise.
    model: Option<String>,
    /// Randomness; 0 is a real value.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// At most so many tokens of output.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    max_tokens: Option<u32>,
    /// The variable that the answer goes to; `response` unless said otherwise.
    #[serde(default = "response")]
    output_key: String,
    /// The channel of messages that it goes on with; `messages` is the main one.
    #[serde(default = "messages")]
    messages_key: String,
    /// Whether the answer is an object or a list in JSON, and becomes that.
    #[serde(default)]
    json_mode: bool,
    /// Whether to think before answering.
    #[serde(default)]
    thinking: bool,
    /// Whether `query` is appended to a channel of its own if it is not the last thing that was asked there.
    #[serde(default)]
    query_fallback: bool,
    /// Whether every call is added to `agent_steps`.
    #[serde(default)]
    track_steps: bool,
    /// The tools it may call.
    #[serde(default)]
    tool_names: Vec<String>,
}

fn messages() -> String {
    "messages".to_owned()
}

impl Typed for Llm {
    const NAME: &'static str = "llm";
    type Config = LlmConfig;

    fn ports(config: &Value) -> Ports {
        let kind = if config["json_mode"] == true { PortType::Any } else { PortType::String };
        let mut ports = output(config, "output_key", "response", kind);
        ports.outputs.extend([
            Port::required("usage", PortType::Usage),
            Port::required("tool_pending", PortType::Bool),
            Port::optional("agent_steps", PortType::Array),
        ]);
        ports
    }

    fn problems(config: &Value) -> Vec<(String, String)> {
        let has_tools = config["tool_names"].as_array().is_some_and(|names| !names.is_empty());
        let is_unfit = has_tools && config.get("prompt").is_some();
        let message = "a `prompt` leaves no messages that a call of a tool could be part of: leave out `tool_names`, or use an `agent` \
                       node";
        is_unfit.then(|| ("/tool_names".to_owned(), message.to_owned())).into_iter().collect()
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        site.check_tools()?;
        site.check_model()?;
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: LlmConfig, call: NodeCall<'_>) -> Result<(), Error> {
        self.ask(config, call).await
    }
}

impl Llm {
    async fn ask(&self, config: LlmConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let channel = if config.messages_key == "messages" { MAIN_CHANNEL } else { &config.messages_key };
        let conversation = conversation(&config, &call, channel)?;
        let tools = self.0.tools_named(&config.tool_names).map_err(Error::permanent)?;
        let model = self.0.model_for(call.scope, config.model.as_deref())?;
        let request = request(&config, &conversation, &tools);
        let mut said = None;
        let reply = call.scope.model_with_partial(&model, request, Visibility::Streamed, &mut said).await;
        let reply = match reply {
            Ok(reply) => reply,
            Err(stop) => {
                let keeps = config.prompt.is_none() && matches!(stop.root(), Error::Cancelled(_));
                if let Some(said) = said.filter(|_| keeps) {
                    keep_interrupted(call.board, channel, &conversation, said, &[])?;
                }
                return Err(stop);
            }
        };
        let reply = if reply.tool_calls().is_empty() { reply.whole()? } else { reply };
        let answer = answer(&config, &reply)?;

        call.board.add_usage(reply.usage);
        let total = call.board.usage();
        let counted = json!({
            "input_tokens": total.input_tokens,
            "output_tokens": total.output_tokens,
            "total_tokens": total.input_tokens + total.output_tokens,
        });
        call.board.set("usage", counted)?;
        let made = executed(call.scope, &tools, &reply.tool_calls()).await;
        let is_interrupted =
            |made: &Result<_, Error>| matches!(made, Err(stop) if matches!(stop.root(), Error::Cancelled(_)));
        if made.iter().any(is_interrupted) {
            keep_interrupted(call.board, channel, &conversation, reply.message.clone(), &made)?;
        }
        let results = made.into_iter().collect::<Result<Vec<ToolResult>, Error>>()?;
        if config.track_steps {
            let names: Vec<&str> = results.iter().map(|result| result.name.as_str()).collect();
            let step = json!({"response": reply.text(), "tool_calls": names, "usage": reply.usage});
            call.board.append("agent_steps", step)?;
        }
        call.board.set("tool_pending", !results.is_empty())?;
        for (wanted, result) in reply.message.tool_calls().zip(&results) {
            let status = if result.is_error { "error" } else { "success" };
            let (id, name, args) = (&wanted.id, &wanted.name, &wanted.arguments);
            let entry =
                json!({"id": id, "name": name, "args": args, "result": result.content, "status": status});
            call.board.push_item(TOOL_CALLS, entry)?;
        }
        if config.prompt.is_none() {
            call.board.set_channel(channel, conversation.iter().cloned())?;
            call.board.push(channel, reply.message)?;
            if !results.is_empty() {
                call.board.push(channel, Message::tool_results(results))?;
            }
        }
        Ok(call.board.set(&config.output_key, answer)?)
    }
}

/// Leaves in the channel what was said when somebody interrupted it. Every call in it has a result, so that whoever has the board can
/// go on with the conversation.
fn keep_interrupted(
    board: &mut Board,
    channel: &str,
    conversation: &Transcript,
    said: Message,
    made: &[Result<ToolResult, Error>],
) -> Result<(), Error> {
    let result = |(place, call): (usize, &ToolCall)| match made.get(place) {
        Some(Ok(result)) => result.clone(),
        _ => ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: "[cancelled by interrupt]".to_owned(),
            is_error: true,
        },
    };
    let results: Vec<ToolResult> = said.tool_calls().enumerate().map(result).collect();
    board.set_channel(channel, conversation.iter().cloned())?;
    board.push(channel, said)?;
    if !results.is_empty() {
        board.push(channel, Message::tool_results(results))?;
    }
    Ok(board.set("tool_pending", false)?)
}

/// What the model is to go on with.
fn conversation(config: &LlmConfig, call: &NodeCall<'_>, channel: &str) -> Result<Transcript, Error> {
    let mut said = match &config.prompt {
        Some(prompt) => Transcript::from(prompt.as_str()),
        None => call.board.channel(channel),
    };
    let query = call.board.text("query");
    if config.query_fallback && channel != MAIN_CHANNEL && !query.is_empty() {
        let asked = said.iter().rev().find(|message| message.role == Role::User).map(Message::text);
        if asked.as_deref() != Some(query) {
            said.push(Message::user(query));
        }
    }
    if said.is_empty() && config.system_prompt.is_empty() {
        let message =
            format!("node `{}` has nothing to ask: its channel is empty, and it has no `prompt`", call.id);
        return Err(Error::permanent(message));
    }
    Ok(said)
}

fn request(config: &LlmConfig, conversation: &Transcript, tools: &Toolset) -> ModelRequest {
    let has_system = conversation.iter().any(|message| message.role == Role::System);
    let system =
        (!config.system_prompt.is_empty() && !has_system).then(|| Message::system(&config.system_prompt));
    let messages: Transcript = system.into_iter().chain(conversation.iter().cloned()).collect();
    let mut request = ModelRequest { messages, tools: tools.definitions(), ..ModelRequest::default() };
    request.params.temperature = config.temperature;
    request.params.max_tokens = config.max_tokens;
    request.params.reasoning = config.thinking.then_some(ReasoningEffort::Medium);
    request
}

fn answer(config: &LlmConfig, reply: &ModelReply) -> Result<Value, Error> {
    let text = reply.text();
    if !config.json_mode || !reply.tool_calls().is_empty() {
        return Ok(Value::String(text));
    }
    json_within(&text).ok_or_else(|| {
        let message = format!("the reply was to be an object or a list in JSON, and is: {text}");
        Error::unusable_reply(message)
    })
}

/// The first object or list in a text, a fenced one before others.
fn json_within(text: &str) -> Option<Value> {
    let fenced = |mark: &str| {
        let (_, after) = text.split_once(mark)?;
        first_value(after.split_once("```").map_or(after, |(inside, _)| inside))
    };
    fenced("```json").or_else(|| fenced("```")).or_else(|| first_value(text))
}

fn first_value(text: &str) -> Option<Value> {
    text.char_indices().filter(|(_, letter)| matches!(letter, '{' | '[')).find_map(|(start, _)| {
        serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>().next()?.ok()
    })
}

/// Makes the calls side by side. What was not offered is not called, and the model is told so.
async fn executed(scope: &Scope, tools: &Toolset, calls: &[ToolCall]) -> Vec<Result<ToolResult, Error>> {
    let open = calls.iter().map(|call| {
        let tool = tools.get(&call.name);
        (call, tool.map(|tool| (tool, scope.tool_scope(&**tool, Some(TOOL_TIMEOUT)))))
    });
    let open: Vec<_> = open.collect();
    let node = scope;
    let made = open.iter().map(|(call, tool)| async move {
        let Some((tool, scope)) = tool else {
            let (call_id, name) = (call.id.clone(), call.name.clone());
            let content = format!("tool `{name}` was not offered, so it was not called");
            if node.has_listeners() {
                let (id, content) = (call.id.clone(), content.clone());
                node.emit(EventKind::ToolCallEnded { id: id.clone() }).await;
                node.emit(EventKind::ToolCallResult { id, content, is_error: true }).await;
            }
            return Ok(ToolResult { call_id, name, content, is_error: true });
        };
        scope.composing().announce_tool_call(call).await;
        scope.tool(tool, call).await
    });
    join_all(made).await
}
