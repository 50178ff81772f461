//! The skills active in a conversation, and the calls they forbid.

use std::sync::Arc;

use convoke_core::{Message, ToolCall, Transcript};

use super::{SkillShelf, TOOL, allowed, text};
use crate::agentfile::load::Skill;

/// The tools that call in others, whom no limit would bind.
const CALL_IN_OTHERS: [&str; 2] = ["spawn_agent", "spawn_agents"];

/// The skills in use: those asked for by their markers, and those taken up with the tool, which the conversation shows.
#[derive(Clone)]
pub(crate) struct ActiveSkills {
    shelf: SkillShelf,
    by_marker: Vec<Arc<Skill>>,
}

impl ActiveSkills {
    pub(crate) fn new(shelf: &SkillShelf) -> Self {
        Self { shelf: shelf.clone(), by_marker: Vec::new() }
    }

    /// The skill that a reply asks for with `[use-skill:NAME]`: the first that there is and that is not in use already.
    pub(crate) fn marked(&self, reply: &str) -> Option<Arc<Skill>> {
        let marks = reply.split("[use-skill:").skip(1).filter_map(|rest| rest.split_once(']'));
        let known = marks.filter_map(|(name, _)| self.shelf.shared(name));
        known.into_iter().find(|skill| self.by_marker.iter().all(|used| used.name != skill.name)).cloned()
    }

    /// Takes up a skill that was asked for in the last reply of a conversation: gives the conversation to go on with. Calls
    /// in that reply were made without knowing the skill, and are dropped.
    pub(crate) fn go_on(&mut self, skill: &Arc<Skill>, conversation: &Transcript) -> Transcript {
        let before = conversation.len().saturating_sub(1);
        let mut messages: Transcript = conversation.iter().take(before).cloned().collect();
        if let Some(reply) = conversation.last() {
            messages.push(Message::assistant(reply.text()));
        }
        let text = text::whole(skill, false);
        messages.push(Message::user(format!("[Skill loaded: {}]\n\n{text}", skill.name)));
        self.by_marker.push(Arc::clone(skill));
        messages
    }

    /// Why a call must not be made, if a skill in use does not allow it. Every one in use has its say: none widens what
    /// another left.
    pub(crate) fn refusal(&self, conversation: &Transcript, call: &ToolCall) -> Option<String> {
        if call.name == TOOL {
            return None;
        }
        for skill in self.in_use(conversation) {
            let Some(tools) = &skill.allowed_tools else { continue };
            let (called, name) = (&call.name, &skill.name);
            if CALL_IN_OTHERS.contains(&called.as_str()) {
                return Some(format!(
                    "`{called}` was not called: the skill `{name}`, which is in use, limits your tools, and would not limit \
                     those of others. Do it yourself."
                ));
            }
            if !allowed::allows(tools, call) {
                let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
                return Some(format!(
                    "`{called}` was not called: the skill `{name}`, which is in use, does not allow this call. It allows: \
                     {tools}"
                ));
            }
        }
        None
    }

    /// Those in use. One that the last reply takes up counts already: its other calls are made at the same time.
    fn in_use(&self, conversation: &Transcript) -> Vec<&Arc<Skill>> {
        let mut used: Vec<&Arc<Skill>> = self.by_marker.iter().collect();
        let mut messages = conversation.iter().peekable();
        while let Some(message) = messages.next() {
            // Results follow their calls; ids may come again in later replies.
            let results = messages.peek();
            let failed = |call: &ToolCall| {
                let mut results = results.iter().flat_map(|message| message.results());
                results.any(|result| result.call_id == call.id && result.is_error)
            };
            for call in message.tool_calls().filter(|call| call.name == TOOL && !failed(call)) {
                let name = call.arguments.get("name").and_then(|name| name.as_str());
                if let Some(skill) = name.and_then(|name| self.shelf.shared(name))
                    && used.iter().all(|used| used.name != skill.name)
                {
                    used.push(skill);
                }
            }
        }
        used
    }
}
