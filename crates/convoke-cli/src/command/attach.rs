//! `convoke attach`
//!
//! Watches a run of another process. It only reads: whoever works on the run does not notice, and leaving does nothing to it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{Event, QuestionId, RunStatus, Timestamp};
use convoke_history::json::{QuestionView, RunView};
use convoke_history::progress::RunProgress;
use convoke_history::{History, OpenQuestion};
use convoke_host::{FollowedRun, FollowedState, Host};
use serde_json::json;

use super::questions::write_questions;
use crate::arguments::{Arguments, NamedRun};
use crate::configuration;
use crate::failure::{Exit, Failure, error_json};
use crate::run::{Display, Signals, Verbosity, tell_questions};
use crate::session::Session;

/// How often the picture is drawn, and the run's record looked at.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(
    session: &mut Session<'_>,
    arguments: &NamedRun,
    all: &Arguments,
) -> Result<(), Failure> {
    let record = session.find(&arguments.run).await?;
    let mut signals = Signals::listen()?;
    let store = Arc::clone(&session.store);
    let host = configuration::load(all).ok().and_then(|config| {
        Host::builder(config).store_file(&all.store).store(Arc::clone(&store)).build().ok()
    });
    let mut followed = FollowedRun::of(host.as_ref(), store, &record).await;
    let mut attached = AttachedRun::begin(&followed, all);
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => {
                attached.display.step_aside();
                session.output.note(&format!("run {} goes on without being watched", record.id));
                return Ok(());
            }
            event = followed.next() => attached.show(event),
            () = tokio::time::sleep(LOOK) => {
                let (events, state) = followed.look().await?;
                events.into_iter().for_each(|event| attached.show(event));
                attached.display.draw(&attached.progress);
                match state {
                    FollowedState::UnderWay => attached.ask(session, &record).await?,
                    FollowedState::Ending => {}
                    FollowedState::Over(history) => {
                        attached.display.finish(&attached.progress);
                        return finish(session, &history);
                    }
                }
            }
        }
    }
}

/// What was shown of a run so far.
struct AttachedRun {
    progress: RunProgress,
    display: Display,
    /// Questions that were shown with the commands that answer them.
    asked: HashSet<QuestionId>,
}

impl AttachedRun {
    fn begin(followed: &FollowedRun, arguments: &Arguments) -> Self {
        // Without a tree to draw, every call is told.
        let verbosity = if followed.has_workflow() { Verbosity::Usual } else { Verbosity::Verbose };
        Self {
            progress: RunProgress::new(followed.planned()),
            display: Display::new(verbosity, false, arguments.color, "Ctrl-C leaves"),
            asked: HashSet::new(),
        }
    }

    fn show(&mut self, event: Event) {
        // For whoever watches, it happens now.
        let event = Event { replayed: false, ..event };
        self.progress.apply(&event);
        self.display.heard(&self.progress, &event);
    }

    /// Shows what a run waits for that somebody works on: whoever watches may be the one to answer.
    async fn ask(&mut self, session: &mut Session<'_>, run: &RunRecord) -> Result<(), Failure> {
        let open = session.unanswered(&run.id).await?;
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

/// Gives what it came to, as `convoke run` does.
fn finish(session: &mut Session<'_>, history: &History) -> Result<(), Failure> {
    let record = &history.record;
    let result = convoke_host::gist(history).result_text();
    let failure = session.why_stopped(history);
    if session.json {
        let error = error_json(failure.as_ref());
        let view = |open| QuestionView::new(open, Timestamp::now());
        let questions: Vec<_> = history.questions.iter().map(view).collect();
        let run = RunView::new(record, (&history.spent()).into(), session.now);
        session
            .output
            .json(&json!({"run": run, "result": result, "questions": questions, "error": error}))?;
    }
    match (failure, record.status) {
        (Some(failure), _) => Err(failure.into()),
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
