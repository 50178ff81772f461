//! `convoke runs`: which runs are listed, how many, and what is said of them.

use convoke_core::store::RunRecord;
use convoke_history::json::StatsView;
use convoke_history::lines::{runs_table, stats_lines};
use convoke_history::{AllStats, ListedRun, RunFilter};

use crate::arguments::Runs;
use crate::failure::Failure;
use crate::session::Session;

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
        return stats(session, &records).await;
    }
    let runs = all_listed(session, records).await?;
    if session.json {
        let views: Vec<_> = runs.iter().map(|run| run.view(session.now)).collect();
        session.output.json(&views)?;
    } else if runs.is_empty() {
        let none = if filter == RunFilter::default() { "no runs yet" } else { "no such runs" };
        let note = format!("{none} in {}", session.place);
        session.output.note(&note);
    } else {
        session.output.table(&runs_table(&runs, session.now))?;
    }
    if has_more {
        session.output.note("there are more runs; `--limit 0` lists all");
    }
    Ok(())
}

/// Runs as a table, with what they spent.
pub(super) async fn write_table(session: &mut Session<'_>, records: Vec<RunRecord>) -> Result<(), Failure> {
    let runs = all_listed(session, records).await?;
    session.output.table(&runs_table(&runs, session.now))
}

async fn all_listed(session: &Session<'_>, records: Vec<RunRecord>) -> Result<Vec<ListedRun>, Failure> {
    let mut runs = Vec::with_capacity(records.len());
    for record in records {
        runs.push(ListedRun::read(&*session.store, record).await?);
    }
    Ok(runs)
}

/// Sums over runs.
async fn stats(session: &mut Session<'_>, records: &[RunRecord]) -> Result<(), Failure> {
    let stats = AllStats::read(&*session.store, records).await?;
    if session.json {
        return session.output.json(&StatsView::from(&stats));
    }
    if records.is_empty() {
        let note = format!("no such runs in {}", session.place);
        session.output.note(&note);
        return Ok(());
    }
    session.output.lines(&stats_lines(&stats, session.output.width()))
}
