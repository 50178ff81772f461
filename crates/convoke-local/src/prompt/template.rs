//! The chat template of a model: a Jinja program that turns a conversation into the text the model was trained on.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, Value as JinjaValue, context};
use serde_json::Value;

use super::python_json;
use crate::LocalError;

/// No template of an honest model takes more steps, even over a long conversation; a loop without end does.
const FUEL: u64 = 20_000_000;
const NAME: &str = "chat";

/// What some templates of the Qwen2.5-Coder models say of tool calls: braces are doubled, and so the models double them.
const DOUBLED: &str = r#"{{\"name\": <function-name>, \"arguments\": <args-json-object>}}"#;

/// A compiled chat template.
///
/// It comes out of a file somebody downloaded, so it is run like foreign code: it sees the conversation and nothing
/// else, and has a limited number of steps. It is not told the date: prompts must not change by themselves.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    calls_tools: bool,
    results_in_words: bool,
    begin: String,
    end: String,
}

impl ChatTemplate {
    /// Compiles a template. `begin` and `end` are the texts of the vocabulary's first and last token.
    ///
    /// # Errors
    /// [`LocalError::Template`] if it is not a template.
    pub fn new(source: &str, begin: &str, end: &str) -> Result<Self, LocalError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| invalid(&error))?);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", to_json);
        environment.add_function("raise_exception", |reason: String| -> Result<JinjaValue, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, reason))
        });
        let source = source.replace(DOUBLED, &DOUBLED[1..DOUBLED.len() - 1]);
        environment.add_template_owned(NAME, source.clone()).map_err(|error| invalid(&error))?;
        let names_tools = environment
            .get_template(NAME)
            .map_err(|error| invalid(&error))?
            .undeclared_variables(false)
            .contains("tools");
        let calls_tools = names_tools && source.contains("<tool_call>");
        Ok(Self {
            environment,
            calls_tools,
            results_in_words: false,
            begin: begin.to_owned(),
            end: end.to_owned(),
        })
    }

    /// Returns whether it describes tools itself, and has the model call them between `<tool_call>` tags.
    ///
    /// For any other template the tools are described in the system message instead.
    #[must_use]
    pub fn calls_tools(&self) -> bool {
        self.calls_tools
    }

    /// Puts the results of tools into a user's message, instead of leaving them to the template.
    ///
    /// Some models have the tool template of a family that learnt to use tools, and did not learn it themselves: shown a
    /// result between tags, they call the tool again or speak of something else. Told of it in words, they answer.
    #[must_use]
    pub fn tell_results_in_words(mut self, yes: bool) -> Self {
        self.results_in_words = yes;
        self
    }

    pub(crate) fn results_in_words(&self) -> bool {
        self.results_in_words
    }

    /// Renders a conversation up to where the model's answer begins.
    pub(crate) fn render(&self, messages: &[Value], tools: Option<&Value>) -> Result<String, Error> {
        let template = self.environment.get_template(NAME)?;
        let context = context! {
            messages => Serde(messages),
            tools => tools.map(Serde),
            add_generation_prompt => true,
            bos_token => self.begin.as_str(),
            eos_token => self.end.as_str(),
        };
        template.render(context)
    }
}

fn invalid(error: &Error) -> LocalError {
    LocalError::Template { reason: describe(error) }
}

/// What a template's failure says, on one line.
pub(crate) fn describe(error: &Error) -> String {
    let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("{reason} (line {line} of the template)"),
        None => reason,
    }
}

fn to_json(value: JinjaValue, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let written = match indent {
        Some(spaces) => python_json::indented(&value, spaces),
        None => python_json::line(&value),
    };
    // Other options of Python's, such as `ensure_ascii`, ask for what is done anyway.
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}
