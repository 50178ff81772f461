//! Prompts for inputs that are missing.

use std::io::{self, IsTerminal, Write};

use convoke_goals::agentfile::model::Input;
use convoke_host::GivenInputs;

use super::keyboard::Keyboard;
use super::signals::Signals;
use crate::failure::{Exit, Failure};
use crate::terminal::Output;

/// Somebody at the terminal.
pub(crate) struct Prompt {
    pub(super) keyboard: Keyboard,
    /// Whether anybody is there.
    pub(crate) is_there: bool,
    /// What interrupts them, once they have been asked something: until then a signal just ends the process.
    signals: Option<Signals>,
}

impl Prompt {
    /// Somebody is there if they can read and type, and are to be asked.
    pub(crate) fn new(may_ask: bool) -> Self {
        let is_there = may_ask && io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { keyboard: Keyboard::default(), is_there, signals: None }
    }

    /// Asks for these inputs, again and again until they are what they must be.
    pub(crate) async fn fill(
        &mut self,
        given: &mut GivenInputs,
        missing: Vec<Input>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if !self.is_there {
            return Ok(());
        }
        for input in missing {
            loop {
                let Some(line) = self.ask(&input).await? else { return Ok(()) };
                match input.ty.read(&line) {
                    Ok(_) => {
                        given.set_text(&input.name, line);
                        break;
                    }
                    Err(problem) => output.note(&problem),
                }
            }
        }
        Ok(())
    }

    async fn ask(&mut self, input: &Input) -> Result<Option<String>, Failure> {
        let signals = self.signals.insert(Signals::listen()?);
        let question = question(input);
        let typed = async {
            match input.secret {
                true => self.keyboard.hidden_line(&question).await,
                false => self.keyboard.line_after(&question).await,
            }
        };
        tokio::select! {
            _ = signals.next() => {
                show("\n");
                Err(Failure::Ended(Exit::Cancelled))
            }
            line = typed => Ok(line),
        }
    }

    /// Does something that may take long, unless a signal comes.
    pub(crate) async fn unless_interrupted<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(signals) = &mut self.signals else { return work.await };
        tokio::select! {
            _ = signals.next() => Err(Failure::Ended(Exit::Cancelled)),
            done = work => done,
        }
    }
}

fn question(input: &Input) -> String {
    let secret = if input.secret { ", not shown" } else { "" };
    format!("{} ({}{secret}): ", input.name, input.ty.in_words())
}

/// Shows what stands before the line that is to be typed.
pub(super) fn show(question: &str) {
    let mut error = io::stderr().lock();
    let _ = write!(error, "{question}");
    let _ = error.flush();
}
