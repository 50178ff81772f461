//! `convoke cancel`
//!
//! Whoever works on the run, wherever that is, is told through the store and ends it. A run that nobody works on is ended there.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::RunStatus;
use convoke_host::store::cancel_run;
use convoke_host::{HostError, user_name};
use serde_json::json;

use crate::arguments::NamedRun;
use crate::failure::Failure;
use crate::session::Session;

/// How long a process that was told is waited for: it may have a command to end, and a call to give up.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn run(session: &mut Session<'_>, arguments: &NamedRun) -> Result<(), Failure> {
    let record = session.find(&arguments.run).await?;
    let by = user_name();
    let reason = if by.is_empty() { "with `convoke cancel`".to_owned() } else { format!("by {by}") };
    let store = Arc::clone(&session.store);
    let told = |holder: &str| session.output.note(&format!("{holder} works on it, and was told to stop"));
    let waiting = cancel_run(&*store, record, &reason, told);
    let cancelled = tokio::time::timeout(PATIENCE, waiting).await.map_err(|_| {
        let runs = format!("`{}` says when it has ended", session.command("runs"));
        Failure::failed("whoever works on the run was told to stop, and has not stopped yet")
            .hint("the request is kept: the run ends before it does anything else, by that process when it gets to it (it may be \
                   stopped, or at something that takes long), or by whoever takes the run up if that process is gone")
            .hint(runs)
    })?;
    let run = cancelled.map_err(|error| match error {
        HostError::Ended { run, status } => {
            let delete = session.about("rm", &run, "");
            Failure::failed(format!("run `{run}` is over already: it is {status}"))
                .hint(format!("`{delete}` deletes it"))
        }
        other => other.into(),
    })?;
    session.output.give(&json!({"run": run, "status": RunStatus::Cancelled}), format!("cancelled {run}"))
}
