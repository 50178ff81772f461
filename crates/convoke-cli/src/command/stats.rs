//! `convoke runs --stats`

use convoke_core::store::RunRecord;
use convoke_history::json::StatsView;
use convoke_history::{AllStats, Spent, Stats, Tally};

use crate::failure::Failure;
use crate::human;
use crate::render::tokens;
use crate::session::Session;
use crate::terminal::{Align, Column, Rich, Table, Tone, text};

/// The widest label.
const LABEL: usize = 13;

pub(super) async fn run(session: &mut Session<'_>, records: &[RunRecord]) -> Result<(), Failure> {
    let stats = AllStats::read(&*session.store, records).await?;
    if session.json {
        return session.output.json(&StatsView::from(&stats));
    }
    if records.is_empty() {
        let note = format!("no such runs in {}", session.place);
        session.output.note(&note);
        return Ok(());
    }
    let width = session.output.width();
    let mut lines: Vec<Rich> = sums(&stats.all).iter().flat_map(|line| line.wrap(width, LABEL)).collect();
    lines.push(Rich::default());
    lines.extend(workflows(&stats).lines(width));
    if !stats.all.tally.models.is_empty() {
        lines.push(Rich::default());
        lines.extend(models(&stats.all.tally).lines(width));
    }
    lines.iter().try_for_each(|line| session.output.line(line))
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
    let mut table = Table::new([
        Column::new("workflow", Align::Left).yielding(8),
        Column::new("runs", Align::Right),
        Column::new("completed", Align::Right),
        Column::new("calls", Align::Right),
        Column::new("tokens", Align::Right),
        Column::new("cost", Align::Right),
        Column::new("median", Align::Right),
    ]);
    for (name, group) in &stats.workflows {
        let spent = &group.tally.spent;
        let cells = [
            group.runs.to_string(),
            group.completed().to_string(),
            spent.model_calls.to_string(),
            human::tokens(spent.usage.total_tokens()),
            dashed(human::spent_cost(spent)),
            human::maybe_duration(group.median_duration()),
        ];
        let name = (Tone::Strong, text::one_line(name));
        table.row(std::iter::once(name).chain(cells.map(|cell| (Tone::Plain, cell))));
    }
    table
}

fn models(tally: &Tally) -> Table {
    let mut table = Table::new([
        Column::new("model", Align::Left).yielding(8),
        Column::new("calls", Align::Right),
        Column::new("failed", Align::Right),
        Column::new("in", Align::Right),
        Column::new("cached", Align::Right),
        Column::new("out", Align::Right),
        Column::new("thinking", Align::Right),
        Column::new("cost", Align::Right),
        Column::new("unpriced", Align::Right),
    ]);
    for (name, spent) in &tally.models {
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
        let name = (Tone::Strong, text::one_line(name));
        table.row(std::iter::once(name).chain(cells.map(|cell| (Tone::Plain, cell))));
    }
    table
}

fn dashed(text: String) -> String {
    if text.is_empty() { human::NOTHING.to_owned() } else { text }
}
