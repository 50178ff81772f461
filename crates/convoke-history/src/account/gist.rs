//! The summary of a run: its inputs and its result.

use convoke_core::store::RunRecord;
use serde_json::{Map, Value};

use super::{TextBlock, readable_json};

/// The inputs and the result of a run, without what is kept with it only to go on.
///
/// What that is depends on what the run is a run of, which nothing here knows: whoever made the run says it.
///
/// ```
/// use convoke_history::account::Gist;
/// use serde_json::json;
///
/// let inputs = json!({"topic": "looms"}).as_object().cloned().unwrap_or_default();
/// let gist = Gist::new(Some("plan.agent".to_owned()), inputs, Some("Three looms.".into()));
/// assert_eq!(gist.result_text().as_deref(), Some("Three looms."));
/// assert_eq!(gist.inputs_blocks()[1].text(), "topic: looms");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Gist {
    /// The file it is a run of.
    pub file: Option<String>,
    /// What it was given, by name.
    pub inputs: Map<String, Value>,
    /// What it came to: a text, or the state of a run of something else.
    pub result: Option<Value>,
}

impl Gist {
    /// A run of this file that was given this and came to that.
    #[must_use]
    pub fn new(file: Option<String>, inputs: Map<String, Value>, result: Option<Value>) -> Self {
        Self { file, inputs, result }
    }

    /// Returns the result as text.
    #[must_use]
    pub fn result_text(&self) -> Option<String> {
        self.result.as_ref().map(readable_json)
    }

    /// Returns the inputs as texts.
    #[must_use]
    pub fn inputs_blocks(&self) -> Vec<TextBlock> {
        let file = self.file.as_deref().map(|file| TextBlock::new("file", file));
        let inputs = &self.inputs;
        let inputs = (!inputs.is_empty())
            .then(|| TextBlock::new("inputs", readable_json(&Value::Object(inputs.clone()))));
        file.into_iter().chain(inputs).collect()
    }

    /// Returns the result as a text with its label.
    #[must_use]
    pub fn result_block(&self) -> Option<TextBlock> {
        self.result_text().map(|result| TextBlock::new("result", result))
    }

    /// Returns how often somebody took the run up, its beginning included. A run of a file, and a fork, is made before it begins: that
    /// is not counted.
    #[must_use]
    pub fn times_taken_up(&self, record: &RunRecord) -> u64 {
        let is_made_first = record.forked_from.is_some() || self.file.is_some();
        record.epoch.saturating_sub(u64::from(is_made_first))
    }
}
