//! Detection of repeated identical calls.
//!
//! A call that was made several turns in a row, with the same arguments and the same result each time, will not give
//! anything else the next time. It is refused once, with a result that says so. A model that insists is stopped.

use std::collections::HashMap;

use convoke_core::{Digest, ToolCall, ToolResult};
use serde_json::json;

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
                "`{}` was called {times} times in a row with these arguments and gave the same each time, so it was not \
                 called again. Use what you know, call it with other arguments, or do something else.",
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
    fn without_a_limit_nothing_is_refused() {
        let mut repeats = Repeats::new(None);
        (0..9).for_each(|_| repeats.note([(&call("a"), &result("same"))].into_iter()));
        assert!(repeats.refusal(&call("a")).is_none());
    }
}
