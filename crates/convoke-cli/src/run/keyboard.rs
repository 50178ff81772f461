//! Reads lines that somebody types.
//!
//! A read cannot be taken back: a line that was waited for in vain is given to whoever waits next, unless it was typed before
//! they had asked.

use std::io::{self, IsTerminal};
use std::time::Instant;

use tokio::task::JoinHandle;

use super::prompt::show;
use crate::terminal::{TerminalMode, Typed, UNREADABLE, forget_typed, read_typed};

/// Standard input, line by line.
#[derive(Default)]
pub(crate) struct Keyboard {
    reading: Option<JoinHandle<(Typed, Instant)>>,
    /// Lines that were typed before this are no answers.
    since: Option<Instant>,
}

impl Keyboard {
    /// Throws away what was typed so far. Whoever asks for an approval does that before it is shown: nobody can have approved
    /// what they had not seen.
    pub(crate) fn forget(&mut self) {
        forget_typed();
        self.since = Some(Instant::now());
    }

    /// The next line without its end; `None` when there are no more. Losing interest loses no line.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = loop {
            // Typing takes as long as it takes; the thread ends with the process.
            let reading = self.reading.get_or_insert_with(|| tokio::task::spawn_blocking(read));
            let (typed_line, typed) = reading.await.ok().unwrap_or((Typed::Gone, Instant::now()));
            self.reading = None;
            let line = match typed_line {
                Typed::Line(line) => Some(line),
                Typed::Unreadable => {
                    show(&format!("  {UNREADABLE}: "));
                    continue;
                }
                Typed::End | Typed::Gone => None,
            };
            // Only lines of `chat` are edited: keys that would move in others stand in them.
            if line.as_deref().is_some_and(|line| line.contains('\u{1b}')) {
                show("  arrow keys do nothing here; type it again: ");
                continue;
            }
            // The end of what is typed stays the end.
            if line.is_none() || self.since.is_none_or(|since| typed > since) {
                break line;
            }
        };
        if line.is_none() && io::stdin().is_terminal() {
            // Nobody ended the line that the question stands in.
            show("\n");
        }
        line
    }

    /// The next line, typed after a question.
    pub(crate) async fn line_after(&mut self, question: &str) -> Option<String> {
        show(question);
        self.line().await
    }

    /// The same, for a question that must be seen before it is answered.
    pub(crate) async fn line_after_seeing(&mut self, question: &str) -> Option<String> {
        self.forget();
        self.line_after(question).await
    }

    /// The same, and it is not shown while it is typed.
    pub(crate) async fn hidden_line(&mut self, question: &str) -> Option<String> {
        // Before anybody is asked to type.
        let _unseen = TerminalMode::unseen();
        self.line_after(question).await
    }
}

/// A line, and when it was typed.
fn read() -> (Typed, Instant) {
    (read_typed(), Instant::now())
}
