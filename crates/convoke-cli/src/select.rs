//! Finds the run or the question that a command means.

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{InvalidRunId, PendingQuestion, RunId};
use convoke_history::DisplayStatus;

use crate::failure::Failure;
use crate::human;
use crate::session::Session;
use crate::terminal::text;

/// So many candidates are listed at most.
const CANDIDATES: usize = 10;

/// The word for the newest run.
pub(crate) const LAST: &str = "last";

/// The id of a run that is to be made.
pub(crate) fn new_id(text: &str) -> Result<RunId, String> {
    if text == LAST {
        return Err("`last` means the newest run wherever a run is named: choose another id".to_owned());
    }
    if text.starts_with('-') {
        return Err("what begins with `-` is an option wherever a run is named: choose another id".to_owned());
    }
    text.parse().map_err(|error: InvalidRunId| error.to_string())
}

/// The run with this id, or the only one whose id begins like this, or the last one.
pub(crate) async fn run(session: &Session<'_>, wanted: &str) -> Result<RunRecord, Failure> {
    if wanted == LAST {
        return last(session).await;
    }
    if let Ok(id) = wanted.parse()
        && let Some(record) = session.store.run(&id).await?
    {
        return Ok(record);
    }
    let query =
        RunQuery { id_prefix: Some(wanted.to_owned()), limit: Some(CANDIDATES + 1), ..RunQuery::default() };
    // No id has such characters, and none is nothing.
    let is_possible = wanted.is_ascii() && !wanted.is_empty();
    let mut found = if is_possible { session.store.runs(&query).await? } else { Vec::new() };
    if found.len() > 1 {
        return Err(ambiguous(session, wanted, &found));
    }
    found.pop().ok_or_else(|| {
        let list = session.command("runs");
        Failure::not_found(format!("there is no run `{}` in {}", text::one_line(wanted), session.place))
            .hint(format!("`{list}` lists the runs there are"))
    })
}

async fn last(session: &Session<'_>) -> Result<RunRecord, Failure> {
    let query = RunQuery { limit: Some(1), ..RunQuery::default() };
    let newest = session.store.runs(&query).await?.pop();
    newest
        .ok_or_else(|| Failure::not_found(format!("there is no last run: {} has no runs yet", session.place)))
}

fn ambiguous(session: &Session<'_>, wanted: &str, found: &[RunRecord]) -> Failure {
    let mut failure = Failure::not_found(format!("more than one run begins with `{wanted}`"));
    for record in found.iter().take(CANDIDATES) {
        let (workflow, started) = (text::one_line(&record.workflow), human::ago(record.created, session.now));
        failure = failure.detail(format!(
            "{}  {workflow}, {}, {started}",
            record.id,
            DisplayStatus::of(record).name()
        ));
    }
    if found.len() > CANDIDATES {
        failure = failure.detail("and more");
    }
    failure.hint("write more of the id")
}

/// The open question of a run whose id begins like this; without one, the only open question there is.
pub(crate) async fn question(
    session: &Session<'_>,
    run: &RunRecord,
    wanted: Option<&str>,
) -> Result<PendingQuestion, Failure> {
    let open = session.store.questions(Some(&run.id)).await?;
    if open.is_empty() {
        let list = session.command("questions");
        return Err(Failure::not_found(format!(
            "run `{}` has no open question; it is {}",
            run.id, run.status
        ))
        .hint(format!("`{list}` lists all open questions")));
    }
    let fits = |pending: &&PendingQuestion| wanted.is_none_or(|start| pending.id.as_str().starts_with(start));
    let found: Vec<&PendingQuestion> = open.iter().filter(fits).collect();
    if let [only] = *found {
        return Ok(only.clone());
    }
    let (failure, candidates) = match wanted {
        None => {
            let message = format!("run `{}` has {} open questions: say which", run.id, open.len());
            (Failure::usage(message), found)
        }
        Some(start) if found.is_empty() => {
            let start = text::one_line(start);
            let message = format!("run `{}` has no open question `{start}`; open are:", run.id);
            (Failure::not_found(message), open.iter().collect())
        }
        Some(start) => {
            let message = format!("more than one open question of run `{}` begins with `{start}`", run.id);
            (Failure::not_found(message), found)
        }
    };
    let failure = candidates.iter().fold(failure, |failure, pending| {
        failure.detail(format!("{}  {}", pending.id, text::one_line(&pending.question.title)))
    });
    Err(failure.hint("the first digits of a question's id are enough"))
}
