//! The header of a run: what it is, in a few lines.

use convoke_core::store::RunRecord;
use convoke_core::{RunStatus, Timestamp, Usage};

use super::Rich;
use crate::{DisplayStatus, History, Tone, human, run_duration, text};

/// The widest label.
const LABEL: usize = 10;

/// Returns the lines on top of a run: its id, where it stands, what it took and used.
#[must_use]
pub fn header(history: &History, now: Timestamp, width: Option<usize>) -> Vec<Rich> {
    let record = &history.record;
    let mut lines = vec![
        line("run", Rich::new(Tone::Strong, record.id.as_str())),
        line("workflow", format!("{}, version {}", text::one_line(&record.workflow), record.version).into()),
        line("status", status(record)),
        line("started", started(record.created, now).into()),
    ];
    if let Some(duration) = run_duration(record, now) {
        lines.push(line("took", human::duration(duration).into()));
    }
    lines.extend(spent(history));
    if let Some(fork) = &record.forked_from {
        lines.push(line("forked", format!("from {} at #{}", fork.run, fork.at).into()));
    }
    lines.iter().flat_map(|line| line.wrap(width, LABEL)).collect()
}

fn line(label: &str, value: Rich) -> Rich {
    Rich::new(Tone::Faint, format!("{label:<LABEL$}")).then(value)
}

fn status(record: &RunRecord) -> Rich {
    let running = || Rich::new(Tone::of(record.status), record.status.name());
    match (record.status, &record.holder) {
        (RunStatus::Running, Some(holder)) => {
            running().with(Tone::Plain, format!(", held by {}", text::one_line(holder)))
        }
        (RunStatus::Running, None) => running().with(Tone::Caution, ", but nobody is working on it"),
        _ => {
            let status = DisplayStatus::of(record);
            Rich::new(status.tone(), status.name())
        }
    }
}

fn started(created: Timestamp, now: Timestamp) -> String {
    let (ago, moment) = (human::ago(created, now), human::moment(created));
    if moment.starts_with(&ago) { moment } else { format!("{ago} ({moment})") }
}

fn spent(history: &History) -> Vec<Rich> {
    let spent = history.spent();
    let calls = format!("{} of models, {} of tools", spent.model_calls, spent.tool_calls);
    let mut calls = line("calls", calls.into());
    if spent.failures > 0 {
        calls = calls.with(Tone::Bad, format!(" ({})", human::count(spent.failures, "failure")));
    }
    let mut lines = vec![calls];
    let models = history.models();
    if !models.is_empty() {
        lines.push(line("models", text::one_line(&models.join(", ")).into()));
    }
    if spent.usage.total_tokens() > 0 {
        lines.push(line("tokens", tokens(&spent.usage).into()));
    }
    match &*human::spent_cost(&spent) {
        "" => {}
        human::UNKNOWN => lines.push(line("cost", "unknown".into())),
        cost => lines.push(line("cost", cost.into())),
    }
    lines
}

/// `1.2k in, 300 out; of these 1.0k from the cache`
pub(super) fn tokens(usage: &Usage) -> String {
    let (read, written) = (human::tokens(usage.input_tokens), human::tokens(usage.output_tokens));
    let mut text = format!("{}{read} in, {written} out", human::about(usage));
    let parts = [
        (usage.cached_input_tokens, "from the cache"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.reasoning_tokens, "for thinking"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", human::tokens(count)))
        .collect();
    if !parts.is_empty() {
        text.push_str(&format!("; of these {}", parts.join(", ")));
    }
    text
}
