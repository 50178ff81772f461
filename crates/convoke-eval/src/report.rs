//! Reports of evals, for programs to read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::judge::{JudgeQuestion, JudgeVerdict};
use crate::observation::{Facts, ObservedUsage};

/// The report of an eval. Fields are added, never renamed.
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

/// The results of a scenario.
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

/// The results of one run of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Its id in the store.
    pub run: String,
    /// Whether everything held.
    pub passed: bool,
    /// How it ended.
    pub status: String,
    /// The same as `duration_seconds`.
    pub seconds: f64,
    /// How long it was at work. Reports of earlier builds do not have it.
    #[serde(default)]
    pub duration_seconds: f64,
    /// What it used, without judges.
    pub usage: ObservedUsage,
    /// What it came to, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// The states that were entered, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// What else it came to.
    #[serde(default)]
    pub facts: Facts,
    /// What was asserted.
    pub assertions: Vec<AssertionReport>,
    /// What its author should know of it that makes nothing fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The result of an assertion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssertionReport {
    /// What kind it is: `content_includes`; of evals of a pack, their name.
    pub name: String,
    /// The turn it is about, from 1; nothing for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Whether it held; nothing for evals that only measure.
    pub passed: Option<bool>,
    /// How well it held, from 0 to 1; nothing if that could not be found out.
    pub score: Option<f64>,
    /// What was found, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// What its author says it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// In which share of the scenario's runs it must hold, if that is said of it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_threshold: Option<f64>,
    /// The metric that an eval of a pack is published as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
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

    /// Returns how many scenarios passed.
    #[must_use]
    pub fn passed_count(&self) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.passed).count()
    }
}

impl ScenarioReport {
    /// Returns what its author should know of its runs that makes nothing fail, each thing once.
    #[must_use]
    pub fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.runs.iter().flat_map(|run| &run.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        notes
    }

    /// A report of a scenario's runs, of which this share must pass.
    #[must_use]
    pub fn new(scenario: &crate::Scenario, file: &str, required: f64, runs: Vec<RunReport>) -> Self {
        let pass_rate = share(runs.iter().map(|run| run.passed));
        Self {
            name: scenario.name.clone(),
            file: file.to_owned(),
            description: scenario.description.clone(),
            labels: scenario.labels.clone(),
            passed: !runs.is_empty() && reaches(pass_rate, required) && rare(&runs).is_empty(),
            pass_rate,
            required,
            runs,
        }
    }

    /// Assertions with a pass threshold of their own that held in too few of the runs, in words.
    #[must_use]
    pub fn held_too_rarely(&self) -> Vec<String> {
        rare(&self.runs)
    }

    /// Returns what was only measured: the names of evals with the mean of their scores, in the order in which they were first met.
    #[must_use]
    pub fn measured(&self) -> Vec<(&str, Option<f64>)> {
        let all = || self.runs.iter().flat_map(|run| &run.assertions).filter(|one| one.passed.is_none());
        let mut names: Vec<&str> = Vec::new();
        for one in all() {
            if !names.contains(&one.name.as_str()) {
                names.push(&one.name);
            }
        }
        let mean = |name: &str| {
            let scores: Vec<f64> = all().filter(|one| one.name == name).filter_map(|one| one.score).collect();
            let number = f64::from(u32::try_from(scores.len()).unwrap_or(u32::MAX));
            (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / number)
        };
        names.into_iter().map(|name| (name, mean(name))).collect()
    }

    /// The sum of what its runs cost; nothing if the price of a call is not known.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.usage.cost).sum()
    }
}

/// Which share of these is the case.
fn share(cases: impl ExactSizeIterator<Item = bool>) -> f64 {
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let all = cases.len();
    if all == 0 { 0.0 } else { count(cases.filter(|case| *case).count()) / count(all) }
}

/// As many as were wanted are enough, whatever a fraction loses.
fn reaches(share: f64, required: f64) -> bool {
    share + 1e-9 >= required
}

/// Assertions with a pass threshold of their own that held in too few runs.
fn rare(runs: &[RunReport]) -> Vec<String> {
    let mut counted: Vec<(String, f64, Vec<bool>)> = Vec::new();
    for run in runs {
        let own = run.assertions.iter().filter_map(|one| Some((one, one.pass_threshold?)));
        for (index, (one, least)) in own.enumerate() {
            let held = one.passed != Some(false);
            match counted.get_mut(index) {
                Some((_, _, cases)) => cases.push(held),
                None => counted.push((one.place(), least, vec![held])),
            }
        }
    }
    let rare = counted.into_iter().filter(|(_, least, cases)| !reaches(share(cases.iter().copied()), *least));
    rare.map(|(place, least, cases)| {
        let held = cases.iter().filter(|held| **held).count();
        format!(
            "{place}: it held in {held} of {} runs, and must in {}%",
            cases.len(),
            (least * 100.0).round()
        )
    })
    .collect()
}

impl RunReport {
    /// Returns what did not hold.
    pub fn failures(&self) -> impl Iterator<Item = &AssertionReport> {
        self.assertions.iter().filter(|assertion| assertion.passed == Some(false))
    }
}

impl AssertionReport {
    /// A report of something that does not hold.
    #[must_use]
    pub fn failed(name: &str, turn: Option<usize>, found: String) -> Self {
        Self {
            name: name.to_owned(),
            turn,
            passed: Some(false),
            score: Some(0.0),
            found,
            message: None,
            pass_threshold: None,
            metric: None,
            judged_by: None,
        }
    }

    /// The same with what a judge says.
    #[must_use]
    pub fn judged(self, question: &JudgeQuestion, verdict: &JudgeVerdict, run: &str) -> Self {
        let JudgeVerdict { score, reason } = verdict;
        Self {
            passed: self.passed.map(|_| question.threshold.holds(*score)),
            score: Some(*score),
            found: format!("{score}, wanted {}: {reason}", question.threshold),
            judged_by: Some(run.to_owned()),
            ..self
        }
    }

    /// Returns whether the run cannot pass because of it.
    #[must_use]
    pub fn fails_its_run(&self) -> bool {
        self.passed == Some(false) && self.pass_threshold.is_none()
    }

    /// Returns what it is called, and where it stands.
    #[must_use]
    pub fn place(&self) -> String {
        let turn = self.turn.map(|turn| format!("turn {turn}: ")).unwrap_or_default();
        format!("{turn}{}", self.name)
    }

    /// Returns what did not hold, and where, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let found = if self.found.is_empty() { "it does not hold" } else { &self.found };
        let message = self.message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default();
        format!("{}: {found}{message}", self.place())
    }
}
