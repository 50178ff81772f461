//! `convoke attach`
//!
//! Watches a run by reading its journal again and again. It only reads: whoever works on the run does not notice, and
//! leaving does nothing to it.

use std::collections::HashSet;
use std::time::Duration;

use convoke_core::history::{Detail, Moment};
use convoke_core::store::RunRecord;
use convoke_core::{EffectKind, History, Phase, RunStatus};
use serde_json::json;

use super::questions::write_questions;
use crate::arguments::Attach;
use crate::failure::{Exit, Failure};
use crate::gist::Gist;
use crate::human;
use crate::onward;
use crate::render;
use crate::run::Signals;
use crate::select;
use crate::session::Session;
use crate::standing::RunStanding;
use crate::terminal::text;
use crate::view::{QuestionView, RunView};

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
        let history = watched.look(session, &record).await?;
        if let Some(history) = history.filter(|history| is_over(&history.record)) {
            return finish(session, &history);
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
    RunStanding::of(record) != RunStanding::Status(RunStatus::Running)
}

/// What was told of a run so far.
#[derive(Default)]
struct Watched {
    /// The number of the last entry that was told.
    last: u64,
    /// Goals and agents that were said to have begun, by their paths.
    begun: HashSet<String>,
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
            let since = human::duration(moment.at.since(history.record.created));
            for line in self.lines(&history, moment) {
                session.output.aside(&format!("[{since:>10}] {line}"));
            }
        }
        self.last = history.last_seq();
        Ok(Some(history))
    }

    fn lines(&mut self, history: &History, moment: &Moment<'_>) -> Vec<String> {
        let path = &moment.effect.path;
        let mut lines = Vec::new();
        let mut name = path.segments().next_back().unwrap_or_default().to_owned();
        for stop in history.steps.along(path) {
            if let Some(kind) = stop.kind.filter(|kind| matches!(*kind, "goal" | "convergence" | "agent")) {
                name = text::one_line(stop.name);
                if self.begun.insert(stop.path.to_owned()) {
                    lines.push(format!("{kind} {name}: begins"));
                }
            }
        }
        lines.extend(told(history, moment).map(|what| format!("{name}: {what}")));
        lines
    }
}

/// What an entry says, in a line; `None` for what is not worth one.
fn told(history: &History, moment: &Moment<'_>) -> Option<String> {
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
            Some(format!("answered: {}", short(&render::answer(answer))))
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
    let Gist { result, .. } = Gist::of(history);
    let error = history.ending.as_ref().and_then(|ending| ending.error.as_deref());
    if session.json {
        let questions: Vec<_> = history.questions.iter().map(QuestionView::from).collect();
        let run = RunView::new(record, (&history.spent()).into(), session.now);
        session
            .output
            .json(&json!({"run": run, "result": result, "questions": questions, "error": error}))?;
    }
    match RunStanding::of(record) {
        RunStanding::Status(RunStatus::Completed) => match result.filter(|_| !session.json) {
            Some(text) => session.output.verbatim(&text),
            None => Ok(()),
        },
        RunStanding::Status(RunStatus::Suspended) => {
            if !session.json {
                write_questions(session, &history.questions)?;
            }
            Err(Failure::Ended(Exit::Suspended))
        }
        RunStanding::Idle => Err(Failure::failed(format!("nobody works on run `{}` any more", record.id))
            .hint(format!("to let it go on, {}", session.resuming(record)))),
        RunStanding::Status(status) => {
            let message = error.map_or_else(|| status.to_string(), str::to_owned);
            let failure = match status {
                RunStatus::BudgetExhausted | RunStatus::TimedOut => Failure::used_up(message),
                RunStatus::Cancelled => Failure::cancelled(message),
                _ => Failure::failed(message),
            };
            let hint = match onward::can_go_on(record) {
                true => Some(format!("to let it go on, {}", session.resuming(record))),
                false => onward::otherwise(session, history),
            };
            Err(hint.into_iter().fold(failure, Failure::hint))
        }
    }
}
