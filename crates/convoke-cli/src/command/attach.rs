//! `convoke attach`
//!
//! Watches a run by reading its journal again and again. It only reads: whoever works on the run does not notice, and
//! leaving does nothing to it.

use std::collections::HashSet;
use std::time::Duration;

use convoke_core::store::{CANCEL_CHANNEL, RunRecord};
use convoke_core::{EffectKind, Phase, QuestionId, RunStatus, Timestamp};
use convoke_history::account::answer_text;
use convoke_history::json::{QuestionView, RunView};
use convoke_history::{Detail, DisplayStatus, History, OpenQuestion, TimelineEntry};
use serde_json::{Value, json};

use super::questions::write_questions;
use crate::arguments::Attach;
use crate::failure::{Exit, Failure};
use crate::human;
use crate::onward;
use crate::run::{Signals, tell_questions};
use crate::select;
use crate::session::Session;
use crate::terminal::text;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// How many entries are looked for: one says that there is something new.
const GLANCE: usize = 1;

/// How much of a text others wrote stands in a line.
const LONGEST: usize = 200;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Attach) -> Result<(), Failure> {
    let record = select::run(session, &arguments.run).await?;
    let mut signals = Signals::listen()?;
    let mut watched = Watched::default();
    loop {
        // Asked before and after: in between it may have been stopped, or cancelled.
        let was_being_cancelled = is_being_cancelled(session, &record).await?;
        let history = watched.look(session, &record).await?;
        if let Some(history) = history.filter(|history| is_over(&history.record)) {
            let is_stopped = history.record.status == RunStatus::Cancelled;
            let is_for_good = onward::is_cancelled_for_good(&history.record);
            let more_comes = was_being_cancelled || is_being_cancelled(session, &record).await?;
            if !is_stopped || is_for_good || !more_comes {
                return finish(session, &history);
            }
        }
        tokio::select! {
            _ = signals.next() => {
                session.output.note(&format!("run {} goes on without being watched", record.id));
                return Ok(());
            }
            () = tokio::time::sleep(LOOK) => {}
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

/// What was told of a run so far.
#[derive(Default)]
struct Watched {
    /// The number of the last entry that was told.
    last: u64,
    /// Goals and agents that were said to have begun, by their paths.
    begun: HashSet<String>,
    /// Questions that were shown.
    asked: HashSet<QuestionId>,
}

impl Watched {
    /// Tells what is new; gives the run if anything is, or if it is over.
    async fn look(&mut self, session: &mut Session<'_>, run: &RunRecord) -> Result<Option<History>, Failure> {
        let news = session.store.entries(&run.id, self.last + 1, GLANCE).await?;
        let now = session.store.run(&run.id).await?;
        if news.is_empty() && now.as_ref().is_some_and(|now| !is_over(now)) {
            return Ok(None);
        }
        let history = History::load(&*session.store, &run.id).await?;
        let last = self.last;
        for moment in history.timeline().iter().filter(|moment| moment.seq > last) {
            for (at, line) in self.lines(&history, moment) {
                let since = human::duration(at.since(history.record.created));
                session.output.aside(&format!("[{since:>10}] {line}"));
            }
        }
        self.last = history.last_seq();
        if !is_over(&history.record) {
            self.ask(session, &history);
        }
        Ok(Some(history))
    }

    /// Shows what a run waits for that somebody works on: whoever watches may be the one to answer.
    fn ask(&mut self, session: &mut Session<'_>, history: &History) {
        let open = history.questions.iter().filter(|open| open.settled(Timestamp::now()).is_none());
        let new: Vec<OpenQuestion> =
            open.filter(|open| self.asked.insert(open.pending.id.clone())).cloned().collect();
        if !new.is_empty() {
            session.output.note("it waits for an answer, here or where it runs, and is watched on:");
            tell_questions(session, &new);
        }
    }

    /// What to say about an entry, and when it was.
    fn lines(&mut self, history: &History, moment: &TimelineEntry<'_>) -> Vec<(Timestamp, String)> {
        let path = &moment.effect.path;
        let mut lines = Vec::new();
        let mut name = path.segments().next_back().unwrap_or_default().to_owned();
        for stop in history.steps.along(path) {
            if let Some(kind) = stop.kind.filter(|kind| matches!(*kind, "goal" | "convergence" | "agent")) {
                name = text::one_line(stop.name);
                if self.begun.insert(stop.path.to_owned()) {
                    // Most effects have an entry at their end only, which says when they began.
                    let began = moment.attempt.began.unwrap_or(moment.at);
                    lines.push((began, format!("{kind} {name}: begins")));
                }
            }
        }
        lines.extend(told(history, moment).map(|what| (moment.at, format!("{name}: {what}"))));
        lines
    }
}

/// What an entry says, in a line; `None` for what is not worth one.
fn told(history: &History, moment: &TimelineEntry<'_>) -> Option<String> {
    let short = |text: &str| text::cut(&text::one_line(text), LONGEST);
    let attempt = moment.attempt;
    if moment.phase == Phase::Finished
        && let Some(error) = &attempt.error
    {
        return Some(format!("{} failed: {}", moment.effect.kind, short(&error.to_string())));
    }
    match (&attempt.detail, moment.phase) {
        (Detail::Model { model, .. }, Phase::Finished) => {
            let mut facts = vec![text::one_line(model)];
            facts.extend(attempt.usage().map(|usage| human::usage(&usage)));
            facts.extend(history.duration(attempt).map(human::duration));
            Some(facts.join(", "))
        }
        (Detail::Tool { tool, result: Some(result), .. }, Phase::Finished) if result.is_error => {
            Some(format!("{} failed: {}", text::one_line(tool), short(&result.content)))
        }
        // A call that is safe to repeat is written down when it ends.
        (Detail::Tool { tool, arguments, .. }, Phase::Started) => {
            Some(short(&format!("{tool}({arguments})")))
        }
        (Detail::Tool { tool, arguments, .. }, Phase::Finished) if attempt.begun.is_none() => {
            Some(short(&format!("{tool}({arguments})")))
        }
        (Detail::Ask { question, .. }, Phase::Started) => Some(format!("asks: {}", short(&question.title))),
        (Detail::Ask { answer: Some(answer), .. }, Phase::Finished) => {
            Some(format!("answered: {}", short(&answer_text(answer))))
        }
        (_, Phase::Superseded) if moment.effect.kind == EffectKind::Model => {
            Some("is asked again".to_owned())
        }
        _ => None,
    }
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
        DisplayStatus::Status(status) => status,
    };
    let error = history.ending.as_ref().and_then(|ending| ending.error.clone());
    let message = error.unwrap_or_else(|| status.to_string());
    let failure = match status {
        RunStatus::BudgetExhausted | RunStatus::TimedOut => Failure::used_up(message),
        RunStatus::Cancelled => Failure::cancelled(message),
        _ => Failure::failed(message),
    };
    let hint = match onward::can_go_on(record) {
        true => Some(format!("to let it go on, {}", session.resuming(record))),
        false => onward::otherwise(session, history),
    };
    Some(hint.into_iter().fold(failure, Failure::hint))
}
