//! Questions to people, and their answers.
//!
//! A question is data: it can be stored, shown by any client, and answered days later by another process. What the
//! asking step gets back is a checked [`Answer`], never free text where a decision was asked for.

mod answer;
mod question;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, Decision, InvalidAnswer};
pub(crate) use question::AnswerTerms;
pub use question::{Escalation, Expiry, Question, QuestionKind};

use crate::step::BoxFuture;
use crate::{IdempotencyKey, Path, RunId, Timestamp};

/// The id of one question: the idempotency key of the effect that asks it.
pub type QuestionId = IdempotencyKey;

/// A question that waits for its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// The run that asks.
    pub run: RunId,
    /// The question's id.
    pub id: QuestionId,
    /// Where in the run it is asked.
    pub path: Path,
    /// When it was asked.
    pub asked: Timestamp,
    /// The question.
    pub question: Question,
}

impl PendingQuestion {
    /// Returns what the answers given so far amount to: `None` while more are needed. Only those count that are by somebody the
    /// question was for at the time.
    #[must_use]
    pub fn verdict(&self, answers: &[Answer]) -> Option<Answer> {
        let heeded: Vec<Answer> = answers.iter().filter(|answer| self.accepts(answer)).cloned().collect();
        self.question.verdict(&heeded)
    }

    /// Returns what it has come to by this moment: what the answers amount to, or what holds when nobody has answered in time.
    #[must_use]
    pub fn settled(&self, answers: &[Answer], now: Timestamp) -> Option<Answer> {
        self.verdict(answers).or_else(|| {
            let expiry = self.question.expiry.as_ref().filter(|_| self.has_expired(now))?;
            Some(Answer::new(expiry.otherwise.clone()).by("expiry"))
        })
    }

    /// Returns when it next changes by itself, after this moment: others are asked as well, or its time is over.
    #[must_use]
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let Question { expiry, escalation, .. } = &self.question;
        let escalated = escalation.as_ref().map(|escalation| self.asked + escalation.after);
        let expired = expiry.as_ref().map(|expiry| self.asked + expiry.after);
        // What is over and was not looked at since holds at once.
        escalated.filter(|at| *at > now).into_iter().chain(expired).min()
    }

    fn has_expired(&self, now: Timestamp) -> bool {
        self.question.expiry.as_ref().is_some_and(|expiry| now >= self.asked + expiry.after)
    }

    /// Returns whether an answer counts: it fits, came in time, and is by somebody the question was for then, or the question is for anyone.
    #[must_use]
    pub fn accepts(&self, answer: &Answer) -> bool {
        if self.has_expired(answer.at) || self.question.check(&answer.decision).is_err() {
            return false;
        }
        self.is_for(&answer.by, answer.at)
    }

    /// Returns whether an answer by this person, given then, would count as far as it is about who answers.
    #[must_use]
    pub fn is_for(&self, person: &str, at: Timestamp) -> bool {
        let addressees = self.question.addressees(self.asked, at);
        addressees.is_empty() || addressees.contains(&person)
    }

    /// Returns why an answer does not count, given those that were given before it; `None` if it does.
    #[must_use]
    pub fn objection_to(&self, answer: &Answer, before: &[Answer]) -> Option<String> {
        if let Err(unfit) = self.question.check(&answer.decision) {
            return Some(unfit.to_string());
        }
        let who = || match answer.by.as_str() {
            "" => "somebody who does not say who they are".to_owned(),
            name => format!("`{name}`"),
        };
        if self.has_expired(answer.at) {
            return Some("the time for an answer was over".to_owned());
        }
        if !self.accepts(answer) {
            let asked = self.question.addressees(self.asked, answer.at).join(", ");
            return Some(format!("the question is for {asked}, and {} has answered", who()));
        }
        let approved = |other: &Answer| other.is_approval() && other.by == answer.by && self.accepts(other);
        if self.question.quorum > 1 && answer.is_approval() && before.iter().any(approved) {
            let quorum = self.question.quorum;
            return Some(format!("{} has approved already, and {quorum} different people must", who()));
        }
        None
    }

    /// The question for whoever has just answered in vain, with the reason.
    pub(crate) fn noting(&self, objection: &str) -> Self {
        let mut noting = self.clone();
        let details = &mut noting.question.details;
        if !details.is_empty() {
            details.push_str("\n\n");
        }
        details.push_str(&format!("The answer just given does not count: {objection}."));
        noting
    }
}

