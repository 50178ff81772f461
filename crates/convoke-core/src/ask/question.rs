//! Questions to people: their kinds, limits and escalation.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Decision, InvalidAnswer};
use crate::Timestamp;

/// The kinds of questions, by the answer they take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// Approve what is shown, ask for a revision, or reject it.
    Approval,
    /// Yes or no.
    Confirm,
    /// One of these.
    Choice {
        /// What may be chosen.
        options: Vec<String>,
    },
    /// Any text.
    Text,
    /// A value; the question's details, or its subject, say of what kind.
    Json,
    /// Pictures or documents.
    Media,
}

/// A question for a person.
///
/// ```
/// use convoke_core::Question;
/// use std::time::Duration;
///
/// let question = Question::approval("Send this refund?")
///     .about(serde_json::json!({"order": 17, "amount": "30.00"}))
///     .expires_after(Duration::from_secs(3600));
/// assert_eq!(question.title, "Send this refund?");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The kind of answer wanted.
    pub kind: QuestionKind,
    /// The question itself, in one line.
    pub title: String,
    /// More text for the person who decides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// What is to be judged, for clients that can show it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub subject: Value,
    /// Who may answer; empty means anyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<String>,
    /// How long an answer is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// After how long others are asked as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// What an approval can be given for once and for all in a run, in words; empty if it is for this alone. Questions with
    /// the same words are then not asked again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub covers: String,
    /// How many different people must approve; 1 unless said otherwise.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: u32,
    /// Whether it is for the next words of a conversation. They decide nothing: what a runtime says about who answers, and until
    /// when, does not hold for them.
    #[serde(skip)]
    pub is_turn: bool,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_one(quorum: &u32) -> bool {
    *quorum == 1
}

/// Who answers a question, and until when. It is read from questions, too.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct AnswerTerms {
    #[serde(default)]
    pub(crate) audience: Vec<String>,
    #[serde(default)]
    pub(crate) expiry: Option<Expiry>,
}

/// The default answer, and when it takes effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expiry {
    /// How long after asking.
    pub after: Duration,
    /// The answer that is then taken; a rejection unless said otherwise.
    pub otherwise: Decision,
}

impl Expiry {
    /// A rejection after this long.
    pub(crate) fn rejecting(after: Duration) -> Self {
        Self { after, otherwise: Decision::Reject { reason: "nobody answered in time".to_owned() } }
    }
}

/// Further people to ask when nobody has answered for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// How long after asking.
    pub after: Duration,
    /// Who is asked then.
    pub to: Vec<String>,
}

