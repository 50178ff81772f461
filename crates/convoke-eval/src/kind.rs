//! Kinds of assertions as they are written: their names, those of the Go program among them, and which settings each has.

/// A kind of assertion, as it is written.
pub(crate) struct Kind {
    /// Its names, the usual one first.
    pub(crate) names: &'static [&'static str],
    /// Its settings.
    pub(crate) settings: &'static [&'static str],
    pub(crate) form: Form,
    pub(crate) about: About,
}

/// What a kind is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// A text: what was said, unless `of` says otherwise.
    Text,
    /// A text: everything that was said, unless `of` says otherwise.
    Conversation,
    /// What happened, in a turn or until the end.
    Events,
    /// The whole run.
    Run,
}

/// How the settings of a kind are read.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// By the validator of this name.
    Validator(&'static str),
    Includes,
    IncludesAny,
    Excludes,
    Equals,
    JsonPath,
    State,
    TransitionedTo,
    SpokeIn,
    Complete,
    Order,
    Path,
    ToolAccess,
    ToolsCalled,
    ToolsNotCalled,
    SkillsUsed,
    SkillsNotUsed,
    CalledWith,
    CallCount,
    CallSequence,
    NoToolErrors,
    RuleBroken,
    StepOutput,
    BranchTaken,
    ParallelComplete,
    Output,
    Usage,
    Status,
    Judge,
    /// Another kind, with a threshold.
    Wrapper,
}

/// Settings that everything has that can hold by degrees.
pub(crate) const SCORES: [&str; 2] = ["min_score", "max_score"];

const PATTERNS: &[&str] = &["patterns", "case_sensitive"];
const WORDS: &[&str] = &["patterns", "words"];
const LENGTHS: &[&str] =
    &["max", "min", "max_characters", "min_characters", "max_chars", "min_chars", "max_length", "min_length"];
const TOOLS: &[&str] = &["tools", "tool_names", "tool_name", "agents", "agent_names"];
const CALLED: &[&str] = &["tools", "tool_names", "tool_name", "agents", "agent_names", "min_calls"];
pub(crate) const SKILLS: &[&str] = &["skills", "skill_names"];
const SKILLS_USED: &[&str] = &["skills", "skill_names", "min_calls"];
const ARGUMENTS: &[&str] = &["tool_name", "expected_args", "required_args", "args", "args_match"];
const CEILINGS: &[&str] = &[
    "max_cost",
    "max_cost_usd",
    "max_tokens",
    "max_total_tokens",
    "max_input_tokens",
    "max_output_tokens",
    "max_model_calls",
    "max_tool_calls",
];
const JSON_PATH: &[&str] = &[
    "path",
    "expression",
    "jmespath_expression",
    "equals",
    "expected",
    "contains",
    "exists",
    "min",
    "max",
    "min_results",
    "max_results",
];
const RULE: &[&str] = &["validator", "validator_type", "guardrail", "should_trigger", "expected"];

/// Every kind there is.
pub(crate) static KINDS: &[Kind] = &[
    text(&["content_includes", "contains"], PATTERNS, Form::Includes),
    whole(&["content_includes_any", "contains_any"], PATTERNS, Form::IncludesAny),
    whole(&["content_excludes", "content_not_includes"], PATTERNS, Form::Excludes),
    whole(&["banned_words"], WORDS, Form::Validator("banned_words")),
    text(&["required_words"], WORDS, Form::Validator("required_words")),
    text(
        &["content_matches", "regex", "regex_match"],
        &["pattern", "expect_match"],
        Form::Validator("regex"),
    ),
    text(&["json_schema"], &["schema"], Form::Validator("json_schema")),
    text(&["json_valid", "is_valid_json", "valid_json"], &[], Form::Validator("json_valid")),
    text(&["length", "max_length", "min_length"], LENGTHS, Form::Validator("length")),
    text(&["max_sentences", "sentence_count"], &["max", "max_sentences"], Form::Validator("max_sentences")),
    text(
        &["required_fields", "field_presence"],
        &["fields", "required_fields"],
        Form::Validator("required_fields"),
    ),
    whole(&["pii", "pii_detection", "pii_leakage"], &[], Form::Validator("pii")),
    text(&["equals"], &["value"], Form::Equals),
    text(&["json_path"], JSON_PATH, Form::JsonPath),
    text(&["llm_judge"], &["criteria", "rubric"], Form::Judge),
    whole(&["llm_judge_session", "llm_judge_conversation"], &["criteria", "rubric"], Form::Judge),
    events(&["state_is", "workflow_state_is"], &["state"], Form::State),
    events(&["transitioned_to", "workflow_transitioned_to"], &["state"], Form::TransitionedTo),
    events(&["spoke_in_state"], &["state"], Form::SpokeIn),
    events(&["workflow_complete"], &[], Form::Complete),
    events(&["workflow_transition_order"], &["sequence", "states"], Form::Order),
    events(&["path_is"], &["states"], Form::Path),
    events(&["workflow_tool_access"], &["rules"], Form::ToolAccess),
    events(&["tools_called", "tool_called", "agent_invoked"], CALLED, Form::ToolsCalled),
    events(&["tools_not_called", "tool_not_called", "agent_not_invoked"], TOOLS, Form::ToolsNotCalled),
    events(&["skill_activated"], SKILLS_USED, Form::SkillsUsed),
    events(&["skill_not_activated"], SKILLS, Form::SkillsNotUsed),
    events(&["tool_calls_with_args", "tool_args"], ARGUMENTS, Form::CalledWith),
    events(&["tool_call_count"], &["tool", "min", "max"], Form::CallCount),
    events(&["tool_call_sequence"], &["sequence"], Form::CallSequence),
    events(&["no_tool_errors"], &[], Form::NoToolErrors),
    events(&["guardrail_triggered"], RULE, Form::RuleBroken),
    events(&["composition_output"], &["contains", "equals"], Form::Output),
    events(&["composition_step_output"], &["step", "contains", "equals"], Form::StepOutput),
    events(&["composition_branch_taken"], &["branch", "expected"], Form::BranchTaken),
    events(&["composition_parallel_complete"], &["parallel"], Form::ParallelComplete),
    run(&["usage", "cost_budget"], CEILINGS, Form::Usage),
    run(&["status"], &["is"], Form::Status),
    text(&["assertion"], &["eval_type", "eval_params"], Form::Wrapper),
];

const fn text(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, about: About::Text }
}

const fn whole(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, about: About::Conversation }
}

const fn events(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, about: About::Events }
}

const fn run(names: &'static [&'static str], settings: &'static [&'static str], form: Form) -> Kind {
    Kind { names, settings, form, about: About::Run }
}

/// The kind of this name.
pub(crate) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.names.contains(&name))
}

/// All names of kinds.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.names.iter().copied())
}

impl Kind {
    /// Whether it holds by degrees.
    pub(crate) fn has_scores(&self) -> bool {
        matches!(self.about, About::Text | About::Conversation) || matches!(self.form, Form::Order)
    }
}
