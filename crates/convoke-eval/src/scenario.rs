//! The content of a scenario file.

use std::collections::BTreeMap;

use convoke_core::json_text;
use serde_json::{Map, Value, json};

use crate::assertion::Assertion;
use crate::observation::USE_SKILL;

/// The tool of PromptKit that takes up a skill.
pub(crate) const ACTIVATE: &str = "skill__activate";

/// The tool of PromptKit that reads a file of a skill.
const READ_RESOURCE: &str = "skill__read_resource";

/// A scenario: what a run is given, and what must hold then.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scenario {
    /// Its name, by which reports are compared.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it is labelled with.
    pub labels: Map<String, Value>,
    /// The pack that it is for, beside the scenario.
    pub pack: Option<String>,
    /// The prompt that the run begins with, if that is not the first.
    pub task_type: Option<String>,
    /// The inputs of the run, by name.
    pub inputs: Map<String, Value>,
    /// Who replies; otherwise the model that is asked for or configured.
    pub model: Option<ModelSource>,
    /// Who judges; otherwise the model that replies.
    pub judge: Option<ModelSource>,
    /// What the person says and others send, in order.
    pub turns: Vec<Turn>,
    /// What tools give, by the name of the tool.
    pub tools: BTreeMap<String, Vec<ToolAnswer>>,
    /// What people answer to questions of the run, in order.
    pub answers: Vec<PersonAnswer>,
    /// What must hold at the end.
    pub assertions: Vec<Assertion>,
    /// How often it is run.
    pub trials: Option<u32>,
    /// Which share of these must pass.
    pub require: Option<f64>,
    /// Everything that decides how a run goes, without what is asserted of it: the same script makes the same run.
    pub script: Value,
}

/// The source of a model's replies.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelSource {
    /// A model by its name: `anthropic/claude-sonnet-4-5`, `scripted/replies.toml`.
    Named(String),
    /// A script in the scenario itself.
    Scripted {
        /// What is said when.
        script: Script,
        /// What its tokens cost, as a script writes it.
        price: Option<Value>,
    },
    /// A recording of a model.
    Cassette {
        /// The model that was recorded.
        model: String,
        /// The file, beside the scenario.
        file: String,
    },
}

/// The replies of a scripted model, and when it gives them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Script {
    /// Replies in the order in which they are given, each as a rule of a script writes it.
    Replies {
        /// The replies.
        replies: Vec<Value>,
        /// What is said when there are no more.
        default: Option<Value>,
        /// Whether it is no failure if some are left: lists of PromptKit go on after the end of a workflow.
        may_be_left: bool,
    },
    /// Rules of a scripted model.
    Rules(Vec<Value>),
}

impl ModelSource {
    /// The script for a scripted model, as its JSON, without the first replies of a list if these have been given already.
    #[must_use]
    pub fn script(&self, name: &str, given: usize) -> Option<String> {
        let Self::Scripted { script, price } = self else { return None };
        let rules: Vec<Value> = match script {
            Script::Rules(rules) => rules.clone(),
            Script::Replies { replies, default, .. } => {
                let once = |reply: &Value| json!({"reply": with_own_names(reply), "once": true});
                let last = match default {
                    Some(default) => json!({"reply": default}),
                    None => {
                        let all = replies.iter().filter(|reply| !is_fault(reply)).count();
                        let message =
                            format!("`replies` has no more: it has {all}, and another is asked for");
                        json!({"reply": {"error": {"status": 400, "message": message}}})
                    }
                };
                after(replies, given).iter().map(once).chain([last]).collect()
            }
        };
        let mut document = json!({"name": name, "rule": rules});
        if let Some(price) = price {
            document["price"] = price.clone();
        }
        Some(json_text(&document))
    }

    /// The replies of a list that are left when so many have been given. Faults among them are no replies: how often they were met
    /// is not known.
    #[must_use]
    pub fn unused_replies(&self, given: usize) -> Vec<&Value> {
        match self {
            Self::Scripted { script: Script::Replies { replies, .. }, .. } => {
                after(replies, given).iter().filter(|reply| !is_fault(reply)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether it is a failure that replies of its list are left.
    #[must_use]
    pub fn must_be_used_up(&self) -> bool {
        !matches!(self, Self::Scripted { script: Script::Replies { may_be_left: true, .. }, .. })
    }

    /// Returns whether its replies are written down by hand.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        matches!(self, Self::Scripted { .. })
    }
}

/// What comes after so many replies of a list, faults between them not counted.
fn after(replies: &[Value], given: usize) -> &[Value] {
    let is_reply = |(_, reply): &(usize, &Value)| !is_fault(reply);
    let last = given.checked_sub(1).map(|last| replies.iter().enumerate().filter(is_reply).nth(last));
    match last {
        None => replies,
        Some(None) => &[],
        Some(Some((number, _))) => &replies[number + 1..],
    }
}

/// A reply with the calls of PromptKit's tools for skills as calls of ours.
fn with_own_names(reply: &Value) -> Value {
    let mut reply = reply.clone();
    for call in reply.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let given = |name: &str| call["arguments"].get(name).cloned();
        let arguments = match call["name"].as_str() {
            Some(ACTIVATE) => json!({"name": given("name").or_else(|| given("skill"))}),
            Some(READ_RESOURCE) => json!({"name": given("skill_name"), "file": given("path")}),
            _ => continue,
        };
        (call["name"], call["arguments"]) = (USE_SKILL.into(), arguments);
    }
    reply
}

/// Whether a reply of a script is none: the call fails, or never ends.
fn is_fault(reply: &Value) -> bool {
    ["error", "cut_after", "hangs", "hangs_after"].iter().any(|fault| reply.get(*fault).is_some())
}

/// Something that happens in a conversation, and what must hold after it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Turn {
    /// Where it stands in its file, as a JSON pointer.
    pub path: String,
    /// What happens.
    pub input: TurnInput,
    /// What must hold then.
    pub assertions: Vec<Assertion>,
}

/// The input of one turn of a conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnInput {
    /// The person says this.
    Words(String),
    /// Somebody sends this event.
    Event {
        /// Its name.
        event: String,
        /// What comes with it.
        payload: Value,
    },
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// Arguments that a call must have, among others, for this to be given.
    pub when: Option<Value>,
    /// What it gives.
    pub content: String,
    /// Whether that is a failure.
    pub is_error: bool,
}

impl Scenario {
    /// The events that others send in its turns.
    pub fn events(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().filter_map(|turn| match &turn.input {
            TurnInput::Event { event, .. } => Some(event.as_str()),
            TurnInput::Words(_) => None,
        })
    }

    /// Returns what a tool gives for a call with these arguments.
    #[must_use]
    pub fn tool_answer(&self, tool: &str, arguments: &Value) -> Option<&ToolAnswer> {
        let fits = |answer: &&ToolAnswer| answer.when.as_ref().is_none_or(|when| contains(arguments, when));
        self.tools.get(tool)?.iter().find(fits)
    }
}

/// The answer of a person to a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PersonAnswer {
    /// Yes.
    Approve,
    /// No, and why.
    Reject(String),
    /// Not like this, and what to change.
    Revise(String),
    /// One of the options.
    Choose(String),
    /// A text.
    Text(String),
    /// A value.
    Json(Value),
}

/// Whether a value has everything that is wanted of it: objects may have further fields.
pub(crate) fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| value.get(name).is_some_and(|value| contains(value, wanted)))
        }
        _ => value == wanted,
    }
}
