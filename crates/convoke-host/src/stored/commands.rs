//! Commands about stored runs, for people to copy.

use convoke_core::store::RunRecord;
use convoke_core::{PendingQuestion, QuestionKind, RunId};
use convoke_history::OpenQuestion;
use convoke_text::{shell_argument, shell_quoted};
use serde_json::Value;

use super::StoredRuns;
use crate::Manifest;

/// So many digits of a question's id are shown in commands; enough to tell questions of one run apart.
const QUESTION_DIGITS: usize = 8;

impl StoredRuns {
    /// A command on the same store.
    #[must_use]
    pub fn command(&self, rest: &str) -> String {
        format!("convoke {}{rest}", self.option)
    }

    /// The same about a run; `rest` stands behind it.
    #[must_use]
    pub fn about(&self, verb: &str, run: &RunId, rest: &str) -> String {
        let space = if rest.is_empty() { "" } else { " " };
        self.command(&format!("{verb} {}{space}{rest}", shell_quoted(run.as_str())))
    }

    /// The commands that answer a question, one per possible answer.
    #[must_use]
    pub fn answering(&self, open: &OpenQuestion) -> Vec<String> {
        let pending = &open.pending;
        let id: String = pending.id.as_str().chars().take(QUESTION_DIGITS).collect();
        let command = |decision: &str| self.about("answer", &pending.run, &format!("{id} {decision}"));
        let all = |decisions: &[&str]| decisions.iter().map(|decision| command(decision)).collect();
        let reject = "--reject 'WHY NOT'";
        match &pending.question.kind {
            QuestionKind::Approval if pending.question.covers.is_empty() => {
                all(&["--approve", "--revise 'WHAT TO CHANGE'", reject])
            }
            QuestionKind::Approval => {
                all(&["--approve", "--approve --for-run", "--revise 'WHAT TO CHANGE'", reject])
            }
            QuestionKind::Choice { options } => {
                // What begins like an option is not taken for one.
                let joint = |option: &str| if option.starts_with('-') { "=" } else { " " };
                let choose =
                    |option: &String| command(&format!("--choose{}{}", joint(option), shell_quoted(option)));
                options.iter().map(choose).chain(self.forking_past(pending, options)).collect()
            }
            QuestionKind::Text => {
                // A conversation may wait for an event that somebody sends, too.
                let send = |event: &str| self.about("send", &pending.run, &shell_argument(event));
                let text = command("--text 'YOUR ANSWER'");
                std::iter::once(text).chain(awaited_events(pending).map(send)).collect()
            }
            QuestionKind::Json => all(&["--value 'JSON'", reject]),
            QuestionKind::Media => all(&["--file PATH", reject]),
            _ => all(&["--approve", reject]),
        }
    }

    /// The command for an interrupted act that took effect, where what it gave is more than that it is done.
    fn forking_past(&self, pending: &PendingQuestion, options: &[String]) -> Option<String> {
        let is_doubt = pending.path.last().is_some_and(|place| place.written() == "in doubt");
        let can_be_done = options.iter().any(|option| option == "done");
        (is_doubt && !can_be_done).then(|| self.about("fork", &pending.run, "--at N --outcome 'JSON'"))
    }

    /// The command that shows a run, in words.
    #[must_use]
    pub fn shows(&self, run: &RunId) -> String {
        format!("`{}` shows what it did", self.about("show", run, ""))
    }

    /// The command that goes on with a run of a file. What was named for it is to be named again.
    #[must_use]
    pub fn resume(&self, run: &RunId, kept: &Manifest) -> String {
        self.command(&resume_words(run, kept))
    }

    /// The same, for whoever is in another folder.
    pub(super) fn resume_from(&self, run: &RunId, kept: &Manifest) -> String {
        let store = std::path::absolute(&self.place).unwrap_or_else(|_| self.place.clone().into());
        let store = shell_quoted(&store.display().to_string());
        format!("convoke --store {store} {}", resume_words(run, kept))
    }

    /// Says how to let a run go on. A fork has the record of the run it is of, but for its id.
    #[must_use]
    pub fn resuming(&self, record: &RunRecord) -> String {
        let RunRecord { id: run, workflow, .. } = record;
        if let Some(kept) = Manifest::of(record) {
            return format!("run `{}`", self.resume(run, &kept));
        }
        if workflow == crate::chat::NAME {
            return format!("go on with `{}`", self.about("chat --continue", run, ""));
        }
        format!(
            "resume it with the program that runs workflow `{workflow}`: `runtime.resume(&workflow, \"{run}\".parse()?)`"
        )
    }
}

/// The events that a conversation waits for beside an answer.
pub(super) fn awaited_events(pending: &PendingQuestion) -> impl Iterator<Item = &str> {
    pending.question.subject["awaits"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn resume_words(run: &RunId, kept: &Manifest) -> String {
    format!("resume {}{}{}", shell_quoted(run.as_str()), named_policy(kept), kept.secret_options())
}

/// The option that names the policy a run was started with.
pub(super) fn named_policy(kept: &Manifest) -> String {
    let named = kept.policy.as_ref();
    named.map_or_else(String::new, |file| format!(" --policy {}", shell_quoted(&file.display().to_string())))
}

impl Manifest {
    /// The options that give the secrets of a run again, which are not kept, to be filled in; empty if it needs none.
    #[must_use]
    pub fn secret_options(&self) -> String {
        let needed = self.inputs().into_iter().filter(|input| input.secret && input.default.is_none());
        needed.map(|input| format!(" -i {}=VALUE", input.name)).collect()
    }
}
