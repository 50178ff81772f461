//! `convoke attach`
//!
//! Watches a run of another process. It only reads: whoever works on the run does not notice, and leaving does nothing to it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::{CANCEL_CHANNEL, RunRecord};
use convoke_core::{Error, Event, EventKind, QuestionId, RunStatus, Subscription, Timestamp};
use convoke_history::json::{QuestionView, RunView};
use convoke_history::progress::{PlannedNode, RunProgress};
use convoke_history::{DisplayStatus, History, OpenQuestion};
use convoke_host::{Host, planned};
use serde_json::{Value, json};

use super::questions::write_questions;
use crate::arguments::{Arguments, Attach};
use crate::configuration;
use crate::failure::{Exit, Failure};
use crate::fork_advice;
use crate::run::{Display, Signals, Verbosity, tell_questions, unanswered};
use crate::select;
use crate::session::Session;

/// How often the picture is drawn, and the run's record looked at.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(
    session: &mut Session<'_>,
    arguments: &Attach,
    all: &Arguments,
) -> Result<(), Failure> {
    let record = select::run(session, &arguments.run).await?;
    let mut signals = Signals::listen()?;
    let mut attached = AttachedRun::begin(session, &record, all).await;
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => {
                attached.display.step_aside();
                session.output.note(&format!("run {} goes on without being watched", record.id));
                return Ok(());
            }
            event = attached.feed.next() => attached.take(event),
            () = tokio::time::sleep(LOOK) => {
                if let Some(history) = attached.look(session, &record).await? {
                    attached.display.finish(&attached.progress);
                    return finish(session, &history);
                }
            }
        }
    }
}

/// Whether nothing more is to be expected of it now.
fn is_over(record: &RunRecord) -> bool {
    DisplayStatus::of(record) != DisplayStatus::Status(RunStatus::Running)
}

/// Whether somebody has told it to end for good.
async fn is_being_cancelled(session: &Session<'_>, record: &RunRecord) -> Result<bool, Failure> {
    Ok(!session.store.mail(&record.id, CANCEL_CHANNEL, 0, 1).await?.is_empty())
}

/// Where the events of a run come from.
enum Feed {
    /// From its workflow, run again over the journal.
    Workflow(Subscription),
    /// From the journal alone: its workflow is another program's, or has changed. The number of the last entry that was shown.
    Journal(u64),
    /// No more come.
    Ended,
}

impl Feed {
    /// The next event of a subscription; of a journal, none come by themselves.
    async fn next(&mut self) -> Option<Result<Event, Error>> {
        match self {
            Self::Workflow(events) => events.next().await,
            Self::Journal(_) | Self::Ended => std::future::pending().await,
        }
    }
}

/// What was shown of a run so far.
struct AttachedRun {
    feed: Feed,
    progress: RunProgress,
    display: Display,
    /// The last entry that something was shown of.
    last: u64,
    /// Whether anything was shown.
    has_begun: bool,
    /// Whether the end was.
    has_ended: bool,
    /// Questions that were shown with the commands that answer them.
    asked: HashSet<QuestionId>,
}

impl AttachedRun {
    async fn begin(session: &Session<'_>, record: &RunRecord, arguments: &Arguments) -> Self {
        let (feed, verbosity, planned) = match subscribed(session, record, arguments).await {
            Some((events, planned)) => (Feed::Workflow(events), Verbosity::Usual, planned),
            // There is no tree to draw, so every call is told.
            None => (Feed::Journal(0), Verbosity::Verbose, PlannedNode::workflow(&record.workflow)),
        };
        Self {
            feed,
            progress: RunProgress::new(&planned),
            display: Display::new(verbosity, false, arguments.color, "Ctrl-C leaves"),
            last: 0,
            has_begun: false,
            has_ended: false,
            asked: HashSet::new(),
        }
    }

    /// Takes what a subscription gave.
    fn take(&mut self, event: Option<Result<Event, Error>>) {
        match event {
            Some(Ok(event)) => self.show(event),
            // What it does now is not what it did then. The journal says what that was.
            Some(Err(_)) => self.feed = Feed::Journal(self.last),
            None => (self.feed, self.has_ended) = (Feed::Ended, true),
        }
    }

    fn show(&mut self, event: Event) {
        self.last = event.position.as_ref().map_or(self.last, |position| position.entry().max(self.last));
        self.has_begun = true;
        self.has_ended |= matches!(event.kind, EventKind::RunEnded(_));
        // For whoever watches, it happens now.
        let event = Event { replayed: false, ..event };
        self.progress.apply(&event);
        self.display.heard(&self.progress, &event);
    }

