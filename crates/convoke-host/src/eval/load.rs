//! Scenarios from files and folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_eval::Scenario;
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_machine::finding::Finding;
use convoke_machine::pack::document;

use crate::agentfile::{FileError, bytes_of};
use crate::definition::{Definition, counted};
use crate::pack::diagnostic;
use crate::{GivenInputs, HostError};

/// How names of scenario files in folders end.
const ENDINGS: [&str; 3] = [".scenario.yaml", ".scenario.yml", ".scenario.json"];

/// A scenario that was loaded: what it says, and what is wrong with it.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoadedScenario {
    /// Where it is from.
    pub path: PathBuf,
    /// Its text.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostics: Diagnostics,
    scenario: Option<Arc<Scenario>>,
}

/// Loads scenarios: files as they are, of folders everything that ends in `.scenario.yaml`, `.scenario.yml` or `.scenario.json`, in
/// the order of their names.
///
/// # Errors
/// If a file cannot be read, or there are none. What is wrong with what they say is in their diagnostics.
pub fn load_scenarios(paths: &[PathBuf]) -> Result<Vec<LoadedScenario>, HostError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() { found_in(path, &mut files)? } else { files.push(path.clone()) }
    }
    if files.is_empty() {
        let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(HostError::NoScenarios { places: places.join(", ") });
    }
    let mut loaded: Vec<LoadedScenario> = Vec::new();
    for path in files {
        let (name, bytes) = bytes_of(&path)?;
        let mut scenario = LoadedScenario::read(path, name, &String::from_utf8_lossy(&bytes));
        let own = scenario.scenario.as_ref().map(|scenario| scenario.name.clone());
        let same = |other: &&LoadedScenario| {
            other.scenario.as_ref().is_some_and(|other| Some(&other.name) == own.as_ref())
        };
        if let Some(other) = loaded.iter().find(same) {
            let message = format!("{} is a scenario of the same name", other.path.display());
            scenario.refuse(Finding::error("same-name", "/metadata/name", message));
        }
        loaded.push(scenario);
    }
    Ok(loaded)
}

fn found_in(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), HostError> {
    let unreadable = |source| FileError::Unreadable { name: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(unreadable)?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            found_in(&path, files)?;
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    Ok(())
}

impl LoadedScenario {
    /// Reads a scenario. What it names is beside `path`.
    #[must_use]
    pub fn read(path: PathBuf, name: String, text: &str) -> Self {
        let source = Source::new(name, text);
        let (scenario, findings) = convoke_eval::read(source.text());
        let mut loaded =
            Self { path, source, diagnostics: Diagnostics::default(), scenario: scenario.map(Arc::new) };
        findings.iter().for_each(|finding| loaded.note(finding));
        loaded
    }

    /// Checks that it fits what is to be run.
    pub fn check(&mut self, definition: &dyn Definition) {
        let Some(scenario) = self.scenario.clone() else { return };
        if let Err(invalid) = GivenInputs::of_json(&scenario.inputs).values(definition.inputs()) {
            for problem in invalid.problems {
                self.refuse(Finding::error("bad-input", "/spec/inputs", problem));
            }
        }
        if !definition.takes_turns() && !scenario.turns.is_empty() {
            let message = "nobody takes turns in a run of this file";
            let finding = Finding::error("no-turns", "/spec/turns", message);
            self.refuse(finding.help("give it `inputs`, and assert what it comes to in `assertions`"));
        }
    }

    fn refuse(&mut self, mut finding: Finding) {
        let node = document::parse(self.source.text(), &mut Vec::new());
        finding.place = node.map(|node| node.place_of(&finding.path));
        self.note(&finding);
        self.scenario = None;
    }

    fn note(&mut self, finding: &Finding) {
        let source = &self.source;
        self.diagnostics.add(finding.severity, || diagnostic(source, finding));
        self.diagnostics.sort();
    }

    /// What it says.
    ///
    /// # Errors
    /// If it has mistakes.
    pub fn valid(&self) -> Result<&Arc<Scenario>, HostError> {
        self.scenario.as_ref().ok_or_else(|| HostError::Invalid {
            kind: "scenario",
            problems: counted(self.diagnostics.errors(), self.diagnostics.warnings()),
        })
    }
}
