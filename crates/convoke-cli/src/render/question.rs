//! Questions and answers for people to read.

use convoke_core::{Answer, Decision, Media, Question, QuestionKind};
use convoke_history::OpenQuestion;
use serde_json::Value;

use super::Block;
use super::judged::{question_body, question_brief};
use super::words::words;
use crate::human;
use crate::session::Session;
use crate::shell;
use crate::terminal::{Ink, Rich, text};

/// The longest of an answer that is shown, in lines.
const SHOWN_LINES: usize = 20;

/// What was decided, and by whom.
pub(crate) fn answer(answer: &Answer) -> String {
    let decision = match &answer.decision {
        Decision::Approve if answer.for_run => "approved for this run".to_owned(),
        Decision::Approve => "approved".to_owned(),
        Decision::Revise { text } => format!("revise: {text}"),
        Decision::Reject { reason } => format!("rejected: {reason}"),
        Decision::Choose { option } => option.clone(),
        Decision::Text { text } => text.clone(),
        Decision::Json { value } => value.to_string(),
        Decision::Media { media } => {
            let named = |media: &Media| media.name.clone().unwrap_or_else(|| media.media_type.clone());
            media.iter().map(named).collect::<Vec<_>>().join(", ")
        }
        _ => "in a way that this version does not know".to_owned(),
    };
    if answer.by.is_empty() { decision } else { format!("{decision} (by {})", answer.by) }
}

/// An open question, and the commands that answer it; all of it, or its beginning.
pub(crate) fn open_question(session: &Session<'_>, open: &OpenQuestion, is_full: bool) -> Vec<Rich> {
    let pending = &open.pending;
    let asked = human::ago(pending.asked, session.now);
    let width = session.output.width();
    let title = Rich::new(Ink::Caution, "? ").with(Ink::Strong, text::one_line(&pending.question.title));
    let place = format!("  asked {asked} at {}", text::one_line(&pending.path.to_string()));
    let mut lines = title.wrap(width, 2);
    lines.extend(Rich::new(Ink::Faint, place).wrap(width, 2));
    if is_full {
        lines.extend(question_body(&pending.question, width));
    } else {
        let all = session.command(&format!("show {} --full", shell::quoted(pending.run.as_str())));
        lines.extend(question_brief(&pending.question, width, &format!("`{all}` shows all of it")));
    }
    let margin = Rich::plain("  ");
    for given in &open.answers {
        let most = (!is_full).then_some(SHOWN_LINES);
        lines.extend(Block::new("answer", answer(given)).lines(&margin, width, most));
    }
    match (open.verdict(), open.settled(session.now)) {
        (Some(_), _) => lines.push(margin.with(Ink::Good, "answered; the run goes on when it is resumed")),
        (None, Some(otherwise)) => {
            let otherwise = text::one_line(&answer(&Answer::new(otherwise.decision)));
            let late = format!("expired; what holds when the run is resumed: {otherwise}");
            lines.extend(margin.with(Ink::Caution, late).wrap(width, 2));
        }
        (None, None) => lines.extend(
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
    blocks.extend(subject(question));
    if let QuestionKind::Choice { options } = &question.kind {
        blocks.push(Block::new("options", options.join(", ")));
    }
    blocks.extend(conditions(question));
    blocks
}

/// What it is about. Of a call that a policy asks about, the details say why.
fn subject(question: &Question) -> Vec<Block> {
    let subject = &question.subject;
    match (subject.get("tool").and_then(Value::as_str), subject.get("arguments")) {
        (Some(tool), Some(arguments)) => {
            vec![Block::new("tool", tool), Block::new("arguments", words(arguments))]
        }
        _ if subject.is_null() => Vec::new(),
        _ => vec![Block::new("subject", words(subject))],
    }
}

/// What can be approved for the whole run, who may answer, how many must, and until when.
pub(super) fn conditions(question: &Question) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !question.covers.is_empty() {
        blocks.push(Block::new("covers", format!("for this run: {}", question.covers)));
    }
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
