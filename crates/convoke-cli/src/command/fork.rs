//! `convoke fork`

use convoke_core::Fork;
use convoke_history::{Attempt, Effect, History, check_outcome, outcome_example};
use serde_json::{Value, json};

use crate::arguments;
use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::shell;
use crate::terminal::text;

pub(super) async fn run(session: &mut Session<'_>, arguments: &arguments::Fork) -> Result<(), Failure> {
    let record = select::run(session, &arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    // One after the last is the end: nothing is done anew.
    if arguments.at == 0 || arguments.at > history.last_seq() + 1 {
        return Err(no_entry(session, &history, arguments.at));
    }
    let mut fork = Fork::new(record.id.clone(), arguments.at);
    if let Some(id) = &arguments.id {
        fork = fork.id(id.clone());
    }
    let outcome = outcome(&history, arguments)?;
    let warning = warning(&history, arguments.at, outcome.as_ref());
    let again = done_again(&history, arguments.at, outcome.as_ref());
    if let Some(outcome) = outcome {
        fork = fork.with_outcome(outcome);
    }
    let new = fork.create(&session.store).await?;
    if session.json {
        session.output.json(&json!({"run": new, "forked_from": {"run": record.id, "at": arguments.at}}))?;
    } else {
        session.output.plain(new.as_str())?;
    }
    for warning in warning.into_iter().chain(again) {
        session.output.note(&warning);
    }
    let questions = session.store.questions(Some(&new)).await?;
    if !questions.is_empty() {
        let show = session.about("show", &new, "");
        session.output.note(&format!("it waits for an answer; `{show}` says how to give it"));
    }
    let resume = session.resuming_as(&new, &record);
    session.output.note(&format!("to let it go on, {resume}"));
    Ok(())
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

/// There is no entry with this number.
pub(super) fn no_entry(session: &Session<'_>, history: &History, at: u64) -> Failure {
    let (id, last) = (&history.record.id, history.last_seq());
    let message = match last {
        0 => format!("run `{id}` has no entry #{at}: its journal is empty"),
        _ => format!("run `{id}` has no entry #{at}: its journal has #1 to #{last}"),
    };
    let show = session.about("show", id, "");
    Failure::not_found(message).hint(format!("`{show}` prints the number of every effect"))
}

/// What the effect at the fork gave in the new run, if the user says so.
fn outcome(history: &History, arguments: &arguments::Fork) -> Result<Option<Value>, Failure> {
    if arguments.reply.is_none() && arguments.outcome.is_none() {
        return Ok(None);
    }
    let Some((effect, attempt)) = history.at(arguments.at) else {
        return Err(Failure::failed(format!(
            "there is no effect at #{} whose outcome could be replaced",
            arguments.at
        ))
        .hint("leave `--reply` and `--outcome` out to fork at the end"));
    };
    match (&arguments.reply, &arguments.outcome) {
        (Some(text), _) => replied(effect, attempt, text).map(Some),
        (None, Some(text)) => stated(effect, text).map(Some),
        (None, None) => Ok(None),
    }
}

/// The outcome that says this text.
fn replied(effect: &Effect, attempt: &Attempt, text: &str) -> Result<Value, Failure> {
    attempt.replied_instead(text).ok_or_else(|| {
        Failure::failed(format!(
            "`--reply` replaces what a model or a tool said; #{} is of kind `{}`",
            attempt.first_seq(),
            effect.kind
        ))
        .hint(format!("give the whole outcome: --outcome {}", shell::quoted(outcome_example(effect.kind))))
    })
}

/// The outcome the user wrote, if the program that resumes the run will be able to read it.
fn stated(effect: &Effect, text: &str) -> Result<Value, Failure> {
    let unfit = |problem: String| {
        Failure::failed(format!("that is not what an effect of kind `{}` gives: {problem}", effect.kind))
            .hint(format!("it looks like this: --outcome {}", shell::quoted(outcome_example(effect.kind))))
    };
    let value: Value =
        serde_json::from_str(text).map_err(|error| unfit(format!("it is not JSON ({error})")))?;
    check_outcome(effect.kind, &value).map_err(|error| unfit(error.to_string()))?;
    Ok(value)
}

/// A call that was begun before the fork and ended after it is made anew, which is not always meant.
fn warning(history: &History, at: u64, outcome: Option<&Value>) -> Option<String> {
    let cut = history.cut_by_fork(at, outcome);
    let cut: Vec<String> = cut.iter().map(|effect| format!("#{}", effect.current().first_seq())).collect();
    let numbers = cut.join(", ");
    (!cut.is_empty()).then(|| {
        format!("what began at {numbers} had not ended at #{at}: the new run performs it anew, whatever it has done already")
    })
}
