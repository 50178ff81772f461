//! Nodes that move data about on the board: `template`, `answer`, `assigner`, `aggregator`.

use convoke_core::{Error, EventKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ports::output;
use super::{NodeCall, NodeSite, PortType, Ports, Typed};
use crate::board::{DEEPEST, LARGEST, kind, size};
use crate::reference::{at, filled, shown, unfilled};
use crate::{Board, BoardError, Condition, GraphFault};

/// Fills in a template.
pub(super) struct Template;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplateConfig {
    /// A text with `{{.name}}` for variables.
    template: String,
    /// The variable that the text goes to; `template_output` unless said otherwise.
    #[serde(default = "template_output")]
    output_key: String,
}

fn template_output() -> String {
    "template_output".to_owned()
}

impl Typed for Template {
    const NAME: &'static str = "template";
    type Config = TemplateConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "template_output", PortType::String)
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: TemplateConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let text = written(&config.template, &call, &config.output_key).await?;
        Ok(call.board.set(&config.output_key, text)?)
    }
}

/// A template filled in; those who listen are told what of it stays as it is.
async fn written(template: &str, call: &NodeCall<'_>, key: &str) -> Result<String, Error> {
    let unfilled = unfilled(template, call.board);
    if !unfilled.is_empty() {
        let value = json!({"node": call.id, "left": unfilled});
        call.scope.emit(EventKind::Custom { name: "graph.template_unfilled".to_owned(), value }).await;
    }
    Ok(filled(template, call.board, key)?)
}

/// Writes the answer.
pub(super) struct AnswerNode;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerConfig {
    /// A text with `{{.name}}` for variables. Without one, the values of `keys`.
    #[serde(default)]
    template: String,
    /// The variables whose values are the answer, a line each; `response` unless said otherwise.
    #[serde(default = "response")]
    keys: Vec<String>,
    /// Whether those who listen are told.
    #[serde(default = "yes")]
    stream: bool,
}

fn response() -> Vec<String> {
    vec!["response".to_owned()]
}

fn yes() -> bool {
    true
}

impl Typed for AnswerNode {
    const NAME: &'static str = "answer";
    type Config = AnswerConfig;

    fn ports(_: &Value) -> Ports {
        Ports::writing([("answer", PortType::String)])
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: AnswerConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let text = if config.template.is_empty() {
            fits(&config.keys, call.board, "answer")?;
            let values = config.keys.iter().filter_map(|key| at(call.board, key)).map(shown);
            values.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        } else {
            written(&config.template, &call, "answer").await?
        };
        call.board.set("answer", text.clone())?;
        if config.stream {
            let (name, value) = ("graph.answer".to_owned(), Value::String(text));
            call.scope.emit(EventKind::Custom { name, value }).await;
        }
        Ok(())
    }
}

/// Writes variables.
pub(super) struct Assigner;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AssignerConfig {
    /// What is written, in order.
    assignments: Vec<Assignment>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Assignment {
    /// The variable, or what is in it: `a.b.c`, `list.0`.
    target: String,
    /// The variable whose value it gets.
    source: Option<String>,
    /// The value it gets; beside a source, if that is not there.
    #[serde(default, deserialize_with = "crate::definition::stated")]
    value: Option<Value>,
    /// An expression whose value it gets, if there is no other.
    #[schemars(extend("format" = "expression"))]
    expression: Option<String>,
}

impl Typed for Assigner {
    const NAME: &'static str = "assigner";
    type Config = AssignerConfig;

    fn ports(config: &Value) -> Ports {
        let targets =
            config["assignments"].as_array().into_iter().flatten().map(|one| one["target"].as_str());
        let names = targets.map(|target| target.filter(|target| !target.contains("${"))?.split('.').next());
        match names.collect::<Option<Vec<_>>>() {
            Some(names) => Ports::writing(names.into_iter().map(|name| (name, PortType::Any))),
            None => Ports::unknown(),
        }
    }

