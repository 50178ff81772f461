//! Waiting between turns: for the words of the person, and for events that others send.
//!
//! Events come as mail on the channel of their name. What came first is kept, so that a resumed run takes the same.

use std::sync::Arc;

use convoke_core::{BoxFuture, Decision, Error, Question, Scope, Suspension};
use futures_util::future::select_all;
use serde_json::{Value, json};

use super::state::Talk;
use super::talk::{Session, TURN};
use crate::workflow::Orchestration;

/// What came.
#[derive(Debug)]
pub(super) enum Arrival {
    /// The person said this.
    Words(String),
    /// Somebody sent this event.
    Event { event: Arc<str>, payload: Value },
    /// Nothing more will come.
    Nothing,
}

impl Session<'_> {
    /// Waits for what comes next.
    pub(super) async fn arrival(&mut self, trouble: String) -> Result<Arrival, Error> {
        let events = self.awaited_events();
        let question = (self.state.talk == Talk::Ongoing).then(|| self.question(trouble, &events));
        match question {
            None if events.is_empty() => Ok(Arrival::Nothing),
            Some(question) if events.is_empty() => ask(self.scope.clone(), question).await,
            question => {
                let wait = self.scope.child("wait");
                let arrival = first_of(&wait, question, &events).await?;
                self.scope.composing().learn_from(&wait);
                Ok(arrival)
            }
        }
    }

    /// The events that others may send in the state it is in.
    fn awaited_events(&self) -> Vec<Arc<str>> {
        let state = self.machine.compiled.current(&self.context).filter(|state| !state.is_terminal());
        let sent = state.filter(|state| state.orchestration != Orchestration::Internal);
        sent.map(|state| state.events().cloned().collect()).unwrap_or_default()
    }

    /// The question has what was answered last in it: whoever is asked elsewhere, or days later, knows what it is about.
    fn question(&self, trouble: String, awaited: &[Arc<str>]) -> Question {
        let mut subject = json!({"state": self.context.current_state()});
        if let Some(said) = &self.state.last {
            subject["said"] = said.as_str().into();
        }
        if !awaited.is_empty() {
            subject["awaits"] = awaited.iter().map(|event| &**event).collect();
        }
        Question::text(TURN).details(trouble).about(subject)
    }
}

/// Waits for the person and for every event at once.
async fn first_of(scope: &Scope, question: Option<Question>, events: &[Arc<str>]) -> Result<Arrival, Error> {
    let mut decision = scope.composing().decision::<usize>("what came first")?;
    let mut ways: Vec<(Scope, BoxFuture<'_, Result<Arrival, Error>>)> = Vec::new();
    if let Some(question) = question {
        let person = scope.child("person");
        ways.push((person.clone(), Box::pin(ask(person, question))));
    }
    for event in events {
        let way = scope.child(event);
        ways.push((way.clone(), Box::pin(receive(way, Arc::clone(event)))));
    }
    let (scopes, mut ways): (Vec<Scope>, Vec<_>) = ways.into_iter().unzip();
    let decided = decision.made();
    // What was taken before a crash came first, whatever has come since.
    let taken = decided.or_else(|| scopes.iter().position(|way| way.composing().next_has_ended()));
    let (first, arrival) = match taken.filter(|taken| *taken < ways.len()) {
        Some(taken) => (taken, ways.swap_remove(taken).await?),
        None => race(ways).await?,
    };
    if decided.is_none() {
        decision.make(first)?;
    }
    scope.composing().learn_from(&scopes[first]);
    // Nobody waits for the others any longer: an answer to them would come too late.
    let others = scopes.iter().enumerate().filter(|(number, _)| *number != first);
    others.for_each(|(_, way)| scope.composing().give_up(way));
    Ok(arrival)
}

/// The first that comes, with its number. If all have to wait for somebody, so has the run.
async fn race(ways: Vec<BoxFuture<'_, Result<Arrival, Error>>>) -> Result<(usize, Arrival), Error> {
    let numbered = ways.into_iter().enumerate().map(|(number, way)| {
        let numbered: BoxFuture<'_, _> = Box::pin(async move { (number, way.await) });
        numbered
    });
    let mut waiting: Vec<_> = numbered.collect();
    let mut suspended: Vec<Suspension> = Vec::new();
    while !waiting.is_empty() {
        let ((number, arrived), _, rest) = select_all(waiting).await;
        waiting = rest;
        match arrived {
            Ok(arrival) => return Ok((number, arrival)),
            Err(error) => match error.root() {
                Error::Suspended(suspension) => suspended.push((**suspension).clone()),
                _ => return Err(error),
            },
        }
    }
    Err(Error::Suspended(Box::new(Suspension::together(&suspended))))
}

/// Asks the person; who has nothing more to say rejects the question.
async fn ask(scope: Scope, question: Question) -> Result<Arrival, Error> {
    Ok(match scope.ask(question).await?.decision {
        Decision::Text { text } => Arrival::Words(text),
        _ => Arrival::Nothing,
    })
}

async fn receive(scope: Scope, event: Arc<str>) -> Result<Arrival, Error> {
    let payload = scope.receive::<Value>(&event).await?.payload;
    Ok(Arrival::Event { event, payload })
}
