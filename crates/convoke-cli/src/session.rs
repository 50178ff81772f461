//! The session of a command: the open store, and where results go.

use std::path::Path;
use std::sync::Arc;

use convoke_core::store::RunRecord;
use convoke_core::{PendingQuestion, QuestionKind, RunId, Store, Timestamp};
use convoke_history::OpenQuestion;
use convoke_host::Manifest;
use convoke_host::store::{make_place, related_projects};
use convoke_store::{MemoryStore, SqliteStore};
use serde_json::Value;

use crate::arguments::{Arguments, StoredCommand};
use crate::configuration;
use crate::failure::Failure;
use crate::host::NAME_ONE;
use crate::shell;
use crate::terminal::Output;

/// So many digits of a question's id are shown in commands; enough to tell questions of one run apart.
const QUESTION_DIGITS: usize = 8;

/// So many other stores are named.
const NEAR: usize = 3;

/// An open store, and where results go.
pub(crate) struct Session<'a> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) output: &'a mut Output,
    pub(crate) json: bool,
    pub(crate) now: Timestamp,
    pub(crate) place: String,
    store_option: String,
}

impl<'a> Session<'a> {
    /// Opens the store the command line names. One that is not there is never made.
    pub(crate) fn open(
        arguments: &Arguments,
        command: &StoredCommand,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let path = &*arguments.store;
        let is_projects =
            configuration::loader(arguments).locations().project.store().as_deref() == Some(path);
        must_exist(path, &path.display().to_string()).map_err(|failure| match is_projects {
            true => near(arguments).fold(failure, Failure::hint),
            false => failure,
        })?;
        let store: Arc<dyn Store> = match command.only_reads() {
            // Somebody was about to make it, and did not get to: there are no runs.
            true if SqliteStore::is_uninitialized(path)? => Arc::new(MemoryStore::new()),
            true => Arc::new(SqliteStore::open_read_only(path)?),
            false => Arc::new(SqliteStore::open(path)?),
        };
        Ok(Self::of(store, arguments, output))
    }

    /// Opens the store the command line names, and makes it if it is not there.
    pub(crate) fn open_or_make(arguments: &Arguments, output: &'a mut Output) -> Result<Self, Failure> {
        make_place(&configuration::loader(arguments).locations().project, &arguments.store)?;
        let store =
            SqliteStore::open(&arguments.store).map_err(|error| Failure::from(error).hint(NAME_ONE))?;
        Ok(Self::of(Arc::new(store), arguments, output))
    }

    fn of(store: Arc<dyn Store>, arguments: &Arguments, output: &'a mut Output) -> Self {
        let place = arguments.store.display().to_string();
        let store_option =
            if arguments.names_store { format!("--store {} ", shell::quoted(&place)) } else { String::new() };
        let now = Timestamp::now();
        Self { store, output, json: arguments.json, now, place, store_option }
    }

    /// A command of this program on the same store, for the user to copy.
    pub(crate) fn command(&self, rest: &str) -> String {
        format!("convoke {}{rest}", self.store_option)
    }

    /// The same about a run; `rest` stands behind it.
    pub(crate) fn about(&self, verb: &str, run: &RunId, rest: &str) -> String {
        let space = if rest.is_empty() { "" } else { " " };
        self.command(&format!("{verb} {}{space}{rest}", shell::quoted(run.as_str())))
    }

    /// The commands that answer a question, one per possible answer.
    pub(crate) fn answering(&self, open: &OpenQuestion) -> Vec<String> {
        let pending = &open.pending;
        let id: String = pending.id.as_str().chars().take(QUESTION_DIGITS).collect();
        let command = |decision: String| self.about("answer", &pending.run, &format!("{id} {decision}"));
        let reject = || command("--reject 'WHY NOT'".to_owned());
        match &pending.question.kind {
            QuestionKind::Approval => {
                let for_run = (!pending.question.covers.is_empty()).then_some("--approve --for-run");
                let decisions = ["--approve"].into_iter().chain(for_run).chain(["--revise 'WHAT TO CHANGE'"]);
                decisions.map(|decision| command(decision.to_owned())).chain([reject()]).collect()
            }
            QuestionKind::Choice { options } => {
                let choose = |option: &String| command(format!("--choose {}", shell::quoted(option)));
                options.iter().map(choose).chain(self.forking_past(pending, options)).collect()
            }
            QuestionKind::Text => {
                // A conversation may wait for an event that somebody sends, too.
                let awaited = pending.question.subject["awaits"].as_array().into_iter().flatten();
                let send = |event: &str| self.about("send", &pending.run, &shell::quoted(event));
                let events = awaited.filter_map(Value::as_str).map(send);
                std::iter::once(command("--text 'YOUR ANSWER'".to_owned())).chain(events).collect()
            }
            QuestionKind::Json => vec![command("--value 'JSON'".to_owned()), reject()],
            QuestionKind::Media => vec![command("--file PATH".to_owned()), reject()],
            _ => vec![command("--approve".to_owned()), reject()],
        }
    }

