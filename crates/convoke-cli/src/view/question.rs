//! An open question, as JSON.

use convoke_core::history::OpenQuestion;
use convoke_core::{Answer, Decision, Question};
use serde::Serialize;

use super::time;

#[derive(Debug, Serialize)]
pub(crate) struct QuestionView<'a> {
    run: &'a str,
    id: &'a str,
    path: &'a str,
    asked: String,
    question: &'a Question,
    answers: Vec<AnswerView<'a>>,
    /// Whether the answers given are enough: the run can be resumed.
    is_settled: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct AnswerView<'a> {
    decision: &'a Decision,
    by: &'a str,
    at: String,
}

impl<'a> From<&'a OpenQuestion> for QuestionView<'a> {
    fn from(open: &'a OpenQuestion) -> Self {
        Self {
            run: open.pending.run.as_str(),
            id: open.pending.id.as_str(),
            path: open.pending.path.as_str(),
            asked: time(open.pending.asked),
            question: &open.pending.question,
            answers: open.answers.iter().map(AnswerView::from).collect(),
            is_settled: open.verdict().is_some(),
        }
    }
}

impl<'a> From<&'a Answer> for AnswerView<'a> {
    fn from(answer: &'a Answer) -> Self {
        Self { decision: &answer.decision, by: &answer.by, at: time(answer.at) }
    }
}
