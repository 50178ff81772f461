//! Somebody who types lines.
//!
//! A read cannot be taken back: a line that was waited for in vain is given to whoever waits next.

use std::io::{self, IsTerminal};

use tokio::task::JoinHandle;

use super::prompt::show;

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
        let _unseen = Unseen::begin();
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

/// While it is there, the terminal does not show what is typed. Dropping it, for whatever reason, ends that.
#[cfg(unix)]
struct Unseen(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Unseen {
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut unseen = before.clone();
            unseen.local_modes.remove(LocalModes::ECHO);
            unseen.local_modes.insert(LocalModes::ECHONL);
            // On what is no terminal nothing is shown anyway.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &unseen);
        }
        Self(before)
    }
}

#[cfg(unix)]
impl Drop for Unseen {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
    }
}

/// Elsewhere what is typed is seen; whoever asks says so.
#[cfg(not(unix))]
struct Unseen;

#[cfg(not(unix))]
impl Unseen {
    fn begin() -> Self {
        Self
    }
}
