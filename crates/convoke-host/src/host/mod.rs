//! The host: what is configured, where runs are kept, and what can be done with both.
//!
//! | file | what it is for |
//! |---|---|
//! | `builder`, `options` | how a host is made; how runs are started and gone on with |
//! | `stored` | runs that are in the store: go on, attend, read along, answer |

mod builder;
mod options;
mod stored;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use convoke_config::{Config, may_exist};
use convoke_core::{Limits, Store};
use convoke_goals::agentfile::load::Loader;
use convoke_goals::workspace::summary;
use convoke_goals::{SkillShelf, Values};
use convoke_store::SqliteStore;
use convoke_tools::policy::{self, PolicyFiles, PolicySet};
use convoke_tools::workspace::Workspace;

use crate::agentfile::{
    AgentfileKind, UnpackedPackage, beside, bytes_of, is_standard_input, read_source, unpacked,
};
use crate::definition::{DefinitionKind, LoadedFile};
use crate::fingerprints::Fingerprints;
use crate::kept_files::RecordingLoader;
use crate::models::{DownloadObserver, Models, OwnModels};
use crate::packages::trust_store;
use crate::prepared::{ExecutionOptions, PreparedRun};
use crate::running::ActiveRun;
use crate::tools::{RunTools, ToolEnvironment};
use crate::{Checkup, ConfiguredServers, HostError, Manifest, RunOrigin, mcp, store};

pub use builder::HostBuilder;
pub use builder::other_kind;
pub(crate) use builder::own_kinds;
pub use options::{GoOnOptions, StartOptions};

/// Puts together what is configured, starts runs and goes on with them.
pub struct Host {
    config: Config,
    store_file: PathBuf,
    store: OnceLock<Arc<dyn Store>>,
    kinds: Vec<Arc<dyn DefinitionKind>>,
    downloads: DownloadObserver,
    own_models: OwnModels,
}

impl Host {
    /// The same host, where these models stand for those of their names.
    pub(crate) fn bringing(&self, own_models: OwnModels) -> Self {
        Self {
            config: self.config.clone(),
            store_file: self.store_file.clone(),
            store: self.store.clone(),
            kinds: self.kinds.clone(),
            downloads: Arc::clone(&self.downloads),
            own_models,
        }
    }

    /// A host for what is configured, with runs where they are kept by default.
    ///
    /// # Errors
    /// If there is no place for runs.
    pub fn open(config: Config) -> Result<Self, HostError> {
        Self::builder(config).build()
    }

    /// A builder of a host for what is configured.
    pub fn builder(config: Config) -> HostBuilder {
        HostBuilder::new(config)
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The file that runs are kept in.
    #[must_use]
    pub fn store_file(&self) -> &Path {
        &self.store_file
    }

    /// The store of runs, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn store(&self) -> Result<Arc<dyn Store>, HostError> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        store::make_place(&self.config.locations().project, &self.store_file)?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&self.store_file)?);
        Ok(Arc::clone(self.store.get_or_init(|| store)))
    }

