//! The gate that checks every tool call of a run against the policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{
    BoxFuture, EffectRequest, Error, InterceptedEffect, Interceptor, Question, ToolSpec, Verdict,
};
use serde_json::{Value, json};

use super::judge::host;
use super::{Decision, Policy, PolicyCall, PolicyOutcome, RulePlace, Subject};
use crate::workspace::Workspace;

/// So much of a reason is shown to whoever is asked.
const LONGEST_REASON: usize = 400;

/// A policy as an interceptor of a runtime: every call is decided about before it is made.
///
/// What is denied goes back to the model with the reason; what is asked about becomes a question with the tool, its
/// arguments, the rule and why.
///
/// ```
/// use convoke_core::Runtime;
/// use convoke_tools::policy::{Policy, PolicyGate};
///
/// let runtime = Runtime::builder().interceptor(PolicyGate::new(Policy::default())).build();
/// # drop(runtime);
/// ```
#[derive(Debug, Clone)]
pub struct PolicyGate {
    /// All of them must agree: the strictest decides.
    pub(super) policies: Vec<Arc<Policy>>,
    pub(super) workspace: Option<Workspace>,
    /// Tools of MCP servers by the names that models know them by.
    mcp: BTreeMap<String, (String, String)>,
}

impl PolicyGate {
    /// A gate with this policy.
    #[must_use]
    pub fn new(policy: impl Into<Arc<Policy>>) -> Self {
        Self { policies: vec![policy.into()], workspace: None, mcp: BTreeMap::new() }
    }

    /// Adds a policy: the stricter of the two decides. So what a folder's policy allows is no more than what the
    /// user's own does.
    #[must_use]
    pub fn and(mut self, policy: impl Into<Arc<Policy>>) -> Self {
        self.policies.push(policy.into());
        self
    }

    /// Paths are judged by where they lead in this workspace, not only by how they are written.
    #[must_use]
    pub fn workspace(mut self, workspace: &Workspace) -> Self {
        self.workspace = Some(workspace.clone());
        self
    }

    /// The tool that models know by this name is that one of an MCP server.
    #[must_use]
    pub fn mcp(
        mut self,
        name: impl Into<String>,
        server: impl Into<String>,
        tool: impl Into<String>,
    ) -> Self {
        self.mcp.insert(name.into(), (server.into(), tool.into()));
        self
    }

    /// The server's tool that models know by this name.
    pub(super) fn mcp_tool(&self, name: &str) -> Option<&(String, String)> {
        self.mcp.get(name)
    }

    /// What a person who approves a call can approve for the whole run: no more than this command, these files, this host, or
    /// this tool where that is all there is to know.
    fn covers(&self, spec: &ToolSpec, arguments: &Value) -> String {
        let name = spec.name();
        if let Some((server, tool)) = self.mcp_tool(name) {
            return format!("every call of `{tool}` of the MCP server `{server}`");
        }
        let subjects = match self.policies.first() {
            Some(policy) => policy.call(spec, arguments).subjects,
            None => Vec::new(),
        };
        let parts: Vec<String> = subjects
            .iter()
            .map(|subject| match subject {
                Subject::Command(command) => format!("`{command}`"),
                Subject::Program(words) => format!("`{}`", words.join(" ")),
                Subject::Path(path) => format!("`{path}`"),
                Subject::Folder(folder) => format!("in `{folder}`"),
                Subject::Url(url) => format!("the host `{}`", host(url).unwrap_or_else(|| url.clone())),
                Subject::Host(destination) => format!("the host `{destination}`"),
                Subject::Mcp { server, tool } => format!("`{server}:{tool}`"),
                Subject::EveryWorkspace => "what is for every workspace".to_owned(),
            })
            .collect();
        match parts.is_empty() {
            true => format!("every call of `{name}`"),
            false => format!("`{name}` with {}", parts.join(", ")),
        }
    }

    /// A call as one of the policies sees it.
    fn call<'a>(&'a self, policy: &Policy, spec: &'a ToolSpec, arguments: &Value) -> PolicyCall<'a> {
        let mut call = policy.call(spec, arguments).within(self.workspace.as_ref());
        if let Some((server, tool)) = self.mcp.get(spec.name()) {
            // Its arguments mean what the server takes them for, whatever built-in tool they are like.
            let (server, tool) = (server.clone(), tool.clone());
            call.subjects = vec![Subject::Mcp { server, tool }];
        }
        call
    }

    /// Everything of a call that is asked about, each in a line of its own that has its beginning and its end.
    fn reasons(&self, spec: &ToolSpec, arguments: &Value) -> Vec<String> {
        let mut reasons = Vec::new();
        for policy in &self.policies {
            for decision in policy.asks(&self.call(policy, spec, arguments)) {
                let because = convoke_text::one_line_of(&decision.because, LONGEST_REASON);
                let reason = format!("{because} ({})", decision.rule);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }

    /// Decides about a call.
    #[must_use]
    pub fn decide(&self, spec: &ToolSpec, arguments: &Value) -> Decision {
        let decide = |policy: &Arc<Policy>| policy.decide(&self.call(policy, spec, arguments));
        let decisions = self.policies.iter().map(decide);
        // There is at least the policy it was made with.
        decisions.reduce(Decision::or_stricter).unwrap_or_else(|| decide(&Arc::new(Policy::default())))
    }
}

impl Interceptor for PolicyGate {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let EffectRequest::Tool { spec, arguments, .. } = about.request else {
                return Ok(Verdict::Allow);
            };
            let decision = self.decide(spec, arguments);
            Ok(match decision.outcome {
                PolicyOutcome::Allow => Verdict::Allow,
                PolicyOutcome::Deny => Verdict::deny(decision.denial()),
                PolicyOutcome::Ask => {
                    let reasons = self.reasons(spec, arguments);
                    let question = question(&decision, &reasons, spec.name(), arguments);
                    Verdict::ask(question.covers(self.covers(spec, arguments)))
                }
            })
        })
    }

    /// Nobody but the policy asked about calls then.
    fn inherits_unnamed_approvals(&self) -> bool {
        true
    }
}

fn question(decision: &Decision, reasons: &[String], tool: &str, arguments: &Value) -> Question {
    let place = match &decision.rule.place {
        RulePlace::File { name, line } => format!("{name}:{line}"),
        RulePlace::BuiltIn => "built in".to_owned(),
    };
    Question::approval(format!("May `{tool}` be called?")).details(reasons.join("\n")).about(json!({
        "tool": tool,
        "arguments": arguments,
        "because": decision.because,
        "rule": {"key": decision.rule.key, "text": decision.rule.text, "place": place},
    }))
}
