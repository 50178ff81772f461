//! The loaded configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use convoke_core::Limits;
use convoke_models::choose::{CredentialsError, ModelConfig};
use convoke_models::{Connector, Credentials, Environment, ModelName};

use crate::schema::path;
use crate::section::{
    self, Local, Log, McpServer, Profile, Supervision, Telemetry, TelemetryError, UnknownProfile, Workspace,
};
use crate::{FileLocations, Loader, Origin, Problems, Setting, Value, permitted};

/// Everything that is configured.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) environment: Environment,
    pub(crate) folder: PathBuf,
    pub(crate) places: FileLocations,
    pub(crate) settings: Vec<Setting>,
    pub(crate) warnings: Problems,
    pub(crate) models: ModelConfig,
    pub(crate) profiles: BTreeMap<String, Profile>,
}

impl Config {
    /// Reads what there is for this process, in its working folder.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn load() -> Result<Self, Problems> {
        Loader::new(Environment::process()).load()
    }

    /// Everything that somebody set, in the order of [`KEYS`](crate::schema::KEYS).
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the origin of a key's value.
    #[must_use]
    pub fn origin(&self, name: &str) -> Origin {
        let setting = self.settings.iter().find(|setting| setting.name == name);
        setting.map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// Returns the warnings: what may not be as it was meant.
    #[must_use]
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// Returns where files were looked for.
    #[must_use]
    pub fn locations(&self) -> &FileLocations {
        &self.places
    }

    /// The variables it was read with.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the configuration of models, for [`Chooser`](convoke_models::Chooser) and [`Connector`].
    #[must_use]
    pub fn models(&self) -> &ModelConfig {
        &self.models
    }

    /// The models to try, in order, when the one that is used fails for good.
    #[must_use]
    pub fn fallback(&self) -> Vec<ModelName> {
        section::names(&self.models.fallback)
    }

    /// The keys there are, in the environment or in the credentials file. Read when it is asked for: what needs no model
    /// needs no keys.
    ///
    /// # Errors
    /// A file that others can read, or that makes no sense.
    pub fn credentials(&self) -> Result<Credentials, CredentialsError> {
        Credentials::load(&self.environment)
    }

    /// Makes models of names.
    ///
    /// # Errors
    /// See [`credentials`](Self::credentials).
    pub fn connector(&self) -> Result<Connector, CredentialsError> {
        Ok(Connector::new(self.environment.clone(), self.credentials()?, self.models.clone()))
    }

    /// All profiles, by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// The profile that an agent requires.
    ///
    /// # Errors
    /// If it is not configured; the error names those that are.
    pub fn profile(&self, name: &str) -> Result<&Profile, UnknownProfile> {
        let known = self.profiles.keys().map(String::as_str);
        self.profiles.get(name).ok_or_else(|| UnknownProfile::new(name, known))
    }

    /// Returns the `supervision` section.
    #[must_use]
    pub fn supervision(&self) -> Supervision {
        section::supervision(&self.settings, &self.profiles)
    }

    /// Returns the limits of a run.
    #[must_use]
    pub fn limits(&self) -> Limits {
        section::limits(&self.settings)
    }

    /// Returns how many turns one goal or agent may take, if that is said.
    #[must_use]
    pub fn turns_per_goal(&self) -> Option<u32> {
        match self.value(path::BUDGETS_TURNS_PER_GOAL) {
            Some(Value::Whole(turns)) => u32::try_from(*turns).ok(),
            _ => None,
        }
    }

    /// Returns how long a run may take.
    #[must_use]
    pub fn wall_time(&self) -> Option<Duration> {
        section::wall_time(&self.settings)
    }

    /// The file that holds the runs. `None` if nobody names one, and this user has no place for data.
    #[must_use]
    pub fn store(&self) -> Option<PathBuf> {
        self.named_store().map(Path::to_owned).or_else(|| self.places.project.store())
    }

    /// The file that holds the runs, if somebody names one.
    #[must_use]
    pub fn named_store(&self) -> Option<&Path> {
        match self.value(path::STORE_PATH) {
            Some(Value::Path(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns whether a file is in the folder that agents work in, where their commands could write it, and the user has not said that it
    /// may be there.
    #[must_use]
    pub fn is_within_reach(&self, file: &Path) -> bool {
        let may_be = matches!(self.value(path::STORE_INSIDE_WORKSPACE), Some(Value::Flag(true)));
        let (file, workspace) = (permitted::real(file), permitted::real(&self.workspace().path));
        !may_be && file.zip(workspace).is_none_or(|(file, workspace)| file.starts_with(workspace))
    }

    /// Returns the settings of models in the process.
    #[must_use]
    pub fn local(&self) -> Local {
        section::local(&self.settings)
    }

    /// The folder that agents work in.
    #[must_use]
    pub fn workspace(&self) -> Workspace {
        section::workspace(&self.settings, &self.folder)
    }

    /// Returns the `telemetry` section.
    ///
    /// # Errors
    /// If it would go where the user has not agreed to, or a header's variable is not set.
    pub fn telemetry(&self) -> Result<Telemetry, TelemetryError> {
        section::telemetry(&self.settings, &self.models.trusted_hosts, &self.environment)
    }

    /// Returns the `log` section.
    #[must_use]
    pub fn log(&self) -> Log {
        section::log(&self.settings)
    }

    /// The MCP servers, by name. One that a folder's file names and the user has not agreed to says so, and must not be
    /// started.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<McpServer> {
        section::mcp_servers(&self.settings)
    }

    /// Folders with skills; the nearest first.
    #[must_use]
    pub fn skills(&self) -> &[PathBuf] {
        match self.value(path::SKILLS_PATHS) {
            Some(Value::Paths(paths)) => paths,
            _ => &[],
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.settings.iter().find(|setting| setting.name == name).map(|setting| &setting.value)
    }
}
