//! Hints: what can be done about each error.

use std::path::Path;

use convoke_config::{EditError, Environment, Problems};
use convoke_core::{Error, StoreError};
use convoke_history::{human, text};
use convoke_knowledge::KnowledgeError;
use convoke_package::{KeyError, PackageError, Verification};
use convoke_text::{nearest, shell_quoted};
use convoke_tools::web::{SEARCH_SETTINGS, WebToolsError};
use convoke_weights::WeightsError;

use super::{FailureKind, FailureReport, FileProblems};
use crate::chat::ChatError;
use crate::packages::similar_package;
use crate::store::MoveError;
use crate::{FileError, HostError, InvalidAnswer, InvalidInputs};

/// What to do if there is no store where one is looked for, or it cannot be there.
pub(crate) const NAME_ONE: &str = "name the file with `--store PATH` or in CONVOKE_STORE";

/// What to do about a file that could not be replaced.
const UNCHANGED: &str = "check its permissions, and that the disk is not full; the file is as it was";

/// What to do about a package that is not what its maker signed.
const CHANGED: &str = "it was changed after it was signed: get it again from where it is from";

impl From<HostError> for FailureReport {
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
            HostError::Policy(invalid) => Self::failed(message).about(FileProblems::Policy(invalid.errors)),
            HostError::Unverified { verification: Verification::Invalid { .. }, .. } => {
                Self::failed(message).hint(CHANGED)
            }
            HostError::CannotRun { problems, .. } | HostError::NotCompiled { problems } => {
                Self::failed(message).detailed(problems)
            }
            HostError::Inputs { problems } => Self::usage(message).detailed(problems),
            HostError::NoModel { looked } => Self::failed(message)
                .detailed(looked)
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
            HostError::StoreWithinReach { own, is_earlier, .. } => Self::store(message)
                .hint(match own {
                    Some(own) if is_earlier && own.exists() => {
                        "`convoke store move --to PATH` takes its runs to a file of their own, since there are others in the project's; \
                         then again with `--store PATH`"
                            .to_owned()
                    }
                    Some(own) if is_earlier => {
                        format!("`convoke store move` takes its runs to {}; then again", own.display())
                    }
                    Some(own) => format!("without a name of your own, runs are kept in {}", own.display()),
                    None => {
                        "work in a folder below it, `mkdir hello && cd hello`; or let agents work in another one: \
                         `workspace.path` in convoke.toml, or CONVOKE_WORKSPACE"
                            .to_owned()
                    }
                })
                .hint("name a file elsewhere with `--store PATH`")
                .hint("if it is to stay there, write `inside_workspace = true` below `[store]` in your own convoke.toml (`convoke config path` says where that is)"),
            _ => Self::failed(message),
        }
    }
}

impl From<StoreError> for FailureReport {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound { .. } => {
                Self::not_found(message).hint("`convoke runs` lists the runs there are")
            }
            StoreError::NoSuchQuestion { .. } => Self::not_found(message),
            StoreError::Older { .. } => Self::store(message)
                .hint("`convoke answer`, `convoke fork` and `convoke resume` open it for writing"),
            StoreError::Newer { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Replaced(_)
            | StoreError::Failed(_) => Self::store(message),
            StoreError::Busy { holder, .. } => Self { holder: Some(holder), ..Self::failed(message) },
            _ => Self::failed(message),
        }
    }
}

