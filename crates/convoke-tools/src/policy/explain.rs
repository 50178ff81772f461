//! Why a decision was made, and which rules had no say.

use super::pattern::Written;
use super::{Call, Decision, Outcome, Policy, RuleRef, shell};
use crate::policy::Subject;

/// A rule that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Considered {
    /// The rule.
    pub rule: RuleRef,
    /// What it would decide.
    pub outcome: Outcome,
    /// What it was held against.
    pub about: String,
    /// Whether it is about that.
    pub matched: bool,
}

/// A decision with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// What was decided.
    pub decision: Decision,
    /// What was read of the command lines that the call has.
    pub readings: Vec<shell::Reading>,
    /// The rules that were looked at, in their order, up to the one that decided about each thing.
    pub considered: Vec<Considered>,
}

impl Policy {
    /// Decides about a call, and says how that came about.
    #[must_use]
    pub fn explain(&self, call: &Call<'_>) -> Explanation {
        let mut trail = Trail(Some(Vec::new()));
        let decision = self.decided(call, &mut trail);
        let readings = call.subjects.iter().filter_map(|subject| match subject {
            Subject::Command(text) => Some(shell::read(text)),
            _ => None,
        });
        let mut considered = trail.0.unwrap_or_default();
        considered.dedup();
        Explanation { decision, readings: readings.collect(), considered }
    }
}

/// Keeps what was looked at, if anybody wants to know.
pub(super) struct Trail(Option<Vec<Considered>>);

impl Trail {
    pub(super) const fn off() -> Self {
        Self(None)
    }

    /// The first pattern of a list that matches.
    pub(super) fn find<'l, P>(
        &mut self,
        policy: &Policy,
        list: &'l [(Written, P)],
        key: impl Fn() -> String,
        outcome: Outcome,
        about: &str,
        matches: impl Fn(&P) -> bool,
    ) -> Option<&'l Written> {
        for (written, pattern) in list {
            let matched = matches(pattern);
            self.note(policy, written, &key, outcome, about, matched);
            if matched {
                return Some(written);
            }
        }
        None
    }

    pub(super) fn note(
        &mut self,
        policy: &Policy,
        written: &Written,
        key: impl Fn() -> String,
        outcome: Outcome,
        about: &str,
        matched: bool,
    ) {
        if let Some(all) = &mut self.0 {
            all.push(Considered {
                rule: policy.rule(key(), written),
                outcome,
                about: about.to_owned(),
                matched,
            });
        }
    }
}
