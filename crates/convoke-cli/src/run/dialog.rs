//! The dialog about one question: what is shown, and what becomes of each line that is typed.
//!
//! It neither reads nor writes. Whoever does gives it lines and shows what it says.

use std::path::PathBuf;

use convoke_core::{Answer, Decision, PendingQuestion, Question, QuestionKind};
use convoke_host::chat::TURN;
use convoke_host::stored::{question_body, question_brief};
use convoke_host::{json_answer, media_answer};
use convoke_text::{shell_argument, shell_quoted};
use serde_json::Value;

use crate::terminal::{Rich, Tone, text};

/// A question being asked.
pub(crate) struct Dialog {
    question: PendingQuestion,
    stage: Stage,
    by: String,
    width: usize,
    /// The rule that would answer it for ever, in words, if there is one.
    always: Option<String>,
    /// Whether it is the person's turn in a conversation, and then whether they have read what was said last.
    turn: Option<bool>,
}

/// What the next line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Decision,
    WhatToChange,
    WhyNot,
}

/// What became of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum DialogStep {
    /// The question is answered.
    Answered(Answer),
    /// It is approved, and so is to be whatever is like it from now on.
    Always(Answer),
    /// Somebody else, or later.
    Later,
    /// More is needed; this is to be shown first.
    More(Vec<Rich>),
}

impl Dialog {
    pub(crate) fn new(question: PendingQuestion, by: String, width: usize) -> Self {
        Self { question, stage: Stage::Decision, by, width, always: None, turn: None }
    }

    /// The same, for a question that this rule would answer for ever.
    pub(crate) fn or_always(self, rule: Option<String>) -> Self {
        Self { always: rule, ..self }
    }

    /// The same, for somebody who talks with the run: if it is their turn, they just type.
    pub(crate) fn in_conversation(self, has_read: bool) -> Self {
        let is_turn = self.question.question.title == TURN;
        Self { turn: is_turn.then_some(has_read), ..self }
    }

