//! The loader: reads every layer and merges them.

use std::path::PathBuf;

use convoke_models::{Credentials, Environment};

use crate::existence::may_exist;
use crate::locations::FileLocations;
use crate::problem::{Problem, Problems};
use crate::schema::Key;
use crate::{Config, FileScope, check, merge, read, section};

/// Names the file to use instead of the folder's.
const CONFIG: &str = "CONVOKE_CONFIG";

/// Reads a configuration.
#[derive(Debug, Clone)]
pub struct Loader {
    environment: Environment,
    folder: PathBuf,
    named: Option<PathBuf>,
    flags: Vec<(String, String, String)>,
}

impl Loader {
    /// Looks in this environment, and from the working folder upwards.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self { environment, folder: PathBuf::new(), named: None, flags: Vec::new() }
    }

    /// Looks from this folder upwards instead.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Uses this file instead of the folder's, and trusts it like the user's own. It must be there.
    #[must_use]
    pub fn file(mut self, file: Option<PathBuf>) -> Self {
        self.named = file;
        self
    }

    /// Sets a key from the command line: `.flag("--store", "store.path", "runs.db")`.
    #[must_use]
    pub fn flag(mut self, flag: &str, key: &str, text: impl Into<String>) -> Self {
        self.flags.push((flag.to_owned(), key.to_owned(), text.into()));
        self
    }

    /// Returns where files are looked for.
    #[must_use]
    pub fn locations(&self) -> FileLocations {
        let named = || self.environment.get(CONFIG).map(PathBuf::from);
        FileLocations::find(&self.environment, &self.folder, self.named.clone().or_else(named))
    }

    /// Reads what there is.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once. Files that are not there are no mistake, unless they were named.
    pub fn load(self) -> Result<Config, Problems> {
        let mut problems = Problems::default();
        let places = self.locations();
        let home = self.environment.get("HOME").map(PathBuf::from);
        let mut paths = Vec::new();
        let mut layers = Vec::new();
        let user = places.user.as_deref().filter(|path| may_exist(path)).map(|path| (path, FileScope::User));
        let named = places.named.as_deref().map(|path| (path, FileScope::User));
        let folder = places.folder.as_deref().map(|path| (path, FileScope::Folder));
        for (path, scope) in [user, named, folder].into_iter().flatten() {
            paths.push(path.to_owned());
            layers.push(read::file(path, scope, home.as_deref(), &mut problems));
        }
        if let Some(foreign) = &places.foreign {
            let name = foreign.display();
            let warning = format!("{name} is not used: it is not yours, and anybody may write to its folder");
            problems
                .push(Problem::warning(warning).help(format!("if it is meant, name it: --config {name}")));
        }
        if let Some(unused) = Credentials::unused_in(&self.folder, &self.environment) {
            let name = unused.display();
            let warning = format!(
                "{name} is not used: it may have come with the project, and the keys in it be another's"
            );
            let home = Credentials::home(&self.environment);
            let home = home
                .map_or_else(|| "your configuration folder".to_owned(), |home| home.display().to_string());
            let help =
                format!("if the keys are yours, move it to {home}, or name it: CONVOKE_CREDENTIALS={name}");
            problems.push(Problem::warning(warning).help(help));
        }
        layers.push(read::variables(&self.environment, &mut problems));
        layers.iter().for_each(|layer| check::contradictions(layer, &mut problems));
        let mut flags = Vec::new();
        for (flag, key, text) in &self.flags {
            match Key::of(key) {
                Some(key) => flags.extend(read::flag(flag, key, text, &mut problems)),
                None => problems.push(Problem::error(format!("{flag} sets `{key}`, which is not a key"))),
            }
        }
        layers.push(flags);
        let settings = merge::merged(layers, &mut problems);
        let models = section::models(&settings, paths);
        let profiles = section::profiles(&settings, &section::names(&models.fallback));
        if problems.errors() == 0 {
            // A profile with a mistake in it is not missing.
            check::unknown_profile(&settings, &profiles, &mut problems);
        }
        section::check_mcp(&settings, &mut problems);
        check::open_secrets(&settings, &mut problems);
        problems.sort();
        if problems.errors() > 0 {
            return Err(problems);
        }
        let Self { environment, folder, .. } = self;
        Ok(Config { environment, folder, places, settings, warnings: problems, models, profiles })
    }
}
