//! Calls that a client is to make, with the commands that send what they give.

use convoke_core::RunId;
use convoke_history::AwaitedMail;
use convoke_host::store::client_calls;
use serde_json::Value;

use crate::session::Session;
use crate::shell;
use crate::terminal::{Rich, Tone, text};

/// So much of the arguments of a call is shown.
const SHOWN: usize = 200;

/// The calls whose results a run waits for, and the commands that send them.
pub(crate) fn awaited_calls(session: &Session<'_>, run: &RunId, awaited: &[AwaitedMail<'_>]) -> Vec<Rich> {
    let send = session.about("send", run, "");
    let lines = |awaited| call_lines(&send, awaited, session.output.width());
    awaited.iter().flat_map(lines).collect()
}

/// The calls that are waited for on a channel; `send` is the command that sends the run something.
pub(crate) fn call_lines(send: &str, awaited: &AwaitedMail<'_>, width: Option<usize>) -> Vec<Rich> {
    let mut lines = Vec::new();
    for call in client_calls(awaited).map(|calls| calls.calls).unwrap_or_default() {
        let arguments = text::cut(&text::one_line(&call.arguments.to_string()), SHOWN);
        let what = Rich::new(Tone::Caution, "? ").with(Tone::Strong, text::one_line(&call.tool));
        lines.extend(what.with(Tone::Plain, format!(" {arguments}")).wrap(width, 2));
        let how = "  a client is to make this call; what it gives is sent with";
        lines.extend(Rich::new(Tone::Faint, how).wrap(width, 2));
        let id = match call.call_id.as_str() {
            "" => String::new(),
            id => format!("\"call_id\": {}, ", Value::from(id)),
        };
        let result = shell::quoted(&format!("{{{id}\"content\": \"RESULT\"}}"));
        let command = format!("  {send} {} {result}", shell::quoted(awaited.channel));
        // It is copied as it is.
        lines.push(Rich::new(Tone::Accent, text::clean(&command)));
    }
    lines
}
