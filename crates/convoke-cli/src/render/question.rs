//! Open questions for people to read.

use convoke_core::Answer;
use convoke_history::OpenQuestion;
use convoke_history::account::{TextBlock, answer_text};

use super::BlockLines;
use super::review::{question_body, question_brief};
use crate::human;
use crate::session::Session;
use crate::terminal::{Rich, Tone, text};

/// The longest of an answer that is shown, in lines.
const SHOWN_LINES: usize = 20;

/// An open question, and the commands that answer it; all of it, or its beginning.
pub(crate) fn open_question(session: &Session<'_>, open: &OpenQuestion, is_full: bool) -> Vec<Rich> {
    let pending = &open.pending;
    let asked = human::ago(pending.asked, session.now);
    let width = session.output.width();
    let title = Rich::new(Tone::Caution, "? ").with(Tone::Strong, text::one_line(&pending.question.title));
    let place = format!("  asked {asked} at {}", text::one_line(&pending.path.to_string()));
    let mut lines = title.wrap(width, 2);
    lines.extend(Rich::new(Tone::Faint, place).wrap(width, 2));
    if is_full {
        lines.extend(question_body(&pending.question, width));
    } else {
        let all = session.about("show", &pending.run, "--full");
        lines.extend(question_brief(&pending.question, width, &format!("`{all}` shows all of it")));
    }
    let margin = Rich::plain("  ");
    for given in &open.answers {
        let most = (!is_full).then_some(SHOWN_LINES);
        lines.extend(TextBlock::new("answer", answer_text(given)).lines(&margin, width, most));
    }
    match (open.verdict(), open.settled(session.now)) {
        (Some(_), _) => lines.push(margin.with(Tone::Good, "answered; the run goes on when it is resumed")),
        (None, Some(otherwise)) => {
            let otherwise = text::one_line(&answer_text(&Answer::new(otherwise.decision)));
            let late = format!("expired; what holds when the run is resumed: {otherwise}");
            lines.extend(margin.with(Tone::Caution, late).wrap(width, 2));
        }
        (None, None) => lines.extend(
            session.answering(open).into_iter().map(|command| margin.clone().with(Tone::Accent, command)),
        ),
    }
    lines
}
