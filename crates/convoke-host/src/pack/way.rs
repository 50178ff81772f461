//! The way that a run of a pack took, from what is on record of it.

use convoke_core::Segment;
use convoke_history::{Detail, Effect, EffectStatus, History};
use convoke_machine::conversation::{EARLIER_MAIL, MachineState, Sign, Way};
use convoke_machine::workflow::{Compiled, Context, TRANSITION};
use serde_json::Value;

/// The way through this workflow; nothing of a run that only ran a composition.
pub(super) fn taken(compiled: &Compiled, history: &History) -> Option<Way> {
    let state = |value: &Value| serde_json::from_value::<MachineState>(value.clone()).ok();
    let known = |context: &Context| compiled.current(context).is_some();
    let began: Value = serde_json::from_slice(&history.record.input).ok()?;
    let began = state(&began)?;
    if began.function.is_some() {
        return None;
    }
    let ended = history.ending.as_ref().and_then(|ending| state(ending.state.as_ref()?));
    if let Some(context) = ended.and_then(|ended| ended.context).filter(known) {
        return Some(Way::of(compiled, &context));
    }
    let here = |effect: &&Effect| effect.generation == history.record.generation.number;
    let signs = history.effects.iter().filter(here).flat_map(|effect| signs(compiled, effect));
    Some(Way::read(compiled, &began, signs))
}

/// What an effect says of where the conversation was, and where it went.
fn signs<'h>(compiled: &Compiled, effect: &'h Effect) -> Vec<Sign<'h>> {
    let is_finished = effect.status() == EffectStatus::Finished && effect.error().is_none();
    match &effect.current().detail {
        Detail::Ask { question, .. } => {
            question.subject["state"].as_str().map(Sign::At).into_iter().collect()
        }
        Detail::Receive { channel, .. } if is_finished && !is_passed_over(effect) => {
            vec![Sign::Event(channel)]
        }
        Detail::Tool { tool, arguments, result } if tool == TRANSITION => {
            let is_accepted = is_finished && result.as_ref().is_some_and(|result| !result.is_error);
            let event = arguments["event"].as_str().filter(|_| is_accepted);
            at(compiled, effect).into_iter().chain(event.map(Sign::Event)).collect()
        }
        Detail::Model { .. } | Detail::Tool { .. } => at(compiled, effect).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Whether it took mail that was meant for another visit of a state.
fn is_passed_over(effect: &Effect) -> bool {
    effect.path.segments().any(|segment| Segment::of(segment).written() == EARLIER_MAIL)
}

/// The state whose agent performed an effect: what speaks in a state has its name.
fn at<'h>(compiled: &Compiled, effect: &'h Effect) -> Option<Sign<'h>> {
    let segment = effect.path.segments().nth(1)?;
    let name = Segment::of(segment).written();
    compiled.named(name).map(|_| Sign::At(name))
}
