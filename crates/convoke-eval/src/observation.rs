//! Observations of a run that is over: everything that assertions are about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The facts about a run, by the state it ended with. Which of them there are depends on what was run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The state that a workflow is in.
    pub state: Option<String>,
    /// How a workflow stands: `running`, `completed`.
    pub workflow: Option<String>,
    /// Artifacts by name.
    pub artifacts: Map<String, Value>,
    /// Outputs by name.
    pub outputs: Map<String, Value>,
}

/// The names that scenarios can speak of where a certain file is run, so that what they misspell is found before anything is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vocabulary {
    /// Whether a person and others take turns.
    pub turns: bool,
    /// The states of its workflow.
    pub states: Vec<String>,
    /// The state that its workflow begins in.
    pub entry: Option<String>,
    /// The states that nothing leads out of.
    pub terminal: Vec<String>,
    /// The events that others may send.
    pub events: Vec<String>,
    /// The events of states that only a model moves on from, which a scenario may send all the same.
    pub model_events: Vec<String>,
    /// Its artifacts.
    pub artifacts: Vec<String>,
    /// Its outputs, if they are known before it is run.
    pub outputs: Option<Vec<String>>,
    /// The tools of the file, whose results a scenario may give: those of clients, and those that are workflows.
    pub client_tools: Vec<String>,
    /// What else its models may call that is no tool of the host: its agents, the tools of its workflow.
    pub tools: Vec<String>,
    /// The kinds of rules that it has for what is said.
    pub rules: Vec<String>,
    /// Its skills, if it says which there are.
    pub skills: Option<Vec<String>>,
    /// The steps of its compositions.
    pub steps: Vec<String>,
    /// Those of them that are branches.
    pub branches: Vec<String>,
    /// Those of them that run others side by side.
    pub parallels: Vec<String>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observation {
    /// How it ended: `completed`, `failed`, `suspended`.
    pub status: String,
    /// Why it did not complete, or what it waits for.
    pub error: Option<String>,
    /// What else it came to.
    pub facts: Facts,
    /// What happened in all; its content is what the run came to.
    pub whole: Episode,
    /// The turns of a conversation, as far as it came.
    pub turns: Vec<Episode>,
    /// What it used.
    pub usage: ObservedUsage,
}

/// The happenings of a turn, or of a whole run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Episode {
    /// What was said in answer, or what came of it; empty if nothing did.
    pub content: String,
    /// Everything that was said, the person's words too, in order: who, and what.
    pub said: Vec<(String, String)>,
    /// The states that were entered until its end, in order, also before it.
    pub path: Vec<String>,
    /// The states that something was said in.
    pub spoke: Vec<String>,
    /// Whether the workflow was over at its end.
    pub is_over: bool,
    /// What models called.
    pub calls: Vec<ObservedCall>,
    /// The rules of the pack that were broken.
    pub broken_rules: Vec<String>,
    /// What the last composition gave.
    pub composition: Option<Value>,
    /// What steps of compositions gave.
    pub steps: BTreeMap<String, Value>,
    /// Where branches of compositions led; nothing if nowhere.
    pub branches: BTreeMap<String, Option<String>>,
    /// Whether all branches of parallel steps came to their end.
    pub parallels: BTreeMap<String, bool>,
    /// What went wrong.
    pub trouble: Option<String>,
}

impl Episode {
    /// The state at its end.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.path.last().map(String::as_str)
    }

    /// Everything that was answered, without the person's words.
    #[must_use]
    pub fn answers(&self) -> String {
        let answers = self.said.iter().filter(|(who, _)| who == ASSISTANT).map(|(_, text)| text.as_str());
        answers.collect::<Vec<_>>().join("\n")
    }
}

/// The speaker of what the person does not say.
pub const ASSISTANT: &str = "assistant";

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedCall {
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
    /// The state it was called in.
    pub state: Option<String>,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it was not made: refused by a rule or a person, of a tool that is not there, or with arguments that do not fit.
    pub refused: bool,
}

/// The tool that takes up a skill.
pub(crate) const USE_SKILL: &str = "use_skill";

impl ObservedCall {
    /// The skill that it took up, if it did: a file of one may be read before.
    #[must_use]
    pub fn skill(&self) -> Option<&str> {
        let file = self.arguments["file"].as_str().unwrap_or_default();
        let took_up = self.tool == USE_SKILL && !self.refused && !self.failed && file.is_empty();
        self.arguments["name"].as_str().filter(|_| took_up)
    }
}

/// The usage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ObservedUsage {
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools, those that a client executes included.
    pub tool_calls: u64,
    /// Tokens in all.
    pub tokens: u64,
    /// Tokens that models were given.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that models gave.
    #[serde(default)]
    pub output_tokens: u64,
    /// Dollars; nothing if the price of a call is not known. Earlier builds called it `cost`.
    #[serde(rename = "cost_usd", alias = "cost")]
    pub cost: Option<f64>,
}
