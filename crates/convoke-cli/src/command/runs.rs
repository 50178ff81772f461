//! `convoke runs`

use std::collections::HashSet;

use convoke_core::RunStatus;
use convoke_core::store::{RunQuery, RunRecord};
use convoke_history::json::{RunView, SpentView};
use convoke_history::{DisplayStatus, History, Spent, run_duration};

use crate::arguments::Runs;
use crate::failure::Failure;
use crate::human;
use crate::session::Session;
use crate::terminal::{Align, Column, Table, Tone, text};

/// Ids are never cut shorter than this.
const SHORTEST_ID: usize = 12;

/// A run and what it spent, as far as that is not in its record.
struct Listed {
    record: RunRecord,
    so_far: Option<Spent>,
}

/// So many runs are listed unless more are asked for.
const LISTED: usize = 20;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Runs) -> Result<(), Failure> {
    let default = if arguments.stats { 0 } else { LISTED };
    let limit = Some(arguments.limit.unwrap_or(default)).filter(|limit| *limit > 0);
    let mut records = fitting(session, arguments, limit).await?;
    let has_more = limit.is_some_and(|limit| records.len() > limit);
    records.truncate(limit.unwrap_or(usize::MAX));
    if arguments.stats {
        return super::stats::run(session, &records).await;
    }
    let runs = all_listed(session, records).await?;
    if session.json {
        let views: Vec<_> = runs.iter().map(|run| run.view(session)).collect();
        session.output.json(&views)?;
    } else if runs.is_empty() {
        let none = if arguments.is_active() { "no such runs" } else { "no runs yet" };
        let note = format!("{none} in {}", session.place);
        session.output.note(&note);
    } else {
        for line in table(session, &runs).lines(session.output.width()) {
            session.output.line(&line)?;
        }
    }
    if has_more {
        session.output.note("there are more runs; `--limit 0` lists all");
    }
    Ok(())
}

/// The runs that are asked for, newest first; one more than the limit if there are more.
async fn fitting(
    session: &Session<'_>,
    arguments: &Runs,
    limit: Option<usize>,
) -> Result<Vec<RunRecord>, Failure> {
    let (since, until) = (
        arguments.since.map(|when| when.from(session.now)),
        arguments.until.map(|when| when.from(session.now)),
    );
    // The store knows no times: with one, it gives all.
    let is_timed = since.is_some() || until.is_some();
    // Nor does it know who is alive: `idle` and `running` are told apart here.
    let is_told_apart = arguments.status.is_some_and(|standing| standing.status() == RunStatus::Running);
    let query = RunQuery {
        workflow: arguments.workflow.clone(),
        status: arguments.status.map(DisplayStatus::status),
        limit: limit.filter(|_| !is_timed && !is_told_apart).map(|limit| limit.saturating_add(1)),
        ..RunQuery::default()
    };
    let mut records = session.store.runs(&query).await?;
    records.retain(|record| {
        since.is_none_or(|since| record.created >= since)
            && until.is_none_or(|until| record.created < until)
            && arguments.status.is_none_or(|standing| standing == DisplayStatus::of(record))
    });
    Ok(records)
}

/// Runs as a table, with what they spent.
pub(super) async fn write_table(session: &mut Session<'_>, records: Vec<RunRecord>) -> Result<(), Failure> {
    let runs = all_listed(session, records).await?;
    table(session, &runs).lines(session.output.width()).iter().try_for_each(|line| session.output.line(line))
}

async fn all_listed(session: &Session<'_>, records: Vec<RunRecord>) -> Result<Vec<Listed>, Failure> {
    let mut runs = Vec::with_capacity(records.len());
    for record in records {
        runs.push(listed(session, record).await?);
    }
    Ok(runs)
}

/// The record of a run under way says nothing about what it has spent since it began, and that of an earlier build not why a
/// cost is missing; the journal does, as it does for sums over runs.
async fn listed(session: &Session<'_>, record: RunRecord) -> Result<Listed, Failure> {
    let totals = &record.totals;
    let is_unexplained = totals.model_calls > 0 && totals.unpriced_calls == 0 && totals.usage.cost.is_none();
    let so_far = match record.status {
        RunStatus::Running => Some(History::spent_so_far(&*session.store, &record.id).await?),
        _ if is_unexplained => Some(History::spent_so_far(&*session.store, &record.id).await?),
        _ => None,
    };
    Ok(Listed { record, so_far })
}

impl Listed {
    fn view(&self, session: &Session<'_>) -> RunView<'_> {
        let spent =
            self.so_far.as_ref().map_or_else(|| SpentView::from(&self.record.totals), SpentView::from);
        RunView::new(&self.record, spent, session.now)
    }

    fn model_calls(&self) -> u64 {
        self.so_far.map_or(self.record.totals.model_calls, |spent| spent.model_calls)
    }

    fn tokens(&self) -> u64 {
        self.so_far.map_or(self.record.totals.usage, |spent| spent.usage).total_tokens()
    }

    fn cost(&self) -> String {
        match &self.so_far {
            None => human::totals_cost(&self.record.totals),
            Some(spent) => Some(human::spent_cost(spent))
                .filter(|cost| !cost.is_empty())
                .unwrap_or(human::NOTHING.to_owned()),
        }
    }
}

fn table(session: &Session<'_>, runs: &[Listed]) -> Table {
    let mut table = Table::new([
        Column::new("id", Align::Left).abbreviating(distinct(runs)),
        Column::new("workflow", Align::Left).yielding(8),
        Column::new("status", Align::Left),
        Column::new("started", Align::Left),
        Column::new("took", Align::Right).surplus(3),
        Column::new("calls", Align::Right).surplus(2),
        Column::new("tokens", Align::Right).surplus(1),
        Column::new("cost", Align::Right).surplus(4),
    ]);
    for run in runs {
        let record = &run.record;
        let standing = DisplayStatus::of(record);
        table.row([
            (Tone::Strong, record.id.to_string()),
            (Tone::Plain, text::one_line(&record.workflow)),
            (standing.tone(), standing.name().to_owned()),
            (Tone::Plain, human::ago(record.created, session.now)),
            (Tone::Plain, human::maybe_duration(run_duration(record, session.now))),
            (Tone::Plain, run.model_calls().to_string()),
            (Tone::Plain, human::tokens(run.tokens())),
            (Tone::Plain, run.cost()),
        ]);
    }
    table
}

/// How many characters tell the ids of these runs apart.
fn distinct(runs: &[Listed]) -> usize {
    let longest = runs.iter().map(|run| run.record.id.as_str().len()).max().unwrap_or(0);
    let are_distinct = |length: &usize| {
        let mut seen = HashSet::new();
        runs.iter().all(|run| seen.insert(text::head(run.record.id.as_str(), *length)))
    };
    (SHORTEST_ID..longest).find(are_distinct).unwrap_or(longest)
}
