//! Approval of tool calls by a person.

use convoke_core::{Decision, Error, Question, Scope, Tool, ToolCall, Toolset};
use serde_json::json;

/// What the model is told when nobody says why.
const NO_REASON: &str = "Tool call rejected";

/// The rule which calls a person must approve before they are made. Calls executed by the client are never among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Approval {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those of these tools.
    For(Vec<String>),
}

/// The reaction when every call of a turn was rejected. If only some were, the model always gets to read why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnRejection {
    /// The agent ends with [`AgentStop::Rejected`](crate::AgentStop::Rejected).
    #[default]
    End,
    /// The model gets to read why, and may try something else.
    TellModel,
}

impl Approval {
    /// Calls of these tools.
    ///
    /// ```
    /// use convoke_agent::Approval;
    ///
    /// assert_eq!(Approval::of(["pay"]), Approval::For(vec!["pay".to_owned()]));
    /// ```
    pub fn of<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self::For(tools.into_iter().map(Into::into).collect())
    }

    pub(super) fn covers(&self, tool: &dyn Tool) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::For(names) => names.iter().any(|name| name == tool.spec().name()),
        }
    }

    pub(super) fn unknown_tool(&self, tools: &Toolset) -> Option<&str> {
        match self {
            Self::For(names) => names.iter().map(String::as_str).find(|name| tools.get(name).is_none()),
            Self::Never | Self::Always => None,
        }
    }
}

/// What a person said about a call.
pub(super) enum ApprovalVerdict {
    Approved,
    Rejected { reason: String },
}

/// Asks a person about a call, in a scope of its own: the wait must not count against the tool's time.
pub(super) async fn ask(scope: &Scope, agent: &str, call: &ToolCall) -> Result<ApprovalVerdict, Error> {
    let question = Question::approval(format!("Call `{}`?", call.name))
        .details(format!("Agent `{agent}` wants to call `{}` with these arguments.", call.name))
        .about(json!({"tool": call.name, "arguments": call.arguments, "call_id": call.id}));
    let reason = match scope.ask(question).await?.decision {
        Decision::Approve => return Ok(ApprovalVerdict::Approved),
        Decision::Reject { reason } | Decision::Revise { text: reason } => reason,
        // Nothing else answers a question for approval; the kernel does not let it through.
        _ => String::new(),
    };
    Ok(ApprovalVerdict::Rejected { reason: if reason.is_empty() { NO_REASON.to_owned() } else { reason } })
}
