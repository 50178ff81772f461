//! `convoke purge`

use convoke_core::store::Retention;
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
