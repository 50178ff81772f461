//! `convoke fork`

use convoke_core::{Answer, EffectKind, FinishReason, Fork, Message, ModelReply, Money, Role, Usage};
use convoke_history::{Attempt, Detail, Effect, History, ToolOutcome};
use serde::de::DeserializeOwned;
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
    let again = done_again(&history, arguments.at, outcome.is_some());
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
        let show = session.command(&format!("show {}", shell::quoted(new.as_str())));
        session.output.note(&format!("it waits for an answer; `{show}` says how to give it"));
    }
    let resume = session.resuming_as(&new, &record);
    session.output.note(&format!("to let it go on, {resume}"));
    Ok(())
}

/// What changed the world after the fork, and will again if the new run comes there.
fn done_again(history: &History, at: u64, is_given: bool) -> Option<String> {
    let after = history.effects.iter().filter(|effect| {
        let attempt = effect.current();
        // Only what must not be repeated blindly has its beginning written down.
        let changes_the_world =
            matches!(effect.kind, EffectKind::Tool | EffectKind::Custom) && attempt.begun.is_some();
        let is_replaced = is_given && attempt.marks().any(|mark| mark.seq == at);
        changes_the_world && attempt.first_seq() >= at && !is_replaced
    });
    let names: Vec<String> = after
        .map(|effect| {
            let name = match &effect.current().detail {
                Detail::Tool { tool, .. } => tool.as_str(),
                Detail::Custom { name, .. } => name.as_str(),
                _ => effect.kind.name(),
            };
            format!("#{} {}", effect.current().first_seq(), text::one_line(name))
        })
        .collect();
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
    let show = session.command(&format!("show {}", shell::quoted(id.as_str())));
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
    match &attempt.detail {
        Detail::Model { model, reply, .. } => {
            let reply = ModelReply {
                message: Message::new(Role::Assistant, text),
                finish: FinishReason::Stop,
                // Nobody was paid for this text.
                usage: Usage { cost: Some(Money::ZERO), ..Usage::default() },
                model: reply.as_ref().map_or(model, |reply| &reply.model).clone(),
                request_id: None,
            };
            Ok(json!(reply))
        }
        Detail::Tool { .. } => Ok(json!(ToolOutcome { content: text.to_owned(), is_error: false })),
        _ => Err(Failure::failed(format!(
            "`--reply` replaces what a model or a tool said; #{} is of kind `{}`",
            attempt.first_seq(),
            effect.kind
        ))
        .hint(format!("give the whole outcome: --outcome {}", shell::quoted(&example(effect.kind))))),
    }
}

/// The outcome the user wrote, if the program that resumes the run will be able to read it.
fn stated(effect: &Effect, text: &str) -> Result<Value, Failure> {
    let unfit = |problem: String| {
        Failure::failed(format!("that is not what an effect of kind `{}` gives: {problem}", effect.kind))
            .hint(format!("it looks like this: --outcome {}", shell::quoted(&example(effect.kind))))
    };
    let value: Value =
        serde_json::from_str(text).map_err(|error| unfit(format!("it is not JSON ({error})")))?;
    let checked = match effect.kind {
        EffectKind::Model => readable::<ModelReply>(&value),
        EffectKind::Tool => readable::<ToolOutcome>(&value),
        EffectKind::Ask => readable::<Answer>(&value),
        EffectKind::Sleep => readable::<()>(&value),
        EffectKind::Now => readable::<convoke_core::Timestamp>(&value),
        // Only the program knows the types of its own effects.
        _ => Ok(()),
    };
    checked.map_err(unfit)?;
    Ok(value)
}

fn readable<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value).map(drop).map_err(|error| error.to_string())
}

/// An outcome as the journal keeps it.
fn example(kind: EffectKind) -> String {
    match kind {
        EffectKind::Model => {
            r#"{"message":{"role":"assistant","parts":[{"type":"text","text":"Hello"}]},"finish":"stop","model":"NAME"}"#
        }
        EffectKind::Tool => r#"{"content":"what the model gets to read","is_error":false}"#,
        EffectKind::Ask => r#"{"decision":{"type":"approve"},"by":"NAME","at":0}"#,
        EffectKind::Sleep => "null",
        EffectKind::Now => "1767603600000000",
        _ => r#""any JSON the program understands""#,
    }
    .to_owned()
}

/// A call that was begun before the fork and ended after it is made anew, which is not always meant.
fn warning(history: &History, at: u64, outcome: Option<&Value>) -> Option<String> {
    let is_cut = |effect: &&Effect| {
        let acts = matches!(effect.kind, EffectKind::Tool | EffectKind::Custom);
        let is_cut = |attempt: &Attempt| {
            let ended = attempt.ended.map_or(u64::MAX, |mark| mark.seq);
            let is_replaced = outcome.is_some() && ended == at;
            attempt.begun.is_some_and(|mark| mark.seq < at) && ended >= at && !is_replaced
        };
        acts && effect.attempts.iter().any(is_cut)
    };
    let cut: Vec<String> = history
        .effects
        .iter()
        .filter(is_cut)
        .map(|effect| format!("#{}", effect.current().first_seq()))
        .collect();
    let numbers = cut.join(", ");
    (!cut.is_empty()).then(|| {
        format!("what began at {numbers} had not ended at #{at}: the new run performs it anew, whatever it has done already")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_what_its_kind_gives() {
        assert_eq!(
            readable::<ModelReply>(&serde_json::from_str(&example(EffectKind::Model)).unwrap()),
            Ok(())
        );
        assert_eq!(
            readable::<ToolOutcome>(&serde_json::from_str(&example(EffectKind::Tool)).unwrap()),
            Ok(())
        );
        assert_eq!(readable::<Answer>(&serde_json::from_str(&example(EffectKind::Ask)).unwrap()), Ok(()));
        for kind in EffectKind::ALL {
            assert!(serde_json::from_str::<Value>(&example(kind)).is_ok(), "{kind}");
        }
    }
}
