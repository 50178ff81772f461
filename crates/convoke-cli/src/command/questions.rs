//! `convoke questions`

use convoke_history::OpenQuestion;
use convoke_history::json::QuestionView;

use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::{Rich, Tone};

pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let questions = OpenQuestion::read(&*session.store, None).await?;
    if session.json {
        let view = |open| QuestionView::new(open, session.now);
        return session.output.json(&questions.iter().map(view).collect::<Vec<_>>());
    }
    if questions.is_empty() {
        let note = format!("no open questions in {}", session.place);
        session.output.note(&note);
    }
    write_questions(session, &questions)
}

/// Questions, and the commands that answer them.
pub(super) fn write_questions(session: &mut Session<'_>, questions: &[OpenQuestion]) -> Result<(), Failure> {
    for (index, open) in questions.iter().enumerate() {
        if index > 0 {
            session.output.plain("")?;
        }
        let run = Rich::new(Tone::Faint, "run ").with(Tone::Strong, open.pending.run.as_str());
        session.output.line(&run)?;
        for line in session.open_question(open, session.output.width(), false) {
            session.output.line(&line)?;
        }
    }
    Ok(())
}
