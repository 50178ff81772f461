//! `convoke purge`

use std::path::Path;

use convoke_core::RunId;
use convoke_core::store::{Retention, RunRecord};
use convoke_history::human;
use convoke_host::store::{delete_listed, delete_notes};
use serde_json::json;

use super::confirm::confirm;
use super::runs;
use crate::arguments::Purge;
use crate::failure::Failure;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Purge, store: &Path) -> Result<(), Failure> {
    let retention = Retention { max_age: arguments.older_than, keep_per_workflow: arguments.keep };
    let mut outdated: Vec<RunRecord> = Vec::new();
    for id in session.store.outdated(&retention).await? {
        outdated.extend(session.store.run(&id).await?);
    }
    let number = human::count(outdated.len() as u64, "run");
    let is_listed = arguments.dry_run || !arguments.yes;
    if is_listed && !outdated.is_empty() && !session.json {
        runs::write_table(session, outdated.clone()).await?;
    }
    if arguments.dry_run {
        if session.json {
            let ids: Vec<&RunId> = outdated.iter().map(|record| &record.id).collect();
            return session.output.json(&json!({"dry_run": true, "deleted": 0, "runs": ids}));
        }
        session.output.note(&format!("would delete {number}"));
        return Ok(());
    }
    if !arguments.yes && !outdated.is_empty() {
        confirm(session, &format!("Delete {number}?")).await?;
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
