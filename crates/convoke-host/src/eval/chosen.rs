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
    /// Checks that there are evals of every group that is asked for, and replies for any of the scenarios, none of which is misspelt.
    ///
    /// # Errors
    /// If there are none.
    pub fn check(&self, loaded: &LoadedFile, scenarios: &[LoadedScenario]) -> Result<(), HostError> {
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
        // Whoever has replies of its own is not the one that others are meant for: a file may have them for more than is run here.
        let without: Vec<&str> = names.iter().copied().filter(|name| !theirs.contains(name)).collect();
        let mut others = theirs.iter().copied().filter(|name| !names.contains(name));
        let misspelt = others.clone().find(|name| nearest(name, without.iter().copied()).is_some());
        let is_for_none = without.len() == names.len();
        match misspelt.or_else(|| others.next().filter(|_| is_for_none)) {
            Some(name) if is_for_none => {
                let problem = format!("the replies are for no scenario here, but for `{name}`");
                Err(nothing_chosen(problem, name, &names))
            }
            Some(name) => {
                let problem = format!("the replies for `{name}` are for no scenario here");
                Err(nothing_chosen(problem, name, &without))
            }
            None if !is_for_none => Ok(()),
            // What is said by default is for all of them.
            None if names.iter().any(|name| replies.of(name).is_some()) => Ok(()),
            None => {
                let problem = "the file of replies has none: write `scenarios:` or `defaultResponse:`";
                Err(HostError::NothingChosen { problem: problem.to_owned() })
            }
        }
    }

    /// Returns the names in the file of replies that are those of no scenario here.
    pub fn unused_replies(&self, scenarios: &[LoadedScenario]) -> Vec<&str> {
        let is_here =
            |name: &str| scenarios.iter().any(|given| given.valid().is_ok_and(|one| one.name == name));
        self.replies.iter().flat_map(|replies| replies.scenarios()).filter(|name| !is_here(name)).collect()
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
