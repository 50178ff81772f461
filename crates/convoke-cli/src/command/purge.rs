//! `convoke purge`

use std::collections::HashMap;

use convoke_core::Timestamp;
use convoke_core::store::{Retention, RunQuery, RunRecord};
use serde_json::json;

use crate::arguments::Purge;
use crate::failure::Failure;
use crate::human;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Purge) -> Result<(), Failure> {
    let retention = Retention { max_age: arguments.older_than, keep_per_workflow: arguments.keep };
    if arguments.dry_run {
        return preview(session, &retention).await;
    }
    let deleted = session.store.purge(&retention).await?;
    if session.json {
        return session.output.json(&json!({"deleted": deleted}));
    }
    session.output.plain(&format!("deleted {}", human::count(deleted, "run")))
}

async fn preview(session: &mut Session<'_>, retention: &Retention) -> Result<(), Failure> {
    let records = session.store.runs(&RunQuery::default()).await?;
    let outdated = outdated(&records, retention, session.now);
    if session.json {
        let ids: Vec<_> = outdated.iter().map(|record| &record.id).collect();
        return session.output.json(&json!({"would_delete": ids}));
    }
    for record in &outdated {
        session.output.plain(record.id.as_str())?;
    }
    session.output.note(&format!("would delete {}", human::count(outdated.len() as u64, "run")));
    Ok(())
}

/// The finished runs that the retention does not keep, out of all runs, newest first.
fn outdated<'a>(records: &'a [RunRecord], retention: &Retention, now: Timestamp) -> Vec<&'a RunRecord> {
    let ended_by = retention.max_age.map(|age| now - age);
    let mut finished: HashMap<&str, usize> = HashMap::new();
    let mut outdated = Vec::new();
    for record in records.iter().filter(|record| record.status.is_final()) {
        let newer = finished.entry(&record.workflow).or_default();
        let is_too_many = retention.keep_per_workflow.is_some_and(|keep| *newer >= keep);
        *newer += 1;
        if is_too_many || ended_by.is_some_and(|limit| record.updated <= limit) {
            outdated.push(record);
        }
    }
    outdated
}