impl From<Error> for FailureReport {
    fn from(error: Error) -> Self {
        match error.root() {
            Error::Store(failure) => failure.clone().into(),
            // Files have no functions to say it with.
            Error::StepsMissing(steps) => Self::failed(steps.in_words())
                .hint("give them their old names in the file, or go on with the file as it was: without `--changed-file`")
                .hint(format!(
                    "to have the file as it is now do them anew, `convoke fork {} --at N` before them (`convoke show` has the numbers), \
                     and resume the fork with `--changed-file`",
                    steps.run
                )),
            Error::Budget(_) => Self::new(FailureKind::UsedUp, error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<Problems> for FailureReport {
    fn from(problems: Problems) -> Self {
        let errors = human::count(problems.errors() as u64, "error");
        let failure = Self::failed(format!("the configuration is not valid: {errors}"));
        failure.about(FileProblems::Configuration(problems))
    }
}

impl From<InvalidInputs> for FailureReport {
    fn from(invalid: InvalidInputs) -> Self {
        Self::usage(invalid.to_string()).detailed(invalid.problems)
    }
}

impl From<InvalidAnswer> for FailureReport {
    fn from(invalid: InvalidAnswer) -> Self {
        let failure = Self::usage(invalid.to_string());
        match invalid {
            InvalidAnswer::NotJson(_) => failure.hint("a text stands between double quotes"),
            _ => failure,
        }
    }
}

impl From<FileError> for FailureReport {
    fn from(error: FileError) -> Self {
        let failure = Self::failed(error.to_string());
        match error {
            FileError::Missing { path, .. } if path == Path::new("Agentfile") => {
                failure.hint("name a file; without one, `Agentfile` in this folder is meant")
            }
            FileError::Missing { path, .. } => {
                let meant = similar_package(&Environment::process(), &path).or_else(|| similar_file(&path));
                failure.hint(meant.unwrap_or_else(|| "check the path".to_owned()))
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

/// The file of nearly this name beside it, in words.
fn similar_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = folder.unwrap_or(Path::new(".")).read_dir().ok()?.filter_map(Result::ok);
    let names: Vec<String> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    let meant = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{}`?", text::clean(&path.with_file_name(meant).display().to_string())))
}

impl From<MoveError> for FailureReport {
    fn from(error: MoveError) -> Self {
        let message = text::clean(&error.to_string());
        let shown = |path: &Path| shell_quoted(&path.display().to_string());
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

impl From<WeightsError> for FailureReport {
    fn from(error: WeightsError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<PackageError> for FailureReport {
    fn from(error: PackageError) -> Self {
        let failure = Self::failed(error.to_string());
        match error {
            PackageError::Agentfile { problems } => Self::failed("the Agentfile cannot be packed")
                .detailed(problems)
                .hint("everything it names must be in the folder; `convoke validate` explains the rest"),
            PackageError::Refused { verification: Verification::Invalid { .. } } => failure.hint(CHANGED),
            PackageError::Refused { verification: Verification::Unsigned } => {
                failure.hint("look at what is in it; `--allow-unsigned` installs it all the same")
            }
            PackageError::Refused { .. } => failure.hint(
                "get the public key of whoever made it, and `convoke trust KEY --as NAME`; or `--allow-unsigned`",
            ),
            PackageError::Exists { .. } => failure.hint("`--force` replaces it"),
            PackageError::Path { .. } | PackageError::Content { .. } => {
                failure.hint("nothing was written; do not trust where it is from")
            }
            PackageError::Version { .. } => failure.hint("such as `--version 1.2.0`"),
            PackageError::Folder { .. } => {
                failure.hint("name a folder with an Agentfile and only what belongs to it")
            }
            _ => failure,
        }
    }
}

impl From<KeyError> for FailureReport {
    fn from(error: KeyError) -> Self {
        let failure = Self::failed(error.to_string());
        match &error {
            KeyError::Exposed { path, .. } => failure.hint(format!("`chmod 600 {}`", path.display())),
            KeyError::Exists { .. } => failure.hint("keys are never overwritten; name another file"),
            KeyError::Invalid { .. } => failure.hint("`convoke keygen` makes keys"),
            _ => failure,
        }
    }
}

impl From<KnowledgeError> for FailureReport {
    fn from(error: KnowledgeError) -> Self {
        let message = text::clean(&error.to_string());
        match error {
            KnowledgeError::Name { .. } | KnowledgeError::Nothing { .. } => Self::usage(message),
            KnowledgeError::Missing { .. } => {
                Self::not_found(message).hint("`convoke knowledge add NAME PATH` makes some")
            }
            KnowledgeError::NoDocument { name, .. } => {
                Self::not_found(message).hint(format!("`convoke knowledge show {name}` lists what there is"))
            }
            KnowledgeError::Unreadable { .. } => {
                Self::not_found(message).hint("check the path and its permissions")
            }
            KnowledgeError::Storage(_) => Self::store(message),
            KnowledgeError::Embedding(_) => Self::failed(message)
                .hint("what was read so far is kept; the same command goes on from there"),
            _ => Self::failed(message),
        }
    }
}

impl From<EditError> for FailureReport {
    fn from(error: EditError) -> Self {
        let message = text::one_line(&error.to_string());
        match error {
            EditError::Name { .. } => Self::usage(message).hint("letters, digits, `_` and `-` can"),
            EditError::Address { .. } => {
                Self::usage(message).hint("write it with http:// or https:// before it")
            }
            EditError::Exists { .. } => {
                Self::failed(message).hint("choose another name, or change what the file says")
            }
            EditError::Shape { path, .. } => Self::failed(message).hint(format!(
                "write it as a section, or change it by hand: {}",
                shell_quoted(&path.display().to_string())
            )),
            EditError::Io { done: "written", .. } => Self::failed(message).hint(UNCHANGED),
            _ => Self::failed(message),
        }
    }
}

impl From<ChatError> for FailureReport {
    fn from(error: ChatError) -> Self {
        let message = error.to_string();
        match error {
            ChatError::Store(error) => error.into(),
            ChatError::Run(error) => error.into(),
            ChatError::Over { .. } => Self::failed(message)
                .hint("a conversation that is to go on begins with `convoke chat` and no text"),
            ChatError::NotWaiting { .. } => {
                Self::failed(message).hint("leave the text out to have its answer")
            }
            _ => Self::failed(message),
        }
    }
}
