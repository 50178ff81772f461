//! `convoke doctor`

use convoke_host::models::Models;
use convoke_host::{Diagnosis, FailureReport, FileProblems, HostError};
use convoke_models::ModelName;

use crate::arguments::{Arguments, Doctor};
use crate::configuration;
use crate::failure::Failure;
use crate::host;
use crate::run::open;
use crate::terminal::Output;

pub(crate) async fn run(arguments: &Arguments, wanted: &Doctor, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let models = host.models()?;
    if !models.config.warnings().is_empty() {
        output.problems(&FileProblems::Configuration(models.config.warnings().clone()));
    }
    output.notes(configuration::missing_skills(&models.config));
    let choice = models.choose(wanted.model.as_deref()).await?;
    let policies = host.policies(None);
    if let Err(HostError::Policy(invalid)) = &policies {
        output.problems(&FileProblems::Policy(invalid.errors.clone()));
    }
    let checkup = host.check_up(policies.as_ref()).await;
    let trial = match &choice.model {
        Some(name) => match models.check(name) {
            Ok(()) if wanted.try_it => Some(attempt(&models, name, output).await),
            Ok(()) => None,
            Err(missing) => Some(Err(missing.into())),
        },
        None => None,
    };
    let standings = models.services().await;
    let diagnosis = Diagnosis { models: &models, choice, trial, standings, checkup };
    output.show(&diagnosis)?;
    diagnosis.failure().map_or(Ok(()), |failure| Err(failure.into()))
}

/// Asks for one word.
async fn attempt(models: &Models, name: &ModelName, output: &mut Output) -> Result<String, FailureReport> {
    let model = open(models, name, output).await?;
    Models::try_out(&*model).await.map_err(|error| FailureReport::failed(error.to_string()))
}
