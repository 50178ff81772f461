//! The replies of one rule.

use convoke_core::ModelError;

use super::Reply;

/// The replies of one rule: used in turn, the last one again and again unless there is a limit.
///
/// ```
/// use std::time::Duration;
/// use convoke_core::ModelError;
/// use convoke_models::{Match, Reply, ScriptedModel};
/// use convoke_models::scripted::Replies;
///
/// let busy = ModelError::of_status(429, "slow down").with_retry_after(Duration::from_secs(2));
/// let model = ScriptedModel::builder()
///     .when(Match::last_contains("busy"), [Reply::error(busy), Reply::text("Now I have time.")])
///     .when(Match::last_contains("joke"), Replies::in_turn(["Knock knock.", "Who is there?"]).once())
///     .when(Match::last_contains("joke"), "I know no other joke.")
///     .build();
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Replies {
    pub(super) replies: Vec<Reply>,
    pub(super) limit: Option<usize>,
}

impl Replies {
    /// Gives these, one after the other; then the last one for ever.
    pub fn in_turn<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self { replies: replies.into_iter().map(Into::into).collect(), limit: None }
    }

    /// Each of them once; then the rule is used up and later rules get their turn.
    pub fn once(self) -> Self {
        let each = self.replies.len();
        self.times(each)
    }

    /// Answers this many times in all; then the rule is used up and later rules get their turn.
    pub fn times(self, answers: usize) -> Self {
        Self { limit: Some(answers), ..self }
    }
}

impl Reply {
    /// This reply, once; then the rule is used up and later rules get their turn.
    pub fn once(self) -> Replies {
        Replies::from(self).once()
    }

    /// This reply, so many times; then the rule is used up and later rules get their turn.
    pub fn times(self, answers: usize) -> Replies {
        Replies::from(self).times(answers)
    }
}

impl From<Reply> for Replies {
    fn from(reply: Reply) -> Self {
        Self::in_turn([reply])
    }
}

impl From<&str> for Replies {
    fn from(text: &str) -> Self {
        Self::in_turn([text])
    }
}

impl From<String> for Replies {
    fn from(text: String) -> Self {
        Self::in_turn([text])
    }
}

impl From<ModelError> for Replies {
    fn from(error: ModelError) -> Self {
        Self::in_turn([error])
    }
}

impl<R: Into<Reply>, const N: usize> From<[R; N]> for Replies {
    fn from(replies: [R; N]) -> Self {
        Self::in_turn(replies)
    }
}

impl<R: Into<Reply>> From<Vec<R>> for Replies {
    fn from(replies: Vec<R>) -> Self {
        Self::in_turn(replies)
    }
}
