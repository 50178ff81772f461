//! Reports of evals, for people.

use convoke_eval::{Change, Comparison, Report, RunReport, Scenario, ScenarioReport};
use convoke_history::human;

use crate::failure::Failure;
use crate::terminal::{Align, Column, Output, Rich, Table, Tone, text};

/// What is said when a run is over.
pub(super) fn over(scenario: &Scenario, run: &RunReport) -> String {
    format!("{} {} ({})", mark(run.passed), text::one_line(&scenario.name), run.run)
}

/// The whole report: a table, what did not hold, what has changed.
pub(super) fn report(
    report: &Report,
    comparison: Option<&Comparison>,
    output: &mut Output,
) -> Result<(), Failure> {
    let width = output.width();
    for line in table(report).lines(width) {
        output.line(&line)?;
    }
    for scenario in &report.scenarios {
        failed(scenario, output)?;
        for line in scenario.held_too_rarely() {
            wrapped(Rich::new(Tone::Bad, "  ✗ "), &line, output)?;
        }
    }
    measured(report, output)?;
    if let Some(comparison) = comparison {
        changes(comparison, output)?;
    }
    output.plain("")?;
    let (passed, all) = (report.passed_count(), report.scenarios.len());
    let tone = if report.passed { Tone::Good } else { Tone::Bad };
    output.line(&Rich::new(tone, format!("{} {passed} of {all} passed", mark(report.passed))))
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
        let cost = scenario.cost().map_or_else(|| "?".to_owned(), |cost| format!("${cost:.4}"));
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
fn failed(scenario: &ScenarioReport, output: &mut Output) -> Result<(), Failure> {
    let mut lines: Vec<(String, String, usize)> = Vec::new();
    for failure in scenario.runs.iter().flat_map(RunReport::failures) {
        match lines.iter_mut().find(|(place, _, _)| *place == failure.place()) {
            Some((_, _, times)) => *times += 1,
            None => lines.push((failure.place(), failure.line(), 1)),
        }
    }
    let Some(first) = scenario.runs.iter().find(|run| run.failures().next().is_some()) else { return Ok(()) };
    output.plain("")?;
    let head = Rich::new(Tone::Strong, text::one_line(&scenario.name));
    output.line(&head.with(Tone::Faint, format!("  convoke show {}", first.run)))?;
    for (_, line, times) in lines {
        let often = if scenario.runs.len() > 1 { format!(" ({times} times)") } else { String::new() };
        wrapped(Rich::new(Tone::Bad, "  ✗ "), &format!("{line}{often}"), output)?;
    }
    Ok(())
}

fn wrapped(mark: Rich, line: &str, output: &mut Output) -> Result<(), Failure> {
    let line = mark.with(Tone::Plain, text::one_line(line));
    line.wrap(output.width(), 4).iter().try_for_each(|line| output.line(line))
}

/// What the evals of a pack measured, and which of them could not.
fn measured(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let mut is_first = true;
    for scenario in &report.scenarios {
        for (name, score) in scenario.measured() {
            if std::mem::take(&mut is_first) {
                output.plain("")?;
                output.plain("measured:")?;
            }
            let of = |run: &RunReport| run.assertions.iter().find(|one| one.name == name).cloned();
            let why = || scenario.runs.iter().find_map(of).map(|one| one.found).unwrap_or_default();
            let found =
                score.map_or_else(|| format!("not to be had: {}", why()), |score| format!("{score:.2}"));
            wrapped(Rich::new(Tone::Faint, "  "), &format!("{}: {name} {found}", scenario.name), output)?;
        }
    }
    Ok(())
}

fn changes(comparison: &Comparison, output: &mut Output) -> Result<(), Failure> {
    output.plain("")?;
    let since = format!("since {}", text::one_line(&comparison.earlier));
    if comparison.changes.is_empty() {
        return output.plain(&format!("{since}: nothing has changed"));
    }
    output.plain(&format!("{since}:"))?;
    for change in &comparison.changes {
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
        let mut line = Rich::new(tone, format!("  {word:<7}"))
            .with(Tone::Strong, text::one_line(&change.scenario))
            .with(Tone::Plain, format!("  {rates}"));
        if !change.assertions.is_empty() {
            line = line.with(Tone::Faint, format!("  {}", text::one_line(&change.assertions.join(", "))));
        }
        line.wrap(output.width(), 9).iter().try_for_each(|line| output.line(line))?;
    }
    Ok(())
}

fn mark(passed: bool) -> &'static str {
    if passed { "✓" } else { "✗" }
}
