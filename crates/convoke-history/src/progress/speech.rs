//! What a conversation says, shown to the person who talks with it while it is said.

use std::io::{self, Write};

use convoke_core::{Event, EventKind};
use serde_json::Value;

use crate::terminal::{Palette, Rich, Tone, text};

/// The segments of the path of a model call of the conversation itself: machine, state, turn, model. What others say whom a state
/// calls in is deeper, and is not said to the person.
const OWN_CALL: usize = 4;

/// Shows what is said, and where the conversation goes.
#[derive(Debug)]
pub(crate) struct Speech {
    palette: Palette,
    /// Whether words are shown as they come. Between lines of a log they are shown whole.
    is_live: bool,
    /// Whether what comes may be replaced, and is shown once it is known that it stays.
    is_held: bool,
    /// What was shown of the message that is being said.
    shown: String,
    /// Whether it is being said.
    pub(crate) is_speaking: bool,
    /// What was said last, and shown.
    pub(crate) last: Option<String>,
}

impl Speech {
    pub(crate) fn new(palette: Palette, is_live: bool) -> Self {
        Self { palette, is_live, is_held: false, shown: String::new(), is_speaking: false, last: None }
    }

    /// What is to be written for an event; `is_now` if it is not only told again.
    pub(crate) fn hear(&mut self, event: &Event, is_now: bool) -> Option<String> {
        match &event.kind {
            EventKind::MessageDelta { text, .. } if self.shows(event) => {
                self.is_speaking = true;
                self.shown.push_str(text);
                Some(text::clean(text))
            }
            EventKind::MessageRestarted { reason, .. } if self.is_speaking => {
                self.shown.clear();
                Some(format!("\n{}\n", self.faint(&format!("{reason}; it begins anew"))))
            }
            EventKind::MessageEnded { .. } if self.is_speaking => {
                self.is_speaking = false;
                Some("\n".to_owned())
            }
            EventKind::Custom { name, value } if is_now => self.custom(name, value),
            _ => None,
        }
    }

    /// Whether it is broken off in the middle of a line: what comes next begins another.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        std::mem::take(&mut self.is_speaking)
    }

    fn shows(&self, event: &Event) -> bool {
        self.is_live && !self.is_held && !event.replayed && event.path.segments().count() == OWN_CALL
    }

    fn custom(&mut self, name: &str, value: &Value) -> Option<String> {
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
                (said != shown).then(|| format!("{}\n", text::clean(said.trim_end())))
            }
            "workflow.transitioned" => {
                let word = |key: &str| text::one_line(value[key].as_str().unwrap_or_default());
                Some(format!("{}\n", self.faint(&format!("→ {} ({})", word("to_state"), word("event")))))
            }
            _ => None,
        }
    }

    fn faint(&self, line: &str) -> String {
        Rich::new(Tone::Faint, text::clean(line)).paint(self.palette)
    }
}

/// Writes what is said where the person reads it.
pub(crate) fn write(words: &str) {
    let mut error = io::stderr().lock();
    // If standard error is closed there is nobody who reads.
    let _ = error.write_all(words.as_bytes());
    let _ = error.flush();
}
