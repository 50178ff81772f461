//! Assertions: what each is about, what must hold, and how good is good enough.

use convoke_machine::pack::Validator;
use regex::Regex;
use serde_json::{Map, Value};

use crate::json_part::JsonPart;
use crate::judge::JudgeCriteria;
use crate::observation::ObservedCall;
pub use crate::threshold::Threshold;

/// Something that must hold.
#[derive(Debug, Clone)]
pub struct Assertion {
    /// What its author called it: `content_includes`.
    pub name: String,
    /// Where it stands in its file, as a JSON pointer.
    pub path: String,
    /// What its author says it is for.
    pub message: Option<String>,
    /// What it is about.
    pub subject: Subject,
    /// What must hold.
    pub check: Check,
    /// From which score on it holds.
    pub threshold: Threshold,
    /// What it depends on.
    pub when: Precondition,
    /// In which share of a scenario's runs it must hold; without it, in all that are to pass.
    pub pass_threshold: Option<f64>,
}

/// The text that an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// What was said in the turn; at the end, what the run came to.
    Said,
    /// Everything that was said in the turn, or in the whole run.
    Conversation,
    /// An output by its name.
    Output(String),
    /// An artifact by its name.
    Artifact(String),
}

/// The condition that must hold.
#[derive(Debug, Clone)]
pub enum Check {
    /// A rule for texts.
    Content(Validator),
    /// Texts occur in it, or do not.
    Words(Words),
    /// The text, or value, is this.
    Equals(Value),
    /// A part of a JSON value is like this.
    JsonPath {
        /// The part.
        part: JsonPart,
        /// What is there.
        wanted: PartWanted,
    },
    /// The workflow is in this state.
    State(String),
    /// The workflow has moved to this state.
    TransitionedTo(String),
    /// Something was said in this state.
    SpokeIn(String),
    /// The workflow has come to its end.
    Complete,
    /// These states were entered in this order, others perhaps between them.
    Order(Vec<String>),
    /// Exactly these states were entered, the first one included.
    Path(Vec<String>),
    /// In each of these states no tools were called but these.
    ToolAccess(Vec<(String, Vec<String>)>),
    /// Each of these tools was called so often.
    ToolsCalled {
        /// The tools.
        tools: Vec<String>,
        /// How often at least.
        least: u64,
    },
    /// None of these tools was called.
    ToolsNotCalled(Vec<String>),
    /// Each of these skills was taken up so often.
    SkillsUsed {
        /// The skills.
        skills: Vec<String>,
        /// How often at least.
        least: u64,
    },
    /// None of these skills was taken up.
    SkillsNotUsed(Vec<String>),
    /// This tool was called with these arguments, among others.
    CalledWith {
        /// The tool.
        tool: String,
        /// Arguments and their values; null stands for any.
        arguments: Map<String, Value>,
        /// Arguments and what their text must match.
        matching: Vec<(String, Regex)>,
    },
    /// A tool, or all of them, was called so often.
    CallCount {
        /// The tool.
        tool: Option<String>,
        /// How often at least.
        least: u64,
        /// How often at most.
        most: Option<u64>,
    },
    /// These tools were called in this order, others perhaps between them.
    CallSequence(Vec<String>),
    /// No tool failed.
    NoToolErrors,
    /// A rule of the pack was broken, or was not.
    RuleBroken {
        /// The rule: `banned_words`.
        rule: String,
        /// Whether it was.
        wanted: bool,
    },
    /// The composition gave this.
    CompositionOutput(Expected),
    /// A step of a composition gave this.
    StepOutput {
        /// The step.
        step: String,
        /// What it gave.
        output: Expected,
    },
    /// A branch of a composition led here.
    BranchTaken {
        /// The branch.
        branch: String,
        /// Where it led.
        target: String,
    },
    /// All branches of a parallel step came to their end.
    ParallelComplete(String),
    /// No more was used than this.
    Usage(Ceilings),
    /// The run ended like this.
    Status(String),
    /// A model says so.
    Judge(JudgeCriteria),
}

/// The demand on a part of a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum PartWanted {
    /// There, or not.
    There(bool),
    /// This value.
    Equal(Value),
    /// A text with this in it, a list with this (or all of these) among it, an object with these fields among others.
    Containing(Value),
    /// A number between these.
    Between(Option<f64>, Option<f64>),
    /// A list of so many things.
    Counting(Option<u64>, Option<u64>),
}

/// Texts that occur, or do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The texts.
    pub patterns: Vec<String>,
    /// How many of them.
    pub amount: Amount,
    /// Whether capitals matter.
    pub case_sensitive: bool,
}

/// The number of texts that must occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// All of them.
    All,
    /// At least one.
    Any,
    /// None.
    None,
}

/// The output that is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Anything but nothing.
    Something,
    /// A text with this in it.
    Containing(String),
    /// This text.
    Equal(String),
}

/// The most that a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ceilings {
    /// Dollars.
    pub cost: Option<f64>,
    /// Tokens in all.
    pub tokens: Option<u64>,
    /// Tokens that models were given.
    pub input_tokens: Option<u64>,
    /// Tokens that models gave.
    pub output_tokens: Option<u64>,
    /// Calls of models.
    pub model_calls: Option<u64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
}

/// The calls there must have been for an assertion to be looked at.
#[derive(Debug, Clone, Default)]
pub struct Precondition {
    /// A tool.
    pub tool: Option<String>,
    /// What the name of a tool must match.
    pub pattern: Option<Regex>,
    /// Whether there must be any at all.
    pub any: Option<bool>,
    /// How many there must be.
    pub least: Option<u64>,
}

impl Assertion {
    /// The tools that it names, also those that it depends on.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        let one = std::slice::from_ref;
        let named: Vec<&[String]> = match &self.check {
            Check::ToolsCalled { tools, .. } | Check::ToolsNotCalled(tools) | Check::CallSequence(tools) => {
                vec![tools]
            }
            Check::CalledWith { tool, .. } | Check::CallCount { tool: Some(tool), .. } => vec![one(tool)],
            Check::ToolAccess(rules) => rules.iter().map(|(_, allowed)| &allowed[..]).collect(),
            _ => Vec::new(),
        };
        named.into_iter().flatten().chain(&self.when.tool).map(String::as_str)
    }
}

impl Precondition {
    /// Returns whether it is the case.
    #[must_use]
    pub fn holds(&self, calls: &[ObservedCall]) -> bool {
        let calls: Vec<&ObservedCall> = calls.iter().filter(|call| !call.refused).collect();
        let called = |is: &dyn Fn(&str) -> bool| calls.iter().any(|call| is(&call.tool));
        self.tool.as_ref().is_none_or(|tool| called(&|name| name == tool))
            && self.pattern.as_ref().is_none_or(|pattern| called(&|name| pattern.is_match(name)))
            && self.any.is_none_or(|wanted| calls.is_empty() != wanted)
            && self.least.is_none_or(|least| calls.len() as u64 >= least)
    }
}