    /// Whether the person is asked what to say next, and nothing else.
    pub(crate) fn is_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// What a person is shown whose turn it is: what went wrong, what they have not read yet, and what else would move it on.
    fn turn_opening(&self, has_read: bool) -> Vec<Rich> {
        let Question { details, subject, .. } = &self.question.question;
        let mut lines = Vec::new();
        if let Some(said) = subject["said"].as_str().filter(|_| !has_read) {
            lines.extend(text::clean(said).lines().map(Rich::plain));
        }
        if !details.is_empty() {
            lines.push(Rich::new(Tone::Caution, details.as_str()));
        }
        let events: Vec<&str> =
            subject["awaits"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !events.is_empty() {
            let run = &self.question.run;
            let command =
                format!("convoke send {} {}", shell_quoted(run.as_str()), shell_argument(events[0]));
            let how = format!("waits for {}: `{command}`", events.join(" or "));
            lines.push(Rich::new(Tone::Faint, how));
        }
        lines
    }

    /// What is asked.
    pub(crate) fn opening(&self) -> Vec<Rich> {
        if let Some(has_read) = self.turn {
            return self.turn_opening(has_read);
        }
        let title = Rich::new(Tone::Caution, "? ")
            .with(Tone::Strong, text::one_line(&self.question.question.title))
            .with(Tone::Faint, format!("  ({})", text::one_line(&self.question.path.to_string())));
        let mut lines = vec![Rich::default()];
        lines.extend(title.wrap(Some(self.width), 2));
        lines.extend(question_brief(&self.question.question, Some(self.width), "type v to see all of it"));
        if let Some(rule) = &self.always {
            let rule = format!("  always: {}", text::one_line(rule));
            let rule = text::wrap_sentence(&rule, Some(self.width), 4);
            lines.extend(rule.into_iter().map(|line| Rich::new(Tone::Faint, line)));
        }
        lines
    }

    /// What can be approved for the whole run.
    fn covers(&self) -> &str {
        &self.question.question.covers
    }

    /// What stands before the line that is to be typed.
    pub(crate) fn prompt(&self) -> String {
        match (self.stage, &self.question.question.kind) {
            (Stage::WhatToChange, _) => "  what is to change? ".to_owned(),
            (Stage::WhyNot, _) => "  why not? ".to_owned(),
            _ if self.is_turn() => "> ".to_owned(),
            (_, QuestionKind::Approval) => {
                let for_run = if self.covers().is_empty() { "" } else { "for thi[s] run, " };
                let always = if self.always.is_some() { "al[w]ays, " } else { "" };
                format!("  [a]pprove, {for_run}{always}[r]evise, re[j]ect, [v]iew all, [l]ater? ")
            }
            (_, QuestionKind::Confirm) => "  [y]es, [n]o, [v]iew all, [l]ater? ".to_owned(),
            (_, QuestionKind::Choice { options }) => {
                let options = options.iter().enumerate();
                let options: Vec<String> = options
                    .map(|(index, option)| format!("[{}] {}", index + 1, text::one_line(option)))
                    .collect();
                format!("  {}, [v]iew all, [l]ater? ", options.join(", "))
            }
            (_, QuestionKind::Json) => "  a value, as JSON (an empty line for later): ".to_owned(),
            (_, QuestionKind::Media) => "  the path of a file (an empty line for later): ".to_owned(),
            _ => "  your answer (an empty line for later): ".to_owned(),
        }
    }

    /// Takes a line; `None` if nobody types any more.
    pub(crate) fn hear(&mut self, line: Option<&str>) -> DialogStep {
        let Some(line) = line.map(str::trim) else { return DialogStep::Later };
        match self.stage {
            // Nothing is no correction and no reason: back to the choice.
            Stage::WhatToChange | Stage::WhyNot if line.is_empty() => {
                self.stage = Stage::Decision;
                DialogStep::More(Vec::new())
            }
            Stage::WhatToChange => self.answered(Decision::Revise { text: line.to_owned() }),
            Stage::WhyNot => self.answered(Decision::Reject { reason: line.to_owned() }),
            Stage::Decision => self.decide(line),
        }
    }

    fn decide(&mut self, line: &str) -> DialogStep {
        let word = line.to_lowercase();
        let is = |words: &[&str]| words.contains(&word.as_str());
        let kind = &self.question.question.kind;
        if self.is_turn() {
            return match line {
                "" => DialogStep::More(Vec::new()),
                "/quit" => self.answered(Decision::Reject { reason: "nothing more to say".to_owned() }),
                words => self.answered(Decision::Text { text: words.to_owned() }),
            };
        }
        if matches!(kind, QuestionKind::Text | QuestionKind::Json | QuestionKind::Media) {
            if line.is_empty() {
                return DialogStep::Later;
            }
            let decision = match kind {
                QuestionKind::Json => json_answer(line),
                QuestionKind::Media => media_answer(std::slice::from_ref(&PathBuf::from(line))),
                _ => Ok(Decision::Text { text: line.to_owned() }),
            };
            return match decision {
                Ok(decision) => self.answered(decision),
                Err(error) => DialogStep::More(vec![Rich::new(Tone::Caution, format!("  {error}"))]),
            };
        }
        if is(&["v", "view", "view all"]) {
            return DialogStep::More(question_body(&self.question.question, Some(self.width)));
        }
        if is(&["l", "later"]) {
            return DialogStep::Later;
        }
        match &self.question.question.kind {
            QuestionKind::Approval if is(&["a", "approve"]) => return self.answered(Decision::Approve),
            QuestionKind::Approval if !self.covers().is_empty() && is(&["s", "run", "for this run"]) => {
                return DialogStep::Answered(Answer::approve().by(&*self.by).for_run());
            }
            QuestionKind::Approval if self.always.is_some() && is(&["w", "always"]) => {
                return DialogStep::Always(Answer::approve().by(&*self.by).for_run());
            }
            QuestionKind::Approval if is(&["r", "revise"]) => return self.then(Stage::WhatToChange),
            QuestionKind::Approval if is(&["j", "reject"]) => return self.then(Stage::WhyNot),
            QuestionKind::Confirm if is(&["y", "yes"]) => return self.answered(Decision::Approve),
            QuestionKind::Confirm if is(&["n", "no"]) => return self.then(Stage::WhyNot),
            QuestionKind::Choice { options } => {
                let by_number =
                    line.parse().ok().and_then(|number: usize| options.get(number.checked_sub(1)?));
                let chosen = options.iter().find(|option| *option == line).or(by_number).cloned();
                if let Some(option) = chosen {
                    return self.answered(Decision::Choose { option });
                }
            }
            _ => {}
        }
        DialogStep::More(vec![Rich::new(Tone::Faint, "  type one of the letters in brackets")])
    }

    fn then(&mut self, stage: Stage) -> DialogStep {
        self.stage = stage;
        DialogStep::More(Vec::new())
    }

    fn answered(&self, decision: Decision) -> DialogStep {
        DialogStep::Answered(Answer::new(decision).by(&*self.by))
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::{IdempotencyKey, Path, Timestamp};
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;
    use crate::arguments::Color;
    use crate::terminal::Palette;

    fn dialog(question: Question) -> Dialog {
        let (run, path) = ("plan-1".parse().unwrap(), Path::from("plan/main/sign"));
        let id = IdempotencyKey::derive(&run, &path, 0);
        let pending = PendingQuestion { run, id, path, asked: Timestamp::from_micros(0), question };
        Dialog::new(pending, "ann".to_owned(), 60)
    }

    fn shown(lines: &[Rich]) -> String {
        let palette = Palette::new(Color::Never, &std::io::stderr());
        lines.iter().map(|line| line.paint(palette).trim_end().to_owned() + "\n").collect()
    }

    /// What the answer is after these lines.
    fn decided(question: Question, lines: &[&str]) -> Option<Decision> {
        let mut dialog = dialog(question);
        for line in lines {
            match dialog.hear(Some(line)) {
                DialogStep::More(_) => {}
                DialogStep::Later => return None,
                DialogStep::Answered(answer) | DialogStep::Always(answer) => {
                    assert_eq!(answer.by, "ann");
                    return Some(answer.decision);
                }
            }
        }
        panic!("{lines:?} decide nothing");
    }

    fn judged(output: &str) -> Question {
        Question::approval("Is this what goal \"sign\" is to give?")
            .details("What is to be achieved: a letter")
            .about(json!({
                "goal": "Sign the letter",
                "output": output,
                "fields": {"place": "Oslo"},
                "triggers": ["low_confidence"],
                "commitment": {"approach": "With a name."},
                "tools": [],
            }))
    }

    #[test]
    fn a_result_is_shown_before_what_is_said_about_it() {
        assert_snapshot!(shown(&dialog(judged("Dear Ann,\nyours, Ben")).opening()));
    }

    #[test]
    fn a_long_result_is_begun_and_shown_whole_when_asked_for() {
        let long: String = (1..=40).map(|number| format!("line {number}\u{1b}[2J\n")).collect();
        let mut dialog = dialog(judged(&long));
        assert_snapshot!(shown(&dialog.opening()));
        let DialogStep::More(all) = dialog.hear(Some("v")) else { panic!("nothing is decided yet") };
        let all = shown(&all);
        assert!(all.contains("line 40") && all.contains("With a name.") && !all.contains('\u{1b}'), "{all}");
    }

    #[test]
    fn every_kind_of_question_is_answered_in_its_way() {
        let approval = || judged("Dear Ann");
        assert_eq!(decided(approval(), &["hm", "A"]), Some(Decision::Approve));
        let revised = Decision::Revise { text: "in tone".to_owned() };
        assert_eq!(decided(approval(), &["r", " in tone "]), Some(revised));
        let rejected = Decision::Reject { reason: "no".to_owned() };
        assert_eq!(decided(approval(), &["r", "", "reject", "no"]), Some(rejected.clone()));
        assert_eq!(decided(approval(), &["later"]), None);
        assert_eq!(decided(Question::confirm("Go?"), &["a", "yes"]), Some(Decision::Approve));
        assert_eq!(decided(Question::confirm("Go?"), &["n", "no"]), Some(rejected));
        let choice = || Question::choice("When?", ["today", "2"]);
        assert_eq!(
            decided(choice(), &["0", "3", "1"]),
            Some(Decision::Choose { option: "today".to_owned() })
        );
        assert_eq!(decided(choice(), &["2"]), Some(Decision::Choose { option: "2".to_owned() }));
        assert_eq!(
            decided(Question::text("Who?"), &["Ann"]),
            Some(Decision::Text { text: "Ann".to_owned() })
        );
        assert_eq!(decided(Question::text("Who?"), &[""]), None);
        assert_eq!(dialog(approval()).hear(None), DialogStep::Later, "nobody types any more");
    }
}
