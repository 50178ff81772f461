//! The responder of a call of an MCP tool: the person at the terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::ask::QuestionKind;
use convoke_core::{Answer, BoxFuture, PendingQuestion, Question, Responder};

use crate::terminal::{Spinner, forget_typed, text};

/// Whoever sits at the terminal. Nobody is there if standard input is none.
pub(super) struct CallResponder {
    /// The sign that the call is under way, which makes room for a question.
    waiting: Arc<Mutex<Spinner>>,
}

impl CallResponder {
    pub(super) fn new(waiting: Arc<Mutex<Spinner>>) -> Self {
        Self { waiting }
    }
}

impl Responder for CallResponder {
    fn respond<'a>(&'a self, pending: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        let question = pending.question.clone();
        Box::pin(async move {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).end();
            if !std::io::stdin().is_terminal() {
                return None;
            }
            tokio::task::spawn_blocking(move || asked(&question)).await.ok().flatten()
        })
    }
}

fn asked(question: &Question) -> Option<Answer> {
    let mut said = format!("{}\n", text::clean(&question.title));
    if !question.details.is_empty() {
        said.push_str(&format!("{}\n", text::clean(&question.details)));
    }
    said.push_str(&match &question.kind {
        QuestionKind::Choice { options } => {
            format!("one of: {}; `!` declines\n> ", text::clean(&options.join(", ")))
        }
        QuestionKind::Text => "a text; `!` declines\n> ".to_owned(),
        QuestionKind::Json => "a value, as JSON; `!` declines\n> ".to_owned(),
        _ => "yes or no\n> ".to_owned(),
    });
    // Nobody can have answered what they had not seen.
    forget_typed();
    let mut error = std::io::stderr();
    error.write_all(said.as_bytes()).ok()?;
    error.flush().ok()?;
    let mut line = String::new();
    // Nothing at all is the end of the input, not an empty answer.
    if std::io::stdin().lock().read_line(&mut line).ok()? == 0 {
        return None;
    }
    Some(read(question, line.trim()))
}

fn read(question: &Question, line: &str) -> Answer {
    match &question.kind {
        _ if line == "!" => Answer::reject("declined"),
        QuestionKind::Choice { .. } => Answer::choose(line),
        QuestionKind::Text => Answer::text(line),
        QuestionKind::Json => serde_json::from_str(line).map_or_else(|_| Answer::text(line), Answer::json),
        _ if matches!(line, "y" | "yes") => Answer::approve(),
        _ => Answer::reject(line),
    }
}
