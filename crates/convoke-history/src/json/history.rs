//! The whole history of a run as one JSON document.

use convoke_core::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{EffectView, EndingView, NodeView, QuestionView, RunView};
use crate::account::Gist;
use crate::{AwaitedMail, History};

/// A run with its effects, its tree and what it waits for.
#[derive(Debug, Serialize)]
pub struct HistoryView<'a> {
    run: RunView<'a>,
    /// What it was given, without what is kept to resume it.
    inputs: &'a Map<String, Value>,
    /// What it came to, as text.
    result: Option<String>,
    ending: Option<EndingView<'a>>,
    questions: Vec<QuestionView<'a>>,
    /// The mail it waits for, where it is known what is expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaits: Vec<AwaitedMail<'a>>,
    effects: Vec<EffectView<'a>>,
    tree: NodeView<'a>,
    /// The way it took through the states of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Value>,
}

impl<'a> HistoryView<'a> {
    /// A run as it stands at this moment.
    #[must_use]
    pub fn new(history: &'a History, gist: &'a Gist, now: Timestamp) -> Self {
        let mut prompts = history.conversations.prompts();
        Self {
            run: RunView::new(&history.record, (&history.spent()).into(), now),
            inputs: &gist.inputs,
            result: gist.result_text(),
            ending: history.ending.as_ref().map(EndingView::from),
            questions: history.questions.iter().map(|open| QuestionView::new(open, now)).collect(),
            awaits: history.awaited(),
            effects: history
                .effects
                .iter()
                .map(|effect| EffectView::new(history, effect, &mut prompts))
                .collect(),
            tree: NodeView::root(history),
            way: None,
        }
    }

    /// With the way it took through the states of its file.
    #[must_use]
    pub fn way(self, way: Option<Value>) -> Self {
        Self { way, ..self }
    }
}
