//! Conditions: which requests a rule answers.

use std::fmt;
use std::ops::Not;
use std::sync::Arc;

use convoke_core::{Message, ModelRequest, Role, ToolChoice, ToolDefinition, ToolResult};
use serde_json::Value;

const ANY: &str = "any request";

/// A condition on requests: which of them a rule answers.
///
/// Texts are compared as they are, upper and lower case included. What tools gave back is not a message's text: the
/// matchers with `tool_result` in their name look at it.
///
/// ```
/// use convoke_models::{Match, ScriptedModel};
///
/// let model = ScriptedModel::builder()
///     .when(Match::last_contains("refund").and(Match::offers_tool("refund")), "I can do that.")
///     .when(Match::last_contains("refund").and(!Match::offers_tools()), "I may not do that.")
///     .when(Match::last_contains("hello").or(Match::last_equals("hi")), "Hello!")
///     .build();
/// ```
#[derive(Clone)]
#[must_use]
pub struct Match {
    description: String,
    test: Arc<dyn Fn(&IncomingRequest<'_>) -> bool + Send + Sync>,
}

/// A request, and how many there have been with it.
pub(super) struct IncomingRequest<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) call: usize,
}

impl Match {
    /// Any request.
    pub fn any() -> Self {
        Self::new(ANY.to_owned(), |_| true)
    }

    /// The text of the last message, whoever says it, contains this.
    pub fn last_contains(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("the last message contains {text:?}"), move |asked| asked.last().contains(&text))
    }

    /// The text of the last message, whoever says it, is exactly this.
    pub fn last_equals(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("the last message is {text:?}"), move |asked| asked.last() == text)
    }

    /// The text of the last message passes this test.
    ///
    /// ```
    /// use convoke_models::Match;
    ///
    /// let shouting = Match::last_where(|text| !text.is_empty() && text == text.to_uppercase());
    /// ```
    pub fn last_where(test: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self::new("the last message passes a test".to_owned(), move |asked| test(&asked.last()))
    }

    /// The text of the user's latest message contains this, also when others have spoken since.
    pub fn user_contains(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("the user's latest message contains {text:?}"), move |asked| {
            asked.latest_of_user().is_some_and(|said| said.contains(&text))
        })
    }

    /// The text of the user's latest message is exactly this, also when others have spoken since.
    pub fn user_equals(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("the user's latest message is {text:?}"), move |asked| {
            asked.latest_of_user().is_some_and(|said| said == text)
        })
    }

    /// The text of any message contains this.
    pub fn any_contains(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("any message contains {text:?}"), move |asked| {
            asked.request.messages.iter().any(|message| message.text().contains(&text))
        })
    }

    /// The system's instructions contain this.
    pub fn system_contains(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("the system message contains {text:?}"), move |asked| {
            let mut system = asked.request.messages.iter().filter(|message| message.role == Role::System);
            system.any(|message| message.text().contains(&text))
        })
    }

    /// Tools have given something back since the model last spoke.
    pub fn has_tool_result() -> Self {
        Self::new("there is a new tool result".to_owned(), |asked| asked.new_results().next().is_some())
    }

    /// Matches if this tool has given something back since the model last spoke.
    pub fn tool_result_of(tool: impl Into<String>) -> Self {
        let tool = tool.into();
        Self::new(format!("there is a new result of tool `{tool}`"), move |asked| {
            asked.new_results().any(|result| result.name == tool)
        })
    }

    /// A tool has given back something that contains this since the model last spoke.
    pub fn tool_result_contains(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(format!("a new tool result contains {text:?}"), move |asked| {
            asked.new_results().any(|result| result.content.contains(&text))
        })
    }

    /// The model may call this tool: it is described to it, or offered by name to be opened.
    pub fn offers_tool(tool: impl Into<String>) -> Self {
        let tool = tool.into();
        Self::new(format!("tool `{tool}` is offered"), move |asked| {
            asked.may_call_tools() && asked.request.tools.iter().any(|offered| names(offered, &tool))
        })
    }

    /// The model may call tools. Its opposite, `!Match::offers_tools()`, is an agent's last turn.
    pub fn offers_tools() -> Self {
        Self::new("tools are offered".to_owned(), |asked| asked.may_call_tools())
    }

    /// The answer must have the shape of this name.
    pub fn output(schema: impl Into<String>) -> Self {
        let schema = schema.into();
        Self::new(format!("the output schema is `{schema}`"), move |asked| {
            asked.request.output.as_ref().is_some_and(|output| output.name == schema)
        })
    }

    /// Matches this model's n-th call, counted from 1.
    pub fn call(number: usize) -> Self {
        Self::new(format!("it is call {number}"), move |asked| asked.call == number)
    }

    /// The request passes this test.
    ///
    /// ```
    /// use convoke_models::Match;
    ///
    /// let long_talk = Match::request_where(|request| request.messages.len() > 20);
    /// ```
    pub fn request_where(test: impl Fn(&ModelRequest) -> bool + Send + Sync + 'static) -> Self {
        Self::new("the request passes a test".to_owned(), move |asked| test(asked.request))
    }

    /// Both hold.
    pub fn and(self, other: Self) -> Self {
        let description = format!("{} and {}", self.description, other.description);
        Self::new(description, move |asked| self.holds(asked) && other.holds(asked))
    }

    /// Matches if at least one holds.
    pub fn or(self, other: Self) -> Self {
        let description = format!("({} or {})", self.description, other.description);
        Self::new(description, move |asked| self.holds(asked) || other.holds(asked))
    }

    fn new(description: String, test: impl Fn(&IncomingRequest<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { description, test: Arc::new(test) }
    }

    /// Whether it is [`Match::any`].
    pub(super) fn is_any(&self) -> bool {
        self.description == ANY
    }

    pub(super) fn holds(&self, asked: &IncomingRequest<'_>) -> bool {
        (self.test)(asked)
    }
}

/// It does not hold.
impl Not for Match {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(format!("not ({})", self.description), move |asked| !self.holds(asked))
    }
}

/// What it looks for, in words.
impl fmt::Display for Match {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.description)
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Match({})", self.description)
    }
}

impl IncomingRequest<'_> {
    fn last(&self) -> String {
        self.request.messages.last().map(Message::text).unwrap_or_default()
    }

    fn latest_of_user(&self) -> Option<String> {
        self.request.messages.iter().rev().find(|message| message.role == Role::User).map(Message::text)
    }

    fn new_results(&self) -> impl Iterator<Item = &ToolResult> {
        let unanswered = self.request.messages.iter().rev().take_while(|said| said.role != Role::Assistant);
        unanswered.flat_map(Message::results)
    }

    fn may_call_tools(&self) -> bool {
        !self.request.tools.is_empty() && self.request.tool_choice != ToolChoice::None
    }
}

/// Whether what is offered is this tool, or the one that opens it by its name.
fn names(offered: &ToolDefinition, tool: &str) -> bool {
    let to_open = offered.parameters.pointer("/properties/names/items/enum").and_then(Value::as_array);
    let is_opener = offered.name == "open_tools";
    offered.name == tool || (is_opener && to_open.is_some_and(|names| names.iter().any(|name| name == tool)))
}
