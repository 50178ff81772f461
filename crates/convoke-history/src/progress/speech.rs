//! The speech of a conversation, for the person who talks with it, while it is said.

use convoke_core::{Event, EventKind};
use serde_json::Value;

use crate::lines::Rich;
use crate::{Tone, text};

/// The segments of the path of a model call of the conversation itself: machine, state, turn, model. What others say whom a state
/// calls in is deeper, and is not said to the person.
const OWN_CALL: usize = 4;

/// The words that are said, and where the conversation goes.
#[derive(Debug, Default)]
pub struct Speech {
    /// Whether words are shown as they come. Between lines of a log they are shown whole.
    is_live: bool,
    /// Whether what comes may be replaced, and is shown once it is known that it stays.
    is_held: bool,
    /// What was shown of the message that is being said.
    shown: String,
    is_speaking: bool,
    /// What was said last, and shown.
    pub last: Option<String>,
}

impl Speech {
    /// Nothing was said yet; `is_live` if words are to be shown as they come.
    #[must_use]
    pub fn new(is_live: bool) -> Self {
        Self { is_live, ..Self::default() }
    }

    /// Returns what is to be written for an event, line breaks included; `is_now` if it is not only told again.
    pub fn hear(&mut self, event: &Event, is_now: bool) -> Option<Rich> {
        match &event.kind {
            EventKind::MessageDelta { text, .. } if self.shows(event) => {
                self.is_speaking = true;
                self.shown.push_str(text);
                Some(Rich::plain(text))
            }
            EventKind::MessageRestarted { reason, .. } if self.is_speaking => {
                self.shown.clear();
                Some(Rich::plain("\n").then(faint_line(format!("{reason}; it begins anew"))))
            }
            EventKind::MessageEnded { .. } if self.is_speaking => {
                self.is_speaking = false;
                Some(Rich::plain("\n"))
            }
            EventKind::Custom { name, value } if is_now => self.custom(name, value),
            _ => None,
        }
    }

    /// Returns whether something is being said, in a line that has not ended.
    #[must_use]
    pub fn is_speaking(&self) -> bool {
        self.is_speaking
    }

    /// Returns whether it is broken off in the middle of a line: what comes next begins another.
    pub fn is_cut_off(&mut self) -> bool {
        std::mem::take(&mut self.is_speaking)
    }

    fn shows(&self, event: &Event) -> bool {
        self.is_live && !self.is_held && !event.replayed && event.path.segments().count() == OWN_CALL
    }

    fn custom(&mut self, name: &str, value: &Value) -> Option<Rich> {
        match name {
            "workflow.speech_held" => {
                self.is_held = true;
                None
            }
            "workflow.spoke" => {
                self.is_held = false;
                let shown = std::mem::take(&mut self.shown);
                let said = value["text"].as_str().filter(|said| !said.is_empty())?;
                self.last = Some(said.to_owned());
                (said != shown).then(|| format!("{}\n", said.trim_end()).into())
            }
            "workflow.transitioned" => {
                let word = |key: &str| text::one_line(value[key].as_str().unwrap_or_default());
                Some(faint_line(format!("→ {} ({})", word("to_state"), word("event"))))
            }
            _ => None,
        }
    }
}

fn faint_line(line: String) -> Rich {
    Rich::new(Tone::Faint, line).with(Tone::Plain, "\n")
}
