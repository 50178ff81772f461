//! Questions and answers for people to read.

use convoke_core::{Answer, Decision, Media, Question, QuestionKind};
use serde_json::Value;

use super::{TextBlock, readable_json};
use crate::human;

/// Describes what was decided, and by whom.
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
pub fn question_blocks(question: &Question) -> Vec<TextBlock> {
    let mut blocks = vec![TextBlock::new("question", question.title.clone())];
    if !question.details.is_empty() {
        blocks.push(TextBlock::new("details", question.details.clone()));
    }
    blocks.extend(subject(question));
    if let QuestionKind::Choice { options } = &question.kind {
        blocks.push(TextBlock::new("options", options.join(", ")));
    }
    blocks.extend(question_conditions(question));
    blocks
}

/// What it is about. Of a call that a policy asks about, the details say why.
fn subject(question: &Question) -> Vec<TextBlock> {
    let subject = &question.subject;
    match (subject.get("tool").and_then(Value::as_str), subject.get("arguments")) {
        (Some(tool), Some(arguments)) => {
            vec![TextBlock::new("tool", tool), TextBlock::new("arguments", readable_json(arguments))]
        }
        _ if subject.is_null() => Vec::new(),
        _ => vec![TextBlock::new("subject", readable_json(subject))],
    }
}

/// Describes what can be approved for the whole run, who may answer, how many must, and until when.
#[must_use]
pub fn question_conditions(question: &Question) -> Vec<TextBlock> {
    let mut blocks = Vec::new();
    if !question.covers.is_empty() {
        blocks.push(TextBlock::new("covers", format!("for this run: {}", question.covers)));
    }
    if !question.audience.is_empty() {
        blocks.push(TextBlock::new("for", question.audience.join(", ")));
    }
    if question.quorum > 1 {
        blocks.push(TextBlock::new("needs", format!("{} people who approve", question.quorum)));
    }
    if let Some(expiry) = &question.expiry {
        let otherwise = answer_text(&Answer::new(expiry.otherwise.clone()));
        blocks.push(TextBlock::new(
            "expires",
            format!("after {}; then: {otherwise}", human::duration(expiry.after)),
        ));
    }
    blocks
}
