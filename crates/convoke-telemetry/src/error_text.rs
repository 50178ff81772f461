//! Strips quoted words of people and models from error texts.

/// What stands in the text of an error before somebody's words: a supervisor's or a person's reason, why something is
/// forbidden, the titles of questions.
const BEFORE_WORDS: [&str; 3] = ["halted: ", "denied: ", "answer(s): "];

/// The text of an error as far as nobody else is quoted in it: what kind of end it was, and in which step.
///
/// It works on texts because errors are told as texts, also by steps that put others into their own.
pub(crate) fn without_quotes(error: &str) -> &str {
    let ends = BEFORE_WORDS.iter().filter_map(|before| Some(error.find(before)? + before.len() - ": ".len()));
    ends.min().map_or(error, |end| &error[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::{
        BranchErrors, BranchFailure, Error, Path, PendingQuestion, Question, QuestionId, RunId, Suspension,
        Timestamp,
    };

    #[test]
    fn no_error_quotes_anybody_however_it_is_wrapped() {
        let (run, path) = ("run".parse::<RunId>().unwrap(), Path::from("main/left"));
        let pending = PendingQuestion {
            id: QuestionId::derive(&run, &path, 0),
            run,
            path: path.clone(),
            question: Question::approval("W-O-R-D-S"),
            asked: Timestamp::from_micros(0),
        };
        let mut waits = Suspension::default();
        waits.questions.push(pending);
        let errors = [
            Error::Halted("by its supervisor: W-O-R-D-S".into()),
            Error::Denied("W-O-R-D-S".into()),
            Error::Suspended(Box::new(waits)),
        ];
        for error in errors {
            let branch =
                |name: &str| BranchFailure { branch: name.into(), path: path.clone(), error: error.clone() };
            let branches = Error::Branches(Box::new(BranchErrors {
                failures: vec![branch("a"), branch("b")],
                ..BranchErrors::default()
            }));
            for told in [error.clone(), error.clone().in_step("left", &path), branches] {
                let text = told.to_string();
                let quiet = without_quotes(&text);
                assert!(text.contains("W-O-R-D-S") && !quiet.contains("W-O-R-D-S"), "{text}: {quiet}");
                assert!(!quiet.is_empty());
            }
        }
    }
}
