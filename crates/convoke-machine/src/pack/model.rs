//! A pack as typed values, in the order in which it was written. What the format knows and this crate has no use for stays in
//! the [document](super::document).

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::composition::Composition;
use crate::workflow::Spec;

/// The content of a pack.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Pack {
    /// What it is called by machines.
    pub id: String,
    /// What it is called by people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its prompts, by task.
    pub prompts: IndexMap<String, Prompt>,
    /// Pieces of prompts, by name.
    pub fragments: IndexMap<String, String>,
    /// Tools that its prompts may use, by the name they use.
    pub tools: IndexMap<String, Tool>,
    /// What is evaluated whatever prompt is used.
    pub evals: Vec<Eval>,
    /// The states of a conversation and how it moves between them.
    pub workflow: Option<Spec>,
    /// Steps that states can be made of, by name.
    pub compositions: IndexMap<String, Composition>,
    /// Prompts that others can talk to.
    pub agents: Option<Agents>,
    /// Where instructions for special cases are.
    pub skills: Vec<SkillSource>,
}

/// The prompt that tells a model what it is to do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Prompt {
    /// What it is called by people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its version.
    pub version: String,
    /// The system message, with places for values.
    pub system_template: String,
    /// The values it is given.
    pub variables: Vec<Variable>,
    /// The fragments it says it uses, whose names may have values in them.
    pub fragments: Vec<FragmentUse>,
    /// The names of the tools it may use; one that ends with `*` stands for all that begin so.
    pub tools: Vec<String>,
    /// How it may use them.
    pub tool_policy: Option<ToolPolicy>,
    /// How the model is set.
    pub parameters: Parameters,
    /// What the model's words must keep to.
    pub validators: Vec<ValidatorSpec>,
    /// What is evaluated of its turns.
    pub evals: Vec<Eval>,
    /// What is different for some models, by their names.
    pub model_overrides: IndexMap<String, ModelOverride>,
}

/// A value that a prompt is given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it is: `string`, `number`, `boolean`, `object`, `array`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it is if it is not given.
    #[serde(default, deserialize_with = "present")]
    pub default: Option<Value>,
    /// What it is for.
    pub description: String,
    /// What it must keep to.
    pub validation: Rules,
}

/// The rules that a value must keep to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Rules {
    /// A regular expression that occurs in it.
    pub pattern: Option<String>,
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// The least number.
    pub minimum: Option<f64>,
    /// The greatest number.
    pub maximum: Option<f64>,
    /// The only values.
    #[serde(rename = "enum")]
    pub one_of: Option<Vec<Value>>,
}

/// A fragment that a prompt says it uses.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FragmentUse {
    /// Its name, which may have values in it: `persona_{{region}}`.
    pub name: String,
    /// Whether the prompt is wrong without it.
    pub required: bool,
}

/// A tool as a model is told of it. What it does is the host's.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Tool {
    /// Its name, by its author.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Option<Value>,
}

/// The policy for a prompt's use of tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolPolicy {
    /// Whether it must, may or must not use them.
    pub tool_choice: ToolChoice,
    /// How often in a turn the model may be asked again with what tools said.
    pub max_rounds: u32,
    /// How many calls a turn may have.
    pub max_tool_calls_per_turn: u32,
    /// Tools it must not use, whatever else says so.
    pub blocklist: Vec<String>,
}

impl Default for ToolPolicy {
    fn default() -> Self {
        let blocklist = Vec::new();
        Self { tool_choice: ToolChoice::Auto, max_rounds: 5, max_tool_calls_per_turn: 10, blocklist }
    }
}

/// The choice whether a model uses tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// The settings of a model. What is not said is the provider's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Parameters {
    /// How much chance there is.
    pub temperature: Option<f64>,
    /// The longest reply.
    pub max_tokens: Option<u32>,
    /// The share of likely words to choose from.
    pub top_p: Option<f64>,
    /// The number of likely words to choose from.
    pub top_k: Option<u32>,
    /// How much words that were said often are avoided.
    pub frequency_penalty: Option<f64>,
    /// How much words that were said at all are avoided.
    pub presence_penalty: Option<f64>,
}

impl Parameters {
    /// These, with what `others` say instead.
    #[must_use]
    pub fn overridden_by(self, others: Self) -> Self {
        Self {
            temperature: others.temperature.or(self.temperature),
            max_tokens: others.max_tokens.or(self.max_tokens),
            top_p: others.top_p.or(self.top_p),
            top_k: others.top_k.or(self.top_k),
            frequency_penalty: others.frequency_penalty.or(self.frequency_penalty),
            presence_penalty: others.presence_penalty.or(self.presence_penalty),
        }
    }
}

/// The overrides for one model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelOverride {
    /// What comes before the system message.
    pub system_template_prefix: Option<String>,
    /// What comes after it.
    pub system_template_suffix: Option<String>,
    /// What it is instead.
    pub system_template: Option<String>,
    /// How the model is set instead.
    pub parameters: Parameters,
}

/// A rule for what a model says, as it is written.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct ValidatorSpec {
    /// What kind of rule it is: `banned_words`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds. Without a word, it does.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether breaking it fails the turn, where otherwise the words are replaced.
    #[serde(default)]
    pub fail_on_violation: bool,
    /// What is said instead; also found in `params`.
    pub message: Option<String>,
    /// Its settings.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// Something that is evaluated.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Eval {
    /// Its name.
    pub id: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// What kind of evaluation it is: `contains`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happens: `every_turn`.
    pub trigger: String,
    /// Of how many of a hundred, where it is a sample.
    #[serde(default = "five")]
    pub sample_percentage: f64,
    /// Whether it happens.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its settings.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// The number that it is published as.
    pub metric: Option<Map<String, Value>>,
    /// What counts as good.
    pub threshold: Option<Map<String, Value>>,
    /// What is said where it does not hold.
    pub message: Option<String>,
    /// What it depends on.
    pub when: Option<Map<String, Value>>,
    /// The groups that it belongs to, by which evals are chosen.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// Prompts that others can talk to.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Agents {
    /// The one that is talked to first.
    pub entry: String,
    /// All of them, by the task of their prompt.
    pub members: IndexMap<String, AgentDefinition>,
}

/// A prompt that others can talk to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentDefinition {
    /// What it is for, if that is not what its prompt is for.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it understands, as MIME types.
    pub input_modes: Vec<String>,
    /// What it says, as MIME types.
    pub output_modes: Vec<String>,
    /// The state of the workflow it begins in.
    pub state: Option<String>,
}

/// The place of a skill, or its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum SkillSource {
    /// A path, or the name of a package: `@org/name@1.0`.
    Path(String),
    /// A skill written in place.
    Inline {
        /// What it is called.
        name: String,
        /// What it is for.
        description: String,
        /// What it says.
        instructions: String,
        /// Whether it is taken up from the start.
        #[serde(default)]
        preload: bool,
    },
    /// A folder of skills.
    Folder {
        /// Where it is.
        #[serde(alias = "dir")]
        path: String,
        /// Whether they are taken up from the start.
        #[serde(default)]
        preload: bool,
    },
}

fn yes() -> bool {
    true
}

fn five() -> f64 {
    5.0
}

/// A field that is there, even if it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
