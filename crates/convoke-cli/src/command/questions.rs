//! `convoke questions`

use convoke_core::store::RunQuery;
use convoke_core::{RunId, RunStatus};
use convoke_history::json::QuestionView;
use convoke_history::{History, OpenQuestion};

use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::{Rich, Tone};

pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let questions = OpenQuestion::read(&*session.store, None).await?;
    if session.json {
        let view = |open| QuestionView::new(open, session.now);
        return session.output.json(&questions.iter().map(view).collect::<Vec<_>>());
    }
    let mut is_first = questions.is_empty();
    write_questions(session, &questions)?;
    // Calls that a client makes are no questions, but somebody waits for them as well.
    let suspended = RunQuery { status: Some(RunStatus::Suspended), ..RunQuery::default() };
    for record in session.store.runs(&suspended).await?.iter().filter(|record| !record.channels.is_empty()) {
        let history = History::load(&*session.store, &record.id).await?;
        let calls = session.awaited_calls(&history, session.output.width());
        if calls.is_empty() {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            session.output.plain("")?;
        }
        session.output.line(&run_line(&record.id))?;
        calls.iter().try_for_each(|line| session.output.line(line))?;
    }
    if is_first {
        let note = format!("no open questions in {}", session.place);
        session.output.note(&note);
    }
    Ok(())
}

fn run_line(run: &RunId) -> Rich {
    Rich::new(Tone::Faint, "run ").with(Tone::Strong, run.as_str())
}

/// Questions, and the commands that answer them.
pub(super) fn write_questions(session: &mut Session<'_>, questions: &[OpenQuestion]) -> Result<(), Failure> {
    for (index, open) in questions.iter().enumerate() {
        if index > 0 {
            session.output.plain("")?;
        }
        session.output.line(&run_line(&open.pending.run))?;
        for line in session.open_question(open, session.output.width(), false) {
            session.output.line(&line)?;
        }
    }
    Ok(())
}
