//! Errors of the host.

use std::path::PathBuf;

use convoke_core::{Error, RunId, StoreError};
use convoke_models::UnknownModel;
use convoke_models::choose::{ConnectError, CredentialsError};
use convoke_package::{KeyError, PackageError, Verification};
use convoke_tools::policy::InvalidPolicy;
#[cfg(target_os = "linux")]
use convoke_tools::sandbox::ReadablePathsError;
use convoke_tools::web::WebToolsError;
use convoke_weights::WeightsError;

use crate::agentfile::FileError;
use crate::store::MoveError;

/// The reasons why something could not be loaded, started or gone on with.
///
/// The message says what is wrong. As a [`FailureReport`](crate::FailureReport) it also says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A package cannot be read.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A key that the user trusts cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A package was changed after it was signed.
    #[error("{name} is {}", crate::agentfile::in_words(verification))]
    Unverified {
        /// The package.
        name: String,
        /// What is known of its signature.
        verification: Verification,
    },
    /// A package has nothing to run in it.
    #[error("there is no Agentfile in the package {name}")]
    EmptyPackage {
        /// The package.
        name: String,
    },
    /// The file of a run came on standard input, or there was none.
    #[error("the run was begun with `--goal` or with a file on standard input: there is no other")]
    NoFile,
    /// The file has mistakes in it.
    #[error("the {kind} is not valid: {problems}")]
    Invalid {
        /// What kind of file it is.
        kind: &'static str,
        /// How many mistakes it has, in words.
        problems: String,
    },
    /// The file is as it should be, and cannot be run with what there is here.
    #[error("the {kind} cannot be run here")]
    CannotRun {
        /// What kind of file it is.
        kind: &'static str,
        /// Why, each in a line.
        problems: Vec<String>,
    },
    /// Files that a pack is authored in make none.
    #[error("the files make no pack")]
    NotCompiled {
        /// Why, each in a line.
        problems: Vec<String>,
    },
    /// The inputs do not fit.
    #[error("the inputs are not what the file needs")]
    Inputs {
        /// What is wrong, each in a line.
        problems: Vec<String>,
    },
    /// There is no model.
    #[error("there is no model to run it with")]
    NoModel {
        /// Where one was looked for, each in a line.
        looked: Vec<String>,
    },
    /// There is no model to supervise with.
    #[error("there is no model to supervise with: {0}")]
    NoSupervisor(String),
    /// Real models are forbidden here.
    #[error(
        "`{model}` is a real model, and real models are forbidden here ({})",
        convoke_core::FORBID_LIVE_MODELS
    )]
    ForbiddenModel {
        /// The model.
        model: String,
    },
    /// The name is no model's.
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    /// The model's service cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The keys cannot be read.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The files of models cannot be read or fetched.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The program was built without models that run in the process.
    #[error("this program was built without local models, so it cannot run `{model}`")]
    NoLocalModels {
        /// The model.
        model: String,
    },
    /// There is no such file.
    #[error("there is no file {model}")]
    NoModelFile {
        /// The file.
        model: String,
    },
    /// There is no such model on this machine.
    #[error("there is no model `{model}` here")]
    NoSuchModel {
        /// The model.
        model: String,
    },
    /// A model in this process cannot be opened.
    #[error("{0}")]
    LocalModel(String),
    /// A policy is not valid, so nothing is allowed.
    #[error(transparent)]
    Policy(#[from] Box<InvalidPolicy>),
    /// The folder that agents work in cannot be opened.
    #[error("agents cannot work in {}: {source}", path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: convoke_tools::workspace::FileError,
    },
    /// Commands have no place.
    #[error("commands of agents have no place: {0}")]
    Commands(String),
    /// What commands can read cannot be settled.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Readable(#[from] ReadablePathsError),
    /// There are no tools for the web.
    #[error(transparent)]
    Web(#[from] WebToolsError),
    /// Tools cannot be put together.
    #[error("{0}")]
    Tools(String),
    /// This user has no place for runs.
    #[error("there is no place for runs: this user has no home (neither HOME nor XDG_DATA_HOME is set)")]
    NoStorePlace,
    /// Agents could write the store of their run.
    #[error(
        "{} is in {}, the folder that agents work in: their commands could write what it says, even that somebody has approved \
         something", store.display(), workspace.display()
    )]
    StoreWithinReach {
        /// The store.
        store: PathBuf,
        /// The folder that agents work in.
        workspace: PathBuf,
        /// Where runs are kept without a name of the user's own, if that is out of reach.
        own: Option<PathBuf>,
        /// Whether the store is where earlier versions had it.
        is_earlier: bool,
    },
    /// The place for runs is a link.
    #[error("{} is a link, and runs are not kept behind one", link.display())]
    StoreLink {
        /// The link.
        link: PathBuf,
    },
    /// The place for runs cannot be made.
    #[error("the folder for the runs of this project cannot be made, {}: {source}", folder.display())]
    StoreFolder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What agents noted in runs that were deleted is still there.
    #[error("the notes of deleted runs in {} are left: {why}", file.display())]
    NotesLeft {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Runs cannot be moved.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run could not be started, or failed to go on.
    #[error(transparent)]
    Run(#[from] Error),
    /// What a run begins with cannot be written down.
    #[error("the run's inputs cannot be written down: {0}")]
    Unwritable(#[source] serde_json::Error),
    /// What a run came to cannot be read.
    #[error("the result of run {run} cannot be read: {source}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// Why.
        source: serde_json::Error,
    },
    /// It is a run of another program, or of a kind that this host does not know.
    #[error("run {run} is of another program: its workflow is `{workflow}`")]
    UnknownKind {
        /// The run.
        run: RunId,
        /// Its workflow.
        workflow: String,
    },
    /// It is a conversation, which no file describes.
    #[error("run {run} is a conversation: it goes on when somebody goes on with it")]
    Conversation {
        /// The run.
        run: RunId,
    },
    /// The run was begun under a policy that the user has named.
    #[error("run {run} was begun with a policy that was named: name it again")]
    PolicyToBeNamed {
        /// The run.
        run: RunId,
        /// The policy.
        policy: PathBuf,
    },
    /// Secrets are not kept with a run.
    #[error("secrets are not kept with a run: run {run} needs {} again", names.join(", "))]
    SecretsMissing {
        /// The run.
        run: RunId,
        /// The inputs.
        names: Vec<String>,
    },
    /// The run was begun elsewhere.
    #[error("run {run} {}", there.difference(here))]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Where it was begun.
        there: Box<crate::RunOrigin>,
        /// Where it is to go on.
        here: Box<crate::RunOrigin>,
    },
    /// Something else was sent before with the same key.
    #[error("run {run} was sent something else on `{channel}` with the key `{key}`")]
    KeyTaken {
        /// The run.
        run: RunId,
        /// The channel.
        channel: String,
        /// The key.
        key: String,
    },
    /// Somebody else has sent the result of a call at the same moment.
    #[error("the call on `{channel}` of run {run} has been sent a result by somebody else")]
    ResultSent {
        /// The run.
        run: RunId,
        /// The channel.
        channel: String,
    },
    /// A scenario cannot be run.
    #[error("scenario {scenario}: {reason}")]
    Scenario {
        /// The scenario.
        scenario: String,
        /// Why not.
        reason: String,
    },
    /// What was chosen for an eval chooses nothing in it.
    #[error("{problem}")]
    NothingChosen {
        /// What chooses nothing, and what there is.
        problem: String,
    },
    /// There is nothing to evaluate.
    #[error(
        "there are no scenarios in {places}: their names end in .scenario.yaml, .scenario.yml or .scenario.json"
    )]
    NoScenarios {
        /// Where they were looked for.
        places: String,
    },
    /// The run has come to an end that going on would not change.
    #[error("run {run} has ended: {status}")]
    Ended {
        /// The run.
        run: RunId,
        /// How.
        status: convoke_core::RunStatus,
    },
}

/// What a run that could not go on fails with, for those who only know runs.
impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Run(error) => error,
            HostError::Store(error) => Self::Store(error),
            HostError::UnknownKind { .. }
            | HostError::Conversation { .. }
            | HostError::PolicyToBeNamed { .. }
            | HostError::SecretsMissing { .. }
            | HostError::Elsewhere { .. }
            | HostError::Ended { .. } => Self::Refused(error.to_string().into()),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<InvalidPolicy> for HostError {
    fn from(invalid: InvalidPolicy) -> Self {
        Self::Policy(Box::new(invalid))
    }
}
