//! The chat workflow: ask the person, ask the model, and so on.
//!
//! Both are effects, so the journal has the whole conversation, and going on with it days later is resuming a run. Who has
//! nothing more to say rejects the question, and the run is completed.
//!
//! A conversation may have a memory, by name: then it knows what was said under that name in earlier ones.
//!
//! After some turns the run continues with what was said so far, so that going on with a long conversation costs no more than going
//! on with a short one.

mod first_words;
mod prepared;
mod stop;
mod stored;

use std::sync::Arc;

use convoke_agent::memory::{Memories, exchange};
use convoke_core::store::RunRecord;
use convoke_core::{
    Decision, Error, Message, Model, ModelParams, ModelReply, ModelRequest, Question, Role, Scope,
    Transcript, Visibility, Workflow,
};
use convoke_steps::task_boxed;
use serde::{Deserialize, Serialize};

pub use first_words::FirstWords;
pub use prepared::PreparedChat;
pub use stop::ReplyStop;
pub use stored::{ChatError, ContinuedChat, StoredChat, is_chat};

/// The workflow's name.
pub const NAME: &str = "chat";

/// The question that the person is asked, again and again.
pub const TURN: &str = "What next?";

/// After how many turns the run continues.
const TURNS: usize = 50;

/// The state of a conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Chat {
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What the person said first, if that was said with the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// Whether there is more to come after the first answer.
    pub goes_on: bool,
    /// The model it is held with, which it keeps when it goes on. Conversations of earlier builds do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether that model was asked for by name, rather than found: then no other one takes its place.
    #[serde(default)]
    pub model_asked: bool,
    /// How the model is to answer.
    #[serde(default)]
    pub params: ModelParams,
    /// The name under which it is remembered, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// What was said before the run last continued.
    #[serde(default, with = "convoke_core::kept_transcript", skip_serializing_if = "Transcript::is_empty")]
    pub said: Transcript,
    /// The model's last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ModelReply>,
}

impl Chat {
    /// Reads what a stored conversation began with.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(record: &RunRecord) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(&record.input)
    }

    /// Has it held with the model of an earlier one, unless another is asked for: what was said to one model is not said to
    /// another by accident.
    pub fn keep_model_of(&mut self, earlier: &Self) {
        if self.model.is_none() {
            self.model.clone_from(&earlier.model);
            self.model_asked = earlier.model_asked;
        }
    }
}

/// The parts that a conversation is held with.
#[derive(Clone)]
pub struct ChatParts {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// What conversations with a [`memory`](Chat::memory) are remembered in, and who sums up what has become long.
    pub memories: Option<(Arc<dyn Memories>, Arc<dyn Model>)>,
}

/// The conversation with these.
#[must_use]
pub fn workflow(parts: ChatParts) -> Workflow<Chat> {
    let talk = task_boxed("talk", move |scope, chat| {
        let parts = parts.clone();
        Box::pin(async move { talk(scope, chat, &parts).await })
    });
    Workflow::new(talk).named(NAME)
}

async fn talk(scope: &Scope, chat: &mut Chat, parts: &ChatParts) -> Result<(), Error> {
    let memories = match (&chat.memory, &parts.memories) {
        (Some(name), None) => {
            return Err(Error::failed(format!("there is no place for the memory `{name}` here")));
        }
        (memory, memories) => memories.as_ref().filter(|_| memory.is_some()),
    };
    let memory = chat.memory.clone().unwrap_or_default();
    let (memories, summarizer) = memories.map(|(memories, model)| (&**memories, model)).unzip();
    let mut said = chat.said.clone();
    let mut next = None;
    if said.is_empty() {
        said.extend(chat.system.clone().map(Message::system));
        next.clone_from(&chat.opening);
    }
    let mut turns = 0;
    let mut trouble = String::new();
    loop {
        let words = match next.take() {
            Some(words) => words,
            None if chat.goes_on => {
                let question = Question::text(TURN).details(std::mem::take(&mut trouble)).turn();
                match scope.ask(question).await?.decision {
                    Decision::Text { text } => text,
                    _ => return Ok(()),
                }
            }
            None => return Ok(()),
        };
        let words = Message::user(words);
        let mut with_words = said.clone();
        with_words.push(words.clone());
        let answer = exchange(scope, memories, (&memory, &words), summarizer, |remembered, _| {
            let messages = reminded(&with_words, &remembered.text());
            let request = ModelRequest { params: chat.params.clone(), ..ModelRequest::new(messages) };
            let words = words.clone();
            async move {
                let reply = scope.model(&parts.model, request, Visibility::Streamed).await?;
                let said = vec![words, reply.message.clone()];
                Ok((reply, said))
            }
        });
        match answer.await {
            Ok(reply) => {
                with_words.push(reply.message.clone());
                said = with_words;
                chat.last = Some(reply);
                turns += 1;
                // Conversations of earlier builds have longer pasts, all of which was said.
                if chat.goes_on && turns >= TURNS && !scope.composing().has_recorded_next() {
                    chat.said = said;
                    return scope.continue_with(chat);
                }
            }
            // Whoever is there can mend it, or try again; what was said so far is not lost.
            Err(error) if chat.goes_on && matches!(error.root(), Error::Model(_)) => {
                trouble = error.to_string()
            }
            Err(error) => return Err(error),
        }
    }
}

/// What is said, to somebody who remembers something: it stands with the instructions, and not in what is kept of the conversation.
fn reminded(said: &Transcript, remembered: &str) -> Transcript {
    if remembered.is_empty() {
        return said.clone();
    }
    let is_system = |message: &&Message| message.role == Role::System;
    let system =
        said.iter().next().filter(is_system).map(|message| message.text() + "\n\n").unwrap_or_default();
    let rest = said.iter().skip_while(|message| message.role == Role::System).cloned();
    std::iter::once(Message::system(system + remembered)).chain(rest).collect()
}
