//! What came of an eval, for programs to read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::judge::{JudgeQuestion, JudgeVerdict};
use crate::observation::{Facts, ObservedUsage};

/// What came of an eval. Fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The name of the eval, by which it is gone on with.
    pub eval: String,
    /// The file that was evaluated.
    pub file: String,
    /// Whether every scenario passed.
    pub passed: bool,
    /// The scenarios, in the order in which they were given.
    pub scenarios: Vec<ScenarioReport>,
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is labelled with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// Whether enough of its runs passed.
    pub passed: bool,
    /// Which share of its runs passed.
    pub pass_rate: f64,
    /// Which share had to.
    pub required: f64,
    /// Its runs.
    pub runs: Vec<RunReport>,
}

/// What came of one run of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Its id in the store.
    pub run: String,
    /// Whether everything held.
    pub passed: bool,
    /// How it ended.
    pub status: String,
    /// How long it was at work, in seconds.
    pub seconds: f64,
    /// What it used, without judges.
    pub usage: ObservedUsage,
    /// What it came to, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// What else it came to.
    #[serde(default)]
    pub facts: Facts,
    /// What was asserted.
    pub assertions: Vec<AssertionReport>,
}

/// What came of an assertion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssertionReport {
    /// What kind it is: `content_includes`; of evals of a pack, their name.
    pub name: String,
    /// The turn it is about, from 1; nothing for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Whether it held; nothing for evals that only measure.
    pub passed: Option<bool>,
    /// How well it held, from 0 to 1.
    pub score: f64,
    /// What was found, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// What its author says it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The run of the judge, if a model judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<String>,
}

impl Report {
    /// A report of these scenarios.
    #[must_use]
    pub fn new(eval: impl Into<String>, file: impl Into<String>, scenarios: Vec<ScenarioReport>) -> Self {
        let passed = scenarios.iter().all(|scenario| scenario.passed);
        Self { eval: eval.into(), file: file.into(), passed, scenarios }
    }

    /// How many scenarios passed.
    #[must_use]
    pub fn passed_count(&self) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.passed).count()
    }
}

impl ScenarioReport {
    /// A report of a scenario's runs, of which this share must pass.
    #[must_use]
    pub fn new(scenario: &crate::Scenario, file: &str, required: f64, runs: Vec<RunReport>) -> Self {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let good = runs.iter().filter(|run| run.passed).count();
        let pass_rate = if runs.is_empty() { 0.0 } else { count(good) / count(runs.len()) };
        Self {
            name: scenario.name.clone(),
            file: file.to_owned(),
            description: scenario.description.clone(),
            labels: scenario.labels.clone(),
            // As many as were wanted are enough, whatever a fraction loses.
            passed: !runs.is_empty() && pass_rate + 1e-9 >= required,
            pass_rate,
            required,
            runs,
        }
    }

    /// The sum of what its runs cost; nothing if the price of a call is not known.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.usage.cost).sum()
    }
}

impl RunReport {
    /// What did not hold.
    pub fn failures(&self) -> impl Iterator<Item = &AssertionReport> {
        self.assertions.iter().filter(|assertion| assertion.passed == Some(false))
    }
}

impl AssertionReport {
    /// The same with what a judge says.
    #[must_use]
    pub fn judged(self, question: &JudgeQuestion, verdict: &JudgeVerdict, run: &str) -> Self {
        let JudgeVerdict { score, reason } = verdict;
        Self {
            passed: self.passed.map(|_| *score >= question.criteria.least),
            score: *score,
            found: format!("{score} of {}: {reason}", question.criteria.least),
            judged_by: Some(run.to_owned()),
            ..self
        }
    }

    /// What did not hold, and where, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let place = self.turn.map(|turn| format!("turn {turn}: ")).unwrap_or_default();
        let found = if self.found.is_empty() { "it does not hold" } else { &self.found };
        let message = self.message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default();
        format!("{place}{}: {found}{message}", self.name)
    }
}
