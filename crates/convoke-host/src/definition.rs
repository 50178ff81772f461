//! Kinds of files that can be run: the one place where a further kind is added.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use convoke_core::{Outline, Runner};
use convoke_diagram::Diagram;
use convoke_eval::{Facts, Vocabulary};
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::Loader;
use convoke_goals::agentfile::model::{Input, SecurityMode};
use convoke_goals::agentfile::{Agentfile, Source};
use convoke_goals::{Equipment, Problem, Secrets, Values};
use convoke_history::History;
use convoke_machine::conversation::Way;
use convoke_machine::pack::model::Eval;
use serde_json::{Map, Value};

use crate::{FailureReport, FileProblems, HostError};

/// A kind of file that can be run.
pub trait DefinitionKind: Send + Sync {
    /// Its name, under which a run's record keeps what it was started from: `agentfile`. Never changed.
    fn name(&self) -> &'static str;

    /// What messages call it: `Agentfile`.
    fn title(&self) -> &'static str;

    /// Whether a file is of this kind, by its name and what is in it.
    fn recognizes(&self, name: &str, bytes: &[u8]) -> bool;

    /// Reads a file. What it names besides comes from `files`. What is wrong with it is in the diagnostics.
    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<Arc<dyn Definition>>, Diagnostics);

    /// Finds what is wrong with a file that is new, and would not keep a run of it from going on.
    fn lint(&self, source: &Source, diagnostics: &mut Diagnostics) {
        let _ = (source, diagnostics);
    }
}

/// A file that can be run: read, checked, without anything it needs.
pub trait Definition: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// What it is given, in declared order.
    fn inputs(&self) -> &[Input];

    /// What it is given, as a JSON Schema of an object.
    fn inputs_schema(&self) -> Value;

    /// What it does, as JSON.
    fn outline(&self) -> Value;

    /// What it does, for people to read.
    fn outline_text(&self) -> String;

    /// What it does, as a diagram, if there is one of such files. Items that a run does something at say where:
    /// [`Item::at`](convoke_diagram::Item::at) is given the path of their scope, from the name of the workflow on and without
    /// repetitions.
    fn diagram(&self) -> Option<Diagram> {
        None
    }

    /// The same with what became of it in a run. Whoever knows more than paths say, such as which of several arrows was taken,
    /// puts that into the diagram before [`History::mark`] adds the rest.
    fn diagram_of(&self, history: &History) -> Option<Diagram> {
        let mut diagram = self.diagram()?;
        history.mark(&mut diagram);
        Some(diagram)
    }

    /// The way that a run of it took through its states, if it has such.
    fn way(&self, history: &History) -> Option<Way> {
        let _ = history;
        None
    }

    /// Whether it says itself which model it is run with.
    fn names_model(&self) -> bool;

    /// Whether it says itself what a part of it may cost.
    fn limits_cost(&self) -> bool {
        false
    }

    /// Takes the secrets out of what was given.
    fn separate_secrets(&self, values: Values) -> (Secrets, Values);

    /// Checks that it can be run with this equipment.
    ///
    /// # Errors
    /// Everything that is wrong, a line each.
    fn equip(&self, equipment: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>>;

    /// Finds what is wrong with values that are of the right types, as far as that is known before it is equipped, a line each.
    fn misfits(&self, values: &Values) -> Vec<String> {
        let _ = values;
        Vec::new()
    }

    /// Names the rules that it states and that do not hold, a line each: whoever runs it should know, however little else is said.
    fn rules_left_out(&self) -> &[String] {
        &[]
    }

    /// What a run came to, as text, by the state it ended with.
    fn result(&self, state: &Value) -> Option<String>;

    /// The limits of the file itself that were the end of a run, by what they ended, from the state it ended with.
    fn cut_short(&self, state: &Value) -> BTreeMap<String, String> {
        let _ = state;
        BTreeMap::new()
    }

    /// The input that is given what somebody wants from it, if there is one.
    fn task(&self) -> Option<&str> {
        None
    }

    /// The names of the values that a run of it may give, besides its result.
    fn outputs(&self) -> Vec<String> {
        Vec::new()
    }

    /// Those values, by the state it ended with.
    fn values(&self, state: &Value) -> Values {
        let _ = state;
        Values::new()
    }

    /// Whether it is talked with: what it says is for the person, as it is said.
    fn is_conversation(&self) -> bool {
        false
    }

    /// The Agentfile, if it is one.
    fn agentfile(&self) -> Option<&Agentfile> {
        None
    }

    /// What [scenarios](crate::eval) for it can speak of.
    fn vocabulary(&self) -> Vocabulary {
        Vocabulary::default()
    }

    /// The inputs with which a run begins with another prompt than the first, as scenarios of PromptKit name it.
    ///
    /// # Errors
    /// Why it cannot.
    fn beginning_with(&self, task: &str) -> Result<Map<String, Value>, String> {
        Err(format!("nothing here is called `{task}` that a run could begin with: leave it out"))
    }

    /// Lets these events be sent in a run that begins with these values wherever its workflow has them, as a caller of PromptKit may.
    fn hearing(&self, events: &[&str], values: &mut Values) {
        let _ = (events, values);
    }

    /// What a run came to, for assertions of [scenarios](crate::eval), by the state it ended with.
    fn facts(&self, state: &Value) -> Facts {
        let _ = state;
        Facts::default()
    }

    /// The evals that it declares itself, for what a step gives.
    fn step_evals(&self, step: &str) -> Vec<Eval> {
        let _ = step;
        Vec::new()
    }

    /// The evals that it declares itself, for what is said in a state.
    fn evals(&self, state: &str) -> Vec<Eval> {
        let _ = state;
        Vec::new()
    }
}

