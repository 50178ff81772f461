//! Reads the conditions of a rule.

use super::section::Section;
use crate::scripted::{Match, ScriptError};

pub(super) const KEYS: [&str; 13] = [
    "last_contains",
    "last_equals",
    "user_contains",
    "user_equals",
    "any_contains",
    "system_contains",
    "has_tool_result",
    "tool_result_of",
    "tool_result_contains",
    "offers_tool",
    "offers_tools",
    "output",
    "call",
];

type OfText = fn(String) -> Match;
type OfNothing = fn() -> Match;

/// The conditions that look for a text.
const TEXTS: [(&str, OfText); 10] = [
    ("last_contains", Match::last_contains),
    ("last_equals", Match::last_equals),
    ("user_contains", Match::user_contains),
    ("user_equals", Match::user_equals),
    ("any_contains", Match::any_contains),
    ("system_contains", Match::system_contains),
    ("tool_result_of", Match::tool_result_of),
    ("tool_result_contains", Match::tool_result_contains),
    ("offers_tool", Match::offers_tool),
    ("output", Match::output),
];

/// The conditions that hold or do not.
const FLAGS: [(&str, OfNothing); 2] =
    [("has_tool_result", Match::has_tool_result), ("offers_tools", Match::offers_tools)];

/// All of the conditions together; none if there are none.
pub(super) fn read(mut section: Section) -> Result<Option<Match>, ScriptError> {
    let mut conditions = Vec::new();
    for (key, make) in TEXTS {
        conditions.extend(section.text(key)?.map(make));
    }
    for (key, make) in FLAGS {
        conditions.extend(section.flag(key)?.map(|wanted| if wanted { make() } else { !make() }));
    }
    conditions.extend(section.positive("call")?.map(Match::call));
    Ok(conditions.into_iter().reduce(Match::and))
}
