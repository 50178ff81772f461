//! The responder of a call of an MCP tool: the person at the terminal.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::ask::QuestionKind;
use convoke_core::{Answer, BoxFuture, PendingQuestion, Question, Responder};

use crate::run::Keyboard;
use crate::terminal::{Spinner, text};

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
        Box::pin(async move {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).end();
            if !std::io::stdin().is_terminal() {
                return None;
            }
            let line = Keyboard::default().line_after_seeing(&asked(&pending.question)).await?;
            Some(read(&pending.question, line.trim()))
        })
    }
}

fn asked(question: &Question) -> String {
    let Question { title, details, kind, .. } = question;
    let details = if details.is_empty() { String::new() } else { format!("{details}\n") };
    let how = match kind {
        QuestionKind::Choice { options } => format!("one of: {}; `!` declines", options.join(", ")),
        QuestionKind::Text => "a text; `!` declines".to_owned(),
        QuestionKind::Json => "a value, as JSON; `!` declines".to_owned(),
        _ => "yes or no".to_owned(),
    };
    text::clean(&format!("{title}\n{details}{how}\n> "))
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
