//! `convoke runs --stats`

use std::collections::BTreeMap;
use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{RunStatus, Timestamp};
use convoke_history::{Spent, Tally};

use crate::failure::Failure;
use crate::human;
use crate::render::tokens;
use crate::session::Session;
use crate::standing::RunStanding;
use crate::terminal::{Align, Column, Ink, Rich, Table, text};
use crate::view::StatsView;

/// The widest label.
const LABEL: usize = 13;

/// Sums over some runs.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) runs: u64,
    /// How many stand where, in the order of [`RunStanding::ALL`].
    pub(crate) standing: Vec<(RunStanding, u64)>,
    pub(crate) tally: Tally,
    /// How long the runs took that are over, shortest first.
    pub(crate) durations: Vec<Duration>,
    /// When the first and the last of them began.
    pub(crate) began: Option<(Timestamp, Timestamp)>,
}

/// Sums over all runs, and by workflow.
#[derive(Debug, Default)]
pub(crate) struct AllStats {
    pub(crate) all: Stats,
    pub(crate) workflows: BTreeMap<String, Stats>,
}

pub(super) async fn run(session: &mut Session<'_>, records: &[RunRecord]) -> Result<(), Failure> {
    let mut stats = AllStats::default();
    for record in records {
        let tally = Tally::read(&*session.store, record).await?;
        stats.all.add(record, &tally);
        stats.workflows.entry(record.workflow.clone()).or_default().add(record, &tally);
    }
    stats.all.finish();
    stats.workflows.values_mut().for_each(Stats::finish);
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

impl Stats {
    fn add(&mut self, record: &RunRecord, tally: &Tally) {
        self.runs += 1;
        self.tally += tally;
        let own = RunStanding::of(record);
        match self.standing.iter_mut().find(|(standing, _)| *standing == own) {
            Some((_, count)) => *count += 1,
            None => self.standing.push((own, 1)),
        }
        if record.status.is_final() {
            self.durations.push(record.updated.since(record.created));
        }
        let (first, last) = self.began.unwrap_or((record.created, record.created));
        self.began = Some((first.min(record.created), last.max(record.created)));
    }

    fn finish(&mut self) {
        self.durations.sort_unstable();
        let place = |standing: &RunStanding| RunStanding::ALL.iter().position(|one| one == standing);
        self.standing.sort_by_key(|(standing, _)| place(standing));
    }

    pub(crate) fn total_duration(&self) -> Duration {
        self.durations.iter().sum()
    }

    pub(crate) fn median_duration(&self) -> Option<Duration> {
        let middle = self.durations.len() / 2;
        let upper = *self.durations.get(middle)?;
        match self.durations.len() % 2 {
            0 => Some((self.durations[middle - 1] + upper) / 2),
            _ => Some(upper),
        }
    }
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
    for (index, (standing, count)) in stats.standing.iter().enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        line = line.with(Ink::Plain, before).with(standing.ink(), format!("{count} {}", standing.name()));
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
    Rich::new(Ink::Faint, format!("{label:<LABEL$}")).with(Ink::Plain, value)
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
        let completed = group
            .standing
            .iter()
            .find(|(standing, _)| *standing == RunStanding::Status(RunStatus::Completed));
        let spent = &group.tally.spent;
        let cells = [
            group.runs.to_string(),
            completed.map_or(0, |(_, count)| *count).to_string(),
            spent.model_calls.to_string(),
            human::tokens(spent.usage.total_tokens()),
            dashed(human::spent_cost(spent)),
            human::maybe_duration(group.median_duration()),
        ];
        let name = (Ink::Strong, text::one_line(name));
        table.row(std::iter::once(name).chain(cells.map(|cell| (Ink::Plain, cell))));
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
        let name = (Ink::Strong, text::one_line(name));
        table.row(std::iter::once(name).chain(cells.map(|cell| (Ink::Plain, cell))));
    }
    table
}

fn dashed(text: String) -> String {
    if text.is_empty() { human::NOTHING.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        let median = |seconds: &[u64]| {
            let durations = seconds.iter().map(|seconds| Duration::from_secs(*seconds)).collect();
            Stats { durations, ..Stats::default() }.median_duration().map(|median| median.as_secs())
        };
        assert_eq!(
            [median(&[]), median(&[4]), median(&[1, 3]), median(&[1, 2, 90])],
            [None, Some(4), Some(2), Some(2)]
        );
    }
}