    fn problems(config: &Value) -> Vec<(String, String)> {
        let assignments = config["assignments"].as_array().into_iter().flatten();
        let problems = assignments.enumerate().flat_map(|(index, one)| {
            let at = |field: &str| format!("/assignments/{index}{field}");
            let lacks = ["source", "value", "expression"].iter().all(|field| one.get(*field).is_none());
            let lacks = lacks.then(|| {
                (at(""), "say what it gets: `source`, `value` (`null` too) or `expression`".to_owned())
            });
            let target = one["target"].as_str().filter(|target| !target.contains("${"));
            let is_wrong = target.is_some_and(|target| target.split('.').any(str::is_empty));
            let wrong = is_wrong.then(|| (at("/target"), wrong_target(target.unwrap_or_default())));
            lacks.into_iter().chain(wrong)
        });
        problems.collect()
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: AssignerConfig, call: NodeCall<'_>) -> Result<(), Error> {
        for one in config.assignments {
            let found = one.source.as_deref().and_then(|source| at(call.board, source)).cloned();
            let value = match (found, one.value, one.expression, one.source) {
                (Some(found), ..) => found,
                (None, Some(value), ..) => value,
                (None, None, Some(expression), _) => {
                    Condition::expression(&expression)?.value(call.board, call.iterations).await?
                }
                (None, None, None, Some(source)) => {
                    return Err(GraphFault::error(format!(
                        "`{}` gets the value of `{source}`, which is not on the board: write a `value` beside the `source` for when \
                         there is none",
                        one.target
                    )));
                }
                // Definitions without any are refused.
                (None, None, None, None) => Value::Null,
            };
            let (first, rest) = one.target.split_once('.').unwrap_or((&one.target, ""));
            if one.target.split('.').count() > DEEPEST {
                return Err(BoardError::TooDeep { key: first.to_owned() }.into());
            }
            if one.target.split('.').any(str::is_empty) {
                return Err(GraphFault::error(wrong_target(&one.target)));
            }
            let whole = match rest {
                "" => value,
                rest => {
                    let mut whole = call.board.get(first).cloned().unwrap_or_default();
                    put(&mut whole, rest, value).map_err(|problem| {
                        GraphFault::error(format!("`{}` is not written: {problem}", one.target))
                    })?;
                    whole
                }
            };
            call.board.set(first, whole)?;
        }
        Ok(())
    }
}

fn wrong_target(target: &str) -> String {
    format!("{target:?} names no variable: write names with one dot between two, as in `user.name`")
}

/// Fails if the values of variables together are more than a board holds, before they are copied.
fn fits(keys: &[String], board: &Board, output: &str) -> Result<(), BoardError> {
    let size: usize = keys.iter().filter_map(|key| at(board, key)).map(size).sum();
    if size > LARGEST { Err(BoardError::TooLarge { key: output.to_owned() }) } else { Ok(()) }
}

/// Puts a value where a dotted path leads, into lists by number, and makes objects where there is nothing.
fn put(whole: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if whole.is_null() {
        *whole = json!({});
    }
    let inner = match whole {
        Value::Object(entries) => entries.entry(first).or_insert(Value::Null),
        Value::Array(items) => {
            let length = items.len();
            let number =
                first.parse::<usize>().map_err(|_| format!("a list has numbers, and no `{first}`"))?;
            if number == length {
                items.push(Value::Null);
            }
            items.get_mut(number).ok_or_else(|| {
                format!("there is no {first} in a list of {length}; at most {length}, which adds an item")
            })?
        }
        other => return Err(format!("{} has no `{first}`", kind(other))),
    };
    match rest {
        "" => *inner = value,
        rest => put(inner, rest, value)?,
    }
    Ok(())
}

/// Puts values together.
pub(super) struct Aggregator;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AggregatorConfig {
    /// The variables; those that are not there are left out.
    input_keys: Vec<String>,
    /// How they are put together.
    #[serde(default)]
    mode: AggregateMode,
    /// The variable that the result goes to; `aggregated` unless said otherwise.
    #[serde(default = "aggregated")]
    output_key: String,
    /// What stands between texts; a line break unless said otherwise.
    #[serde(default = "line_break")]
    separator: String,
}

#[derive(Clone, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
enum AggregateMode {
    /// A list of the values.
    #[default]
    Array,
    /// The values as texts, one after the other.
    Concat,
    /// An object; what is not there is null.
    Map,
    /// The last value.
    Last,
}

fn aggregated() -> String {
    "aggregated".to_owned()
}

fn line_break() -> String {
    "\n".to_owned()
}

impl Typed for Aggregator {
    const NAME: &'static str = "aggregator";
    type Config = AggregatorConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "aggregated", PortType::Any)
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: AggregatorConfig, call: NodeCall<'_>) -> Result<(), Error> {
        fits(&config.input_keys, call.board, &config.output_key)?;
        let found = || config.input_keys.iter().filter_map(|key| at(call.board, key));
        let value = match config.mode {
            AggregateMode::Array => found().cloned().collect(),
            AggregateMode::Concat => {
                Value::String(found().map(shown).collect::<Vec<_>>().join(&config.separator))
            }
            AggregateMode::Map => {
                let value = |key: &String| at(call.board, key).cloned().unwrap_or_default();
                config.input_keys.iter().map(|key| (key.clone(), value(key))).collect()
            }
            AggregateMode::Last => found().next_back().cloned().unwrap_or_default(),
        };
        Ok(call.board.set(&config.output_key, value)?)
    }
}
