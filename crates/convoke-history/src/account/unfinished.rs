//! Effects without an end.

use convoke_core::{Answer, EffectKind};

use super::answer_text;
use crate::{Effect, History, Tone, text};

/// Describes the status of an effect without an end.
#[must_use]
pub fn unfinished(history: &History, effect: &Effect) -> (Tone, String) {
    if let Some(reason) = history.left_out(effect) {
        return (Tone::Faint, left_out_text(&reason));
    }
    let text = match effect.kind {
        EffectKind::Ask if is_open(history, effect) => "waiting for an answer",
        EffectKind::Ask => return no_longer_asked(history.unheard(effect)),
        _ if history.is_in_doubt(effect) => "in doubt",
        EffectKind::Sleep => "not over yet",
        EffectKind::Receive => "waiting for mail",
        _ => "not finished",
    };
    (Tone::Caution, text.to_owned())
}

/// Says why nothing of an effect counts.
pub(crate) fn left_out_text(reason: &str) -> String {
    format!("ended: {}", text::one_line(reason))
}

fn no_longer_asked(answers: &[Answer]) -> (Tone, String) {
    let given: Vec<String> = answers.iter().map(|answer| text::one_line(&answer_text(answer))).collect();
    let text = match given.is_empty() {
        true => "no longer asked".to_owned(),
        false => format!("{}, and the run ended before it went on with that", given.join("; ")),
    };
    (Tone::Caution, text)
}

/// Whether a question still waits. When its run ends for another reason it is withdrawn.
fn is_open(history: &History, effect: &Effect) -> bool {
    let id = effect.key(&history.record.id);
    history.questions.iter().any(|open| open.pending.id == id)
}
