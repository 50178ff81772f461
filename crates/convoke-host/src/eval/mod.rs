//! Scenarios run against a file, and judged: evals of Agentfiles, packs, graphs, and whatever else is a [definition](crate::Definition).
//!
//! | file | what it is for |
//! |---|---|
//! | `chosen` | whether what is chosen for an eval is there |
//! | `load` | scenarios from files and folders, with everything that is wrong with them |
//! | `trial` | one run of a scenario: an ordinary durable run that is given what the scenario says |
//! | `supply` | what a suspended run is given |
//! | `tools` | tools of this host whose results the scenario has |
//! | `assess` | what is asserted and declared, compared with what happened |
//! | `person` | who says the words and gives the answers of a scenario |
//! | `leftover` | what a scenario had for a run that did not come to it |
//! | `observe` | what happened in a run, told again from its journal |
//! | `judge` | models that judge, as runs of their own |
//! | `models` | where the replies of a scenario come from |
//!
//! The id of every run follows from the eval's name and from everything that decides how the run goes. So an eval that was
//! interrupted is gone on with under its name, nothing is paid twice, and assertions that have changed are compared with the runs that
//! are there.

mod assess;
mod chosen;
mod judge;
mod leftover;
mod load;
mod models;
mod observe;
mod person;
mod supply;
mod tools;
mod trial;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Digest, Limits, RunId};
use convoke_eval::scenario::ModelSource;
pub use convoke_eval::{Comparison, Replies, Report, RunReport, Scenario, ScenarioReport, compare, junit};
use convoke_goals::Values;
use convoke_history::text;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;

pub use load::{LoadedScenario, load_replies, load_scenarios};

use crate::definition::LoadedFile;
use crate::host::Host;
use crate::{FailureKind, FailureReport, GivenInputs, HostError};
use trial::Trial;

/// So much of a scenario's name is in the ids of its runs.
const LONGEST_NAME: usize = 40;

/// The name of an eval is in the ids of its runs and of those of its judges, and these have an end.
const LONGEST_ID: usize = 48;

/// How long a run may be at work where nothing is said about that: a model that never answers does not keep an eval waiting.
const USUAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Is told of each run when it is over: the scenario, and what came of the run.
pub type TrialObserver = Arc<dyn Fn(&Scenario, &RunReport) + Send + Sync>;

/// The options for running scenarios.
#[derive(Clone)]
#[non_exhaustive]
pub struct EvalOptions {
    /// The name of the eval. What was begun under it is gone on with.
    pub id: RunId,
    /// The model, instead of what scenarios say.
    pub model: Option<String>,
    /// The model that judges, instead of what scenarios say.
    pub judge: Option<String>,
    /// Replies for scenarios by their names, instead of what these say.
    pub replies: Option<Replies>,
    /// Of the evals that a file declares, only those of these groups; all of them if there are none.
    pub groups: Vec<String>,
    /// A policy, instead of the folder's.
    pub policy: Option<PathBuf>,
    /// What each run may use, instead of what is configured.
    pub limits: Option<Limits>,
    /// How long each run, and each judge, may be at work; otherwise what is configured, or ten minutes.
    pub timeout: Option<Duration>,
    /// How often each scenario is run that does not say so itself.
    pub repeat: u32,
    /// Which share of these must pass, where a scenario does not say so itself.
    pub require: f64,
    /// How many runs there are at once.
    pub jobs: usize,
    /// Who starts them.
    pub started_by: Option<String>,
    /// Is told of each run when it is over.
    pub observer: Option<TrialObserver>,
}

impl EvalOptions {
    /// Each scenario once, one after the other, under this name; without one, under a new name.
    #[must_use]
    pub fn new(id: Option<RunId>) -> Self {
        let minted = || {
            let minted = RunId::mint();
            let end = minted.as_str().len() - 8;
            // The end of an id is random, and a letter before part of one makes one again.
            format!("e{}", &minted.as_str()[end..]).parse().unwrap_or(minted)
        };
        Self {
            id: id.unwrap_or_else(minted),
            model: None,
            judge: None,
            replies: None,
            groups: Vec::new(),
            policy: None,
            limits: None,
            timeout: None,
            repeat: 1,
            require: 1.0,
            jobs: 1,
            started_by: None,
            observer: None,
        }
    }

    /// Returns what is said when `by` stopped an eval of which these trials were over, by the names of their scenarios. Runs that were under
    /// way are stopped, and can be gone on with.
    pub fn interrupted(&self, by: &str, scenarios: &[LoadedScenario], done: &[String]) -> FailureReport {
        let (mut runs, mut left) = (0, Vec::new());
        for scenario in scenarios.iter().filter_map(|scenario| scenario.valid().ok()) {
            let wanted = scenario.trials.unwrap_or(self.repeat).max(1) as usize;
            runs += wanted;
            if done.iter().filter(|name| **name == scenario.name).count() < wanted {
                left.push(text::one_line(&scenario.name));
            }
        }
        let message = format!("the eval was stopped by {by}: {} of {runs} runs are done", done.len());
        FailureReport::new(FailureKind::Cancelled, message)
            .detail(format!("not run to their end: {}", left.join(", ")))
            .hint(format!(
                "the same command with `--id {}` goes on where it was; nothing is paid twice",
                self.id
            ))
    }
}

