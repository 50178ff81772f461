//! Sums over runs: totals, and tables by workflow and by model.

use super::header::tokens;
use super::{Align, Column, Rich, Table};
use crate::{AllStats, Spent, Stats, Tally, Tone, human, text};

/// The widest label.
const LABEL: usize = 13;

/// Returns the sums in lines no wider than this.
#[must_use]
pub fn stats_lines(stats: &AllStats, width: Option<usize>) -> Vec<Rich> {
    let mut lines: Vec<Rich> = sums(&stats.all).iter().flat_map(|line| line.wrap(width, LABEL)).collect();
    lines.push(Rich::default());
    lines.extend(workflows(stats).lines(width));
    if !stats.all.tally.models.is_empty() {
        lines.push(Rich::default());
        lines.extend(models(&stats.all.tally).lines(width));
    }
    lines
}

fn sums(stats: &Stats) -> Vec<Rich> {
    let spent = &stats.tally.spent;
    let mut lines = vec![runs(stats)];
    if let Some((first, last)) = stats.began {
        let (first, last) = (human::date(first), human::date(last));
        lines.push(line("began", if first == last { first } else { format!("{first} to {last}") }));
    }
    lines.push(line("model calls", spent.model_calls.to_string()));
    lines.push(line("tokens", tokens(&spent.usage)));
    lines.push(line("cost", cost(spent)));
    lines.push(line("tool calls", spent.tool_calls.to_string()));
    lines.push(line("questions", format!("{}, {} answered", stats.tally.questions, stats.tally.answered)));
    if spent.failures > 0 {
        lines.push(line("failures", format!("{} of calls and other effects", spent.failures)));
    }
    lines.push(line("took", duration(stats)));
    lines
}

fn runs(stats: &Stats) -> Rich {
    let mut line = line("runs", stats.runs.to_string());
    for (index, (status, count)) in stats.by_status.iter().enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        line = line.with(Tone::Plain, before).with(status.tone(), format!("{count} {}", status.name()));
    }
    line
}

fn cost(spent: &Spent) -> String {
    let known = human::spent_cost(spent);
    match (&*known, spent.unpriced_calls) {
        ("", _) => human::NOTHING.to_owned(),
        (_, 0) => known,
        (human::UNKNOWN, unpriced) => {
            format!("unknown: {} without a known price", human::count(unpriced, "call"))
        }
        (_, unpriced) => format!("{known}; {} without a known price", human::count(unpriced, "call")),
    }
}

fn duration(stats: &Stats) -> String {
    let Some(median) = stats.median_duration() else { return "none of them is over".to_owned() };
    let (total, median) = (human::duration(stats.total_duration()), human::duration(median));
    let over = human::count(stats.durations.len() as u64, "run");
    format!("{total} in all, median {median} ({over} that ended)")
}

fn line(label: &str, value: String) -> Rich {
    Rich::new(Tone::Faint, format!("{label:<LABEL$}")).with(Tone::Plain, value)
}

fn workflows(stats: &AllStats) -> Table {
    let titles = ["workflow", "runs", "completed", "calls", "tokens", "cost", "median"];
    let rows = stats.workflows.iter().map(|(name, group)| {
        let spent = &group.tally.spent;
        let cells = [
            group.runs.to_string(),
            group.completed().to_string(),
            spent.model_calls.to_string(),
            human::tokens(spent.usage.total_tokens()),
            dashed(human::spent_cost(spent)),
            human::maybe_duration(group.median_duration()),
        ];
        (name, cells)
    });
    table(titles, rows)
}

fn models(tally: &Tally) -> Table {
    let titles = ["model", "calls", "failed", "in", "cached", "out", "thinking", "cost", "unpriced"];
    let rows = tally.models.iter().map(|(name, spent)| {
        let usage = &spent.usage;
        let cells = [
            spent.model_calls.to_string(),
            spent.failures.to_string(),
            human::tokens(usage.input_tokens),
            human::tokens(usage.cached_input_tokens),
            human::tokens(usage.output_tokens),
            human::tokens(usage.reasoning_tokens),
            dashed(human::spent_cost(spent)),
            spent.unpriced_calls.to_string(),
        ];
        (name, cells)
    });
    table(titles, rows)
}

/// A name, which gives way where room is short, and numbers.
fn table<'a, const T: usize, const N: usize>(
    titles: [&'static str; T],
    rows: impl Iterator<Item = (&'a String, [String; N])>,
) -> Table {
    let columns = titles.iter().enumerate().map(|(index, title)| match index {
        0 => Column::new(title, Align::Left).yielding(8),
        _ => Column::new(title, Align::Right),
    });
    let mut table = Table::new(columns);
    for (name, cells) in rows {
        let name = (Tone::Strong, text::one_line(name));
        table.row(std::iter::once(name).chain(cells.map(|cell| (Tone::Plain, cell))));
    }
    table
}

fn dashed(text: String) -> String {
    if text.is_empty() { human::NOTHING.to_owned() } else { text }
}
