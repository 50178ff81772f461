//! Waiting between turns: for the words of the person, and for events that others send.
//!
//! Events come as mail on the channel of their name. Where words and an event are there, the words are first: they were said in this
//! state. Of several events the one that was sent first counts. What came is kept, so that a resumed run takes the same.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use convoke_core::{BoxFuture, Decision, Error, Question, ReceivedMail, Scope, Suspension};
use serde_json::json;

use super::state::Talk;
use super::talk::{Session, TURN};

/// What came.
#[derive(Debug)]
pub(super) enum Arrival {
    /// The person said this.
    Words(String),
    /// Somebody sent this event, in the visit of a state that so many transitions had led to.
    Event { event: Arc<str>, sent: ReceivedMail, visit: u64 },
    /// Nothing more will come.
    Nothing,
}

impl Session<'_> {
    /// Waits for what comes next.
    pub(super) async fn arrivals(&mut self, trouble: String) -> Result<VecDeque<Arrival>, Error> {
        let state = self.machine.compiled.current(&self.context);
        let every = self.state.hears_every_event;
        let events = state.into_iter().flat_map(|state| state.heard_events(every));
        let events: Vec<Arc<str>> = events.cloned().collect();
        let question = (self.state.talk == Talk::Ongoing).then(|| self.question(trouble, &events));
        Ok(match question {
            None if events.is_empty() => [Arrival::Nothing].into(),
            Some(question) if events.is_empty() => [ask(self.scope.clone(), question).await?].into(),
            question => {
                let wait = self.scope.child("wait");
                let arrivals = first_of(&wait, question, &events, self.context.transition_count()).await?;
                self.scope.composing().learn_from(&wait);
                arrivals
            }
        })
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
        Question::text(TURN).details(trouble).about(subject).turn()
    }
}

/// Something that is waited for. It is taken out once it is over.
type Way<'a> = Option<BoxFuture<'a, Result<Arrival, Error>>>;

/// Waits for the person and for every event at once.
async fn first_of(
    scope: &Scope,
    question: Option<Question>,
    events: &[Arc<str>],
    visit: u64,
) -> Result<VecDeque<Arrival>, Error> {
    let mut decision = scope.composing().decision::<usize>("what came first")?;
    let person = question.as_ref().map(|_| scope.child("person"));
    let mut scopes: Vec<Scope> = person.iter().cloned().collect();
    scopes.extend(events.iter().map(|event| scope.child(event)));
    let mut ways: Vec<Way<'_>> = Vec::new();
    if let (Some(person), Some(question)) = (&person, question) {
        ways.push(Some(Box::pin(ask(person.clone(), question))));
    }
    for event in events {
        ways.push(Some(Box::pin(receive(scopes[ways.len()].clone(), Arc::clone(event), visit))));
    }
    let decided = decision.made();
    // What was taken before a crash came first, whatever has come since.
    let mut taken = decided.or_else(|| scopes.iter().position(|way| way.composing().next_has_ended()));
    if taken.is_none() {
        taken = what_is_there(person.as_ref(), &scopes, events).await?;
    }
    let taken = taken.and_then(|taken| Some((taken, ways.get_mut(taken)?.take()?)));
    let (first, arrival) = match taken {
        Some((taken, way)) => (taken, way.await?),
        None => race(&mut ways).await?,
    };
    if decided.is_none() {
        decision.make(first)?;
    }
    let mut arrivals = VecDeque::from([arrival]);
    let mut counts = vec![first];
    if let Some(person) = person.filter(|_| first > 0) {
        let mut decision = scope.composing().decision::<bool>("whether words came too")?;
        let came_too = match decision.made() {
            Some(came_too) => came_too,
            None => decision.make(decided.is_none() && person.composing().is_answered().await?)?,
        };
        if let Some(way) = ways[0].take_if(|_| came_too) {
            arrivals.push_front(way.await?);
            counts.push(0);
        }
    }
    for (number, way) in scopes.iter().enumerate() {
        match counts.contains(&number) {
            true => scope.composing().learn_from(way),
            // Nobody waits for the others any longer: an answer to them would come too late.
            false => scope.composing().give_up(way),
        }
    }
    Ok(arrivals)
}

/// What need not be waited for: what the person has said, otherwise the event that was sent first.
async fn what_is_there(
    person: Option<&Scope>,
    scopes: &[Scope],
    events: &[Arc<str>],
) -> Result<Option<usize>, Error> {
    if let Some(person) = person
        && person.composing().is_answered().await?
    {
        return Ok(Some(0));
    }
    let mut sent: Vec<(u64, usize)> = Vec::new();
    let first = usize::from(person.is_some());
    for (way, event) in events.iter().enumerate() {
        let mail = scopes[first + way].composing().untaken_mail(event).await?;
        sent.extend(mail.first().map(|number| (*number, first + way)));
    }
    Ok(sent.into_iter().min().map(|(_, way)| way))
}

/// The first that comes, with its number. If all have to wait for somebody, so has the run.
async fn race(ways: &mut [Way<'_>]) -> Result<(usize, Arrival), Error> {
    let mut suspended: Vec<Suspension> = Vec::new();
    poll_fn(|context| {
        for (number, way) in ways.iter_mut().enumerate() {
            let Some(waiting) = way else { continue };
            let Poll::Ready(arrived) = waiting.as_mut().poll(context) else { continue };
            *way = None;
            match arrived {
                Ok(arrival) => return Poll::Ready(Ok((number, arrival))),
                Err(error) => match error.root() {
                    Error::Suspended(suspension) => suspended.push((**suspension).clone()),
                    _ => return Poll::Ready(Err(error)),
                },
            }
        }
        match ways.iter().all(Option::is_none) {
            true => Poll::Ready(Err(Error::Suspended(Box::new(Suspension::together(&suspended))))),
            false => Poll::Pending,
        }
    })
    .await
}

/// Asks the person; who has nothing more to say rejects the question.
async fn ask(scope: Scope, question: Question) -> Result<Arrival, Error> {
    Ok(match scope.ask(question).await?.decision {
        Decision::Text { text } => Arrival::Words(text),
        _ => Arrival::Nothing,
    })
}

async fn receive(scope: Scope, event: Arc<str>, visit: u64) -> Result<Arrival, Error> {
    let sent = scope.receive(&event).await?;
    Ok(Arrival::Event { event, sent, visit })
}