    /// Shows what is new where nothing comes by itself; gives the run if it is over and all of it was shown.
    async fn look(&mut self, session: &mut Session<'_>, run: &RunRecord) -> Result<Option<History>, Failure> {
        // Asked before and after: in between it may have been stopped, or cancelled.
        let was_being_cancelled = is_being_cancelled(session, run).await?;
        let Some(record) = session.store.run(&run.id).await? else {
            return Ok(Some(History::load(&*session.store, &run.id).await?));
        };
        if let Feed::Journal(last) = self.feed {
            let has_more = !self.has_begun || !session.store.entries(&run.id, last + 1, 1).await?.is_empty();
            if has_more {
                let history = History::load(&*session.store, &run.id).await?;
                history.events_after(last).into_iter().for_each(|event| self.show(event));
                self.feed = Feed::Journal(history.last_seq());
            }
        }
        self.display.draw(&self.progress);
        if !is_over(&record) {
            self.ask(session, run).await?;
            return Ok(None);
        }
        let is_shown = match DisplayStatus::of(&record) {
            DisplayStatus::Idle => self.has_begun,
            _ => self.has_ended || matches!(self.feed, Feed::Journal(_)),
        };
        let more_comes = record.status == RunStatus::Cancelled
            && !fork_advice::is_cancelled_for_good(&record)
            && (was_being_cancelled || is_being_cancelled(session, run).await?);
        if !is_shown || more_comes {
            return Ok(None);
        }
        Ok(Some(History::load(&*session.store, &run.id).await?))
    }

    /// Shows what a run waits for that somebody works on: whoever watches may be the one to answer.
    async fn ask(&mut self, session: &mut Session<'_>, run: &RunRecord) -> Result<(), Failure> {
        let open = unanswered(session, &run.id).await?;
        let new: Vec<OpenQuestion> =
            open.into_iter().filter(|open| self.asked.insert(open.pending.id.clone())).collect();
        if !new.is_empty() {
            self.display.step_aside();
            session.output.note("it waits for an answer, here or where it runs, and is watched on:");
            tell_questions(session, &new);
        }
        Ok(())
    }
}

/// The events of a run and what it is going to do, if its workflow is known here.
async fn subscribed(
    session: &Session<'_>,
    record: &RunRecord,
    arguments: &Arguments,
) -> Option<(Subscription, PlannedNode)> {
    let config = configuration::load(arguments).ok()?;
    let store = Arc::clone(&session.store);
    let host = Host::builder(config).store_file(&arguments.store).store(store).build().ok()?;
    let (loaded, _) = host.restore(record).ok()?;
    let planned = planned(&**loaded.valid().ok()?);
    Some((host.subscribe(&record.id, None).await.ok()?, planned))
}

/// Gives what it came to, as `convoke run` does.
fn finish(session: &mut Session<'_>, history: &History) -> Result<(), Failure> {
    let record = &history.record;
    let result = convoke_host::gist(history).result_text();
    let failure = failure(session, history);
    if session.json {
        let error = failure.as_ref().map_or(Value::Null, Failure::error);
        let view = |open| QuestionView::new(open, Timestamp::now());
        let questions: Vec<_> = history.questions.iter().map(view).collect();
        let run = RunView::new(record, (&history.spent()).into(), session.now);
        session
            .output
            .json(&json!({"run": run, "result": result, "questions": questions, "error": error}))?;
    }
    match (failure, record.status) {
        (Some(failure), _) => Err(failure),
        (None, RunStatus::Suspended) => {
            if !session.json {
                write_questions(session, &history.questions)?;
            }
            Err(Failure::Ended(Exit::Suspended))
        }
        (None, _) => match result.filter(|_| !session.json) {
            Some(text) => session.output.verbatim(&text),
            None => Ok(()),
        },
    }
}

/// Why it did not complete, and what can be done about it; `None` if it did, or waits for somebody.
fn failure(session: &Session<'_>, history: &History) -> Option<Failure> {
    let record = &history.record;
    let status = match DisplayStatus::of(record) {
        DisplayStatus::Status(RunStatus::Completed | RunStatus::Suspended) => return None,
        DisplayStatus::Idle => {
            return Some(
                Failure::failed(format!("nobody works on run `{}` any more", record.id))
                    .hint(format!("to let it go on, {}", session.resuming(record))),
            );
        }
        standing => standing.status(),
    };
    let error = history.ending.as_ref().and_then(|ending| ending.error.clone());
    let message = error.unwrap_or_else(|| status.to_string());
    let failure = match status {
        RunStatus::BudgetExhausted | RunStatus::TimedOut => Failure::used_up(message),
        RunStatus::Cancelled => Failure::cancelled(message),
        _ => Failure::failed(message),
    };
    let hint = match fork_advice::can_go_on(record) {
        true => Some(format!("to let it go on, {}", session.resuming(record))),
        false => fork_advice::otherwise(session, history),
    };
    Some(hint.into_iter().fold(failure, Failure::hint))
}
