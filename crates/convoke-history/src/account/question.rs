//! Questions and answers for people to read.

use convoke_core::{Answer, Decision, Media, Question, QuestionKind};
use serde_json::Value;

use super::{Block, readable_json};
use crate::human;

/// What was decided, and by whom.
#[must_use]
pub fn answer_text(answer: &Answer) -> String {
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

/// A question with all there is to it, its title first.
#[must_use]
pub fn question_blocks(question: &Question) -> Vec<Block> {
    let mut blocks = vec![Block::new("question", question.title.clone())];
    if !question.details.is_empty() {
        blocks.push(Block::new("details", question.details.clone()));
    }
    blocks.extend(subject(question));
    if let QuestionKind::Choice { options } = &question.kind {
        blocks.push(Block::new("options", options.join(", ")));
    }
    blocks.extend(question_conditions(question));
    blocks
}

/// What it is about. Of a call that a policy asks about, the details say why.
fn subject(question: &Question) -> Vec<Block> {
    let subject = &question.subject;
    match (subject.get("tool").and_then(Value::as_str), subject.get("arguments")) {
        (Some(tool), Some(arguments)) => {
            vec![Block::new("tool", tool), Block::new("arguments", readable_json(arguments))]
        }
        _ if subject.is_null() => Vec::new(),
        _ => vec![Block::new("subject", readable_json(subject))],
    }
}

/// What can be approved for the whole run, who may answer, how many must, and until when.
#[must_use]
pub fn question_conditions(question: &Question) -> Vec<Block> {
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
        let otherwise = answer_text(&Answer::new(expiry.otherwise.clone()));
        blocks.push(Block::new(
            "expires",
            format!("after {}; then: {otherwise}", human::duration(expiry.after)),
        ));
    }
    blocks
}
