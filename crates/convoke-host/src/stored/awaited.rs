//! Calls that a client is to make, as lines of text with the commands that send what they give, and what becomes of what is sent.

use convoke_core::store::RunRecord;
use convoke_core::{RunStatus, Timestamp, json_text};
use convoke_history::lines::Rich;
use convoke_history::{AwaitedMail, History, Tone, text};
use convoke_text::columns::cut;
use convoke_text::{nearest, shell_argument, shell_quoted};
use serde_json::Value;

use super::StoredRuns;
use crate::store::client_calls;

/// So much of the arguments of a call is shown.
const SHOWN: usize = 200;

impl StoredRuns {
    /// The calls whose results a run waits for, and the commands that send them.
    #[must_use]
    pub fn awaited_calls(&self, history: &History, width: Option<usize>) -> Vec<Rich> {
        let send = self.about("send", &history.record.id, "");
        history.awaited().iter().flat_map(|awaited| call_lines(&send, awaited, width)).collect()
    }

    /// Returns what becomes of a run after something was sent to it on this channel.
    #[must_use]
    pub fn after_mail(&self, record: &RunRecord, channel: &str) -> String {
        match (&record.holder, record.status) {
            (Some(holder), _) => format!("{holder} works on the run"),
            (None, RunStatus::Suspended) if record.wake.is_some_and(|wake| wake <= Timestamp::now()) => {
                format!("the run can go on; {}", self.resuming(record))
            }
            _ => {
                let meant = nearest(channel, record.channels.iter().map(String::as_str));
                let meant = match (meant.filter(|meant| *meant != channel), &record.channels[..]) {
                    (Some(meant), _) => format!("; it waits for `{meant}`, did you mean that?"),
                    (None, []) => String::new(),
                    (None, awaited) => format!("; it waits for {}", awaited.join(", ")),
                };
                format!("it is kept until the run looks for it{meant}")
            }
        }
    }
}

/// The calls that are waited for on a channel; `send` is the command that sends the run something.
#[must_use]
pub fn call_lines(send: &str, awaited: &AwaitedMail<'_>, width: Option<usize>) -> Vec<Rich> {
    let mut lines = Vec::new();
    for call in client_calls(awaited).map(|calls| calls.calls).unwrap_or_default() {
        let arguments = cut(&text::one_line(&json_text(&call.arguments)), SHOWN);
        let what = Rich::new(Tone::Caution, "? ").with(Tone::Strong, text::one_line(&call.tool));
        lines.extend(what.with(Tone::Plain, format!(" {arguments}")).wrap(width, 2));
        let how = "  a client is to make this call; what it gives is sent with";
        lines.extend(Rich::new(Tone::Faint, how).wrap(width, 2));
        let id = match call.call_id.as_str() {
            "" => String::new(),
            id => format!("\"call_id\": {}, ", Value::from(id)),
        };
        let result = shell_quoted(&format!("{{{id}\"content\": \"RESULT\"}}"));
        let command = format!("  {send} {} {result}", shell_argument(awaited.channel));
        // It is copied as it is.
        lines.push(Rich::new(Tone::Accent, text::clean(&command)));
    }
    lines
}
