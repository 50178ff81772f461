//! Reports of evals.

use std::collections::BTreeMap;

use convoke_eval::{Change, Comparison, Report, RunReport, Scenario, ScenarioChange, ScenarioReport};
use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, human, text};
use serde::Serialize;
use serde_json::{Value, json};

use super::View;

/// A report, and how it differs from an earlier one.
#[derive(Debug, Serialize)]
pub struct ComparedReport<'a> {
    /// The report.
    #[serde(flatten)]
    pub report: &'a Report,
    /// The differences, if there is an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<&'a Comparison>,
}

/// The line that is said when a run of a scenario is over.
#[must_use]
pub fn scenario_line(scenario: &Scenario, run: &RunReport) -> String {
    format!("{} {} ({})", mark(run.passed), text::one_line(&scenario.name), run.run)
}

impl View for ComparedReport<'_> {
    fn document(&self) -> Value {
        json!(self)
    }

    /// A table, what did not hold, what was measured, and what has changed.
    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        let Self { report, comparison } = self;
        let mut lines = table(report).lines(width);
        for scenario in &report.scenarios {
            lines.extend(failed(scenario, width));
            let too_rarely = scenario.held_too_rarely();
            lines.extend(
                too_rarely.into_iter().flat_map(|line| wrapped(Rich::new(Tone::Bad, "  ✗ "), &line, width)),
            );
        }
        lines.extend(notes(report, width));
        lines.extend(measured(report, width));
        lines.extend(comparison.iter().flat_map(|comparison| changes(comparison, width)));
        let (passed, all) = (report.passed_count(), report.scenarios.len());
        let tone = if report.passed { Tone::Good } else { Tone::Bad };
        let sum = Rich::new(tone, format!("{} {passed} of {all} passed", mark(report.passed)));
        lines.extend([Rich::default(), sum]);
        lines
    }
}

/// What authors of scenarios should know that makes nothing fail.
fn notes(report: &Report, width: Option<usize>) -> Vec<Rich> {
    let of = |scenario: &ScenarioReport| {
        let name = text::one_line(&scenario.name);
        scenario.notes().into_iter().map(|note| format!("{name}: {note}")).collect::<Vec<_>>()
    };
    let notes: Vec<String> = report.scenarios.iter().flat_map(of).collect();
    let lines = notes.iter().flat_map(|note| wrapped(Rich::new(Tone::Caution, "  ! "), note, width));
    let before = (!notes.is_empty()).then(Rich::default);
    before.into_iter().chain(lines).collect()
}

fn table(report: &Report) -> Table {
    let mut table = Table::new([
        Column::new("", Align::Left),
        Column::new("scenario", Align::Left).yielding(12),
        Column::new("passed", Align::Right),
        Column::new("asserted", Align::Right),
        Column::new("calls", Align::Right),
        Column::new("tokens", Align::Right).surplus(2),
        Column::new("cost", Align::Right).surplus(1),
    ]);
    for scenario in &report.scenarios {
        let runs = &scenario.runs;
        let good = runs.iter().filter(|run| run.passed).count();
        let asserted: usize = runs.iter().map(|run| run.assertions.len()).sum();
        let calls: u64 = runs.iter().map(|run| run.usage.model_calls).sum();
        let tokens: u64 = runs.iter().map(|run| run.usage.tokens).sum();
        let cost = scenario.cost().map_or_else(|| human::UNKNOWN.to_owned(), |cost| format!("${cost:.4}"));
        let tone = if scenario.passed { Tone::Good } else { Tone::Bad };
        let cells = [format!("{good}/{}", runs.len()), asserted.to_string(), calls.to_string()];
        let cells = cells.into_iter().chain([human::tokens(tokens), cost]);
        let first =
            [(tone, mark(scenario.passed).to_owned()), (Tone::Strong, text::one_line(&scenario.name))];
        table.row(first.into_iter().chain(cells.map(|cell| (Tone::Plain, cell))));
    }
    table
}

