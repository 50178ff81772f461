//! Parses tool calls in what a model writes.
//!
//! Three forms are understood: between `<tool_call>` tags, as models with a tool template are told to write; as a fenced
//! block of JSON, and as bare JSON, as some of them write nevertheless. In each the call is
//! `{"name": …, "arguments": {…}}` in this order, with the name of a declared tool; anything else is text.

use convoke_core::ReplyDelta;

use super::cursor::{Cursor, Miss};

/// What stands before a call.
pub(crate) const OPEN: &str = "<tool_call>";
/// What stands after it.
pub(crate) const CLOSE: &str = "</tool_call>";
const FENCE: &str = "```";

/// Separates a reply's text from its tool calls while it is written.
///
/// It must be given replies that were written under a grammar for these tools: it looks for calls, and does not check
/// their arguments.
///
/// ```
/// use convoke_core::ReplyDelta;
/// use convoke_local::ToolCallReader;
///
/// let mut reader = ToolCallReader::new(["add"]);
/// let mut deltas = reader.read("Let me see. <tool_call>\n{\"name\": \"add\", \"argu");
/// deltas.extend(reader.read("ments\": {\"a\": 1}}\n</tool_call>"));
/// deltas.extend(reader.finish());
/// assert_eq!(deltas[0], ReplyDelta::Text("Let me see. ".into()));
/// assert_eq!(deltas[2], ReplyDelta::ToolCallArguments { index: 0, delta: r#"{"a": 1}"#.into() });
/// ```
#[derive(Debug)]
pub struct ToolCallReader {
    names: Vec<String>,
    /// The names as they stand in JSON.
    quoted: Vec<String>,
    pending: String,
    state: State,
    calls: usize,
    /// Whether nothing but white space came since the beginning or the last call: it belongs to no text yet.
    blank: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Text,
    Arguments(Frame, JsonDepth),
    Closing(Frame),
}

/// What is around a call.
#[derive(Debug, Clone, Copy)]
enum Frame {
    Tags,
    /// Nothing, or a fence.
    None,
}

impl Default for ToolCallReader {
    /// Reads replies of a model that has no tools.
    fn default() -> Self {
        Self::new(Vec::<String>::new())
    }
}

impl ToolCallReader {
    /// Reads replies of a model that may call these tools.
    pub fn new<N: Into<String>>(tools: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = tools.into_iter().map(Into::into).collect();
        let quoted = names.iter().map(|name| serde_json::Value::from(name.as_str()).to_string()).collect();
        Self { names, quoted, pending: String::new(), state: State::Text, calls: 0, blank: true }
    }

    /// Returns how many calls have begun.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Takes more of the reply and gives what is certain by now.
    pub fn read(&mut self, text: &str) -> Vec<ReplyDelta> {
        let mut deltas = Vec::new();
        if self.names.is_empty() {
            if !text.is_empty() {
                deltas.push(ReplyDelta::Text(text.to_owned()));
            }
            return deltas;
        }
        self.pending.push_str(text);
        while !self.pending.is_empty() && self.step(&mut deltas) {}
        deltas
    }

    /// The end of the reply: what was held back is text.
    pub fn finish(mut self) -> Vec<ReplyDelta> {
        let mut deltas = Vec::new();
        if matches!(self.state, State::Text) {
            let rest = self.pending.len();
            self.give_text(rest, &mut deltas);
        }
        deltas
    }

    /// Takes one step; `false` if more text is needed for the next.
    fn step(&mut self, deltas: &mut Vec<ReplyDelta>) -> bool {
        match self.state {
            State::Text => self.step_text(deltas),
            State::Arguments(frame, mut depth) => {
                let end = depth.end(&self.pending);
                let rest = self.pending.split_off(end.unwrap_or(self.pending.len()));
                let delta = std::mem::replace(&mut self.pending, rest);
                deltas.push(ReplyDelta::ToolCallArguments { index: self.calls - 1, delta });
                self.state =
                    if end.is_some() { State::Closing(frame) } else { State::Arguments(frame, depth) };
                true
            }
            State::Closing(frame) => {
                let left = match closing(&self.pending, frame) {
                    Ok(rest) => rest.len(),
                    Err(Miss::Unfinished) => return false,
                    Err(Miss::Different) => self.pending.len(),
                };
                self.pending.drain(..self.pending.len() - left);
                self.state = State::Text;
                self.blank = true;
                true
            }
        }
    }

    fn step_text(&mut self, deltas: &mut Vec<ReplyDelta>) -> bool {
        let Some(at) = self.pending.find(['<', '{', '`']) else {
            self.give_text(self.pending.len(), deltas);
            return false;
        };
        match opening(&self.pending[at..], &self.quoted) {
            Ok((frame, tool, rest)) => {
                let arguments = rest.len();
                self.give_text(at, deltas);
                // Whatever is left before the arguments is the call's beginning, and white space that is no text.
                self.pending.drain(..self.pending.len() - arguments);
                deltas.push(ReplyDelta::ToolCallStarted {
                    index: self.calls,
                    id: String::new(),
                    name: self.names[tool].clone(),
                });
                self.calls += 1;
                self.state = State::Arguments(frame, JsonDepth::default());
                true
            }
            Err(Miss::Unfinished) => {
                self.give_text(at, deltas);
                false
            }
            Err(Miss::Different) => {
                // Each of the characters looked for has one byte.
                self.give_text(at + 1, deltas);
                true
            }
        }
    }

    /// Gives out the first `length` bytes, unless they are white space that may still stand before a call.
    fn give_text(&mut self, length: usize, deltas: &mut Vec<ReplyDelta>) {
        if self.blank && self.pending[..length].trim().is_empty() {
            return;
        }
        let rest = self.pending.split_off(length);
        let text = std::mem::replace(&mut self.pending, rest);
        if !text.is_empty() {
            self.blank = false;
            deltas.push(ReplyDelta::Text(text));
        }
    }
}

/// Reads everything of a call that comes before its arguments.
fn opening<'a>(text: &'a str, names: &[String]) -> Result<(Frame, usize, &'a str), Miss> {
    let mut cursor = Cursor::new(text);
    let frame = match text.as_bytes().first() {
        Some(b'<') => {
            cursor.literal(OPEN)?;
            Frame::Tags
        }
        Some(b'`') => {
            cursor.literal(FENCE)?.optional("json")?;
            Frame::None
        }
        _ => Frame::None,
    };
    cursor.space().literal("{")?.space().literal("\"name\"")?.space().literal(":")?;
    let tool = cursor.space().one_of(names)?;
    cursor.space().literal(",")?.space().literal("\"arguments\"")?.space().literal(":")?.space();
    let arguments = cursor.rest();
    cursor.literal("{")?;
    Ok((frame, tool, arguments))
}

/// Reads everything of a call that comes after its arguments, and gives what follows.
fn closing(text: &str, frame: Frame) -> Result<&str, Miss> {
    let mut cursor = Cursor::new(text);
    cursor.space().literal("}")?;
    match frame {
        Frame::Tags => cursor.space().literal(CLOSE)?,
        // Some models close a fence they never opened.
        Frame::None => cursor.space().optional(FENCE)?,
    };
    Ok(cursor.rest())
}

/// How deep in a JSON object a text is.
#[derive(Debug, Clone, Copy, Default)]
struct JsonDepth {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonDepth {
    /// Where the object ends in this piece of it, if it does.
    fn end(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
