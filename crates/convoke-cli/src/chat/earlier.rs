//! Going on with an earlier conversation.
//!
//! One that waits for words is resumed. One that is over stays as it is: what is said now is said in a fork of it.

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{Answer, EffectKind, Fork, RunId, RunStatus};
use convoke_history::History;
use convoke_host::Manifest;
use convoke_host::chat::{Chat, NAME, TURN};

use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::terminal::text;

/// An earlier conversation: its run, and what it began with.
pub(crate) struct Earlier {
    record: RunRecord,
    pub(crate) chat: Chat,
}

impl Earlier {
    /// The conversation of this run; for `last` the newest one that can go on, whatever else has been run since.
    pub(crate) async fn find(session: &Session<'_>, wanted: &str) -> Result<Self, Failure> {
        let record = match wanted {
            select::LAST => newest(session).await?,
            _ => select::run(session, wanted).await?,
        };
        must_be_one(session, &record)?;
        let chat = Chat::of(&record).map_err(|error| {
            Failure::failed(format!("the conversation of run {} cannot be read: {error}", record.id))
        })?;
        Ok(Self { chat, record })
    }

    /// The run that it goes on in, with these words said in it, if there are any.
    pub(crate) async fn go_on(
        self,
        session: &mut Session<'_>,
        words: Option<String>,
    ) -> Result<RunId, Failure> {
        let record = self.record;
        if record.status == RunStatus::Completed {
            return forked(session, &record.id, words).await;
        }
        if let Some(words) = words {
            answer(session, &record.id, words).await?;
        }
        Ok(record.id)
    }
}

async fn newest(session: &Session<'_>) -> Result<RunRecord, Failure> {
    let query = RunQuery { workflow: Some(NAME.to_owned()), ..RunQuery::default() };
    let runs = session.store.runs(&query).await?;
    let goes_on = |record: &RunRecord| is_one(record) && !is_question(record);
    runs.into_iter().find(goes_on).ok_or_else(|| {
        Failure::not_found(format!("there is no conversation in {} that can go on", session.place))
            .hint("`convoke chat` begins one; a question with its answer, `convoke chat \"…\"`, is over")
    })
}

/// Whether it was a question with its answer, which does not go on.
fn is_question(record: &RunRecord) -> bool {
    record.status == RunStatus::Completed && Chat::of(record).is_ok_and(|chat| !chat.goes_on)
}

/// Whether a run is a conversation. An Agentfile may have the same name.
fn is_one(record: &RunRecord) -> bool {
    record.workflow == NAME && Manifest::of(record).is_none()
}

fn must_be_one(session: &Session<'_>, record: &RunRecord) -> Result<(), Failure> {
    if !is_one(record) {
        let workflow = text::one_line(&record.workflow);
        return Err(Failure::failed(format!(
            "run {} is no conversation: its workflow is `{workflow}`",
            record.id
        ))
        .hint(format!("`{}` lists conversations", session.command("runs --workflow chat"))));
    }
    Ok(())
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