/// A definition with everything it needs.
pub trait EquippedDefinition: Send + Sync {
    /// The workflow.
    fn runner(&self) -> Runner;

    /// The workflow, as one generation however long it is.
    fn undivided(&self) -> Runner {
        self.runner()
    }

    /// The workflow, as a part of another one's run.
    fn part(&self) -> Runner {
        self.runner()
    }

    /// What it is made of.
    fn outline(&self) -> Outline {
        self.runner().outline()
    }

    /// What looks wrong and is not.
    fn warnings(&self) -> &[Problem];

    /// The names of the tools that may be called in it; `None`: any that there are.
    fn tools(&self) -> Option<BTreeSet<&str>> {
        None
    }

    /// The state a run begins with, for these inputs, as JSON. As bytes, so that the order in which values were declared stays.
    ///
    /// # Errors
    /// Everything that is wrong with them, a line each.
    fn bind(&self, values: Values) -> Result<Vec<u8>, Vec<String>>;
}

/// A file that was loaded: what it is, and what is wrong with it.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoadedFile {
    /// Its kind.
    pub(crate) kind: Arc<dyn DefinitionKind>,
    /// Where it is from: `-` for standard input.
    pub(crate) path: PathBuf,
    /// Its text.
    pub source: Source,
    /// What it is; `None` if it has mistakes.
    pub definition: Option<Arc<dyn Definition>>,
    /// What is wrong with it, and what looks wrong.
    pub diagnostics: Diagnostics,
    /// Why nobody vouches for the package it is from.
    pub concern: Option<String>,
    /// What it named besides, which runs of it keep.
    pub(crate) beside: crate::kept_files::KeptFiles,
}

impl LoadedFile {
    /// Returns what messages call a file of its kind.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.kind.title()
    }

    /// Returns what it is.
    ///
    /// # Errors
    /// If it has mistakes.
    pub fn valid(&self) -> Result<&Arc<dyn Definition>, HostError> {
        self.definition.as_ref().ok_or_else(|| HostError::Invalid {
            kind: self.kind.title(),
            problems: counted(self.diagnostics.errors(), self.diagnostics.warnings()),
        })
    }

    /// The same, for whoever tells people what is wrong with it: the failure has the mistakes for programs.
    ///
    /// # Errors
    /// If it has mistakes.
    pub fn checked(&self) -> Result<Arc<dyn Definition>, FailureReport> {
        self.valid().map(Arc::clone).map_err(|error| {
            let problems = FileProblems::of_files([(&self.source, &self.diagnostics)]);
            FailureReport::from(error).about(problems)
        })
    }

    /// Returns what else the user ought to know before it is run.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let is_paranoid = self.agentfile().is_some_and(|file| file.security == Some(SecurityMode::Paranoid));
        let unheeded = is_paranoid.then(|| {
            format!(
                "{}: `SECURITY paranoid` has no effect yet: it is as with `default`. What tools may do is up to the policy",
                self.source.name()
            )
        });
        self.concern.clone().into_iter().chain(unheeded).collect()
    }

    /// The Agentfile, if it is a valid one.
    #[must_use]
    pub fn agentfile(&self) -> Option<&Agentfile> {
        self.definition.as_ref()?.agentfile()
    }

    /// Checks whether it is another file than the one that a run was started from.
    #[must_use]
    pub fn differs_from(&self, manifest: &crate::Manifest) -> bool {
        self.source.text() != manifest.text || (self.definition.is_some() && self.beside != manifest.beside)
    }
}

/// "2 errors", "1 error and 3 warnings", "no errors".
#[must_use]
pub fn counted(errors: usize, warnings: usize) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, 0) => "no errors".to_owned(),
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
}
