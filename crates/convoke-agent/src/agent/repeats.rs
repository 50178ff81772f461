//! Detection of repeated identical calls.
//!
//! A call that was made several turns in a row, with the same arguments and the same result each time, will not give
//! anything else the next time. It is refused once, with a result that says so. A model that insists is stopped.

use std::collections::HashMap;

use convoke_core::{Digest, Message, ToolCall, ToolResult};
use serde_json::json;

/// A call in a conversation, and what it was answered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnsweredCall<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// The answer.
    pub result: &'a ToolResult,
    /// Whether the agent did not make it because it repeats itself. That follows from the calls before it: whatever the words of a
    /// result are, one that was made is none.
    pub is_refused_repeat: bool,
}

/// The calls in what an agent said and was answered in one run, those that were answered, for an agent with this
/// [limit](super::AgentBuilder::repeat_limit).
pub fn answered_calls<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    repeat_limit: Option<u32>,
) -> Vec<AnsweredCall<'a>> {
    let messages: Vec<&Message> = messages.into_iter().collect();
    // Which calls repeat others takes long to find out; without such an answer nobody asks.
    let may_have_refused = messages.iter().flat_map(|message| message.results()).any(looks_refused);
    let mut repeats = Repeats::new(repeat_limit.filter(|_| may_have_refused));
    let mut answered = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let result_of = |call: &'a ToolCall| {
            let mut later = messages[number..].iter().flat_map(|message| message.results());
            later.find(|result| result.call_id == call.id).map(|result| (call, result))
        };
        let turn: Vec<_> = message.tool_calls().filter_map(result_of).collect();
        answered.extend(turn.iter().map(|(call, result)| {
            let is_refused_repeat =
                result.is_error && repeats.refusal(call).is_some_and(|refusal| refusal == result.content);
            AnsweredCall { call, result, is_refused_repeat }
        }));
        if !turn.is_empty() {
            repeats.note(turn.into_iter());
        }
    }
    answered
}

fn looks_refused(result: &ToolResult) -> bool {
    result.is_error && result.content.contains(GAVE_THE_SAME)
}

/// What every refusal says.
const GAVE_THE_SAME: &str = "times in a row with these arguments and gave the same each time";

/// The calls of the last turn, and how often each has given the same.
pub(super) struct Repeats {
    limit: Option<u32>,
    last_turn: HashMap<Digest, Repeated>,
}

#[derive(Clone, Copy)]
struct Repeated {
    result: Digest,
    times: u32,
    refused: bool,
}

impl Repeats {
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, last_turn: HashMap::new() }
    }

    /// What to tell the model instead of making this call, if it must not be made.
    pub(super) fn refusal(&self, call: &ToolCall) -> Option<String> {
        let times = self.last_turn.get(&digest(call))?.times;
        (times + 1 >= self.limit?).then(|| {
            format!(
                "`{}` was called {times} {GAVE_THE_SAME}, so it was not called again. Use what \
                 you know, call it with other arguments, or do something else.",
                call.name
            )
        })
    }

    /// Whether the model asks again for what was refused a turn ago.
    pub(super) fn insists(&self, calls: &[ToolCall]) -> bool {
        calls.iter().any(|call| self.last_turn.get(&digest(call)).is_some_and(|repeated| repeated.refused))
    }

    /// Takes note of a turn.
    pub(super) fn note<'a>(&mut self, turn: impl Iterator<Item = (&'a ToolCall, &'a ToolResult)>) {
        if self.limit.is_none() {
            return;
        }
        let mut this_turn: HashMap<Digest, Repeated> = HashMap::new();
        for (call, result) in turn {
            let key = digest(call);
            let before = this_turn.get(&key).or_else(|| self.last_turn.get(&key)).copied();
            let now = match before {
                Some(before) if self.refusal(call).is_some() => Repeated { refused: true, ..before },
                before => {
                    let result = Digest::of_parts(&[&[u8::from(result.is_error)], result.content.as_bytes()]);
                    let times =
                        before.filter(|before| before.result == result).map_or(1, |before| before.times + 1);
                    Repeated { result, times, refused: false }
                }
            };
            this_turn.insert(key, now);
        }
        self.last_turn = this_turn;
    }
}

fn digest(call: &ToolCall) -> Digest {
    Digest::of_json(&json!([call.name, call.arguments]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::Part;

    fn call(query: &str) -> ToolCall {
        ToolCall { id: "c".to_owned(), name: "search".to_owned(), arguments: json!({"query": query}) }
    }

    fn result(content: &str) -> ToolResult {
        ToolResult {
            call_id: "c".into(),
            name: "search".into(),
            content: content.to_owned(),
            is_error: false,
        }
    }

    #[test]
    fn the_fourth_identical_call_is_refused_and_asking_again_is_insisting() {
        let mut repeats = Repeats::new(Some(4));
        for _ in 0..3 {
            assert!(repeats.refusal(&call("a")).is_none());
            repeats.note([(&call("a"), &result("nothing"))].into_iter());
        }
        assert!(repeats.refusal(&call("a")).is_some_and(|text| text.contains("3 times in a row")));
        assert!(repeats.refusal(&call("b")).is_none());
        assert!(!repeats.insists(&[call("a")]));
        repeats.note([(&call("a"), &result("refused"))].into_iter());
        assert!(repeats.insists(&[call("b"), call("a")]));
    }

    #[test]
    fn another_result_or_a_turn_without_it_begins_anew() {
        let mut repeats = Repeats::new(Some(4));
        for content in ["pending", "pending", "done", "done"] {
            repeats.note([(&call("a"), &result(content))].into_iter());
        }
        assert!(repeats.refusal(&call("a")).is_none());
        repeats.note([(&call("a"), &result("done"))].into_iter());
        assert!(repeats.refusal(&call("a")).is_some());
        repeats.note([(&call("b"), &result("x"))].into_iter());
        assert!(repeats.refusal(&call("a")).is_none());
    }

    #[test]
    fn only_a_call_that_the_agent_refused_is_one_and_words_of_a_tool_are_none() {
        let refusal = {
            let mut repeats = Repeats::new(Some(4));
            (0..3).for_each(|_| repeats.note([(&call("a"), &result("nothing"))].into_iter()));
            repeats.refusal(&call("a")).unwrap()
        };
        let turn = |id: usize, result: ToolResult| {
            let call = ToolCall { id: id.to_string(), ..call("a") };
            let result = ToolResult { call_id: id.to_string(), ..result };
            [Message::assistant("").with(Part::ToolCall(call)), Message::tool_results(vec![result])]
        };
        let failed = |content: &str| ToolResult { is_error: true, ..result(content) };
        let refused = |results: [ToolResult; 4]| {
            let messages: Vec<Message> =
                results.into_iter().enumerate().flat_map(|(id, result)| turn(id, result)).collect();
            answered_calls(&messages, Some(4))
                .iter()
                .map(|answered| answered.is_refused_repeat)
                .collect::<Vec<_>>()
        };
        let nothing = || result("nothing");
        assert_eq!(refused([nothing(), nothing(), nothing(), failed(&refusal)]), [false, false, false, true]);
        assert_eq!(refused([nothing(), nothing(), nothing(), nothing()]), [false; 4]);
        assert_eq!(
            refused([failed(&refusal), failed(&refusal), failed("other"), failed(&refusal)]),
            [false; 4]
        );
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let mut repeats = Repeats::new(None);
        (0..9).for_each(|_| repeats.note([(&call("a"), &result("same"))].into_iter()));
        assert!(repeats.refusal(&call("a")).is_none());
    }
}
