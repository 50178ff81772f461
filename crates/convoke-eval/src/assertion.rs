//! Kinds of assertions: what each of them is about, and which settings it has.

use convoke_machine::pack::Validator;
use serde_json::Value;

use crate::judge::JudgeCriteria;

/// Something that must hold.
#[derive(Debug, Clone)]
pub struct Assertion {
    /// What its author called it: `content_includes`.
    pub name: String,
    /// What its author says it is for.
    pub message: Option<String>,
    /// What it is about.
    pub subject: Subject,
    /// What must hold.
    pub check: Check,
}

/// What the text is that an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// What was said in the turn; at the end, what the run came to.
    Said,
    /// An output by its name.
    Output(String),
    /// An artifact by its name.
    Artifact(String),
}

/// What must hold.
#[derive(Debug, Clone)]
pub enum Check {
    /// A rule for texts.
    Content(Validator),
    /// The text, or value, is this.
    Equals(Value),
    /// The workflow is in this state.
    State(String),
    /// The workflow moved to this state.
    TransitionedTo(String),
    /// The workflow has come to its end.
    Complete,
    /// These states were entered in this order, others perhaps between them.
    Order(Vec<String>),
    /// Exactly these states were entered, the first one included.
    Path(Vec<String>),
    /// Each of these tools was called.
    ToolsCalled(Vec<String>),
    /// None of these tools was called.
    ToolsNotCalled(Vec<String>),
    /// This tool was called with these arguments, among others.
    CalledWith {
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
    },
    /// No more was used than this.
    Usage(Ceilings),
    /// The run ended like this.
    Status(String),
    /// A model says so.
    Judge(JudgeCriteria),
}

/// What a run may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ceilings {
    /// Dollars.
    pub cost: Option<f64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Calls of models.
    pub model_calls: Option<u64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
}

/// A kind of assertion, as it is written.
pub(crate) struct Kind {
    /// Its names, the usual one first.
    pub(crate) names: &'static [&'static str],
    /// Its settings.
    pub(crate) settings: &'static [&'static str],
    pub(crate) form: Form,
    /// Whether it is about the end only.
    pub(crate) end_only: bool,
}

/// How the settings of a kind are read.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// By the validator of this name.
    Validator(&'static str),
    Equals,
    State,
    TransitionedTo,
    Complete,
    Order,
    Path,
    ToolsCalled,
    ToolsNotCalled,
    CalledWith,
    Usage,
    Status,
    Judge,
}

/// Settings that all rules for texts have.
pub(crate) const SCORES: [&str; 2] = ["min_score", "max_score"];

const WORDS: &[&str] = &["patterns", "words"];
const LENGTHS: &[&str] =
    &["max", "min", "max_characters", "min_characters", "max_chars", "min_chars", "max_length", "min_length"];

/// Every kind there is.
pub(crate) static KINDS: &[Kind] = &[
    text(&["content_includes", "contains", "required_words"], WORDS, "contains"),
    text(&["content_excludes", "content_not_includes", "banned_words"], WORDS, "content_excludes"),
    text(&["content_matches", "regex", "regex_match"], &["pattern", "expect_match"], "regex"),
    text(&["json_schema"], &["schema"], "json_schema"),
    text(&["json_valid", "is_valid_json"], &[], "json_valid"),
    text(&["length", "max_length", "min_length"], LENGTHS, "length"),
    text(&["max_sentences", "sentence_count"], &["max", "max_sentences"], "max_sentences"),
    text(&["required_fields", "field_presence"], &["fields", "required_fields"], "required_fields"),
    text(&["pii", "pii_detection", "pii_leakage"], &[], "pii"),
    kind(&["equals"], &["value"], Form::Equals),
    kind(&["state_is"], &["state"], Form::State),
    kind(&["transitioned_to"], &["state"], Form::TransitionedTo),
    kind(&["workflow_complete"], &[], Form::Complete),
    at_end(&["workflow_transition_order"], &["states"], Form::Order),
    at_end(&["path_is"], &["states"], Form::Path),
    kind(&["tools_called", "tool_called"], &["tools", "tool_names", "tool_name"], Form::ToolsCalled),
    kind(
        &["tools_not_called", "tool_not_called"],
        &["tools", "tool_names", "tool_name"],
        Form::ToolsNotCalled,
    ),
    kind(&["tool_calls_with_args", "tool_called_with"], &["tool_name", "args"], Form::CalledWith),
    at_end(&["usage"], &["max_cost", "max_tokens", "max_model_calls", "max_tool_calls"], Form::Usage),
    at_end(&["status"], &["is"], Form::Status),
    kind(&["llm_judge"], &["criteria", "min_score"], Form::Judge),
];

const fn kind(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, end_only: false }
}

const fn at_end(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, end_only: true }
}

const fn text(
    names: &'static [&'static str],
    settings: &'static [&'static str],
    validator: &'static str,
) -> Kind {
    kind(names, settings, Form::Validator(validator))
}

/// The kind of this name.
pub(crate) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.names.contains(&name))
}

/// All names of kinds.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.names.iter().copied())
}
