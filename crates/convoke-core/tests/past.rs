//! What a scope can know of its own past: whoever decides by what changes from one moment to the next must not decide again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::stored::{Home, echo};
use convoke_core::{Answer, ComposingScope, EffectKind, Entry, Phase, Question, RunStatus, Scope, Workflow};
use convoke_steps::task_boxed;

/// What a scope says of itself: past, past here or below, the next is known, has ended, later effects, past of the first, of the
/// second and of nobody below.
fn told(scope: ComposingScope<'_>) -> [bool; 8] {
    [
        scope.has_past(),
        scope.has_past_within(),
        scope.has_recorded_next(),
        scope.next_has_ended(),
        scope.has_later_effects(),
        scope.has_past_in("first"),
        scope.has_past_in("second"),
        scope.has_past_in("nobody"),
    ]
}

type Seen = Arc<Mutex<Vec<[bool; 8]>>>;

async fn looks(scope: &Scope, seen: &Seen) -> Result<(), convoke_core::Error> {
    let note = |of: &Scope| seen.lock().unwrap().push(told(of.composing()));
    note(scope);
    let first = scope.child("first");
    first.now().await?;
    let again = scope.child("first");
    again.now().await?;
    // Nothing happens in it, but below it.
    let second = scope.child("second");
    let below = second.child("below");
    below.now().await?;
    note(&second);
    scope.now().await?;
    note(scope);
    scope.ask(Question::text("Well?")).await?;
    note(scope);
    scope.now().await?;
    note(scope);
    Ok(())
}

#[tokio::test]
async fn a_scope_knows_what_happened_in_it_before() {
    let seen = Seen::default();
    let looking = Arc::clone(&seen);
    let step = task_boxed("look", move |scope, _: &mut u32| {
        let seen = Arc::clone(&looking);
        Box::pin(async move { looks(scope, &seen).await })
    });
    let (home, workflow) = (Home::new(echo()), Workflow::new(step));
    let suspended = home.start(&workflow, 0).await;
    assert_eq!(suspended.status, RunStatus::Suspended);
    let nothing = [false; 8];
    let before = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(before, [nothing; 3], "what a run does is no past of it");
    home.answer(&suspended.run, "Well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &suspended.run).await.status, RunStatus::Completed);
    let after = std::mem::take(&mut *seen.lock().unwrap());
    // The question was begun and has no outcome; the second scope has its past below it.
    let own = |known, ended, later| [true, true, known, ended, later, true, false, false];
    let second = [false, true, false, false, false, false, false, false];
    let new = own(false, false, false);
    assert_eq!(after, [own(true, true, true), second, own(true, false, true), new, new]);
}

#[tokio::test]
async fn how_long_a_scope_has_waited_follows_from_its_journal_also_when_it_is_told_again() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let looking = Arc::clone(&seen);
    let step = task_boxed("wait", move |scope, _: &mut u32| {
        let seen = Arc::clone(&looking);
        Box::pin(async move {
            let before = scope.now().await?;
            scope.child("person").ask(Question::text("Well?")).await?;
            let after = scope.now().await?;
            let waited = |until| scope.composing().time_waited(until);
            let nobody = scope.child("nobody");
            seen.lock().unwrap().push([waited(before), waited(after), nobody.composing().time_waited(after)]);
            Ok(())
        })
    });
    let (home, workflow) = (Home::new(echo()), Workflow::new(step));
    let run = home.start(&workflow, 0).await.run;
    home.answer(&run, "Well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Completed);
    home.runtime().replay(&workflow, &run).await.unwrap();
    let entries = home.store().entries(&run, 1, usize::MAX).await.unwrap();
    let asked = |phase| {
        let is_asked = |entry: &&Entry| entry.effect == EffectKind::Ask && entry.phase == phase;
        entries.iter().find(is_asked).unwrap().at
    };
    let waited = asked(Phase::Finished).since(asked(Phase::Started));
    assert!(!waited.is_zero());
    let seen = seen.lock().unwrap();
    assert_eq!(*seen, [[Duration::ZERO, waited, Duration::ZERO]; 2]);
}
