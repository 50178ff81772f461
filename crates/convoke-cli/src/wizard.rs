//! The questions of `convoke init`, asked of whoever is there.

use std::io::{self, BufRead, Write};

use convoke_host::{ProjectPlan, Watcher};
use convoke_models::ModelName;

/// Answers that make no sense are asked for again so often; then what is usual is taken.
const PATIENCE: usize = 3;

/// Asks questions here and reads answers there.
pub(crate) struct Wizard<R, W> {
    answers: R,
    questions: W,
}

impl<R: BufRead, W: Write> Wizard<R, W> {
    pub(crate) fn new(answers: R, questions: W) -> Self {
        Self { answers, questions }
    }

    /// Asks everything. `found` is the model that would be used otherwise. If whoever was there has gone, that is
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
    pub(crate) fn ask(&mut self, usual: ProjectPlan, found: Option<&str>) -> io::Result<ProjectPlan> {
        let mut plan = usual;
        let goal = self.question("What should it do?", "an example")?;
        plan.goal = (!goal.is_empty()).then_some(goal);
        let found = found.unwrap_or("whatever is found");
        plan.model = self.checked("Which model?", found, |answer| {
            if answer.contains(['"', '\\']) || answer.contains(char::is_control) {
                return Err("a model's name has no quotes in it".to_owned());
            }
            answer.parse::<ModelName>().map(|_| answer.to_owned()).map_err(|error| error.to_string())
        })?;
        let watcher = self.checked("Who checks results: nobody, a model, or me?", "nobody", |answer| {
            match answer.to_ascii_lowercase().trim_start_matches("a ") {
                "nobody" | "n" | "no" => Ok(Watcher::Nobody),
                "model" | "m" => Ok(Watcher::Model),
                "me" | "i" | "person" | "human" => Ok(Watcher::Person),
                _ => Err("answer nobody, model or me".to_owned()),
            }
        })?;
        plan.watcher = watcher.unwrap_or(Watcher::Nobody);
        Ok(plan)
    }

    /// An answer that makes sense; `None` is what is usual.
    fn checked<T>(
        &mut self,
        question: &str,
        usual: &str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> io::Result<Option<T>> {
        for _ in 0..PATIENCE {
            let answer = self.question(question, usual)?;
            if answer.is_empty() {
                return Ok(None);
            }
            match check(&answer) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => writeln!(self.questions, "  {why}")?,
            }
        }
        writeln!(self.questions, "  {usual}, then")?;
        Ok(None)
    }

    /// What is typed; nothing is what is usual.
    fn question(&mut self, question: &str, usual: &str) -> io::Result<String> {
        write!(self.questions, "{question} [{usual}] ")?;
        self.questions.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            writeln!(self.questions)?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answers: &str) -> (Option<ProjectPlan>, String) {
        let mut questions = Vec::new();
        let plan = Wizard::new(answers.as_bytes(), &mut questions)
            .ask(ProjectPlan::usual("plan"), Some("ollama/qwen3"));
        let plan = plan.map_err(|error| assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof)).ok();
        (plan, String::from_utf8_lossy(&questions).into_owned())
    }

    #[test]
    fn empty_answers_are_what_is_usual() {
        let (plan, asked) = answered("\n\n\n");
        assert_eq!(plan, Some(ProjectPlan::usual("plan")));
        assert!(asked.contains("Which model? [ollama/qwen3]"), "{asked}");
    }

    #[test]
    fn answers_are_taken_and_those_that_make_no_sense_are_asked_for_again() {
        let (plan, asked) = answered("Sort my mail\nnowhere/x\ngpt-5.4\nperhaps\nme\n");
        let expected = ProjectPlan {
            name: "plan".to_owned(),
            goal: Some("Sort my mail".to_owned()),
            model: Some("gpt-5.4".to_owned()),
            watcher: Watcher::Person,
        };
        assert_eq!(plan, Some(expected));
        assert!(
            asked.contains("there is no service `nowhere`") && asked.contains("answer nobody"),
            "{asked}"
        );
        let (plan, _) = answered("x\na/\nb/\n\"c\"\nmodel\n");
        assert!(matches!(plan, Some(ProjectPlan { model: None, watcher: Watcher::Model, .. })));
    }

    #[test]
    fn who_leaves_gets_nothing() {
        assert_eq!(answered("Sort my mail\n").0, None);
        assert_eq!(answered("").0, None);
    }
}
