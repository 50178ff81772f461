//! The responder of a chat: the person at the terminal.
//!
//! What begins with `/` is for this program and never reaches the model.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use convoke_core::{Answer, BoxFuture, PendingQuestion, Responder};
use convoke_host::chat::ReplyStop;
use tokio::sync::Notify;

use super::line_input::{LineInput, TypedLine};
use crate::terminal::{TerminalMode, text};

/// What `/help` says.
const HELP: &str = "\
  /help          this
  /quit, /exit   leave; so do Ctrl-D and Ctrl-C twice at an empty line
  Ctrl-C         stops an answer; what was said so far stays
  Up, Ctrl-R     earlier lines
  a space before a `/` says it to the model";

/// How long is waited at most until what came before a question is shown.
const SHOWING: Duration = Duration::from_millis(500);

/// Why no more words come: the conversation is over.
const NOTHING_MORE: &str = "nothing more to say";

/// The one who types. Clones are the same person.
#[derive(Clone)]
pub(crate) struct ChatResponder {
    lines: Arc<Mutex<Option<LineInput>>>,
    is_typing: Arc<AtomicBool>,
    is_shown: Arc<Notify>,
    stop: ReplyStop,
}

impl ChatResponder {
    /// Whoever sits there; `stop` stops answers to them.
    pub(crate) fn new(stop: ReplyStop) -> Self {
        let lines = Arc::new(Mutex::new(Some(LineInput::open())));
        Self { lines, is_typing: Arc::default(), is_shown: Arc::default(), stop }
    }

    /// Says that everything that came before the question is on the screen.
    pub(crate) fn is_shown(&self) {
        self.is_shown.notify_one();
    }

    /// Whether a line is being waited for. Otherwise it is the model's turn.
    pub(crate) fn is_typing(&self) -> bool {
        self.is_typing.load(Ordering::SeqCst)
    }

    fn lines(&self) -> Option<LineInput> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn answer(&self, trouble: &str) -> Option<Answer> {
        // Whoever shows the conversation shows the last answer first.
        let _ = tokio::time::timeout(SHOWING, self.is_shown.notified()).await;
        if !trouble.is_empty() {
            say(&text::clean(trouble));
        }
        let mut lines = self.lines()?;
        self.is_typing.store(true, Ordering::SeqCst);
        // If this process is told to stop, nobody else puts the terminal back.
        let _mode = TerminalMode::keep();
        // Typing takes as long as it takes; the thread ends with the process.
        let typed = tokio::task::spawn_blocking(move || {
            let words = next(&mut || lines.next());
            (lines, words)
        });
        let (lines, words) = typed.await.ok()?;
        self.stop.reset();
        self.is_typing.store(false, Ordering::SeqCst);
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = Some(lines);
        match words {
            Turn::Words(words) => Some(Answer::text(words)),
            Turn::Leaves => Some(Answer::reject(NOTHING_MORE)),
            // Whoever comes back is asked again.
            Turn::Gone => None,
        }
    }
}

impl Responder for ChatResponder {
    fn respond<'a>(&'a self, asked: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(self.answer(&asked.question.details))
    }
}

/// What a person does when it is their turn.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// Says this to the model.
    Words(String),
    /// Ends the conversation.
    Leaves,
    /// Is not there any more.
    Gone,
}

/// What the person does next.
fn next(line: &mut dyn FnMut() -> TypedLine) -> Turn {
    let mut is_leaving = false;
    loop {
        match line() {
            TypedLine::End => return Turn::Leaves,
            TypedLine::Gone => return Turn::Gone,
            TypedLine::Interrupted { had_text: false } if is_leaving => return Turn::Leaves,
            TypedLine::Interrupted { had_text: false } => {
                is_leaving = true;
                say("Ctrl-C again, Ctrl-D or /quit leaves");
            }
            TypedLine::Interrupted { had_text: true } => is_leaving = false,
            TypedLine::Line(line) => {
                is_leaving = false;
                match line.strip_prefix('/') {
                    None => return Turn::Words(line.trim().to_owned()),
                    Some(command) => match command.trim() {
                        "quit" | "exit" => return Turn::Leaves,
                        "help" => say(HELP),
                        other => say(&format!(
                            "there is no command /{}; /help lists them, and a space before the `/` says it to the model",
                            text::one_line(other)
                        )),
                    },
                }
            }
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(typed: impl IntoIterator<Item = TypedLine>) -> Turn {
        let mut typed = typed.into_iter();
        next(&mut || typed.next().expect("nothing is read after the person has left or spoken"))
    }

    fn said(words: &str) -> Turn {
        Turn::Words(words.to_owned())
    }

    fn line(text: &str) -> TypedLine {
        TypedLine::Line(text.to_owned())
    }

    #[test]
    fn what_begins_with_a_slash_is_not_said_to_the_model() {
        assert_eq!(heard([line("/help"), line("/hlep"), line(" hello ")]), said("hello"));
        assert_eq!(heard([line(" /etc/hosts is what?")]), said("/etc/hosts is what?"));
        assert_eq!(heard([line("/quit")]), Turn::Leaves);
    }

    #[test]
    fn only_a_second_interruption_of_an_empty_line_leaves() {
        let empty = || TypedLine::Interrupted { had_text: false };
        let written = || TypedLine::Interrupted { had_text: true };
        assert_eq!(heard([empty(), empty()]), Turn::Leaves);
        assert_eq!(heard([written(), empty(), written(), empty(), empty()]), Turn::Leaves);
        assert_eq!(heard([empty(), line("hello")]), said("hello"));
        assert_eq!(heard([TypedLine::End]), Turn::Leaves);
        assert_eq!(heard([TypedLine::Gone]), Turn::Gone);
    }
}
