//! A turn of a conversation that is remembered under a name.

use convoke_agent::memory::{exchange, summarizer};
use convoke_core::{Error, Message};

use super::talk::Session;

impl Session<'_> {
    /// Lets the state speak to these words, with what is remembered that fits them. Without a memory, or without words, it just speaks.
    pub(super) async fn remembering_turn(&mut self, words: Option<Message>) -> Result<(), Error> {
        let (Some(words), Some(name)) = (words, self.state.memory.clone()) else { return self.turn().await };
        let Some(memories) = self.machine.memories.clone() else {
            return Err(Error::failed(format!("there is no place for the memory `{name}` here")));
        };
        let task = self.machine.compiled.prompt_task(&self.context).to_owned();
        let model = self.activation(&task).ok().and_then(|activation| activation.model);
        let scope = self.scope.child("memory");
        let model = match model {
            Some(model) => Some(model),
            // What states have that run a composition.
            None => summarizer(&scope, self.machine.stage.model())?,
        };
        let work = |remembered: convoke_agent::memory::Recollection, _| {
            let words = words.clone();
            async move {
                self.remembered = remembered.text();
                self.turn().await?;
                let answer = self.state.last.clone().map(Message::assistant);
                Ok(((), std::iter::once(words).chain(answer).collect()))
            }
        };
        exchange(&scope, Some(&*memories), (&name, &words), model.as_ref(), work).await
    }
}
