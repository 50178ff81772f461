//! Message policies: what a state knows of what was said in those before it.

use convoke_core::{Message, Part, Role, Transcript};
use serde::{Deserialize, Serialize};

use crate::workflow::{CompiledState, Persistence};

/// How many messages a summary has, and how much of each.
const SUMMED_UP: usize = 10;
const LONGEST: usize = 200;

/// The policies for the messages when another state is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessagePolicy {
    /// They stay.
    Keep,
    /// The state is told the last of them in a few lines.
    Summarise,
    /// The state knows what the person said last, and nothing else.
    Reset,
}

impl MessagePolicy {
    /// Returns what a state wants unless somebody says otherwise: one that is transient begins anew.
    #[must_use]
    pub fn of(state: &CompiledState) -> Self {
        match state.persistence {
            Some(Persistence::Transient) => Self::Reset,
            _ => Self::Keep,
        }
    }
}

/// The messages, and what is told of them, after a transition from a state.
pub(super) fn carried_over(
    policy: MessagePolicy,
    from: &str,
    said: &Transcript,
    brief: String,
) -> (Transcript, String) {
    let only_words =
        || said.newest_first().find(|message| message.role == Role::User).cloned().into_iter().collect();
    match policy {
        MessagePolicy::Keep => (said.clone(), brief),
        MessagePolicy::Reset => (only_words(), brief),
        MessagePolicy::Summarise => {
            let summary = summary(from, said.iter());
            let both = [brief, summary].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
            (only_words(), both.join("\n\n"))
        }
    }
}

/// Returns what was said in a state, in a few lines: a header, then the last messages that have text; empty if nothing was.
pub fn summary<'a>(state: &str, messages: impl IntoIterator<Item = &'a Message>) -> String {
    let messages: Vec<&Message> = messages.into_iter().collect();
    if messages.is_empty() {
        return String::new();
    }
    let spoken: Vec<&&Message> = messages.iter().filter(|message| message.role != Role::System).collect();
    let mut lines = vec![format!("[Previous state: {state}, {} messages]", messages.len())];
    for message in spoken.iter().skip(spoken.len().saturating_sub(SUMMED_UP)) {
        if let Some(text) = first_text(message) {
            lines.push(format!("{}: {}", name_of(message.role), shortened(text)));
        }
    }
    lines.join("\n")
}

fn first_text(message: &Message) -> Option<&str> {
    message.parts.iter().find_map(|part| match part {
        Part::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    })
}

fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(LONGEST)])
}

fn name_of(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        _ => "tool",
    }
}
