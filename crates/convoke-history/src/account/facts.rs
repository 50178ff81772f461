//! Short facts about an effect: its purpose, duration and usage.

use std::time::Duration;

use convoke_core::Usage;

use super::part;
use crate::{Attempt, Detail, History, Spent, TimelineEntry, Tone, human, text};

/// An answer that was noted later than this after it was given found nobody waiting for it.
const PROMPT: Duration = Duration::from_secs(1);

/// Why it was done: to supervise, or again.
pub(super) fn circumstances(history: &History, moment: &TimelineEntry<'_>) -> Vec<(Tone, String)> {
    let path = &moment.effect.path;
    let mut facts = Vec::new();
    if let Some(phase) = part::supervision(&history.steps, path) {
        facts.push((Tone::Accent, format!("supervision: {}", phase.name())));
    }
    if let Some(attempt) = part::attempt(&history.steps, path).filter(|attempt| *attempt > 1) {
        facts.push((Tone::Caution, format!("attempt {attempt}")));
    }
    if moment.number > 1 {
        facts.push((Tone::Caution, format!("done again, {}", human::ordinal(moment.number))));
    }
    if part::waits_to_retry(history, moment) {
        facts.push((Tone::Caution, "before it is tried again".to_owned()));
    }
    if history.is_inherited(moment.mark()) {
        facts.push((Tone::Faint, "from the run it was forked from".to_owned()));
    }
    facts
}

/// What it took and what it used, and what the run had used by then.
pub(super) fn came_of_it(history: &History, attempt: &Attempt, so_far: &Spent) -> Vec<(Tone, String)> {
    let mut facts = Vec::new();
    let mut add = |fact: String| facts.push((Tone::Plain, fact));
    if let Detail::Model { model, .. } = &attempt.detail {
        add(text::one_line(model));
    }
    if let Some(duration) = history.duration(attempt) {
        add(human::duration(duration));
    }
    if let Some(usage) = attempt.usage() {
        add(tokens(&usage));
        add(usage.cost.map_or_else(|| "cost unknown".to_owned(), human::cost));
        let cost = match &*human::spent_cost(so_far) {
            human::UNKNOWN => "cost unknown".to_owned(),
            cost => cost.to_owned(),
        };
        let (about, tokens) = (human::about(&so_far.usage), human::tokens(so_far.usage.total_tokens()));
        facts.push((Tone::Faint, format!("so far {about}{tokens} tokens, {cost}")));
    }
    if let Detail::Ask { answer: Some(answer), .. } = &attempt.detail
        && let Some(ended) = attempt.ended
        && ended.at.since(answer.at) > PROMPT
    {
        let later = human::duration(ended.at.since(answer.at));
        facts.push((Tone::Caution, format!("the run went on {later} after the answer")));
    }
    facts
}

/// `120 in (80 cached), 35 out (12 thinking)`
fn tokens(usage: &Usage) -> String {
    let part = |count: u64, what: &str| match count {
        0 => String::new(),
        _ => format!(" ({} {what})", human::tokens(count)),
    };
    format!(
        "{}{} in{}, {} out{}",
        human::about(usage),
        human::tokens(usage.input_tokens),
        part(usage.cached_input_tokens, "cached"),
        human::tokens(usage.output_tokens),
        part(usage.reasoning_tokens, "thinking"),
    )
}
