//! Assertions about calls of tools.

use convoke_core::json_text;

use super::{listed, shown, texts};
use crate::assertion::Check;
use crate::observation::{ObservedCall, USE_SKILL};
use crate::scenario::{ACTIVATE, contains};

/// The calls that were made: one that was refused was wanted only.
pub(super) fn made(calls: &[ObservedCall]) -> impl Iterator<Item = &ObservedCall> {
    calls.iter().filter(|call| !call.refused)
}

/// What agents of a pack are called as tools begins like this.
const AGENT: &str = "a2a__";

/// Whether a call is one of what is called so: a tool, an agent by its own name, or what takes up skills by its name in PromptKit.
pub(crate) fn is_of(called: &str, name: &str) -> bool {
    let is_skill = || called == USE_SKILL && name == ACTIVATE;
    called == name || called.strip_prefix(AGENT) == Some(name) || is_skill()
}

/// Why what is asserted of calls does not hold.
pub(super) fn objection(check: &Check, all: &[ObservedCall]) -> Option<String> {
    let calls: Vec<&ObservedCall> = made(all).collect();
    let count = |tool: &str| calls.iter().filter(|call| is_of(&call.tool, tool)).count() as u64;
    let called = || {
        let name = |call: &ObservedCall| match call.refused {
            true => format!("{} (refused)", call.tool),
            false => call.tool.clone(),
        };
        listed(all.iter().map(name).collect::<Vec<_>>().iter().map(String::as_str))
    };
    match check {
        Check::ToolsCalled { tools, least } => {
            let missing: Vec<&str> = texts(tools).filter(|tool| count(tool) < *least).collect();
            let times = if *least > 1 { format!(" {least} times") } else { String::new() };
            let why = || format!("{} was not called{times}; called: {}", missing.join(", "), called());
            (!missing.is_empty()).then(why)
        }
        Check::ToolsNotCalled(tools) => {
            let bad = calls.iter().find(|call| tools.iter().any(|tool| is_of(&call.tool, tool)));
            bad.map(|call| format!("{} was called with {}", call.tool, shown(&json_text(&call.arguments))))
        }
        Check::SkillsUsed { skills, least } => {
            let count = |skill: &str| calls.iter().filter(|call| call.skill() == Some(skill)).count() as u64;
            let missing: Vec<&str> = texts(skills).filter(|skill| count(skill) < *least).collect();
            let times = if *least > 1 { format!(" {least} times") } else { String::new() };
            let used = listed(calls.iter().filter_map(|call| call.skill()));
            (!missing.is_empty())
                .then(|| format!("{} was not taken up{times}; taken up: {used}", missing.join(", ")))
        }
        Check::SkillsNotUsed(skills) => {
            let mut used = calls.iter().filter_map(|call| call.skill());
            used.find(|used| texts(skills).any(|skill| skill == *used))
                .map(|used| format!("{used} was taken up"))
        }
        Check::CalledWith { tool, arguments, matching } => {
            let own: Vec<&ObservedCall> =
                calls.iter().copied().filter(|call| is_of(&call.tool, tool)).collect();
            let fits = |call: &&&ObservedCall| {
                let exact = arguments.iter().all(|(name, wanted)| {
                    let given = call.arguments.get(name);
                    given.is_some_and(|given| wanted.is_null() || contains(given, wanted))
                });
                exact
                    && matching.iter().all(|(name, pattern)| {
                        let given = call.arguments.get(name);
                        let text =
                            given.map(|given| given.as_str().map_or_else(|| json_text(given), str::to_owned));
                        text.is_some_and(|text| pattern.is_match(&text))
                    })
            };
            let given: Vec<String> = own.iter().map(|call| json_text(&call.arguments)).collect();
            match (own.is_empty(), own.iter().any(|call| fits(&call))) {
                (true, _) => Some(format!("{tool} was not called; called: {}", called())),
                (false, false) => Some(format!("{tool} was called with {}", shown(&given.join(", ")))),
                (false, true) => None,
            }
        }
        Check::CallCount { tool, least, most } => {
            let number = tool.as_deref().map_or(calls.len() as u64, count);
            let fits = number >= *least && most.is_none_or(|most| number <= most);
            let what = tool.as_deref().unwrap_or("all tools");
            (!fits).then(|| format!("{what}: called {number} times"))
        }
        Check::CallSequence(sequence) => {
            let mut made = calls.iter();
            let holds = sequence.iter().all(|tool| made.any(|call| is_of(&call.tool, tool)));
            (!holds).then(|| format!("called: {}", called()))
        }
        _ => {
            let bad = all.iter().find(|call| call.failed);
            bad.map(|call| format!("{} failed with {}", call.tool, shown(&json_text(&call.arguments))))
        }
    }
}
