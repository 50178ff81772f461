//! Going on with an earlier conversation.
//!
//! One that waits for words is resumed. One that is over stays as it is: what is said now is said in a fork of it.

use convoke_core::{Answer, EffectKind, Fork, History, RunId, RunStatus};

use super::workflow::{NAME, TURN};
use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::terminal::text;

/// The run that the conversation goes on in, with these words said in it, if there are any.
pub(crate) async fn earlier(
    session: &mut Session<'_>,
    wanted: &str,
    words: Option<String>,
) -> Result<RunId, Failure> {
    let record = select::run(session, wanted).await?;
    if record.workflow != NAME {
        let workflow = text::one_line(&record.workflow);
        return Err(Failure::failed(format!(
            "run {} is no conversation: its workflow is `{workflow}`",
            record.id
        ))
        .hint(format!("`{}` lists conversations", session.command("runs --workflow chat"))));
    }
    if record.status == RunStatus::Completed {
        return forked(session, &record.id, words).await;
    }
    if let Some(words) = words {
        answer(session, &record.id, words).await?;
    }
    Ok(record.id)
}

/// A conversation that is like this one until its person had nothing more to say.
async fn forked(session: &mut Session<'_>, run: &RunId, words: Option<String>) -> Result<RunId, Failure> {
    let history = History::load(&*session.store, run).await?;
    let mut turns = history.effects.iter().filter(|effect| effect.kind == EffectKind::Ask);
    let end = turns.next_back().and_then(|turn| turn.current().ended).ok_or_else(|| {
        Failure::failed(format!("the conversation of run {run} is over"))
            .hint("a conversation that is to go on begins with `convoke chat` and no text")
    })?;
    let mut fork = Fork::new(run.clone(), end.seq);
    if let Some(words) = words {
        fork =
            fork.with_outcome(serde_json::to_value(Answer::text(words)).map_err(convoke_core::Error::from)?);
    }
    let new = fork.create(&session.store).await?;
    session.output.note(&format!("the conversation of run {run} was over; it goes on in run {new}"));
    Ok(new)
}

/// Says the next words in a conversation that waits for them.
async fn answer(session: &Session<'_>, run: &RunId, words: String) -> Result<(), Failure> {
    let open = session.store.questions(Some(run)).await?;
    let turn = open.into_iter().find(|pending| pending.question.title == TURN).ok_or_else(|| {
        Failure::failed(format!("run {run} does not wait for anybody to speak"))
            .hint("leave the text out to let it go on first")
    })?;
    session.store.answer(run, &turn.id, Answer::text(words)).await?;
    Ok(())
}
