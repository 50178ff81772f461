//! Calls in doubt: begun, without an end, and nobody knows whether they acted.

use convoke_core::EffectKind;
use convoke_history::{Effect, EffectStatus, History};

use crate::session::Session;
use crate::terminal::{Rich, Tone, text};

/// What was begun and has no end, and what can be done about it.
pub(crate) fn doubts(session: &Session<'_>, history: &History) -> Vec<Rich> {
    let is_open = |effect: &&Effect| {
        effect.status() == EffectStatus::Begun
            && matches!(effect.kind, EffectKind::Tool | EffectKind::Custom)
            && effect.generation == history.record.generation.number
    };
    let open = history.effects.iter().filter(is_open);
    let width = session.output.width();
    open.flat_map(|effect| [finding(effect).wrap(width, 2), advice(session, history, effect)].concat())
        .collect()
}

fn finding(effect: &Effect) -> Rich {
    Rich::new(Tone::Caution, "! ")
        .with(Tone::Accent, format!("#{} ", effect.current().first_seq()))
        .with(Tone::Strong, text::one_line(effect.name()))
        .with(Tone::Plain, " was begun and has no end")
}

fn advice(session: &Session<'_>, history: &History, effect: &Effect) -> Vec<Rich> {
    let faint = |text: &str| Rich::new(Tone::Faint, format!("  {text}")).wrap(session.output.width(), 2);
    let seq = effect.current().first_seq();
    if let Some(holder) = &history.record.holder {
        return faint(&format!("it is at work, or in doubt if {} is gone", text::one_line(holder)));
    }
    // A fork loses what comes after it: advice only where nothing does.
    if seq < history.last_seq() {
        return faint("it may have acted; when the run is resumed it asks, or stops");
    }
    let outcome = if effect.kind == EffectKind::Tool { "--reply 'WHAT IT GAVE'" } else { "--outcome 'JSON'" };
    let fork = session.about("fork", &history.record.id, &format!("--at {seq} {outcome}"));
    let mut lines = faint("it may have acted; if you know what it gave:");
    lines.push(Rich::new(Tone::Accent, format!("  {fork}")));
    lines
}