    /// The command for an interrupted act that took effect, where what it gave is more than that it is done.
    fn forking_past(&self, pending: &PendingQuestion, options: &[String]) -> Option<String> {
        let is_doubt = pending.path.last().is_some_and(|place| place.written() == "in doubt");
        let can_be_done = options.iter().any(|option| option == "done");
        (is_doubt && !can_be_done).then(|| self.about("fork", &pending.run, "--at N --outcome 'JSON'"))
    }

    /// The command that goes on with a run of an Agentfile. What was named for it is to be named again.
    pub(crate) fn resume(&self, run: &RunId, kept: &Manifest) -> String {
        self.command(&resume_words(run, kept))
    }

    /// The same, for whoever is in another folder.
    pub(crate) fn resume_from(&self, run: &RunId, kept: &Manifest) -> String {
        let store = std::path::absolute(&self.place).unwrap_or_else(|_| self.place.clone().into());
        format!("convoke --store {} {}", shell::quoted(&store.display().to_string()), resume_words(run, kept))
    }

    /// How to let a run go on.
    pub(crate) fn resuming(&self, record: &RunRecord) -> String {
        self.resuming_as(&record.id, record)
    }

    /// How to let a run go on that is like another one, such as a fork of it.
    pub(crate) fn resuming_as(&self, run: &RunId, like: &RunRecord) -> String {
        let workflow = &like.workflow;
        if let Some(kept) = Manifest::of(like) {
            return format!("run `{}`", self.resume(run, &kept));
        }
        if workflow == convoke_host::chat::NAME {
            let again = self.about("chat --continue", run, "");
            return format!("go on with `{again}`");
        }
        format!(
            "resume it with the program that runs workflow `{workflow}`: `runtime.resume(&workflow, \"{run}\".parse()?)`"
        )
    }
}

fn resume_words(run: &RunId, kept: &Manifest) -> String {
    let named = named_policy(kept).map(|option| format!(" {option}")).unwrap_or_default();
    format!("resume {}{named}{}", shell::quoted(run.as_str()), secret_options(kept))
}

/// The option that names the policy a run was started with, for the user to copy.
pub(crate) fn named_policy(kept: &Manifest) -> Option<String> {
    let file = kept.policy.as_ref()?.display().to_string();
    Some(format!("--policy {}", shell::quoted(&file)))
}

/// The options that give the secrets of a run again, which are not kept, for the user to fill in.
pub(crate) fn secret_options(kept: &Manifest) -> String {
    let needed = kept.inputs().into_iter().filter(|input| input.secret && input.default.is_none());
    needed.map(|input| format!(" -i {}=VALUE", input.name)).collect()
}

/// Where runs are kept that the user may mean: a folder can become part of another project, or one of its own.
fn near(arguments: &Arguments) -> impl Iterator<Item = String> {
    let project = configuration::loader(arguments).locations().project;
    let mut near: Vec<String> = related_projects(&project)
        .into_iter()
        .take(NEAR)
        .map(|kept| {
            let store = shell::quoted(&kept.store.display().to_string());
            format!("runs of {} are in another file: add `--store {store}`", kept.folder.display())
        })
        .collect();
    if near.is_empty() {
        near.push(
            "if the project's folder was moved, `convoke store list` says where its runs are".to_owned(),
        );
    }
    near.into_iter()
}

fn must_exist(path: &Path, place: &str) -> Result<(), Failure> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::store(format!("there is no store at {place}"))
                .hint(NAME_ONE)
                .hint("`convoke run` makes one, and so does a program with `SqliteStore::open(path)`; this command never does"));
        }
        Err(error) => return Err(Failure::store(format!("{place} cannot be read: {error}")).hint(NAME_ONE)),
    };
    if metadata.is_dir() {
        return Err(Failure::store(format!("{place} is a folder, not a store")).hint(NAME_ONE));
    }
    Ok(())
}