    pub(crate) fn setting(&self) -> ToolEnvironment<'_> {
        ToolEnvironment { config: &self.config, store: &self.store_file }
    }

    /// The policies that hold: those of the folder and of the user, or the one that is named instead of the folder's.
    ///
    /// # Errors
    /// If one of them is not valid.
    pub fn policies(&self, named: Option<&Path>) -> Result<PolicySet, HostError> {
        Ok(PolicySet::load(self.policy_files().named(named.map(Path::to_owned)))?)
    }

    /// Returns where policies are that nobody has to name.
    #[must_use]
    pub fn policy_files(&self) -> PolicyFiles {
        let places = self.config.locations();
        let own =
            places.user.as_ref().map(|user| user.with_file_name(policy::FILE)).filter(|path| may_exist(path));
        PolicyFiles::new(places.policy.clone(), own)
    }

    /// The folder that agents work in, with everything in it protected that is none of their business.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn workspace(&self, policies: &PolicySet) -> Result<Workspace, HostError> {
        self.setting().workspace(policies)
    }

    /// The MCP servers that are configured.
    #[must_use]
    pub fn servers(&self) -> ConfiguredServers {
        mcp::configured(&self.config)
    }

    /// Starts these MCP servers, confined where that is wanted.
    ///
    /// # Errors
    /// If they cannot be started.
    pub async fn start_servers(
        &self,
        policies: &PolicySet,
        servers: Vec<convoke_mcp::ServerConfig>,
    ) -> Result<convoke_mcp::McpServers, HostError> {
        mcp::start(self.setting(), policies, servers).await
    }

    /// Returns what this process knows about models.
    ///
    /// # Errors
    /// If the keys cannot be read.
    pub fn models(&self) -> Result<Models, HostError> {
        let models = Models::of(self.config.clone())?.watched(Arc::clone(&self.downloads));
        Ok(models.bringing(Arc::clone(&self.own_models)))
    }

    /// Looks whether everything that agents need is in order here.
    pub async fn check_up(&self, policies: Result<&PolicySet, &HostError>) -> Checkup {
        Checkup::make(self, policies).await
    }

    /// Loads a file, a package, or standard input if it is called `-`.
    ///
    /// # Errors
    /// If it cannot be read. What is wrong with what it says is in its diagnostics.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<LoadedFile, HostError> {
        self.load_with(path, self.config.skills())
    }

    /// The same, with skills looked for in these folders.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn load_with(&self, path: impl AsRef<Path>, skills: &[PathBuf]) -> Result<LoadedFile, HostError> {
        let path = path.as_ref();
        let (name, bytes) = bytes_of(path)?;
        let trust = trust_store(self.config.environment())?;
        let (name, bytes, concern, files): (_, _, _, Box<dyn Loader>) = match unpacked(&name, &bytes, &trust)?
        {
            Some(UnpackedPackage { name, agentfile, files, note }) => {
                (name, agentfile, note, Box::new(files))
            }
            None => (name, bytes, None, beside(path, skills, trust)),
        };
        let kind = self.kind_of(&name, &bytes);
        let loaded = Self::read(kind, path, (name, bytes), &*files);
        Ok(LoadedFile { concern, ..loaded })
    }

    /// Makes an Agentfile of one goal out of what it is to achieve, with a workflow called `inline-goal`. What is in the text means
    /// nothing else. Its runs are as those of a file that came on standard input.
    ///
    /// # Errors
    /// If the packages that are trusted cannot be read.
    pub fn load_goal(&self, goal: &str) -> Result<LoadedFile, HostError> {
        let path = Path::new("-");
        let files = beside(path, self.config.skills(), trust_store(self.config.environment())?);
        let text = crate::scaffold::agentfile_of_goal(goal).into_bytes();
        Ok(Self::read(Arc::new(AgentfileKind), path, ("--goal".to_owned(), text), &*files))
    }

    fn read(
        kind: Arc<dyn DefinitionKind>,
        path: &Path,
        (name, bytes): (String, Vec<u8>),
        files: &dyn Loader,
    ) -> LoadedFile {
        let (source, mut diagnostics) = read_source(name, bytes);
        let keeping = RecordingLoader::new(files, source.name());
        let mut definition = None;
        if diagnostics.errors() == 0 {
            (definition, diagnostics) = kind.read(&source, &keeping);
            kind.lint(&source, &mut diagnostics);
        }
        let definition = definition.filter(|_| diagnostics.errors() == 0);
        let beside = keeping.into_kept();
        LoadedFile { kind, path: path.to_owned(), source, definition, diagnostics, concern: None, beside }
    }

    fn kind_of(&self, name: &str, bytes: &[u8]) -> Arc<dyn DefinitionKind> {
        let kind = self.kinds.iter().find(|kind| kind.recognizes(name, bytes));
        kind.map_or_else(|| Arc::new(AgentfileKind) as Arc<dyn DefinitionKind>, Arc::clone)
    }

    /// Puts together what running a file takes. What is worth saying is added to `notes`, also if it fails.
    ///
    /// # Errors
    /// If the file has mistakes, or cannot be run with what there is here.
    pub async fn prepare(
        &self,
        loaded: LoadedFile,
        inputs: Values,
        options: &StartOptions,
        notes: &mut Vec<String>,
    ) -> Result<PreparedRun, HostError> {
        let definition = Arc::clone(loaded.valid()?);
        let policies = self.policies(options.policy.as_deref())?;
        let tools = RunTools::prepare(self.setting(), policies, options.servers, notes).await?;
        let skills: Vec<PathBuf> = options.skills.iter().chain(self.config.skills()).cloned().collect();
        let shelf = SkillShelf::find_in(&skills);
        for (folder, why) in shelf.passed_over() {
            notes.push(format!("{} is passed over: {why}", folder.display()));
        }
        let path = &loaded.path;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let path = if is_standard_input(path) { path } else { &absolute };
        let workspace = self.config.workspace();
        let manifest = Manifest {
            path: path.display().to_string(),
            text: loaded.source.text().to_owned(),
            beside: loaded.beside,
            place: Some(RunOrigin::here(&self.config)),
            model: options.model.clone(),
            model_asked: options.model.is_some(),
            workspace: if workspace.summary { summary(&workspace.path) } else { String::new() },
            tools: tools.tools.definitions(),
            skills: shelf.iter().cloned().collect(),
            answers: Some((&self.config.supervision()).into()),
            policy: options.policy.clone(),
            limits: Some(self.limits(options.limits.as_ref())).filter(|limits| *limits != Limits::default()),
            timeout: options.timeout.or(self.config.wall_time()),
            turns_per_goal: self.config.turns_per_goal(),
            fingerprints: Fingerprints::of(&inputs, definition.inputs()),
        };
        PreparedRun::new(loaded.kind, definition, manifest, inputs, self.models()?, tools, notes).await
    }

    /// What a new run may use: what is configured, with what is given instead.
    pub(crate) fn limits(&self, given: Option<&Limits>) -> Limits {
        let configured = self.config.limits();
        given.map_or_else(|| configured.clone(), |given| configured.clone().replaced_by(given))
    }

    /// Starts a run of a file.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// If the file has mistakes, cannot be run with what there is here, or the inputs do not fit.
    pub async fn start(
        &self,
        loaded: LoadedFile,
        inputs: Values,
        options: StartOptions,
    ) -> Result<ActiveRun, HostError> {
        let mut notes = Vec::new();
        let mut prepared = self.prepare(loaded, inputs, &options, &mut notes).await?;
        prepared.load(&mut |note| notes.push(note.to_owned())).await?;
        let store = self.store()?;
        let run = prepared.create(&*store, options.id, options.started_by).await?;
        let how = ExecutionOptions { responder: options.responder, ..ExecutionOptions::default() };
        let running = prepared.go_on(store, run, how, &mut notes);
        Ok(running.noting(notes))
    }
}
