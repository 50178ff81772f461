//! Instructions before what was said, put there once: whoever goes on from there shares it, where putting instructions before a long
//! conversation takes as long as it is. A run that continues keeps what came of it, so that going on costs the same however much was said.

use convoke_core::{Message, Transcript};

use super::state::{KeptOpening, MachineState};
use super::talk::Session;

/// What a model is asked: the instructions of its state, and everything that was said.
pub(super) struct Opening {
    instructions: String,
    pub(super) talk: Transcript,
}

impl Opening {
    /// The one that the generation before has kept.
    pub(super) fn kept(state: &mut MachineState) -> Option<Self> {
        let KeptOpening { instructions, digest } = state.opened.take()?;
        let talk = state.said.preceded_by(Message::system(&*instructions), digest);
        Some(Self { instructions, talk })
    }
}

impl Session<'_> {
    /// Puts a prompt and what is remembered before what was said, unless they are there.
    pub(super) fn open(&mut self, prompt: &str) -> &Transcript {
        let instructions = match &*self.remembered {
            "" => prompt.to_owned(),
            remembered => format!("{prompt}\n\n{remembered}"),
        };
        let known = self.opened.take().filter(|opened| opened.instructions == instructions);
        let opened = known.unwrap_or_else(|| {
            let said = self.state.said.iter().cloned();
            let talk = std::iter::once(Message::system(&*instructions)).chain(said).collect();
            Opening { instructions, talk }
        });
        &self.opened.insert(opened).talk
    }

    /// Keeps what the model would be asked now. A state that cannot speak has nothing to keep.
    pub(super) fn keep_opening(&mut self) {
        let task = self.machine.compiled.prompt_task(&self.context);
        let Ok(activation) = self.activation(task) else { return };
        self.open(&activation.prompt);
        let kept = self.opened.take();
        self.state.opened =
            kept.map(|Opening { instructions, talk }| KeptOpening { instructions, digest: talk.digest() });
    }
}
