//! Answers to questions of stored runs: whether one still counts, and what becomes of the run then.

use std::collections::BTreeSet;

use convoke_core::store::RunRecord;
use convoke_core::{Answer, PendingQuestion, RunId, StoreError};
use convoke_history::account::answer_text;
use convoke_history::{History, OpenQuestion, human, text};

use super::StoredRuns;
use crate::Manifest;
use crate::failure::FailureReport;

impl StoredRuns {
    /// The questions of a run that nobody has answered yet.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn unanswered(&self, run: &RunId) -> Result<Vec<OpenQuestion>, FailureReport> {
        let mut open = OpenQuestion::read(&*self.store, Some(run)).await?;
        open.retain(|question| question.settled(convoke_core::Timestamp::now()).is_none());
        Ok(open)
    }

    /// Refuses a second answer to a question that is decided, which would never be heard. The store has the last word.
    ///
    /// # Errors
    /// If it is decided, or the store cannot be read.
    pub async fn must_be_unsettled(
        &self,
        record: &RunRecord,
        pending: &PendingQuestion,
    ) -> Result<(), FailureReport> {
        let answers = self.store.answers(&record.id, &pending.id).await?;
        match pending.settled(&answers, self.now) {
            Some(verdict) => Err(self.settled(record, pending, &verdict)),
            None => Ok(()),
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// If it is answered already, or the answer does not fit it: then the commands that do are hints.
    pub async fn answer(
        &self,
        record: &RunRecord,
        pending: &PendingQuestion,
        answer: Answer,
    ) -> Result<(), FailureReport> {
        self.store.answer(&record.id, &pending.id, answer).await.map(drop).map_err(|error| match error {
            // Somebody was faster, since it was looked at.
            StoreError::Answered { verdict, .. } => self.settled(record, pending, &verdict),
            StoreError::Unfit(_) => {
                let commands = self.answering(&OpenQuestion::new(pending.clone(), Vec::new()));
                let commands = commands.into_iter().map(|command| format!("`{command}`"));
                commands.fold(error.into(), FailureReport::hint)
            }
            error => error.into(),
        })
    }

    fn settled(&self, record: &RunRecord, pending: &PendingQuestion, verdict: &Answer) -> FailureReport {
        let (title, given) = (text::one_line(&pending.question.title), text::one_line(&answer_text(verdict)));
        FailureReport::failed(format!("`{title}` is answered already: {given}"))
            .hint(format!("to let the run go on, {}", self.resuming(record)))
            .hint("to try another answer, fork the run at the question once it has gone on")
    }

    /// Says that an answer is by somebody whom the question is not for. Nothing here can prove who somebody is, so this is only a word of
    /// warning.
    #[must_use]
    pub fn outsider(&self, pending: &PendingQuestion, answer: &Answer) -> Option<String> {
        let addressees = pending.question.addressees(pending.asked, self.now);
        (!addressees.is_empty() && !addressees.contains(&&*answer.by)).then(|| {
            format!(
                "this question is for {}: an answer by somebody else is kept and does not count; `--by` says who answers",
                addressees.join(", ")
            )
        })
    }

    /// Returns what becomes of a run after an answer to this question, if it is still open.
    #[must_use]
    pub fn after_answer(&self, history: &History, open: Option<&OpenQuestion>) -> String {
        let record = &history.record;
        if let Some(open) = open.filter(|open| open.verdict().is_none()) {
            let heeded = open.answers.iter().filter(|answer| open.pending.accepts(answer));
            let people: BTreeSet<&str> = heeded.map(|answer| &*answer.by).collect();
            return match open.pending.question.quorum {
                1 => "it still waits for an answer by somebody it is for".to_owned(),
                quorum => format!(
                    "{quorum} different people must approve; so far: {}",
                    Vec::from_iter(people).join(", ")
                ),
            };
        }
        let goes_on = match &record.holder {
            Some(holder) => format!("{holder} goes on with it"),
            None => {
                let needs_nobody = |kept: Manifest| kept.policy.is_none() && kept.secret_options().is_empty();
                // A fork waits for somebody who says with what it goes on.
                let is_new_fork = record.forked_from.is_some() && record.epoch <= 1;
                let attended = match Manifest::of(record).is_some_and(needs_nobody) && !is_new_fork {
                    true => "; a `convoke attend` does so by itself",
                    false => "",
                };
                format!("to let the run go on, {}{attended}", self.resuming(record))
            }
        };
        // What was answered counts at once: it may even be the end of the run, and of what else it asks.
        match history.questions.iter().filter(|open| open.settled(self.now).is_none()).count() as u64 {
            0 => goes_on,
            waiting => format!("{goes_on}; it has {}", human::count(waiting, "more open question")),
        }
    }
}
