//! `convoke purge`

use std::path::Path;

use convoke_core::RunId;
use convoke_core::store::Retention;
use convoke_tools::scratchpad::Scratchpad;
use serde_json::json;

use crate::arguments::Purge;
use crate::failure::Failure;
use crate::human;
use crate::run::scratchpad_file;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Purge, store: &Path) -> Result<(), Failure> {
    let retention = Retention { max_age: arguments.older_than, keep_per_workflow: arguments.keep };
    if arguments.dry_run {
        return preview(session, &retention).await;
    }
    let outdated = session.store.outdated(&retention).await?;
    let deleted = session.store.purge(&retention).await?;
    forget(store, &outdated).await?;
    if session.json {
        return session.output.json(&json!({"deleted": deleted}));
    }
    session.output.plain(&format!("deleted {}", human::count(deleted, "run")))
}

/// What agents have written down in these runs goes with them.
async fn forget(store: &Path, runs: &[RunId]) -> Result<(), Failure> {
    let file = scratchpad_file(store);
    if !file.exists() {
        return Ok(());
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::store(format!("the notes of deleted runs in {} are left: {error}", file.display()))
    };
    let scratchpad = Scratchpad::open(&file).map_err(|error| failed(&error))?;
    for run in runs {
        scratchpad.forget(run).await.map_err(|error| failed(&error))?;
    }
    Ok(())
}

async fn preview(session: &mut Session<'_>, retention: &Retention) -> Result<(), Failure> {
    let outdated = session.store.outdated(retention).await?;
    if session.json {
        return session.output.json(&json!({"would_delete": outdated}));
    }
    for run in &outdated {
        session.output.plain(run.as_str())?;
    }
    session.output.note(&format!("would delete {}", human::count(outdated.len() as u64, "run")));
    Ok(())
}
