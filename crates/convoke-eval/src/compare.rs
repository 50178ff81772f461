//! A report beside an earlier one: what got better, worse, is new, is gone.

use serde::Serialize;

use crate::report::{Report, ScenarioReport};

/// The changes since an earlier report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The earlier eval.
    pub earlier: String,
    /// What changed, in the order of the later report; what is gone comes last. What stayed as it was is not in it.
    pub changes: Vec<ScenarioChange>,
}

/// The change of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioChange {
    /// The scenario.
    pub scenario: String,
    /// What became of it.
    pub change: Change,
    /// Which share of its runs passed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// Which share passes now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    /// What did not hold before and does now, or the other way round, by name and turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<String>,
}

/// The kinds of changes of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// More of its runs pass.
    Better,
    /// Fewer of its runs pass.
    Worse,
    /// As many of its runs pass, but something else does not hold.
    Different,
    /// It was not there before.
    New,
    /// It is not there any more.
    Gone,
}

/// Compares a report with an earlier one, scenario by scenario.
#[must_use]
pub fn compare(earlier: &Report, later: &Report) -> Comparison {
    let named = |report: &'_ Report, name: &str| {
        report.scenarios.iter().find(|scenario| scenario.name == name).cloned()
    };
    let change = |scenario: &ScenarioReport| {
        let after = Some(scenario.pass_rate);
        let Some(old) = named(earlier, &scenario.name) else {
            let (scenario, change) = (scenario.name.clone(), Change::New);
            return Some(ScenarioChange { scenario, change, before: None, after, assertions: Vec::new() });
        };
        let change = match scenario.pass_rate.total_cmp(&old.pass_rate) {
            std::cmp::Ordering::Greater => Change::Better,
            std::cmp::Ordering::Less => Change::Worse,
            std::cmp::Ordering::Equal if failing(scenario) == failing(&old) => return None,
            std::cmp::Ordering::Equal => Change::Different,
        };
        let (worse, better) = if change == Change::Better { (&old, scenario) } else { (scenario, &old) };
        let fine = failing(better);
        let assertions = failing(worse).into_iter().filter(|failure| !fine.contains(failure)).collect();
        let (name, before) = (scenario.name.clone(), Some(old.pass_rate));
        Some(ScenarioChange { scenario: name, change, before, after, assertions })
    };
    let gone = earlier.scenarios.iter().filter(|old| named(later, &old.name).is_none());
    let gone = gone.map(|old| ScenarioChange {
        scenario: old.name.clone(),
        change: Change::Gone,
        before: Some(old.pass_rate),
        after: None,
        assertions: Vec::new(),
    });
    let changes = later.scenarios.iter().filter_map(change).chain(gone).collect();
    Comparison { earlier: earlier.eval.clone(), changes }
}

/// What failed in any run of a scenario, each once.
fn failing(scenario: &ScenarioReport) -> Vec<String> {
    let mut names = Vec::new();
    for failure in scenario.runs.iter().flat_map(|run| run.failures()) {
        let name = failure.place();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
