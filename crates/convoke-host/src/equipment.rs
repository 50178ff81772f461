//! The equipment of Agentfiles on this machine: the one place where models and tools of goals come from.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_agent::memory::NoMemories;
use convoke_config::{Config, Profile, Supervisor};
use convoke_core::{Model, ModelError, ModelErrorKind};
use convoke_goals::Equipment;
use convoke_goals::supervise::ModelSupervisor;
use convoke_models::ModelName;
use convoke_models::resilience::Deferred;
use convoke_tools::policy::shell::{self, SimpleCommand};

use crate::knowledge::NotSearched;
use crate::models::{Models, ProfiledModel};

/// What a workflow is run with. A model that was `asked`
/// for on the command line also stands in for profiles that are not configured.
///
/// # Errors
/// If the model that is to supervise cannot be had.
pub(crate) fn equipment(
    models: &Arc<Models>,
    model: Option<Arc<dyn Model>>,
    asked: bool,
) -> Result<(Equipment, UnpricedModels), String> {
    // Who asks for a model by name gets that one or an error.
    let fallback = if asked { Vec::new() } else { models.config.fallback() };
    let usual = model.clone().map(|model| models.falling_back(model, &fallback));
    let unpriced = UnpricedModels::default();
    unpriced.note(usual.as_deref());
    let named = NamedModels {
        models: Arc::clone(models),
        model,
        usual: usual.clone(),
        asked,
        unpriced: unpriced.clone(),
    };
    let supervision = models.config.supervision();
    let supervisor = match &supervision.supervisor {
        Supervisor::Same => None,
        Supervisor::Model(name) => Some(named.model(name)?),
        Supervisor::Profile(profile) => Some(named.tuned(profile)?),
    };
    let mut equipment = configured(&models.config);
    equipment.model = usual;
    if let Some(model) = supervisor {
        equipment.supervisor = Some(Arc::new(ModelSupervisor::with_model(model)));
    }
    equipment.models = Some(Arc::new(named));
    Ok((equipment, unpriced))
}

/// Equipment for telling a run again from its journal: every model is there by its name, and none can be asked.
pub(crate) fn replay_equipment(config: &Config) -> Equipment {
    let mut equipment = configured(config);
    equipment.model = Some(unavailable());
    equipment.models = Some(Arc::new(Unavailable));
    // What was remembered is on record.
    equipment.memories = Some(Arc::new(NoMemories));
    equipment.knowledge = Some(Arc::new(|_| Ok(Arc::new(NotSearched))));
    equipment
}

/// What is configured about goals, without models and tools.
fn configured(config: &Config) -> Equipment {
    let supervision = config.supervision();
    let mut equipment = Equipment::default();
    equipment.max_reorients = supervision.max_reorients;
    equipment.max_turns = config.turns_per_goal();
    equipment.human.expiry = supervision.human_expiry;
    equipment.human.audience = supervision.answerers;
    equipment.commands = Some(Arc::new(programs));
    equipment
}

/// A model that cannot be asked.
fn unavailable() -> Arc<dyn Model> {
    const WHY: &str = "a run that is only told again asks no model";
    Arc::new(Deferred::new("none", || async { Err(ModelError::new(ModelErrorKind::Missing, WHY)) }))
}

/// Models of every name, none of which can be asked.
struct Unavailable;

impl convoke_goals::Models for Unavailable {
    fn named(&self, _: &str) -> Result<Arc<dyn Model>, String> {
        Ok(unavailable())
    }

    fn profile(&self, _: &str) -> Result<Arc<dyn Model>, String> {
        Ok(unavailable())
    }
}

/// The models of a workflow whose price nobody knows. Clones share what they know.
#[derive(Clone, Default)]
pub(crate) struct UnpricedModels(Arc<Mutex<BTreeSet<String>>>);

impl UnpricedModels {
    fn note(&self, model: Option<&dyn Model>) {
        if let Some(model) = model.filter(|model| model.price().is_none()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.name().to_owned());
        }
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The words of every program that a command line would start, as the policy reads it. Variables that are set for a
/// program may make another one of it, so they are not said.
fn programs(command: &str) -> Option<Vec<Vec<String>>> {
    let reading = shell::read(command);
    let is_said = reading.unclear.is_empty() && reading.multiplying.is_empty();
    let words = |command: &SimpleCommand| {
        let words = command.words.iter().map(|word| word.fixed().map(str::to_owned));
        words.collect::<Option<Vec<_>>>().filter(|_| command.variables.is_empty())
    };
    reading.commands.iter().map(words).collect::<Option<Vec<_>>>().filter(|_| is_said)
}

/// Models by the names that Agentfiles use.
struct NamedModels {
    models: Arc<Models>,
    /// The model of whatever names none.
    model: Option<Arc<dyn Model>>,
    /// The same, and what is tried when it fails for good.
    usual: Option<Arc<dyn Model>>,
    /// Whether somebody asked for it on the command line.
    asked: bool,
    /// Those that were asked for and have no price.
    unpriced: UnpricedModels,
}

impl NamedModels {
    fn model(&self, name: &ModelName) -> Result<Arc<dyn Model>, String> {
        let model = self.models.ready(name).map_err(|error| error.to_string())?;
        // What runs in this process costs nothing, which is known before it is loaded.
        if !matches!(name, ModelName::Local { .. }) {
            self.unpriced.note(Some(&*model));
        }
        Ok(model)
    }

    fn tuned(&self, profile: &Profile) -> Result<Arc<dyn Model>, String> {
        let first = match (&profile.model, &self.model) {
            (Some(name), _) => self.model(name)?,
            (None, Some(model)) => Arc::clone(model),
            (None, None) => return Err("it names no model, and there is no other".to_owned()),
        };
        let is_asked_for = profile.model.is_none() && self.asked;
        let fallback = if is_asked_for { &[][..] } else { &*profile.fallback };
        let model = self.models.falling_back(first, fallback);
        Ok(Arc::new(ProfiledModel::new(model, profile.params.clone())))
    }
}

impl convoke_goals::Models for NamedModels {
    fn named(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        let name: ModelName =
            name.parse().map_err(|error: convoke_models::UnknownModel| error.to_string())?;
        self.model(&name)
    }

    fn profile(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        match (self.models.config.profile(name), &self.usual) {
            (Ok(profile), _) => self.tuned(profile),
            (Err(_), Some(usual)) if self.asked => Ok(Arc::clone(usual)),
            (Err(error), _) => {
                // Whoever asks says which one it is.
                let error = error.to_string();
                let advice = error.split_once("`: ").map_or(error.as_str(), |(_, advice)| advice);
                Err(format!("{advice}; or name a model for all of it with --model"))
            }
        }
    }
}
