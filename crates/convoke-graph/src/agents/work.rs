//! The work on a request: an agent's strategy, with what is remembered of the conversation before it and referees after it.
//!
//! All of it is part of the run. So a request remembers, and is judged, the same whoever goes on with it, in whichever process.

use std::sync::Arc;

use convoke_agent::memory::{Memories, exchange, summarizer};
use convoke_core::{
    Bounds, BoxFuture, Error, Message, Model, Nature, Outline, Role, Scope, SharedStep, Step, Workflow,
};
use serde_json::{Map, Value};

use super::referee::{Referee, Verdict, judged};
use crate::board::MAIN_CHANNEL;
use crate::{Board, Graph};

/// The variable with the name under which the conversation is remembered.
pub(super) const CONTEXT: &str = "__context";
/// The variable with the number of attempts, where there are referees.
pub(super) const ATTEMPTS: &str = "__attempts";
/// The variable with what the referees said.
pub(super) const VERDICT: &str = "__verdict";
/// The variable that tells another attempt what was wrong with the one before.
const REVISION: &str = "revision";

/// A strategy's step with what is around it. In the journal it is the strategy's step.
pub(super) struct Work {
    pub(super) strategy: SharedStep<Board>,
    pub(super) memories: Option<Arc<dyn Memories>>,
    /// The model of nodes that name none, where the run has none of its own.
    pub(super) model: Option<Arc<dyn Model>>,
    pub(super) referees: Vec<Arc<dyn Referee>>,
    pub(super) attempts: u32,
    /// The variable with the answer.
    pub(super) answer_key: String,
}

impl Graph {
    /// Makes it a workflow that remembers what is said on boards which [say under which name](Board::remember_as). Without memories
    /// such boards are refused.
    #[must_use]
    pub fn remembering(self, memories: Option<Arc<dyn Memories>>) -> Workflow<Board> {
        let answer_key = self.compiled.definition.answer_key.clone();
        let model = self.model.clone();
        let strategy: SharedStep<Board> = Arc::new(self);
        Workflow::new(Work { strategy, memories, model, referees: Vec::new(), attempts: 1, answer_key })
    }
}

impl Board {
    /// Says under which name what is said is remembered, in a workflow that [remembers](Graph::remembering).
    pub fn remember_as(&mut self, name: &str) {
        self.put(CONTEXT, name);
    }
}

impl Work {
    async fn remembering(&self, scope: &Scope, board: &mut Board) -> Result<(), Error> {
        let name = board.text(CONTEXT).to_owned();
        if name.is_empty() {
            return self.attempts(scope, board).await.map(drop);
        }
        let Some(memories) = &self.memories else {
            return Err(Error::failed(format!("there is no place for the memory `{name}` here")));
        };
        let asked = board.new_messages(MAIN_CHANNEL);
        let words = asked.first().cloned().unwrap_or_else(|| Message::user(""));
        let memory = scope.child("memory");
        let model = summarizer(&memory, self.model.clone())?;
        let work = |remembered: convoke_agent::memory::Recollection, vars| async move {
            if !remembered.is_empty() {
                board.set_channel(MAIN_CHANNEL, remembered.into_messages())?;
                board.mark_inherited(MAIN_CHANNEL);
                for message in asked {
                    board.push(MAIN_CHANNEL, message)?;
                }
            }
            give(board, vars)?;
            match self.attempts(scope, board).await? {
                Verdict::Discard(_) => Ok(((), Vec::new())),
                _ => Ok(((), self.said(board))),
            }
        };
        exchange(&memory, Some(&**memories), (&name, &words), model.as_ref(), work).await
    }

    /// What was said: in the main channel, and if nobody answered there, the answer.
    fn said(&self, board: &Board) -> Vec<Message> {
        let mut said = board.new_messages(MAIN_CHANNEL);
        let answer = board.text(&self.answer_key);
        if !said.iter().any(|message| message.role == Role::Assistant) && !answer.is_empty() {
            said.push(Message::assistant(answer));
        }
        said
    }

    /// Works until the referees have no more to say, or there are no attempts left; each begins with the board as it was.
    async fn attempts(&self, scope: &Scope, board: &mut Board) -> Result<Verdict, Error> {
        let begun = board.clone();
        for attempt in 1.. {
            self.strategy.run(scope, board).await?;
            if self.referees.is_empty() {
                break;
            }
            let verdict = judged(&self.referees, scope, board).await?;
            if let Verdict::Revise(reason) = &verdict
                && attempt < self.attempts
            {
                *board = begun.clone();
                board.set(REVISION, reason.as_str())?;
                continue;
            }
            board.put(ATTEMPTS, attempt);
            board.put(VERDICT, serde_json::to_value(&verdict)?);
            return Ok(verdict);
        }
        Ok(Verdict::Accept)
    }
}

/// Adds values that go with a conversation. What the request gives takes precedence.
fn give(board: &mut Board, vars: Map<String, Value>) -> Result<(), Error> {
    for (name, value) in vars {
        if board.get(&name).is_none() {
            board.set(&name, value)?;
        }
    }
    Ok(())
}

impl Step<Board> for Work {
    fn name(&self) -> &str {
        self.strategy.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, board: &'a mut Board) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.remembering(scope, board))
    }

    fn kind(&self) -> &'static str {
        self.strategy.kind()
    }

    fn nature(&self) -> Nature {
        self.strategy.nature()
    }

    fn bounds(&self) -> Option<&Bounds> {
        self.strategy.bounds()
    }

    fn outline(&self) -> Outline {
        self.strategy.outline()
    }
}
