//! `convoke rm`

use std::path::Path;

use convoke_core::store::RunRecord;
use convoke_core::{RunId, StoreError};
use convoke_history::human;
use convoke_host::store::delete_notes;
use serde_json::json;

use super::confirm::confirm;
use super::runs;
use crate::arguments::Rm;
use crate::failure::Failure;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Rm, store: &Path) -> Result<(), Failure> {
    // All of them are found before any is deleted.
    let mut records: Vec<RunRecord> = Vec::new();
    for wanted in &arguments.runs {
        let record = session.find(wanted).await?;
        if !records.iter().any(|other| other.id == record.id) {
            records.push(record);
        }
    }
    for record in &records {
        if let Some(holder) = &record.holder {
            return Err(busy(session, &record.id, holder));
        }
    }
    let unfinished: Vec<RunRecord> =
        records.iter().filter(|record| !record.status.is_final()).cloned().collect();
    if !arguments.yes && !unfinished.is_empty() {
        let question = match unfinished.len() {
            1 => "This run is not over. Delete it?".to_owned(),
            number => format!("{number} runs are not over. Delete them?"),
        };
        if !session.json {
            runs::write_table(session, unfinished).await?;
        }
        confirm(session, &question).await?;
    }
    let mut deleted: Vec<RunId> = Vec::new();
    for record in records {
        match session.store.delete(&record.id).await {
            Ok(_) => deleted.push(record.id),
            Err(StoreError::Busy { holder, .. }) => {
                delete_notes(store, &deleted).await?;
                return Err(busy(session, &record.id, &holder));
            }
            Err(error) => return Err(error.into()),
        }
    }
    delete_notes(store, &deleted).await?;
    let line = format!("deleted {}", human::count(deleted.len() as u64, "run"));
    session.output.give(&json!({"deleted": deleted.len(), "runs": deleted}), line)
}

fn busy(session: &Session<'_>, run: &RunId, holder: &str) -> Failure {
    let cancel = session.about("cancel", run, "");
    Failure::failed(format!("run `{run}` is being worked on by {holder}, and was not deleted"))
        .hint(format!("`{cancel}` stops it"))
}
