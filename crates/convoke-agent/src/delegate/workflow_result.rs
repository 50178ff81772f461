//! The default result of a workflow tool.

use std::collections::HashMap;

use convoke_core::{EventKind, Path, json_text};
use serde_json::Value;

/// The last thing said, else what was published last, else the final state (gains 149 to 151).
pub(super) fn usual_result(events: &[(Path, EventKind)], state: &Value) -> String {
    last_words(events).or_else(|| last_published(events, state)).unwrap_or_else(|| json_text(state))
}

/// The text of the last message that has any.
fn last_words(events: &[(Path, EventKind)]) -> Option<String> {
    let mut texts: HashMap<&str, String> = HashMap::new();
    let mut last = None;
    for (_, event) in events {
        match event {
            EventKind::MessageDelta { id, text } => texts.entry(id).or_default().push_str(text),
            EventKind::MessageRestarted { id, .. } => {
                texts.remove(id.as_str());
            }
            EventKind::MessageEnded { id, .. } => {
                let text = texts.remove(id.as_str()).filter(|text| !text.trim().is_empty());
                last = text.or(last);
            }
            _ => {}
        }
    }
    last
}

/// What was published last. Once changes have been published too, that is the final state.
fn last_published(events: &[(Path, EventKind)], state: &Value) -> Option<String> {
    let published = events.iter().rev().find_map(|(_, event)| match event {
        EventKind::StateSnapshot { state: snapshot } => Some(snapshot),
        EventKind::StateDelta { .. } => Some(state),
        _ => None,
    })?;
    let named = ["result", "output"].iter().find_map(|name| published.get(name)?.as_str());
    Some(named.map_or_else(|| json_text(published), str::to_owned))
}
