//! Following a run that another process works on: its events as they come, and whether it is over.
//!
//! It only reads: whoever works on the run does not notice.

use std::sync::Arc;

use convoke_core::store::{CANCEL_CHANNEL, RunRecord};
use convoke_core::{Error, Event, EventKind, RunId, RunStatus, Store, Subscription};
use convoke_history::progress::PlannedNode;
use convoke_history::{DisplayStatus, History};

use crate::{Host, is_cancelled_for_good, planned};

/// A run that is followed.
pub struct FollowedRun {
    store: Arc<dyn Store>,
    run: RunId,
    planned: PlannedNode,
    feed: Feed,
    /// The last entry that something was given of.
    last: u64,
    has_begun: bool,
    has_ended: bool,
}

/// Where the events of a run come from.
enum Feed {
    /// From its workflow, run again over the journal.
    Workflow(Subscription),
    /// From the journal alone: its workflow is another program's, or has changed. The number of the last entry that was given.
    Journal(u64),
    /// No more come.
    Ended,
}

/// The state of a run that is followed.
pub enum FollowedState {
    /// Somebody works on it.
    UnderWay,
    /// It is over, and more events of it come.
    Ending,
    /// It is over, and all of it was given: its history.
    Over(Box<History>),
}

impl FollowedRun {
    /// Follows a run from its beginning. Without a host that knows its workflow, its events are read off its journal.
    pub async fn of(host: Option<&Host>, store: Arc<dyn Store>, record: &RunRecord) -> Self {
        let subscribed = match host {
            Some(host) => subscribed(host, record).await,
            None => None,
        };
        let (feed, planned) = subscribed.map_or_else(
            || (Feed::Journal(0), PlannedNode::workflow(&record.workflow)),
            |(events, planned)| (Feed::Workflow(events), planned),
        );
        let run = record.id.clone();
        Self { store, run, planned, feed, last: 0, has_begun: false, has_ended: false }
    }

    /// Returns what the run is going to do; of one whose workflow is not known, only its name.
    #[must_use]
    pub fn planned(&self) -> &PlannedNode {
        &self.planned
    }

    /// Checks whether its workflow is known, so that there is more to show than its calls.
    #[must_use]
    pub fn has_workflow(&self) -> bool {
        matches!(self.feed, Feed::Workflow(_))
    }

    /// Waits for the next event that comes by itself; for ever where none do. Losing interest loses no event.
    pub async fn next(&mut self) -> Event {
        loop {
            let Feed::Workflow(events) = &mut self.feed else { return std::future::pending().await };
            match events.next().await {
                Some(Ok(event)) => return self.given(event),
                // What it does now is not what it did then. The journal says what that was.
                Some(Err(_)) => self.feed = Feed::Journal(self.last),
                None => (self.feed, self.has_ended) = (Feed::Ended, true),
            }
        }
    }

    /// Looks at the run: the events that do not come by themselves, and where it stands. To be called again and again.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn look(&mut self) -> Result<(Vec<Event>, FollowedState), Error> {
        // Asked before and after: in between it may have been stopped, or cancelled.
        let was_being_cancelled = self.is_being_cancelled().await?;
        let Some(record) = self.store.run(&self.run).await? else {
            return Ok((Vec::new(), self.over().await?));
        };
        let mut events = Vec::new();
        if let Feed::Journal(last) = self.feed
            && (!self.has_begun || !self.store.entries(&self.run, last + 1, 1).await?.is_empty())
        {
            let history = History::load(&*self.store, &self.run).await?;
            events.extend(history.events_after(last).into_iter().map(|event| self.given(event)));
            self.feed = Feed::Journal(history.last_seq());
        }
        let standing = DisplayStatus::of(&record);
        if standing == DisplayStatus::Status(RunStatus::Running) {
            return Ok((events, FollowedState::UnderWay));
        }
        let is_given = match standing {
            DisplayStatus::Idle => self.has_begun,
            _ => self.has_ended || matches!(self.feed, Feed::Journal(_)),
        };
        let more_comes = record.status == RunStatus::Cancelled
            && !is_cancelled_for_good(&record)
            && (was_being_cancelled || self.is_being_cancelled().await?);
        let state = match is_given && !more_comes {
            true => self.over().await?,
            false => FollowedState::Ending,
        };
        Ok((events, state))
    }

    fn given(&mut self, event: Event) -> Event {
        self.last = event.position.as_ref().map_or(self.last, |position| position.entry().max(self.last));
        self.has_begun = true;
        self.has_ended |= matches!(event.kind, EventKind::RunEnded(_));
        event
    }

    async fn over(&self) -> Result<FollowedState, Error> {
        Ok(FollowedState::Over(Box::new(History::load(&*self.store, &self.run).await?)))
    }

    /// Whether somebody has told it to end for good.
    async fn is_being_cancelled(&self) -> Result<bool, Error> {
        Ok(!self.store.mail(&self.run, CANCEL_CHANNEL, 0, 1).await?.is_empty())
    }
}

/// The events of a run and what it is going to do, if its workflow is known here.
async fn subscribed(host: &Host, record: &RunRecord) -> Option<(Subscription, PlannedNode)> {
    let (loaded, _) = host.restore(record).ok()?;
    let planned = planned(&**loaded.valid().ok()?);
    Some((host.subscribe(&record.id, None).await.ok()?, planned))
}
