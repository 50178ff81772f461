//! Scenarios from files and folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_eval::{Replies, Scenario};
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_text::document;
use convoke_text::finding::{Finding, child};
use serde_json::{Map, Value};

use super::trial::OWN_TOOLS;
use crate::agentfile::{BUILT_IN_TOOLS, FileError, bytes_of};
use crate::definition::{Definition, LoadedFile, counted};
use crate::pack::{MESSAGE, diagnostic};
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
        let mut scenario = LoadedScenario::read(path)?;
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

/// Loads a file of replies for scenarios, and what is wrong with it.
///
/// # Errors
/// If it cannot be read.
pub fn load_replies(path: &Path) -> Result<(Option<Replies>, Source, Diagnostics), HostError> {
    let (source, mut diagnostics) = source_of(path)?;
    if diagnostics.errors() > 0 {
        return Ok((None, source, diagnostics));
    }
    let (replies, findings) = Replies::read(source.text());
    for finding in &findings {
        diagnostics.add(finding.severity, || diagnostic(&source, finding));
    }
    Ok((replies, source, diagnostics))
}

/// The text of a file; with what is wrong with it, if it is none.
fn source_of(path: &Path) -> Result<(Source, Diagnostics), HostError> {
    let (name, bytes) = bytes_of(path)?;
    let mut diagnostics = Diagnostics::default();
    let source = Source::from_bytes(name, bytes).unwrap_or_else(|error| {
        let (source, diagnostic) = *error;
        diagnostics.error(|| diagnostic);
        source
    });
    Ok((source, diagnostics))
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
    /// Reads a scenario. What it names is beside it.
    fn read(path: PathBuf) -> Result<Self, HostError> {
        let (source, diagnostics) = source_of(&path)?;
        let mut loaded = Self { path, source, diagnostics, scenario: None };
        if loaded.diagnostics.errors() == 0 {
            let (scenario, findings) = convoke_eval::read(loaded.source.text());
            loaded.scenario = scenario.map(Arc::new);
            findings.iter().for_each(|finding| loaded.note(finding));
        }
        Ok(loaded)
    }

    /// Checks that it fits the file that is to be run. What does not is in its diagnostics.
    ///
    /// # Errors
    /// If that file has mistakes itself.
    pub fn check(&mut self, loaded: &LoadedFile) -> Result<(), HostError> {
        let definition = loaded.valid()?;
        let Some(scenario) = self.scenario.clone() else { return Ok(()) };
        let mut known = definition.vocabulary();
        known.tools.extend(BUILT_IN_TOOLS.iter().chain(&OWN_TOOLS).map(ToString::to_string));
        let mut findings = scenario.misfits(&known);
        if let Some(pack) = &scenario.pack {
            let named = self.path.with_file_name(pack);
            let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            if whole(&named) != whole(&loaded.path) {
                let message = format!("this is a scenario for {}", named.display());
                let finding = Finding::error("other-file", "/spec/pack", message);
                findings.push(finding.help(format!(
                    "it is run against {} now: leave `pack` out, or give that file",
                    loaded.path.display()
                )));
            }
        }
        let given = self.inputs(&**definition).unwrap_or_else(|why| {
            findings.push(Finding::error("bad-value", "/spec/task_type", why));
            scenario.inputs.clone()
        });
        let problems = GivenInputs::of_json(&given).values_for(&**definition).err();
        let problems = problems.map(|invalid| invalid.problems).unwrap_or_default();
        findings.extend(problems.into_iter().map(|why| {
            let named = scenario.inputs.keys().find(|name| why.contains(&format!("`{name}`")));
            let path = named.map_or_else(|| "/spec/inputs".to_owned(), |name| child("/spec/inputs", name));
            Finding::error("bad-input", path, why)
        }));
        if definition.vocabulary().turns && scenario.turns.is_empty() && !given.contains_key(MESSAGE) {
            let finding = Finding::error("missing-field", "/spec", "nobody says anything in this scenario");
            findings.push(finding.help("write `turns: [{role: user, content: …}]`"));
        }
        findings.into_iter().for_each(|finding| self.refuse(finding));
        Ok(())
    }

    /// The inputs of its runs, with what makes them begin where it says.
    pub(super) fn inputs(&self, definition: &dyn Definition) -> Result<Map<String, Value>, String> {
        let Some(scenario) = &self.scenario else { return Ok(Map::new()) };
        let mut inputs = scenario.inputs.clone();
        if let Some(task) = &scenario.task_type {
            inputs.extend(definition.beginning_with(task)?);
        }
        Ok(inputs)
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

    /// Returns what it says.
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
