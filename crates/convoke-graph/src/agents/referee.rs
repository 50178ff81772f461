//! Referees: who judges what an agent came to before it counts.

use convoke_core::{BoxFuture, Error, Scope};
use serde::{Deserialize, Serialize};

use crate::Board;

/// Judges what an agent came to. Asked only about what completed.
pub trait Referee: Send + Sync {
    /// Judges the board as it was left. Whatever is not a function of the board is an effect of the scope.
    ///
    /// # Errors
    /// Fails the request, like a step.
    fn judge<'a>(&'a self, scope: &'a Scope, board: &'a Board) -> BoxFuture<'a, Result<Verdict, Error>>;
}

/// The verdict of a referee. Of several, one that discards wins over all others, and one that wants a revision over those that
/// accept; the first of its kind says why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It counts.
    #[default]
    Accept,
    /// It is to be done again, from the beginning, as often as the agent [may](super::Agent::attempts). Then the last attempt counts.
    Revise(String),
    /// It does not count: it is in the result, and is not remembered.
    Discard(String),
}

impl Verdict {
    /// This verdict and that of the next referee.
    fn and(self, next: Self) -> Self {
        let better = match (&self, &next) {
            (Self::Accept, _) | (Self::Revise(_), Self::Discard(_)) => true,
            (Self::Revise(ours), Self::Revise(_)) | (Self::Discard(ours), Self::Discard(_)) => {
                ours.is_empty()
            }
            _ => false,
        };
        if better { next } else { self }
    }
}

/// What all of them say.
pub(super) async fn judged(
    referees: &[std::sync::Arc<dyn Referee>],
    scope: &Scope,
    board: &Board,
) -> Result<Verdict, Error> {
    let mut verdict = Verdict::Accept;
    for referee in referees {
        verdict = verdict.and(referee.judge(&scope.child("referee"), board).await?);
    }
    Ok(verdict)
}
