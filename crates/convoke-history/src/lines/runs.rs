//! Lists of runs as a table.

use std::collections::HashSet;

use convoke_core::Timestamp;
use convoke_text::columns;

use super::{Align, Column, Table};
use crate::{DisplayStatus, ListedRun, Tone, human, run_duration, text};

/// Ids are never cut shorter than this.
const SHORTEST_ID: usize = 12;

/// Returns the table of these runs, with where they stand and what they spent.
#[must_use]
pub fn runs_table(runs: &[ListedRun], now: Timestamp) -> Table {
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
            (Tone::Plain, human::ago(record.created, now)),
            (Tone::Plain, human::maybe_duration(run_duration(record, now))),
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
        runs.iter().all(|run| seen.insert(columns::head(run.record.id.as_str(), *length)))
    };
    (SHORTEST_ID..longest).find(are_distinct).unwrap_or(longest)
}