/// Answers questions while the run waits: a terminal, a page, a test.
///
/// Without one, a question suspends the run.
pub trait Responder: Send + Sync {
    /// Waits for an answer. `None` means nobody is there after all: the run suspends.
    ///
    /// Whoever gives an answer that does not count is asked again, and the question's details say why. After the third such
    /// answer the run suspends.
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>>;

    /// Waits until whoever is there leaves without having been asked anything: a run that waits for mail then is suspended. By default
    /// nobody leaves.
    fn left(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000) + Duration::from_secs(seconds)
    }

    fn pending(question: Question) -> PendingQuestion {
        let (run, path): (RunId, _) = ("r".parse().unwrap(), Path::from("main"));
        let id = IdempotencyKey::derive(&run, &path, 0);
        PendingQuestion { run, id, path, asked: at(0), question }
    }

    fn given(seconds: u64, answer: Answer) -> Answer {
        Answer { at: at(seconds), ..answer }
    }

    #[test]
    fn a_question_changes_next_when_others_are_asked_or_its_time_is_over_whichever_comes_first() {
        let question = || Question::confirm("?").audience(["ann"]);
        let minute = Duration::from_secs(60);
        let both = pending(question().escalates(minute, ["the boss"]).expires_after(2 * minute));
        assert_eq!(both.next_change(at(0)), Some(at(60)));
        assert_eq!(both.next_change(at(59)), Some(at(60)));
        assert_eq!(both.next_change(at(60)), Some(at(120)), "they have been asked");
        assert_eq!(
            both.next_change(at(500)),
            Some(at(120)),
            "what is over and was not looked at holds at once"
        );
        assert_eq!(pending(question()).next_change(at(0)), None);
        let escalates = pending(question().escalates(minute, ["the boss"]));
        assert_eq!((escalates.next_change(at(0)), escalates.next_change(at(61))), (Some(at(60)), None));
    }

    #[test]
    fn an_answer_counts_until_the_time_is_over_and_the_default_holds_from_then_on() {
        let question = pending(Question::confirm("?").expires_after(Duration::from_secs(60)));
        let yes = |seconds| given(seconds, Answer::approve());
        assert!(question.accepts(&yes(59)) && !question.accepts(&yes(60)));
        assert_eq!(question.objection_to(&yes(59), &[]), None);
        assert_eq!(question.objection_to(&yes(60), &[]).as_deref(), Some("the time for an answer was over"));
        assert_eq!(question.settled(&[], at(59)), None);
        let settled = question.settled(&[yes(60)], at(60)).unwrap();
        assert_eq!((settled.by.as_str(), settled.is_approval()), ("expiry", false));
        assert!(question.settled(&[yes(59)], at(90)).is_some_and(|answer| answer.is_approval()));
        assert_eq!(pending(Question::confirm("?")).settled(&[], at(1_000_000)), None, "it never expires");
    }

    #[test]
    fn whoever_the_question_is_not_for_is_told_who_it_is_for() {
        let question = pending(Question::approval("?").audience(["ann", "bob"]));
        let from = |name: &str| question.objection_to(&given(1, Answer::approve().by(name)), &[]);
        assert_eq!(from("ann"), None);
        assert_eq!(from("eve").as_deref(), Some("the question is for ann, bob, and `eve` has answered"));
        let nameless = from("").unwrap();
        assert!(nameless.ends_with("somebody who does not say who they are has answered"), "{nameless}");
        assert!(
            pending(Question::approval("?")).accepts(&given(1, Answer::approve().by("eve"))),
            "for anyone"
        );
    }

    #[test]
    fn only_a_second_approval_by_the_same_person_is_objected_to_and_only_if_several_must_approve() {
        let ann = given(1, Answer::approve().by("ann"));
        let of = |quorum: u32, answer: Answer, before: &[Answer]| {
            pending(Question::approval("?").quorum(quorum).audience(["ann", "bob"]))
                .objection_to(&given(2, answer), before)
        };
        let yes = |name: &str| Answer::approve().by(name);
        let twice = of(2, yes("ann"), std::slice::from_ref(&ann)).unwrap();
        assert_eq!(twice, "`ann` has approved already, and 2 different people must");
        assert_eq!(of(2, yes("bob"), std::slice::from_ref(&ann)), None, "somebody else");
        assert_eq!(of(1, yes("ann"), std::slice::from_ref(&ann)), None, "one is enough");
        assert_eq!(
            of(2, Answer::reject("no").by("ann"), std::slice::from_ref(&ann)),
            None,
            "another decision"
        );
        let no = given(1, Answer::reject("no").by("ann"));
        assert_eq!(of(2, yes("ann"), &[no]), None, "it was no approval before");
    }
}
