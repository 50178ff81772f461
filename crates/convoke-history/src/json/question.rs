//! An open question, as JSON.

use convoke_core::{Answer, Decision, Question, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::{seconds, time};
use crate::OpenQuestion;

/// An open question, and the answers so far.
#[derive(Debug, Serialize)]
pub struct QuestionView<'a> {
    run: &'a str,
    id: &'a str,
    path: &'a str,
    asked: String,
    question: Value,
    answers: Vec<AnswerView<'a>>,
    /// Whether nobody need answer any more, because enough was answered or it is too late: the run can be resumed.
    is_settled: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct AnswerView<'a> {
    decision: &'a Decision,
    /// `null` if nobody said who.
    by: Option<&'a str>,
    at: String,
    /// Whether it holds for whatever else the question covers in the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    for_run: bool,
}

/// A question, with durations in seconds.
pub(super) fn question_json(question: &Question) -> Value {
    let mut value = serde_json::to_value(question).unwrap_or_default();
    let durations = [
        ("expiry", question.expiry.as_ref().map(|expiry| expiry.after)),
        ("escalation", question.escalation.as_ref().map(|escalation| escalation.after)),
    ];
    for (key, after) in durations {
        if let (Some(after), Some(members)) = (after, value.get_mut(key).and_then(Value::as_object_mut)) {
            members.remove("after");
            members.insert("after_seconds".to_owned(), seconds(after).into());
        }
    }
    value
}

impl<'a> QuestionView<'a> {
    /// A question as it stands at this moment.
    #[must_use]
    pub fn new(open: &'a OpenQuestion, now: Timestamp) -> Self {
        Self {
            run: open.pending.run.as_str(),
            id: open.pending.id.as_str(),
            path: open.pending.path.as_str(),
            asked: time(open.pending.asked),
            question: question_json(&open.pending.question),
            answers: open.answers.iter().map(AnswerView::from).collect(),
            is_settled: open.settled(now).is_some(),
        }
    }
}

impl<'a> From<&'a Answer> for AnswerView<'a> {
    fn from(answer: &'a Answer) -> Self {
        let by = Some(&*answer.by).filter(|by| !by.is_empty());
        Self { decision: &answer.decision, by, at: time(answer.at), for_run: answer.for_run }
    }
}
