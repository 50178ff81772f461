//! The way that a run of a pack took, from what is on record of it.

use convoke_core::Segment;
use convoke_history::{Detail, Effect, EffectStatus, History};
use convoke_machine::conversation::{MachineState, ROUTE, Sign, Way};
use convoke_machine::workflow::{Compiled, Context, TRANSITION};
use serde_json::Value;

/// The place in which a conversation waits for events.
const WAIT: &str = "wait";

/// So many parts the path of a call has that a state's own agent made: the conversation, the state, the turn, the tool.
const OWN_CALL: usize = 4;

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
    let notes = history.notes.iter().filter(here);
    let routes: Vec<(u64, String)> =
        notes.filter_map(|note| Some((note.first_seq(), route(note)?))).collect();
    let routes = routes.iter().map(|(seq, event)| (*seq, Sign::Event(event)));
    let effects = || history.effects.iter().filter(here);
    let looks: Vec<u64> =
        effects().filter(|effect| is_look_at_the_clock(effect)).map(Effect::first_seq).collect();
    let done = effects().flat_map(|effect| {
        let seq = effect.first_seq();
        let next = looks.iter().copied().filter(|look| *look > seq).min();
        let happened = move |sign| match sign {
            // It happens once all calls of the same reply are answered, which may take a client days: then it is noted when that was.
            Sign::Event(_) => Some((next?, sign)),
            _ => Some((seq, sign)),
        };
        signs(compiled, effect).filter_map(happened)
    });
    let mut signs: Vec<(u64, Sign<'_>)> = done.chain(routes).collect();
    signs.sort_by_key(|(seq, _)| *seq);
    Some(Way::read(compiled, &began, signs.into_iter().map(|(_, sign)| sign)))
}

/// Whether the conversation itself looked at the clock there.
fn is_look_at_the_clock(effect: &Effect) -> bool {
    matches!(effect.current().detail, Detail::Now { .. }) && effect.path.segments().count() == 1
}

/// The event that a composition led to, if that is what is noted. What is noted further in is of somebody whom a state turned to.
fn route(note: &Effect) -> Option<String> {
    let place = Segment::of(note.path.segments().nth(1)?).name();
    if place == ROUTE && note.path.segments().count() == 2 { note.choice() } else { None }
}

/// What an effect says of where the conversation was, and where it went.
fn signs<'h>(compiled: &'h Compiled, effect: &'h Effect) -> impl Iterator<Item = Sign<'h>> {
    let is_finished = effect.status() == EffectStatus::Finished && effect.error().is_none();
    let place = effect.path.segments().nth(1).map(|segment| Segment::of(segment).name());
    let waits = place.as_deref().is_none_or(|place| place == WAIT);
    let (at, event) = match &effect.current().detail {
        Detail::Ask { question, .. } if waits => (question.subject["state"].as_str(), None),
        Detail::Receive { channel, .. } if waits => (None, Some(&**channel).filter(|_| is_finished)),
        Detail::Tool { tool, arguments, result }
            if tool == TRANSITION && effect.path.segments().count() == OWN_CALL =>
        {
            let is_accepted = is_finished && result.as_ref().is_some_and(|result| !result.is_error);
            (at(compiled, place), arguments["event"].as_str().filter(|_| is_accepted))
        }
        Detail::Model { .. } | Detail::Tool { .. } => (at(compiled, place), None),
        _ => (None, None),
    };
    at.map(Sign::At).into_iter().chain(event.map(Sign::Event))
}

/// The state whose agent performed an effect, or the composition that did: what works in a state has its name.
fn at(compiled: &Compiled, place: Option<String>) -> Option<&str> {
    let place = place?;
    compiled.states().find_map(|state| {
        let names = [Some(&*state.name), state.composition.as_deref()];
        names.into_iter().flatten().find(|name| **name == *place)
    })
}
