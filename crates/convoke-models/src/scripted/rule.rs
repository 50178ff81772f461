//! One rule of a script, and how often it has answered.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::condition::{IncomingRequest, Match};
use super::{Replies, Reply};

/// A condition, the replies it gives, and how often it has given one.
#[derive(Debug)]
pub(super) struct Rule {
    condition: Match,
    replies: Vec<Reply>,
    limit: Option<usize>,
    answers: AtomicUsize,
}

impl Rule {
    pub(super) fn new(condition: Match, replies: Replies) -> Self {
        Self { condition, replies: replies.replies, limit: replies.limit, answers: AtomicUsize::new(0) }
    }

    /// The next reply, if this rule answers the request and is not used up.
    ///
    /// The condition is the user's code: it is asked before the answer is counted, and with no lock held.
    pub(super) fn answer(&self, asked: &IncomingRequest<'_>) -> Option<Reply> {
        let last = self.replies.len().checked_sub(1)?;
        if !self.condition.holds(asked) {
            return None;
        }
        let given = self.answers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
            self.limit.is_none_or(|limit| given < limit).then(|| given.saturating_add(1))
        });
        given.ok().map(|given| self.replies[given.min(last)].clone())
    }

    /// How many replies it has, if it gives each of them once and answers everything.
    pub(super) fn queue_length(&self) -> Option<usize> {
        let replies = self.replies.len();
        (self.condition.is_any() && self.limit == Some(replies)).then_some(replies)
    }

    fn is_used_up(&self) -> bool {
        self.limit.is_some_and(|limit| self.answers.load(Ordering::Relaxed) >= limit)
    }
}

/// What it answers, and whether it still does.
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.condition)?;
        if self.replies.is_empty() {
            write!(formatter, " (has no reply)")?;
        } else if let Some(limit) = self.limit.filter(|_| self.is_used_up()) {
            write!(formatter, " (used up: answered {limit} of {limit} times)")?;
        }
        Ok(())
    }
}
