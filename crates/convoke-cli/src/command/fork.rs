//! `convoke fork`

use convoke_history::History;
use convoke_host::stored::Instead;
use serde_json::json;

use crate::arguments;
use crate::failure::Failure;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &arguments::Fork) -> Result<(), Failure> {
    let arguments::Fork { at, id, reply, outcome, .. } = arguments;
    let record = session.find(&arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    let reply = reply.as_deref().map(Instead::Reply);
    let instead = reply.or_else(|| outcome.as_deref().map(Instead::Outcome));
    let (new, notes) = session.fork(&history, *at, id.clone(), instead).await?;
    let document = json!({"run": new, "forked_from": {"run": record.id, "at": at}});
    session.output.give(&document, new.as_str())?;
    session.output.notes(notes);
    Ok(())
}