impl Host {
    /// Runs scenarios against a file, and says what came of them. That an assertion does not hold is no error: it is in the report.
    ///
    /// ```no_run
    /// use convoke_host::Host;
    /// use convoke_host::eval::{EvalOptions, load_scenarios};
    ///
    /// # async fn test(host: Host) -> Result<(), Box<dyn std::error::Error>> {
    /// let scenarios = load_scenarios(&["scenarios".into()])?;
    /// let report = host.evaluate(host.load("support.pack.yaml")?, &scenarios, &EvalOptions::new(None)).await?;
    /// assert!(report.passed, "{report:#?}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the file or a scenario has mistakes, or a run cannot be started with what there is here.
    pub async fn evaluate(
        &self,
        loaded: LoadedFile,
        scenarios: &[LoadedScenario],
        options: &EvalOptions,
    ) -> Result<Report, HostError> {
        let definition = Arc::clone(loaded.valid()?);
        options.check(&loaded, scenarios)?;
        // Opened here once: all runs share it.
        self.store()?;
        let mut trials = Vec::new();
        for given in scenarios {
            let scenario = Arc::clone(given.valid()?);
            let failed = |reason: String| HostError::Scenario { scenario: scenario.name.clone(), reason };
            let inputs = given.inputs(&*definition).map_err(failed)?;
            let inputs = GivenInputs::of_json(&inputs).values_for(&*definition);
            let mut inputs = inputs.map_err(|invalid| failed(invalid.problems.join("; ")))?;
            definition.hearing(&scenario.events().collect::<Vec<_>>(), &mut inputs);
            for number in 1..=scenario.trials.unwrap_or(options.repeat).max(1) {
                let (scenario, inputs) = (Arc::clone(&scenario), inputs.clone());
                trials.push(self.trial(&loaded, given, scenario, inputs, number, options)?);
            }
        }
        let running = trials.into_iter().map(|trial| async move {
            let report = trial.run().await?;
            if let Some(observer) = &options.observer {
                observer(&trial.scenario, &report);
            }
            Ok::<_, HostError>((trial.path.clone(), report))
        });
        let done: Vec<_> = stream::iter(running).buffered(options.jobs.max(1)).try_collect().await?;
        let mut reports = Vec::new();
        for given in scenarios {
            let scenario = given.valid()?;
            let runs = done.iter().filter(|(path, _)| *path == given.path).map(|(_, run)| run.clone());
            let required = scenario.require.unwrap_or(options.require);
            reports.push(ScenarioReport::new(
                scenario,
                &given.path.display().to_string(),
                required,
                runs.collect(),
            ));
        }
        Ok(Report::new(options.id.as_str(), loaded.path.display().to_string(), reports))
    }

    fn trial<'a>(
        &'a self,
        loaded: &'a LoadedFile,
        given: &LoadedScenario,
        scenario: Arc<Scenario>,
        inputs: Values,
        number: u32,
        options: &'a EvalOptions,
    ) -> Result<Trial<'a>, HostError> {
        let asked = options.model.clone().map(ModelSource::Named);
        let asked = asked.or_else(|| options.replies.as_ref()?.of(&scenario.name));
        let own = || scenario.model.clone().map(|own| models::beside(own, &given.path));
        let model = asked.clone().or_else(own);
        let digest = Digest::of_json(&json!({
            "file": loaded.source.text(),
            "beside": loaded.beside,
            "script": scenario.script,
            "model": options.model,
            "replies": asked.and_then(|asked| asked.script("replies", 0)),
            "recorded": model.as_ref().and_then(models::text_of),
        }));
        let letters = scenario.name.chars().map(|letter| match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        });
        let name: String = letters.take(LONGEST_NAME).collect();
        if options.id.as_str().len() > LONGEST_ID {
            let reason = format!("the name of the eval is too long: use at most {LONGEST_ID} letters");
            return Err(HostError::Scenario { scenario: scenario.name.clone(), reason });
        }
        let id = format!("{}-{name}-{number}-{}", options.id, &digest.to_string()[..8]);
        let id = id.parse().map_err(|error: convoke_core::InvalidRunId| HostError::Scenario {
            scenario: scenario.name.clone(),
            reason: error.to_string(),
        })?;
        Ok(Trial { host: self, loaded, path: given.path.clone(), scenario, inputs, model, id, options })
    }
}
