//! `convoke purge`

use std::path::Path;

use convoke_core::RunId;
use convoke_core::store::{Retention, RunRecord};
use convoke_host::store::{delete_listed, delete_notes};
use serde_json::json;

use super::confirm::confirm;
use super::runs;
use crate::arguments::Purge;
use crate::failure::Failure;
use crate::human;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Purge, store: &Path) -> Result<(), Failure> {
    let retention = Retention { max_age: arguments.older_than, keep_per_workflow: arguments.keep };
    let outdated = records(session, &session.store.outdated(&retention).await?).await?;
    if arguments.dry_run {
        return preview(session, outdated).await;
    }
    if !arguments.yes && !outdated.is_empty() {
        let question = format!("Delete {}?", human::count(outdated.len() as u64, "run"));
        if !session.json {
            runs::write_table(session, outdated.clone()).await?;
        }
        confirm(session, &question).await?;
    }
    let mut deleted = Vec::new();
    for record in &outdated {
        if delete_listed(&*session.store, record).await? {
            deleted.push(record.id.clone());
        }
    }
    delete_notes(store, &deleted).await?;
    let line = format!("deleted {}", human::count(deleted.len() as u64, "run"));
    session.output.give(&json!({"dry_run": false, "deleted": deleted.len(), "runs": deleted}), line)
}

async fn records(session: &Session<'_>, ids: &[RunId]) -> Result<Vec<RunRecord>, Failure> {
    let mut records = Vec::with_capacity(ids.len());
    for id in ids {
        records.extend(session.store.run(id).await?);
    }
    Ok(records)
}

async fn preview(session: &mut Session<'_>, outdated: Vec<RunRecord>) -> Result<(), Failure> {
    if session.json {
        let ids: Vec<&RunId> = outdated.iter().map(|record| &record.id).collect();
        return session.output.json(&json!({"dry_run": true, "deleted": 0, "runs": ids}));
    }
    let note = format!("would delete {}", human::count(outdated.len() as u64, "run"));
    if !outdated.is_empty() {
        runs::write_table(session, outdated).await?;
    }
    session.output.note(&note);
    Ok(())
}
