//! Somebody who types lines.
//!
//! A read cannot be taken back: a line that was waited for in vain is given to whoever waits next.

use std::io::{self, IsTerminal};

use tokio::task::JoinHandle;

use super::prompt::show;
use crate::terminal::TerminalMode;

/// Standard input, line by line.
#[derive(Default)]
pub(crate) struct Keyboard {
    reading: Option<JoinHandle<Option<String>>>,
}

impl Keyboard {
    /// The next line without its end; `None` when there are no more. Losing interest loses no line.
    pub(crate) async fn line(&mut self) -> Option<String> {
        // Typing takes as long as it takes; the thread ends with the process.
        let reading = self.reading.get_or_insert_with(|| tokio::task::spawn_blocking(read));
        let line = reading.await.ok().flatten();
        self.reading = None;
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

    /// The same, and it is not shown while it is typed.
    pub(crate) async fn hidden_line(&mut self, question: &str) -> Option<String> {
        // Before anybody is asked to type.
        let _unseen = TerminalMode::unseen();
        self.line_after(question).await
    }
}

fn read() -> Option<String> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
    }
}
