//! Checks that what is chosen for an eval is there: a name that chooses nothing is misspelt.

use std::collections::BTreeSet;

use convoke_machine::pack::model::Eval;
use convoke_text::nearest;

use super::assess::groups_of;
use super::{EvalOptions, LoadedScenario};
use crate::HostError;
use crate::definition::{Definition, LoadedFile};
use crate::pack::PROMPT;

/// Groups that evals are of without naming any, whether a file has such evals or not.
const OWN_GROUPS: [&str; 3] = ["default", "fast-running", "long-running"];

impl EvalOptions {
    /// Checks that there are evals of every group that is asked for, and replies for any of the scenarios.
    pub(super) fn check(&self, loaded: &LoadedFile, scenarios: &[LoadedScenario]) -> Result<(), HostError> {
        let definition = loaded.valid()?;
        let mut known: BTreeSet<String> = OWN_GROUPS.map(str::to_owned).into();
        if !self.groups.is_empty() {
            known.extend(declared(&**definition, scenarios).iter().flat_map(groups_of));
        }
        if let Some(group) = self.groups.iter().find(|group| !known.contains(*group)) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let problem = format!("no eval of {} is of the group `{group}`", loaded.path.display());
            return Err(nothing_chosen(problem, group, &known));
        }
        let Some(replies) = &self.replies else { return Ok(()) };
        let names = scenarios.iter().map(|given| Ok(given.valid()?.name.as_str()));
        let names: Vec<&str> = names.collect::<Result<_, HostError>>()?;
        let theirs: Vec<&str> = replies.scenarios().collect();
        if theirs.iter().any(|name| names.contains(name)) {
            return Ok(());
        }
        match theirs.first() {
            Some(first) => {
                let near = |name: &&&str| nearest(name, names.iter().copied()).is_some();
                let name = theirs.iter().find(near).unwrap_or(first);
                let problem = format!("the replies are for no scenario here, but for `{name}`");
                Err(nothing_chosen(problem, name, &names))
            }
            // What is said by default is for all of them.
            None if names.iter().any(|name| replies.of(name).is_some()) => Ok(()),
            None => {
                let problem = "the file of replies has none: write `scenarios:` or `defaultResponse:`";
                Err(HostError::NothingChosen { problem: problem.to_owned() })
            }
        }
    }
}

/// Every eval that can be looked at in a run of a file.
fn declared(definition: &dyn Definition, scenarios: &[LoadedScenario]) -> Vec<Eval> {
    let known = definition.vocabulary();
    // A pack without an entry talks with the prompt that is chosen.
    let chosen = scenarios
        .iter()
        .filter_map(|given| Some(given.inputs(definition).ok()?.get(PROMPT)?.as_str()?.to_owned()));
    let states: Vec<String> = known.states.iter().cloned().chain(chosen).collect();
    let of_states = states.iter().flat_map(|state| definition.evals(state));
    of_states.chain(known.steps.iter().flat_map(|step| definition.step_evals(step))).collect()
}

fn nothing_chosen(problem: String, written: &str, known: &[&str]) -> HostError {
    let advice = match nearest(written, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {}", known.join(", ")),
    };
    HostError::NothingChosen { problem: format!("{problem}; {advice}") }
}
