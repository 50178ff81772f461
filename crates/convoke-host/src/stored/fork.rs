//! Forks of stored runs: where they branch off, what is said instead, and what they do anew.

use convoke_core::store::RunRecord;
use convoke_core::{Fork, RunId};
use convoke_history::{Attempt, Effect, History, check_outcome, outcome_example, text};
use convoke_text::shell_quoted;
use serde_json::Value;

use super::StoredRuns;
use crate::failure::FailureReport;

/// The replacement that stands in a fork for what an effect gave.
#[derive(Debug, Clone, Copy)]
pub enum Instead<'a> {
    /// What a model or a tool said.
    Reply(&'a str),
    /// The whole outcome, as JSON.
    Outcome(&'a str),
}

impl StoredRuns {
    /// Makes a run that has another one's entries up to this one. Gives its id, and what is worth knowing about it.
    ///
    /// # Errors
    /// If there is no such entry, nothing of that can be replaced so, or the store refuses.
    pub async fn fork(
        &self,
        history: &History,
        at: u64,
        id: Option<RunId>,
        instead: Option<Instead<'_>>,
    ) -> Result<(RunId, Vec<String>), FailureReport> {
        // One after the last is the end: nothing is done anew.
        if at == 0 || at > history.last_seq() + 1 {
            return Err(self.no_entry(history, at));
        }
        let outcome = instead.map(|instead| outcome(history, at, instead)).transpose()?;
        let notes = [cut(history, at, outcome.as_ref()), done_again(history, at, outcome.as_ref())];
        let mut fork = Fork::new(history.record.id.clone(), at);
        if let Some(id) = id {
            fork = fork.id(id);
        }
        if let Some(outcome) = outcome {
            fork = fork.with_outcome(outcome);
        }
        let new = fork.create(&self.store).await?;
        let mut notes: Vec<String> = notes.into_iter().flatten().collect();
        if !self.store.questions(Some(&new)).await?.is_empty() {
            let show = self.about("show", &new, "");
            notes.push(format!("it waits for an answer; `{show}` says how to give it"));
        }
        let record = RunRecord { id: new.clone(), ..history.record.clone() };
        notes.push(format!("to let it go on, {}", self.resuming(&record)));
        Ok((new, notes))
    }

    /// There is no entry with this number.
    pub fn no_entry(&self, history: &History, at: u64) -> FailureReport {
        let (id, last) = (&history.record.id, history.last_seq());
        let has = if last == 0 { "is empty".to_owned() } else { format!("has #1 to #{last}") };
        FailureReport::not_found(format!("run `{id}` has no entry #{at}: its journal {has}"))
            .hint(format!("`{}` prints the number of every effect", self.about("show", id, "")))
    }
}

/// What the effect at the fork gave in the new run.
fn outcome(history: &History, at: u64, instead: Instead<'_>) -> Result<Value, FailureReport> {
    let Some((effect, attempt)) = history.at(at) else {
        let message = format!("there is no effect at #{at} whose outcome could be replaced");
        return Err(
            FailureReport::failed(message).hint("leave `--reply` and `--outcome` out to fork at the end")
        );
    };
    match instead {
        Instead::Reply(text) => replied(effect, attempt, text),
        Instead::Outcome(text) => stated(effect, text),
    }
}

/// The outcome that says this text.
fn replied(effect: &Effect, attempt: &Attempt, text: &str) -> Result<Value, FailureReport> {
    attempt.replied_instead(text).ok_or_else(|| {
        let (seq, kind) = (attempt.first_seq(), effect.kind);
        FailureReport::failed(format!(
            "`--reply` replaces what a model or a tool said; #{seq} is of kind `{kind}`"
        ))
        .hint(format!("give the whole outcome: --outcome {}", shell_quoted(outcome_example(kind))))
    })
}

/// The outcome that somebody wrote, if the program that resumes the run will be able to read it.
fn stated(effect: &Effect, text: &str) -> Result<Value, FailureReport> {
    let kind = effect.kind;
    let unfit = |problem: String| {
        FailureReport::failed(format!("that is not what an effect of kind `{kind}` gives: {problem}"))
            .hint(format!("it looks like this: --outcome {}", shell_quoted(outcome_example(kind))))
    };
    let value = serde_json::from_str(text).map_err(|error| unfit(format!("it is not JSON ({error})")))?;
    check_outcome(kind, &value).map_err(|error| unfit(error.to_string()))?;
    Ok(value)
}

/// A call that was begun before the fork and ended after it is made anew, which is not always meant.
fn cut(history: &History, at: u64, outcome: Option<&Value>) -> Option<String> {
    let cut = history.cut_by_fork(at, outcome);
    let cut: Vec<String> = cut.iter().map(|effect| format!("#{}", effect.current().first_seq())).collect();
    let numbers = cut.join(", ");
    (!cut.is_empty()).then(|| {
        format!("what began at {numbers} had not ended at #{at}: the new run performs it anew, whatever it has done already")
    })
}

/// What changed the world after the fork, and will again if the new run comes there.
fn done_again(history: &History, at: u64, outcome: Option<&Value>) -> Option<String> {
    let numbered =
        |effect: &Effect| format!("#{} {}", effect.current().first_seq(), text::one_line(effect.name()));
    let names: Vec<String> = history.acts_after_fork(at, outcome).into_iter().map(numbered).collect();
    (!names.is_empty()).then(|| {
        format!(
            "after the fork, the other run changed the world ({}); the new one may do so again, and asks \
             again where a call needs approval",
            names.join(", ")
        )
    })
}
