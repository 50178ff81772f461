//! Opens the host as the command line says, and adds hints to its errors.

use std::path::Path;

use convoke_config::Config;
use convoke_host::store::MoveError;
use convoke_host::{FileError, Host, HostError, InvalidAnswer, InvalidInputs};
use convoke_package::Verification;
use convoke_tools::web::{SEARCH_SETTINGS, WebToolsError};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Output, text};
use crate::{configuration, package, shell, weights};

/// What to do if there is no store where one is looked for, or it cannot be there.
pub(crate) const NAME_ONE: &str = "name the file with `--store PATH` or in CONVOKE_STORE";

/// The host for what is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Host, Failure> {
    of(arguments, configuration::load(arguments)?)
}

/// The host for this configuration.
pub(crate) fn of(arguments: &Arguments, config: Config) -> Result<Host, Failure> {
    let host = Host::builder(config).store_file(&arguments.store).downloads(weights::bar());
    Ok(host.build()?)
}

/// Says what the host found worth saying.
pub(crate) fn tell(notes: &[String], output: &mut Output) {
    for note in notes {
        output.note(&text::clean(note));
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let message = text::clean(&error.to_string());
        match error {
            HostError::File(error) => error.into(),
            HostError::Package(error) => error.into(),
            HostError::Key(error) => error.into(),
            HostError::Store(error) => error.into(),
            HostError::Run(error) => error.into(),
            HostError::Move(error) => error.into(),
            HostError::Weights(error) => error.into(),
            HostError::Policy(invalid) => Self::policy(&message, invalid.errors),
            HostError::Unverified { verification: Verification::Invalid { .. }, .. } => Self::failed(message)
                .hint("it was changed after it was signed: get it again from where it is from"),
            HostError::CannotRun { problems, .. } | HostError::NotCompiled { problems } => {
                problems.into_iter().fold(Self::failed(message), Self::detail)
            }
            HostError::Inputs { problems } => problems.into_iter().fold(Self::usage(message), Self::detail),
            HostError::NoModel { looked } => looked
                .into_iter()
                .fold(Self::failed(message), Self::detail)
                .hint("set a provider's key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a model with --model")
                .hint("to see it run without one, with answers made up: --model scripted/rehearsal"),
            HostError::ForbiddenModel { .. } => Self::failed(message)
                .hint("use a scripted model, such as --model scripted/rehearsal, or lift the ban"),
            HostError::UnknownModel(_) => Self::usage(message),
            HostError::NoLocalModels { .. } => Self::failed(message)
                .hint("build it with `cargo build -p convoke-cli --features local`, or use a provider's model"),
            HostError::NoModelFile { .. } => Self::not_found(message),
            HostError::NoSuchModel { .. } => Self::not_found(message)
                .hint("`convoke model list` shows what is here and what can be pulled"),
            HostError::Workspace { .. } => Self::failed(message)
                .hint("`workspace.path` in convoke.toml, or CONVOKE_WORKSPACE, says where they work"),
            #[cfg(target_os = "linux")]
            HostError::Readable(convoke_tools::sandbox::ReadablePathsError::Refused { named_at, .. }) => {
                Self::failed(message).hint(text::clean(&format!("`readable` in {named_at} names it")))
            }
            HostError::Web(WebToolsError::Search(_)) => {
                Self::failed(message).hint(format!("see {SEARCH_SETTINGS} in docs/tools.md"))
            }
            HostError::NotesLeft { .. } => Self::store(message),
            HostError::NoStorePlace | HostError::StoreFolder { .. } => Self::store(message).hint(NAME_ONE),
            HostError::StoreLink { .. } => Self::store(message).hint(format!("remove it; or {NAME_ONE}")),
            HostError::StoreWithinReach { own, is_earlier, .. } => {
                let failure = Self::store(message);
                let failure = match own {
                    Some(own) if is_earlier && own.exists() => failure.hint(
                        "`convoke store move --to PATH` takes its runs to a file of their own, since there are others in the project's; \
                         then again with `--store PATH`",
                    ),
                    Some(own) if is_earlier => failure
                        .hint(format!("`convoke store move` takes its runs to {}; then again", own.display())),
                    Some(own) => failure
                        .hint(format!("without a name of your own, runs are kept in {}", own.display())),
                    None => failure.hint(
                        "let agents work in another folder: `workspace.path` in convoke.toml, or CONVOKE_WORKSPACE",
                    ),
                };
                failure
                    .hint("name a file elsewhere with `--store PATH`")
                    .hint("if it is to stay there, write `inside_workspace = true` below `[store]` in your own convoke.toml (`convoke config path` says where that is)")
            }
            _ => Self::failed(message),
        }
    }
}

impl From<InvalidInputs> for Failure {
    fn from(invalid: InvalidInputs) -> Self {
        let failure = Self::usage(invalid.to_string());
        invalid.problems.into_iter().fold(failure, Self::detail)
    }
}

impl From<InvalidAnswer> for Failure {
    fn from(invalid: InvalidAnswer) -> Self {
        let failure = Self::usage(invalid.to_string());
        match invalid {
            InvalidAnswer::NotJson(_) => failure.hint("a text stands between double quotes"),
            _ => failure,
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let failure = Self::failed(error.to_string());
        match error {
            FileError::Missing { path, .. } if path == Path::new("Agentfile") => {
                failure.hint("name a file; without one, `Agentfile` in this folder is meant")
            }
            FileError::Missing { path, .. } => {
                failure.hint(package::meant(&path).unwrap_or_else(|| "check the path".to_owned()))
            }
            FileError::Folder { path, .. } => {
                failure.hint(format!("name a file in it, for instance {}", path.join("Agentfile").display()))
            }
            FileError::Pipe { .. } => {
                failure.hint("write it to a file, or give it on standard input: the file is `-` then")
            }
            FileError::TooLarge { .. } => failure.hint("check the path: no file of ours has so much in it"),
            _ => failure.hint("check its permissions"),
        }
    }
}

impl From<MoveError> for Failure {
    fn from(error: MoveError) -> Self {
        let message = text::clean(&error.to_string());
        let shown = |path: &std::path::Path| shell::quoted(&path.display().to_string());
        match error {
            MoveError::Held { .. } => {
                Self::failed(message).hint("wait for it, or stop it with `convoke cancel`")
            }
            MoveError::Missing { .. } | MoveError::Notes(_) => Self::store(message),
            MoveError::Same { .. } => Self::usage(message),
            MoveError::InUse { .. } => Self::store(message).hint("end it, and try again"),
            MoveError::Failed { .. } => Self::store(message).hint(
                "nothing is lost: what is in the new place is complete, and the same command goes on from there",
            ),
            MoveError::Both { from, .. } => Self::failed(message)
                .hint(format!(
                    "to keep both, move the first to a file of its own: `convoke store move --from {} --to PATH`",
                    shown(&from)
                ))
                .hint(format!("`convoke --store {} runs` lists what is in it", shown(&from))),
            _ => Self::failed(message),
        }
    }
}
