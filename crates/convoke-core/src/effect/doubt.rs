//! Effects in doubt: begun before a crash, and perhaps performed.

use serde_json::Value;

use super::NumberedEffect;
use crate::ask::{Decision, Question};
use crate::run::EarlierOutcome;
use crate::scope::Child;
use crate::{Digest, Error, InDoubt, Scope};

/// When a call was under way, in the words that journals have in what a question is about. They are true of a crash only.
const WHEN_IT_ENDED: &str = "when the process ended";
/// The same words where they name a command. What is shown leaves it to whoever shows it how a run is forked.
const HOW_TO_FORK: &str = " (`convoke fork RUN --at N --outcome JSON`)";
/// When it was under way, as it is shown.
const WHEN_IT_STOPPED: &str = "and had not ended when the run stopped";
/// The same where the attempt before went on without knowing more.
const IN_AN_EARLIER_ATTEMPT: &str = "in an earlier attempt, which did not hear how it ended";

/// The treatment of a call that was begun before a crash, may have taken effect, and must not be repeated blindly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDoubt {
    /// Ask a person: it happened, do it again, or stop.
    #[default]
    Ask,
    /// Stop with [`Error::InDoubt`].
    Fail,
}

/// What became of an interrupted call, as far as somebody knows.
pub(super) enum DoubtResolution {
    Done(String),
    Again,
}

impl Scope {
    /// Asks a person what became of an interrupted call, or stops, as the runtime is configured.
    ///
    /// Each attempt has a question of its own: that it was to be made again says nothing about what became of it then.
    pub(super) async fn resolve_doubt(
        &self,
        name: &str,
        effect: &NumberedEffect<'_>,
        asked: Value,
        options: &[&str],
        remark: Option<&str>,
    ) -> Result<DoubtResolution, Error> {
        let key = effect.key();
        let doubt = || {
            Error::InDoubt(Box::new(InDoubt {
                tool: name.to_owned(),
                path: self.path().clone(),
                key: key.to_string(),
            }))
        };
        if self.node.run.services.on_doubt == OnDoubt::Fail {
            return Err(doubt());
        }
        let took_effect = if options.contains(&"done") {
            "`done`: it took effect, go on.".to_owned()
        } else {
            format!("If it took effect, fork the run at this effect and say what it gave{HOW_TO_FORK}.")
        };
        let mut question = Question::choice(
            format!("`{name}` was interrupted and may have acted already. What became of it?"),
            options.iter().copied(),
        )
        .details(format!(
            "It was called at `{}` with key {key} {WHEN_IT_ENDED}. {took_effect} `again`: it did not, call it \
             again. `stop`: end the run.",
            self.path()
        ))
        .about(asked);
        let repetition = Some(effect.attempts());
        let person = self.narrowed(Child { repetition, ..Child::named("in doubt") });
        // It is about the attempt: what is said beside it may be something else when the run goes on.
        let about = Digest::of_json(&serde_json::to_value(&question)?);
        let when = match effect.earlier() {
            EarlierOutcome::Begun if effect.attempts() <= 1 => IN_AN_EARLIER_ATTEMPT,
            _ => WHEN_IT_STOPPED,
        };
        question.details = question.details.replace(WHEN_IT_ENDED, when).replace(HOW_TO_FORK, "");
        if let Some(remark) = remark {
            question.details = format!("{remark} {}", question.details);
        }
        let answer = person.ask_about(about, question).await?;
        match answer.decision {
            Decision::Choose { option } if option == "done" => Ok(DoubtResolution::Done(
                "done; the call took effect before an interruption, and what it gave back was lost"
                    .to_owned(),
            )),
            Decision::Choose { option } if option == "again" => Ok(DoubtResolution::Again),
            _ => Err(doubt()),
        }
    }
}