impl Question {
    fn new(kind: QuestionKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            details: String::new(),
            subject: Value::Null,
            covers: String::new(),
            audience: Vec::new(),
            expiry: None,
            escalation: None,
            quorum: 1,
            is_turn: false,
        }
    }

    /// Approve, revise or reject.
    #[must_use]
    pub fn approval(title: impl Into<String>) -> Self {
        Self::new(QuestionKind::Approval, title)
    }

    /// Yes or no.
    #[must_use]
    pub fn confirm(title: impl Into<String>) -> Self {
        Self::new(QuestionKind::Confirm, title)
    }

    /// A choice among several options.
    #[must_use]
    pub fn choice<T: Into<String>>(title: impl Into<String>, options: impl IntoIterator<Item = T>) -> Self {
        Self::new(QuestionKind::Choice { options: options.into_iter().map(Into::into).collect() }, title)
    }

    /// Free text.
    #[must_use]
    pub fn text(title: impl Into<String>) -> Self {
        Self::new(QuestionKind::Text, title)
    }

    /// A value: a form that somebody fills in, what another program computes.
    #[must_use]
    pub fn json(title: impl Into<String>) -> Self {
        Self::new(QuestionKind::Json, title)
    }

    /// Pictures or documents.
    #[must_use]
    pub fn media(title: impl Into<String>) -> Self {
        Self::new(QuestionKind::Media, title)
    }

    /// Adds text for the person who decides.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Adds what is to be judged.
    #[must_use]
    pub fn about(mut self, subject: Value) -> Self {
        self.subject = subject;
        self
    }

    /// Says what an approval can be given for in the whole run.
    #[must_use]
    pub fn covers(mut self, covers: impl Into<String>) -> Self {
        self.covers = covers.into();
        self
    }

    /// Says who may answer. What others answer is kept, and does not count.
    #[must_use]
    pub fn audience<T: Into<String>>(mut self, audience: impl IntoIterator<Item = T>) -> Self {
        self.audience = audience.into_iter().map(Into::into).collect();
        self
    }

    /// Rejects by itself when nobody has answered after this long.
    #[must_use]
    pub fn expires_after(self, after: Duration) -> Self {
        Self { expiry: Some(Expiry::rejecting(after)), ..self }
    }

    /// Takes this decision when nobody has answered after this long.
    #[must_use]
    pub fn expires_with(mut self, after: Duration, otherwise: Decision) -> Self {
        self.expiry = Some(Expiry { after, otherwise });
        self
    }

    /// Asks these people as well when nobody has answered after this long.
    #[must_use]
    pub fn escalates<T: Into<String>>(mut self, after: Duration, to: impl IntoIterator<Item = T>) -> Self {
        self.escalation = Some(Escalation { after, to: to.into_iter().map(Into::into).collect() });
        self
    }

    /// Requires this many different people to approve. Zero means one.
    #[must_use]
    pub fn quorum(mut self, people: u32) -> Self {
        self.quorum = people.max(1);
        self
    }

    /// Says that it is for the next words of a conversation.
    #[must_use]
    pub fn turn(mut self) -> Self {
        self.is_turn = true;
        self
    }

    /// Returns who may answer at this time: the audience, and after a while those it escalates to. Empty means anyone.
    #[must_use]
    pub fn addressees(&self, asked: Timestamp, now: Timestamp) -> Vec<&str> {
        let mut people: Vec<&str> = self.audience.iter().map(String::as_str).collect();
        if let Some(escalation) = &self.escalation
            && now >= asked + escalation.after
            && !people.is_empty()
        {
            people.extend(escalation.to.iter().map(String::as_str));
        }
        people
    }

    /// Checks that an answer fits what was asked.
    ///
    /// # Errors
    /// Says what would fit instead.
    pub fn check(&self, decision: &Decision) -> Result<(), InvalidAnswer> {
        let fits = match (&self.kind, decision) {
            (
                QuestionKind::Approval,
                Decision::Approve | Decision::Revise { .. } | Decision::Reject { .. },
            )
            | (QuestionKind::Confirm, Decision::Approve | Decision::Reject { .. })
            | (QuestionKind::Text, Decision::Text { .. } | Decision::Reject { .. })
            | (QuestionKind::Json, Decision::Json { .. } | Decision::Reject { .. })
            | (QuestionKind::Media, Decision::Reject { .. }) => true,
            (QuestionKind::Media, Decision::Media { media }) => !media.is_empty(),
            (QuestionKind::Choice { options }, Decision::Choose { option }) => options.contains(option),
            (QuestionKind::Choice { .. }, Decision::Reject { .. }) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err(InvalidAnswer { wanted: self.wanted() }) }
    }

    fn wanted(&self) -> String {
        match &self.kind {
            QuestionKind::Approval => "approve, revise with a text, or reject with a reason".to_owned(),
            QuestionKind::Confirm => "approve (yes) or reject (no)".to_owned(),
            QuestionKind::Choice { options } => format!("one of: {}", options.join(", ")),
            QuestionKind::Text => "a text".to_owned(),
            QuestionKind::Json => "a value, as JSON".to_owned(),
            QuestionKind::Media => "at least one picture or document".to_owned(),
        }
    }

    /// What the answers given so far amount to: `None` while more are needed.
    ///
    /// One rejection or revision decides; approvals are counted by person until the quorum is reached.
    pub(super) fn verdict(&self, answers: &[Answer]) -> Option<Answer> {
        if let Some(decisive) =
            answers.iter().find(|answer| self.quorum == 1 || answer.decision != Decision::Approve)
        {
            return Some(decisive.clone());
        }
        let mut people: Vec<&str> = answers.iter().map(|answer| answer.by.as_str()).collect();
        people.sort_unstable();
        people.dedup();
        if people.len() >= self.quorum as usize { answers.last().cloned() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Media;

    #[test]
    fn values_and_documents_are_answers_too() {
        let (form, photo) = (Question::json("How many?"), Question::media("A photo?"));
        let picture = Media {
            media_type: "image/png".to_owned(),
            name: None,
            source: crate::message::MediaSource::Base64("AAEC".to_owned()),
        };
        let seven = Answer::json(serde_json::json!(7));
        assert_eq!(seven.read::<u32>().unwrap(), Some(7));
        assert!(seven.read::<String>().is_err());
        assert_eq!(Answer::approve().read::<u32>().unwrap(), None);
        assert!(form.check(&seven.decision).is_ok() && photo.check(&seven.decision).is_err());
        let given = Answer::media([picture]);
        assert!(photo.check(&given.decision).is_ok() && form.check(&given.decision).is_err());
        let nothing = photo.check(&Answer::media([]).decision).unwrap_err().to_string();
        assert!(nothing.contains("at least one picture or document"), "{nothing}");
        let json = serde_json::to_string(&given).unwrap();
        assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), given);
    }

    #[test]
    fn a_quorum_counts_people_not_answers() {
        let question = Question::approval("ship?").quorum(2);
        let ann = Answer::approve().by("ann");
        assert_eq!(question.verdict(std::slice::from_ref(&ann)), None);
        assert_eq!(question.verdict(&[ann.clone(), ann.clone()]), None);
        assert!(
            question.verdict(&[ann.clone(), Answer::approve().by("bob")]).is_some_and(|a| a.is_approval())
        );
        let rejected = question.verdict(&[ann, Answer::reject("no")]);
        assert!(rejected.is_some_and(|answer| !answer.is_approval()));
        let alone = question.verdict(&[Answer::reject("no")]);
        assert!(alone.is_some_and(|answer| !answer.is_approval()), "one rejection decides");
        let both = [Answer::approve().by("ann"), Answer::approve().by("bob")];
        assert_eq!(
            Question::approval("ship?").verdict(&both).unwrap().by,
            "ann",
            "the first, if one is enough"
        );
    }

    #[test]
    fn an_unfit_answer_says_what_would_fit() {
        let question = Question::choice("which?", ["red", "blue"]);
        assert!(question.check(&Decision::Choose { option: "red".into() }).is_ok());
        let error = question.check(&Decision::Choose { option: "green".into() }).unwrap_err();
        assert_eq!(error.to_string(), "that does not answer the question: give one of: red, blue");
    }

    #[test]
    fn escalation_widens_the_audience_after_its_delay() {
        let question =
            Question::confirm("?").audience(["ann"]).escalates(Duration::from_secs(60), ["the boss"]);
        let asked = Timestamp::from_micros(0);
        assert_eq!(question.addressees(asked, asked), ["ann"]);
        assert_eq!(question.addressees(asked, asked + Duration::from_secs(59)), ["ann"]);
        assert_eq!(question.addressees(asked, asked + Duration::from_secs(60)), ["ann", "the boss"]);
        let anybody = Question::confirm("?").escalates(Duration::from_secs(60), ["the boss"]);
        assert!(anybody.addressees(asked, asked + Duration::from_secs(60)).is_empty(), "it stays for anyone");
    }

    #[test]
    fn every_kind_of_question_takes_its_own_answers_and_says_which() {
        let decisions = [
            Decision::Approve,
            Decision::Revise { text: "more".into() },
            Decision::Reject { reason: "no".into() },
            Decision::Choose { option: "red".into() },
            Decision::Text { text: "red".into() },
            Decision::Json { value: Value::Null },
        ];
        let questions = [
            (Question::approval("?"), vec![0, 1, 2], "approve, revise with a text, or reject with a reason"),
            (Question::confirm("?"), vec![0, 2], "approve (yes) or reject (no)"),
            (Question::choice("?", ["red"]), vec![2, 3], "one of: red"),
            (Question::text("?"), vec![2, 4], "a text"),
            (Question::json("?"), vec![2, 5], "a value, as JSON"),
            (Question::media("?"), vec![2], "at least one picture or document"),
        ];
        for (question, taken, wanted) in questions {
            let fits = |index: &usize| question.check(&decisions[*index]).is_ok();
            assert_eq!((0..decisions.len()).filter(fits).collect::<Vec<_>>(), taken, "{wanted}");
            let unfit = (0..decisions.len()).find(|index| !fits(index)).unwrap();
            assert_eq!(question.check(&decisions[unfit]).unwrap_err().wanted, wanted);
        }
    }

    #[test]
    fn one_person_is_enough_unless_a_stored_question_says_otherwise() {
        let json = serde_json::to_value(Question::confirm("?")).unwrap();
        assert_eq!(json.get("quorum"), None);
        assert_eq!(serde_json::from_value::<Question>(json).unwrap().quorum, 1);
        let two = serde_json::to_value(Question::confirm("?").quorum(2)).unwrap();
        assert_eq!(serde_json::from_value::<Question>(two).unwrap().quorum, 2);
    }
}
