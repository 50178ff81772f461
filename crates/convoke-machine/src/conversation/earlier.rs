//! Mail that came before anybody waited for it: it is taken and told of, so that nothing that is waited for later is taken to be meant.

use convoke_core::{Error, ReceivedMail, Scope};
use indexmap::IndexSet;
use serde_json::{Value, json};

use super::announce::tell;
use super::talk::Session;
use crate::workflow::CompiledState;

/// The event for listeners when an event was sent in a state that has been left, or before it was entered.
pub const EVENT_PASSED_OVER: &str = "workflow.event_passed_over";

/// The place where earlier mail is taken.
pub const EARLIER_MAIL: &str = "earlier mail";

/// Takes what was sent on these channels until now, in the order in which it came, each with the number of its channel.
pub(super) async fn earlier_mail(
    scope: &Scope,
    channels: &[&str],
) -> Result<Vec<(usize, ReceivedMail)>, Error> {
    let place = scope.child(EARLIER_MAIL);
    let mut decision = place.composing().decision::<Vec<usize>>("how much there is")?;
    let counts = match decision.made() {
        Some(counts) => counts,
        None => {
            let mut counts = Vec::new();
            // A run of an earlier build that has gone on from here took what had come.
            let is_of_earlier_build = scope.composing().has_later_effects();
            for channel in channels.iter().filter(|_| !is_of_earlier_build) {
                counts.push(place.composing().untaken_mail(channel).await?.len());
            }
            decision.make(counts)?
        }
    };
    let mut earlier = Vec::new();
    for (number, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            earlier.push((number, place.receive::<Value>(channels[number]).await?));
        }
    }
    earlier.sort_by_key(|(_, mail)| mail.number);
    Ok(earlier)
}

impl Session<'_> {
    /// Passes over the events of these states that were sent until now: none of them was meant for what is entered.
    pub(super) async fn pass_over_events(
        &mut self,
        left: Option<&CompiledState>,
        entered: Option<&CompiledState>,
    ) -> Result<(), Error> {
        let (states, every) = (left.into_iter().chain(entered), self.state.hears_every_event);
        let events: IndexSet<&str> =
            states.flat_map(|state| state.heard_events(every)).map(|event| &**event).collect();
        let events: Vec<&str> = events.into_iter().collect();
        if events.is_empty() || !self.is_by_visit {
            return Ok(());
        }
        for (number, mail) in earlier_mail(self.scope, &events).await? {
            self.tell_passed_over(events[number], &mail.sender, &mail.payload).await;
        }
        Ok(())
    }

    /// Tells that an event was not meant for the state that it is in now.
    pub(super) async fn tell_passed_over(&self, event: &str, sender: &str, payload: &Value) {
        let state = self.context.current_state();
        let value = json!({"event": event, "sender": sender, "payload": payload, "state": state});
        tell(self.scope, EVENT_PASSED_OVER, value).await;
    }
}
