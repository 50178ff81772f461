//! The `approval` node: a person decides.

use convoke_core::{Decision, Error, Nature, Question};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{NodeCall, NodeSite, PortType, Ports, Typed};
use crate::board::{APPROVALS, INTERRUPTED_NODE};

/// Asks a person, and waits: the decision belongs to this node and this time alone.
pub(super) struct Approval;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalConfig {
    /// What is asked.
    #[serde(default = "prompt")]
    prompt: String,
    /// What is to be judged: a text or any value.
    #[serde(default)]
    subject: Value,
}

fn prompt() -> String {
    "Please approve or reject this action.".to_owned()
}

impl Typed for Approval {
    const NAME: &'static str = "approval";
    const NATURE: Nature = Nature::Composite;
    type Config = ApprovalConfig;

    fn ports(_: &Value) -> Ports {
        Ports::writing([
            ("approval_status", PortType::String),
            ("approval_request", PortType::Object),
            ("approval_comment", PortType::String),
            (APPROVALS, PortType::Object),
        ])
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: ApprovalConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let request = json!({"prompt": config.prompt, "node_id": call.id});
        call.board.set("approval_status", "pending")?;
        call.board.set("approval_request", request)?;
        call.board.put(INTERRUPTED_NODE, call.id);
        let question = Question::approval(config.prompt).about(config.subject);
        let answer = call.scope.ask(question).await?;
        let (status, said) = match answer.decision {
            Decision::Approve => ("approved", String::new()),
            Decision::Revise { text } => ("revise", text),
            Decision::Reject { reason } => ("rejected", reason),
            other => return Err(Error::permanent(format!("{other:?} is not an approval"))),
        };
        call.board.take(INTERRUPTED_NODE);
        call.board.set("approval_status", status)?;
        let mut approvals: Map<String, Value> = call.board.typed(APPROVALS).unwrap_or_default();
        approvals.insert(call.id.to_owned(), json!({"status": status, "comment": said}));
        call.board.set(APPROVALS, approvals)?;
        Ok(call.board.set("approval_comment", said)?)
    }
}
