//! `convoke runs`

use std::collections::HashSet;

use convoke_core::store::RunRecord;
use convoke_history::{DisplayStatus, ListedRun, RunFilter, run_duration};

use crate::arguments::Runs;
use crate::failure::Failure;
use crate::human;
use crate::session::Session;
use crate::terminal::{Align, Column, Table, Tone, text};

/// Ids are never cut shorter than this.
const SHORTEST_ID: usize = 12;

/// So many runs are listed unless more are asked for.
const LISTED: usize = 20;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Runs) -> Result<(), Failure> {
    let default = if arguments.stats { 0 } else { LISTED };
    let limit = Some(arguments.limit.unwrap_or(default)).filter(|limit| *limit > 0);
    let filter = RunFilter {
        workflow: arguments.workflow.clone(),
        standing: arguments.status,
        since: arguments.since.map(|when| when.from(session.now)),
        until: arguments.until.map(|when| when.from(session.now)),
    };
    let mut records = filter.read(&*session.store, limit).await?;
    let has_more = limit.is_some_and(|limit| records.len() > limit);
    records.truncate(limit.unwrap_or(usize::MAX));
    if arguments.stats {
        return super::stats::run(session, &records).await;
    }
    let runs = all_listed(session, records).await?;
    if session.json {
        let views: Vec<_> = runs.iter().map(|run| run.view(session.now)).collect();
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

/// Runs as a table, with what they spent.
pub(super) async fn write_table(session: &mut Session<'_>, records: Vec<RunRecord>) -> Result<(), Failure> {
    let runs = all_listed(session, records).await?;
    table(session, &runs).lines(session.output.width()).iter().try_for_each(|line| session.output.line(line))
}

async fn all_listed(session: &Session<'_>, records: Vec<RunRecord>) -> Result<Vec<ListedRun>, Failure> {
    let mut runs = Vec::with_capacity(records.len());
    for record in records {
        runs.push(ListedRun::read(&*session.store, record).await?);
    }
    Ok(runs)
}

fn table(session: &Session<'_>, runs: &[ListedRun]) -> Table {
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
fn distinct(runs: &[ListedRun]) -> usize {
    let longest = runs.iter().map(|run| run.record.id.as_str().len()).max().unwrap_or(0);
    let are_distinct = |length: &usize| {
        let mut seen = HashSet::new();
        runs.iter().all(|run| seen.insert(text::head(run.record.id.as_str(), *length)))
    };
    (SHORTEST_ID..longest).find(are_distinct).unwrap_or(longest)
}