/// What did not hold: each assertion once, with what was found first and how often that was.
fn failed(scenario: &ScenarioReport, width: Option<usize>) -> Vec<Rich> {
    // Of assertions of one kind in one turn each is itself, by its number among them.
    let mut failures: Vec<((String, usize), String, usize)> = Vec::new();
    for run in &scenario.runs {
        let mut like: BTreeMap<String, usize> = BTreeMap::new();
        for assertion in &run.assertions {
            let number = like.entry(assertion.place()).or_default();
            *number += 1;
            if assertion.passed != Some(false) {
                continue;
            }
            let itself = (assertion.place(), *number);
            match failures.iter_mut().find(|(known, _, _)| *known == itself) {
                Some((_, _, times)) => *times += 1,
                None => failures.push((itself, assertion.line(), 1)),
            }
        }
    }
    let Some(first) = scenario.runs.iter().find(|run| run.failures().next().is_some()) else {
        return Vec::new();
    };
    let head = Rich::new(Tone::Strong, text::one_line(&scenario.name));
    let shown = match first.status.as_str() {
        "not_begun" => "  it was not begun".to_owned(),
        _ => format!("  convoke show {}", first.run),
    };
    let mut lines = vec![Rich::default(), head.with(Tone::Faint, shown)];
    for (_, line, times) in failures {
        let often = if scenario.runs.len() > 1 { format!(" ({times} times)") } else { String::new() };
        lines.extend(wrapped(Rich::new(Tone::Bad, "  ✗ "), &format!("{line}{often}"), width));
    }
    lines
}

fn wrapped(mark: Rich, line: &str, width: Option<usize>) -> Vec<Rich> {
    mark.with(Tone::Plain, text::one_line(line)).wrap(width, 4)
}

/// What the evals of a pack measured, and which of them could not.
fn measured(report: &Report, width: Option<usize>) -> Vec<Rich> {
    let mut lines = Vec::new();
    for scenario in &report.scenarios {
        for (name, score) in scenario.measured() {
            if lines.is_empty() {
                lines.extend([Rich::default(), Rich::plain("measured:")]);
            }
            let of = |run: &RunReport| run.assertions.iter().find(|one| one.name == name).cloned();
            let why = || scenario.runs.iter().find_map(of).map(|one| one.found).unwrap_or_default();
            let found =
                score.map_or_else(|| format!("not to be had: {}", why()), |score| format!("{score:.2}"));
            let line = format!("{}: {name} {found}", scenario.name);
            lines.extend(wrapped(Rich::new(Tone::Faint, "  "), &line, width));
        }
    }
    lines
}

fn changes(comparison: &Comparison, width: Option<usize>) -> Vec<Rich> {
    let since = format!("since {}", text::one_line(&comparison.earlier));
    if comparison.changes.is_empty() {
        return vec![Rich::default(), Rich::plain(format!("{since}: nothing has changed"))];
    }
    let mut lines = vec![Rich::default(), Rich::plain(format!("{since}:"))];
    lines.extend(comparison.changes.iter().flat_map(|change| changed(change).wrap(width, 9)));
    lines
}

fn changed(change: &ScenarioChange) -> Rich {
    let (tone, word) = match change.change {
        Change::Better => (Tone::Good, "better"),
        Change::Worse => (Tone::Bad, "worse"),
        Change::Different => (Tone::Plain, "differs"),
        Change::New => (Tone::Plain, "new"),
        Change::Gone => (Tone::Plain, "gone"),
    };
    let share = |share: f64| format!("{:.0}%", share * 100.0);
    let rates = match (change.before, change.after) {
        (Some(before), Some(after)) => format!("{} to {}", share(before), share(after)),
        (before, after) => before.or(after).map(share).unwrap_or_default(),
    };
    let line = Rich::new(tone, format!("  {word:<7}"))
        .with(Tone::Strong, text::one_line(&change.scenario))
        .with(Tone::Plain, format!("  {rates}"));
    match change.assertions.is_empty() {
        true => line,
        false => line.with(Tone::Faint, format!("  {}", text::one_line(&change.assertions.join(", ")))),
    }
}

fn mark(passed: bool) -> &'static str {
    if passed { "✓" } else { "✗" }
}
