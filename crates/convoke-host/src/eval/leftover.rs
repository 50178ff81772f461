//! What a scenario had for a run that did not come to it.
//!
//! Replies that were written and not given mean that the run went another way than its author thought, and so do answers where the
//! replies are written: both fail. Lists of PromptKit count on replies after the end of a workflow, which there are none of here. Results of tools may be there so that nothing real is touched, a real model asks now more, now less,
//! and what is asserted only sometimes is judged only sometimes: these are told.

use std::collections::BTreeSet;

use convoke_core::{EffectKind, json_text};
use convoke_eval::scenario::ModelSource;
use convoke_eval::{AssertionReport, Observation};
use convoke_history::{Detail, History};
use convoke_text::one_line_of;
use serde_json::Value;

use super::observe::{client_calls, replies};
use super::person::is_turn;
use super::trial::Trial;

/// So much of a reply is shown.
const SHOWN: usize = 60;

/// What was not used.
#[derive(Default)]
pub(super) struct Leftover {
    /// What makes the run fail.
    pub(super) failures: Vec<AssertionReport>,
    /// What its author is told.
    pub(super) notes: Vec<String>,
}

impl Trial<'_> {
    /// What the scenario had for the run that it did not come to, where judges gave so many replies. A run that is not over has its own
    /// reasons, unless just that is asserted.
    pub(super) fn leftover(
        &self,
        history: &History,
        observed: &Observation,
        assertions: &[AssertionReport],
        judged: usize,
    ) -> Leftover {
        let mut left = Leftover::default();
        let is_as_wanted = |one: &AssertionReport| one.name == "status" && one.passed == Some(true);
        if observed.status != "completed" && !assertions.iter().any(is_as_wanted) {
            return left;
        }
        let is_scripted = self.model.as_ref().is_some_and(ModelSource::is_scripted);
        if let Some(model) = &self.model {
            let given = replies(&history.effects).count();
            let unused = model.unused_replies(given);
            if let Some(first) = unused.first() {
                let found =
                    format!("{} not given, the first of them {}", counted(unused.len()), shown(first));
                match model.must_be_used_up() {
                    true => left.failures.push(AssertionReport::failed("replies", None, found)),
                    false => left.notes.push(format!("of the replies, {found}")),
                }
            }
        }
        let asked =
            history.effects.iter().filter(|effect| effect.kind == EffectKind::Ask && !is_turn(effect));
        let unasked = self.scenario.answers.len().saturating_sub(asked.count());
        if unasked > 0 {
            let found = format!("{} not asked for", counted(unasked));
            match is_scripted {
                true => left.failures.push(AssertionReport::failed("answers", None, found)),
                false => left.notes.push(format!("of `answers`, {found}")),
            }
        }
        let here = history.effects.iter().filter_map(|effect| match &effect.current().detail {
            Detail::Tool { tool, .. } => Some(tool.clone()),
            _ => None,
        });
        let called: BTreeSet<String> = here.chain(client_calls(&history.effects)).collect();
        let uncalled = self.scenario.tools.keys().filter(|tool| !called.contains(*tool));
        left.notes
            .extend(uncalled.map(|tool| format!("`tools` has results of {tool}, which was not called")));
        let own = self.options.judge.is_none() && self.options.model.is_none();
        if let Some(judge) = self.scenario.judge.as_ref().filter(|_| own) {
            let unused = judge.unused_replies(judged).len();
            if unused > 0 {
                left.notes.push(format!("of the replies of the judge, {} not asked for", counted(unused)));
            }
        }
        left
    }
}

/// "1 was", "3 were".
fn counted(number: usize) -> String {
    format!("{number} {}", if number == 1 { "was" } else { "were" })
}

fn shown(reply: &Value) -> String {
    let text = reply.as_str().map_or_else(|| json_text(reply), str::to_owned);
    format!("`{}`", one_line_of(&text, SHOWN))
}
