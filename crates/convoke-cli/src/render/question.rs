//! Questions and answers for people to read.

use convoke_core::history::OpenQuestion;
use convoke_core::{Answer, Decision, Question, QuestionKind};

use super::Block;
use crate::human;
use crate::session::Session;
use crate::terminal::{Ink, Rich, text};

/// The longest of what is to be judged that is shown, in lines.
const SHOWN_LINES: usize = 20;

/// JSON up to this length is shown in one line.
const ONE_LINE: usize = 60;

/// What was decided, and by whom.
pub(crate) fn answer(answer: &Answer) -> String {
    let decision = match &answer.decision {
        Decision::Approve => "approved".to_owned(),
        Decision::Revise { text } => format!("revise: {text}"),
        Decision::Reject { reason } => format!("rejected: {reason}"),
        Decision::Choose { option } => option.clone(),
        Decision::Text { text } => text.clone(),
    };
    if answer.by.is_empty() { decision } else { format!("{decision} (by {})", answer.by) }
}

/// An open question, and the commands that answer it.
pub(crate) fn open_question(session: &Session<'_>, open: &OpenQuestion) -> Vec<Rich> {
    let pending = &open.pending;
    let asked = human::ago(pending.asked, session.now);
    let width = session.output.width();
    let title = Rich::new(Ink::Caution, "? ").with(Ink::Strong, text::one_line(&pending.question.title));
    let place = format!("  asked {asked} at {}", text::one_line(&pending.path.to_string()));
    let mut lines = title.wrap(width, 2);
    lines.extend(Rich::new(Ink::Faint, place).wrap(width, 2));
    let margin = Rich::plain("  ");
    for block in blocks(&pending.question).into_iter().skip(1) {
        lines.extend(block.lines(&margin, width, Some(SHOWN_LINES)));
    }
    for given in &open.answers {
        lines.extend(Block::new("answer", answer(given)).lines(&margin, width, Some(SHOWN_LINES)));
    }
    match open.verdict() {
        Some(_) => lines.push(margin.with(Ink::Good, "answered; the run goes on when it is resumed")),
        None => lines.extend(
            session.answering(open).into_iter().map(|command| margin.clone().with(Ink::Accent, command)),
        ),
    }
    lines
}

/// A question with all there is to it, its title first.
pub(super) fn blocks(question: &Question) -> Vec<Block> {
    let mut blocks = vec![Block::new("question", question.title.clone())];
    if !question.details.is_empty() {
        blocks.push(Block::new("details", question.details.clone()));
    }
    if !question.subject.is_null() {
        blocks.push(Block::new("subject", pretty(&question.subject)));
    }
    if let QuestionKind::Choice { options } = &question.kind {
        blocks.push(Block::new("options", options.join(", ")));
    }
    blocks.extend(conditions(question));
    blocks
}

/// Who may answer, how many must, and until when.
pub(super) fn conditions(question: &Question) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !question.audience.is_empty() {
        blocks.push(Block::new("for", question.audience.join(", ")));
    }
    if question.quorum > 1 {
        blocks.push(Block::new("needs", format!("{} people who approve", question.quorum)));
    }
    if let Some(expiry) = &question.expiry {
        let otherwise = answer(&Answer::new(expiry.otherwise.clone()));
        blocks.push(Block::new(
            "expires",
            format!("after {}; then: {otherwise}", human::duration(expiry.after)),
        ));
    }
    blocks
}

/// Text as it is, anything else as readable JSON: in one line if it is short.
pub(super) fn pretty(value: &serde_json::Value) -> String {
    if let serde_json::Value::String(text) = value {
        return text.clone();
    }
    let compact = value.to_string();
    if compact.len() <= ONE_LINE {
        return compact;
    }
    serde_json::to_string_pretty(value).unwrap_or(compact)
}
