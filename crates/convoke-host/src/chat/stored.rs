//! Conversations that are in the store.
//!
//! One that waits for words is resumed. One that is over stays as it is: what is said now is said in a fork of it.

use std::sync::Arc;

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{
    Answer, EffectKind, Error, Fork, PendingQuestion, RunId, RunStatus, Store, StoreError, Timestamp,
};
use convoke_history::{History, text};

use super::{Chat, NAME, TURN};
use crate::{Manifest, is_cancelled_for_good};

/// An error in going on with a stored conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The run is something else.
    #[error("run {run} is not a conversation: its workflow is `{workflow}`")]
    NotAChat {
        /// The run.
        run: RunId,
        /// Its workflow.
        workflow: String,
    },
    /// What it began with cannot be read.
    #[error("the conversation of run {run} cannot be read: {source}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// Why.
        source: serde_json::Error,
    },
    /// It was a question with its answer.
    #[error("the conversation of run {run} is over")]
    Over {
        /// The run.
        run: RunId,
    },
    /// It is a question whose answer is not there yet: nobody speaks after that.
    #[error("run {run} does not wait for anybody to speak")]
    NotWaiting {
        /// The run.
        run: RunId,
    },
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run cannot be read or forked.
    #[error(transparent)]
    Run(#[from] Error),
}

/// A conversation in the store: its run, and what it began with.
pub struct StoredChat {
    record: RunRecord,
    /// What it began with.
    pub chat: Chat,
}

impl StoredChat {
    /// The conversation of this run.
    ///
    /// # Errors
    /// If it is no conversation, or cannot be read.
    pub fn of(record: RunRecord) -> Result<Self, ChatError> {
        if !is_chat(&record) {
            let workflow = text::one_line(&record.workflow);
            return Err(ChatError::NotAChat { run: record.id, workflow });
        }
        match Chat::of(&record) {
            Ok(chat) => Ok(Self { record, chat }),
            Err(source) => Err(ChatError::Unreadable { run: record.id, source }),
        }
    }

    /// The newest conversation that can go on, whatever else has been run since.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn newest(store: &dyn Store) -> Result<Option<Self>, ChatError> {
        let query = RunQuery { workflow: Some(NAME.to_owned()), ..RunQuery::default() };
        let chats = store.runs(&query).await?.into_iter().filter_map(|record| Self::of(record).ok());
        Ok(chats.into_iter().find(Self::can_go_on))
    }

    /// Whether something can be said in it: a question with its answer is over, what was cancelled for good stays so, and who is at it
    /// in another process has it.
    fn can_go_on(&self) -> bool {
        let is_over = self.record.status == RunStatus::Completed && !self.chat.goes_on;
        !is_over && self.record.holder.is_none() && !is_cancelled_for_good(&self.record)
    }

    /// Its run.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.record.id
    }

    /// Checks whether nothing happens in it until somebody speaks.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn awaits_words(&self, store: &dyn Store) -> Result<bool, ChatError> {
        match self.record.status {
            RunStatus::Completed => Ok(self.chat.goes_on),
            _ => Ok(open_turn(store, self.run()).await?.is_some()),
        }
    }

    /// The run that it goes on in, with these words said in it, if there are any: another one if it was over. If it was interrupted
    /// before it was the person's turn, they are still to be said.
    ///
    /// # Errors
    /// If it cannot go on.
    pub async fn go_on(
        self,
        store: &Arc<dyn Store>,
        words: Option<String>,
    ) -> Result<ContinuedChat, ChatError> {
        let run = self.record.id;
        if self.record.status == RunStatus::Completed {
            return Ok(ContinuedChat { run: forked(store, run, words).await?, unsaid: None });
        }
        let Some(words) = words else { return Ok(ContinuedChat { run, unsaid: None }) };
        let Some(turn) = open_turn(&**store, &run).await? else {
            return match self.chat.goes_on {
                true => Ok(ContinuedChat { run, unsaid: Some(words) }),
                false => Err(ChatError::NotWaiting { run }),
            };
        };
        let unsaid = match store.answer(&run, &turn.id, Answer::text(&*words)).await {
            // Somebody else has spoken since it was looked at.
            Err(StoreError::Answered { .. }) => Some(words),
            answered => {
                answered?;
                None
            }
        };
        Ok(ContinuedChat { run, unsaid })
    }
}

/// A conversation that is to be gone on with.
#[derive(Debug)]
#[non_exhaustive]
pub struct ContinuedChat {
    /// The run to resume.
    pub run: RunId,
    /// What is to be said as soon as it is the person's turn ([`FirstWords`](super::FirstWords)).
    pub unsaid: Option<String>,
}

/// The question for the person's words that nobody has answered yet.
async fn open_turn(store: &dyn Store, run: &RunId) -> Result<Option<PendingQuestion>, StoreError> {
    let open = store.questions(Some(run)).await?;
    let Some(turn) = open.into_iter().find(|pending| pending.question.title == TURN) else { return Ok(None) };
    let is_settled = turn.settled(&store.answers(run, &turn.id).await?, Timestamp::now()).is_some();
    Ok(Some(turn).filter(|_| !is_settled))
}

/// Checks whether a run is a conversation. An Agentfile may have the same name.
#[must_use]
pub fn is_chat(record: &RunRecord) -> bool {
    record.workflow == NAME && Manifest::of(record).is_none()
}

/// A conversation that is like this one until its person had nothing more to say.
async fn forked(store: &Arc<dyn Store>, run: RunId, words: Option<String>) -> Result<RunId, ChatError> {
    let history = History::load(&**store, &run).await?;
    let mut turns = history.effects.iter().filter(|effect| effect.kind == EffectKind::Ask);
    let Some(end) = turns.next_back().and_then(|turn| turn.current().ended) else {
        return Err(ChatError::Over { run });
    };
    let mut fork = Fork::new(run, end.seq);
    if let Some(words) = words {
        fork = fork.with_outcome(serde_json::to_value(Answer::text(words)).map_err(Error::from)?);
    }
    Ok(fork.create(store).await?)
}
