//! Open questions of stored runs, and calls in doubt, as lines of text with the commands that settle them.

use convoke_core::{Answer, EffectKind, RunStatus};
use convoke_history::account::{TextBlock, answer_text};
use convoke_history::lines::{BlockLines, Rich};
use convoke_history::{Effect, History, OpenQuestion, Tone, human, text};

use super::{StoredRuns, question_body, question_brief};

/// The longest of an answer that is shown, in lines.
const SHOWN_LINES: usize = 20;

impl StoredRuns {
    /// An open question, and the commands that answer it; all of it, or its beginning.
    #[must_use]
    pub fn open_question(&self, open: &OpenQuestion, width: Option<usize>, is_full: bool) -> Vec<Rich> {
        let pending = &open.pending;
        let asked = human::ago(pending.asked, self.now);
        let title =
            Rich::new(Tone::Caution, "? ").with(Tone::Strong, text::one_line(&pending.question.title));
        let place = format!("  asked {asked} at {}", text::one_line(&pending.path.to_string()));
        let mut lines = title.wrap(width, 2);
        lines.extend(Rich::new(Tone::Faint, place).wrap(width, 2));
        lines.extend(match is_full {
            true => question_body(&pending.question, width),
            false => self.brief(open, width),
        });
        let margin = Rich::plain("  ");
        for given in &open.answers {
            let most = (!is_full).then_some(SHOWN_LINES);
            lines.extend(TextBlock::new("answer", answer_text(given)).lines(&margin, width, most));
        }
        match (open.verdict(), open.settled(self.now)) {
            (Some(_), _) => {
                lines.push(margin.with(Tone::Good, "answered; the run goes on when it is resumed"))
            }
            (None, Some(otherwise)) => {
                let otherwise = text::one_line(&answer_text(&Answer::new(otherwise.decision)));
                let late = format!("expired; what holds when the run is resumed: {otherwise}");
                lines.extend(margin.with(Tone::Caution, late).wrap(width, 2));
            }
            (None, None) => lines.extend(
                self.answering(open).into_iter().map(|command| margin.clone().with(Tone::Accent, command)),
            ),
        }
        lines
    }

    /// Questions that a run waits for, what they are about, and the commands that answer them: nobody is to approve what they have not
    /// seen.
    #[must_use]
    pub fn waiting_questions(&self, questions: &[OpenQuestion], width: Option<usize>) -> Vec<Rich> {
        let lines = questions.iter().flat_map(|open| {
            let title = Rich::plain(format!("  {}", text::one_line(&open.pending.question.title)));
            let commands = self.answering(open).into_iter().map(|command| format!("    {command}").into());
            std::iter::once(title).chain(self.brief(open, width)).chain(commands)
        });
        lines.collect()
    }

    fn brief(&self, open: &OpenQuestion, width: Option<usize>) -> Vec<Rich> {
        let all = self.about("show", &open.pending.run, "--full");
        question_brief(&open.pending.question, width, &format!("`{all}` shows all of it"))
    }

    /// What was begun and has no end, so that nobody knows whether it acted, and what can be done about it.
    pub(super) fn doubts(&self, history: &History, width: Option<usize>) -> Vec<Rich> {
        let open = history.effects.iter().filter(|effect| history.may_have_acted(effect));
        open.flat_map(|effect| {
            let finding = Rich::new(Tone::Caution, "! ")
                .with(Tone::Accent, format!("#{} ", effect.current().first_seq()))
                .with(Tone::Strong, text::one_line(effect.name()))
                .with(Tone::Plain, " was begun and has no end");
            [finding.wrap(width, 2), self.about_doubt(history, effect, width)].concat()
        })
        .collect()
    }

    fn about_doubt(&self, history: &History, effect: &Effect, width: Option<usize>) -> Vec<Rich> {
        let faint = |text: &str| Rich::new(Tone::Faint, format!("  {text}")).wrap(width, 2);
        let seq = effect.current().first_seq();
        if let Some(holder) = &history.record.holder {
            return faint(&format!("it is at work, or in doubt if {} is gone", text::one_line(holder)));
        }
        if history.record.status == RunStatus::Completed {
            return faint("it may have acted; the run went on without it, and is done");
        }
        // A fork loses what comes after it: advice only where nothing does.
        if seq < history.last_seq() {
            return faint("it may have acted; when the run is resumed it asks, or stops");
        }
        let outcome =
            if effect.kind == EffectKind::Tool { "--reply 'WHAT IT GAVE'" } else { "--outcome 'JSON'" };
        let fork = self.about("fork", &history.record.id, &format!("--at {seq} {outcome}"));
        let mut lines = faint("it may have acted; if you know what it gave:");
        lines.push(Rich::new(Tone::Accent, format!("  {fork}")));
        lines
    }
}
