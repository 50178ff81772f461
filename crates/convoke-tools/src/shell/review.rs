//! Review by a person of what a command changed, before it comes out of its view.

use convoke_core::{Decision, Error, Question, Scope};
use serde_json::json;

use crate::sandbox::{CommandResult, EndedCommand, HeldChanges, Sandbox};

/// Brings out what a command changed, if the run is still ours: it took its time, and may have been stopped meanwhile.
pub(crate) async fn taken_over(ended: EndedCommand, scope: &Scope) -> Result<CommandResult, Error> {
    match ended {
        EndedCommand::Held(held) => {
            scope.confirm().await?;
            held.take_over().await.map_err(Error::failed)
        }
        EndedCommand::Done(finished) => Ok(finished),
    }
}

/// Brings out what a command changed; where that is to be looked at, if a person agrees.
pub(super) async fn reviewed(
    sandbox: &Sandbox,
    mut held: Box<HeldChanges>,
    command: &str,
    scope: &Scope,
) -> Result<CommandResult, Error> {
    let changes = match sandbox.is_reviewed() {
        true => held.changes().await.map_err(Error::failed)?,
        false => None,
    };
    let Some(changes) = changes else { return taken_over(EndedCommand::Held(held), scope).await };
    let (place, digest) = (scope.child("review"), changes.digest());
    let was_asked = place.composing().has_past_in(&digest);
    // Asked of nobody, the question would suspend the run, and the view would be lost. What was asked before may have been
    // answered, though nobody is here now.
    if !scope.is_attended() && !was_asked {
        return Ok(held.leave("the policy has changes looked at, and nobody is here to do that"));
    }
    if let Some(why) = changes.too_much() {
        return Ok(held.leave(&why));
    }
    let paths: Vec<String> = changes.paths().map(|path| path.display().to_string()).collect();
    let later = match held.reached {
        true => "it may have acted on other machines by then",
        false => "it is run again when the run goes on",
    };
    let question = Question::confirm("May what the command changed come out of its view?")
        .details(format!(
            "{command}\n\n{}\nIf you answer later, what the command changed is lost: {later}, and an approval counts if it changes \
             the same again.",
            changes.text()
        ))
        .about(json!({"command": command, "paths": paths, "changes": digest, "reached": held.reached}));
    if !was_asked {
        // Other changes of an earlier attempt come out no more.
        place.composing().withdraw_earlier_questions();
    }
    match place.ask_named(&digest, question).await {
        Ok(answer) if answer.is_approval() => taken_over(EndedCommand::Held(held), scope).await,
        Ok(answer) => {
            let why = match &answer.decision {
                Decision::Reject { reason: why } | Decision::Revise { text: why } if !why.is_empty() => {
                    format!(": {why}")
                }
                _ => String::new(),
            };
            Ok(held.leave(&format!("a person looked at it and said no{why}")))
        }
        // Somebody else decided that nobody is to be asked.
        Err(Error::Denied(why)) => Ok(held.leave(why.as_ref())),
        Err(stop) => Err(stop),
    }
}
