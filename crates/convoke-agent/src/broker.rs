//! The question broker: a responder for people in the same process.
//!
//! A [`QuestionBroker`] is where questions wait for a person while their runs wait too: a page, a terminal, a chat. Whoever has
//! the answer gives it by the question's id, from any task. The questions are in the store as well, so nothing is lost
//! if the process ends before they are answered.
//!
//! Each wait has a channel of its own. Whether an answer was taken is known to whoever gave it: an answer that comes when
//! the wait is over (time was up, the run was cancelled, somebody else was first) is refused, never lost in silence.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convoke_core::ask::InvalidAnswer;
use convoke_core::{Answer, BoxFuture, Decision, PendingQuestion, QuestionId, QuestionKind, Responder};
use tokio::sync::oneshot;

/// Called with every question that begins to wait.
type OnSubmit = Arc<dyn Fn(&PendingQuestion) + Send + Sync>;

/// A broker where questions wait for somebody in this process to answer. Clones share everything.
///
/// ```
/// use convoke_agent::QuestionBroker;
/// use convoke_core::{Answer, Runtime};
/// use std::time::Duration;
///
/// let broker = QuestionBroker::new().wait_limit(Duration::from_secs(300)).on_submit(|pending| {
///     // Tell somebody: a page, a chat, a pager.
///     let _ = &pending.question.title;
/// });
/// let runtime = Runtime::builder().responder(broker.clone()).build();
///
/// // Elsewhere, when the person has decided:
/// for pending in broker.pending() {
///     broker.answer(&pending.id, Answer::approve().by("ann"))?;
/// }
/// # Ok::<(), convoke_agent::AnswerError>(())
/// ```
#[derive(Clone, Default)]
pub struct QuestionBroker {
    waiting: Arc<Mutex<Waiting>>,
    wait_limit: Option<Duration>,
    on_submit: Option<OnSubmit>,
}

#[derive(Default)]
struct Waiting {
    next_ticket: u64,
    requests: Vec<Request>,
}

struct Request {
    ticket: u64,
    question: PendingQuestion,
    answer: oneshot::Sender<Answer>,
}

/// The error of an answer that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nobody waits for it.
    #[error("no pending question \"{id}\": it was answered, its time was up, or it was never asked here")]
    NoSuchQuestion {
        /// The question's id.
        id: String,
    },
    /// It does not answer the question, which still waits.
    #[error(transparent)]
    Invalid(#[from] InvalidAnswer),
    /// It would not count. The question still waits.
    #[error("that answer would not count: {reason}")]
    Uncounted {
        /// Why.
        reason: String,
    },
}

impl QuestionBroker {
    /// A broker without questions, where they may wait for ever.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rejects a question by itself when nobody has answered it for so long.
    #[must_use]
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = Some(limit);
        self
    }

    /// Calls this for every question that begins to wait. It must be quick.
    #[must_use]
    pub fn on_submit(mut self, told: impl Fn(&PendingQuestion) + Send + Sync + 'static) -> Self {
        self.on_submit = Some(Arc::new(told));
        self
    }

    /// The questions that wait, oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingQuestion> {
        self.lock().requests.iter().map(|request| request.question.clone()).collect()
    }

    /// Returns how many questions wait.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.lock().requests.len()
    }

    /// Returns whether this question waits.
    #[must_use]
    pub fn has_pending(&self, id: &QuestionId) -> bool {
        self.lock().requests.iter().any(|request| request.question.id == *id)
    }

    /// Answers a question.
    ///
    /// # Errors
    /// If nobody waits for it any more, or the answer does not fit the question: it was not taken then.
    pub fn answer(&self, id: &QuestionId, answer: Answer) -> Result<(), AnswerError> {
        let gone = || AnswerError::NoSuchQuestion { id: id.to_string() };
        let mut waiting = self.lock();
        let position =
            waiting.requests.iter().position(|request| request.question.id == *id).ok_or_else(gone)?;
        let question = &waiting.requests[position].question;
        question.question.check(&answer.decision)?;
        // Who has answered before, and where, is the run's to know.
        if let Some(reason) = question.objection_to(&answer, &[]) {
            return Err(AnswerError::Uncounted { reason });
        }
        let request = waiting.requests.remove(position);
        // Under the lock: a wait that ends takes itself out first, so the receiver is there.
        request.answer.send(answer).map_err(|_| gone())
    }

    /// Approves, or says yes.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn approve(&self, id: &QuestionId) -> Result<(), AnswerError> {
        self.answer(id, Answer::approve())
    }

    /// Rejects, or says no.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn reject(&self, id: &QuestionId, reason: impl Into<String>) -> Result<(), AnswerError> {
        self.answer(id, Answer::reject(reason))
    }

    /// Takes a question back: it is rejected as cancelled.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn cancel(&self, id: &QuestionId) -> Result<(), AnswerError> {
        let kind =
            self.pending().into_iter().find(|pending| pending.id == *id).map(|found| found.question.kind);
        self.reject(id, format!("{} cancelled", kind.as_ref().map_or("request", noun)))
    }

    async fn wait(&self, question: &PendingQuestion) -> Option<Answer> {
        let (sender, mut receiver) = oneshot::channel();
        let place = self.submit(question, sender);
        if let Some(on_submit) = &self.on_submit {
            on_submit(question);
        }
        let Some(limit) = self.wait_limit else { return receiver.await.ok() };
        match tokio::time::timeout(limit, &mut receiver).await {
            Ok(answer) => answer.ok(),
            Err(_) => {
                // Whoever takes the request out decides: if it is gone already, an answer was given in this very moment.
                let given = if place.leave() { None } else { receiver.try_recv().ok() };
                let reason = format!("{} timeout", noun(&question.question.kind));
                Some(given.unwrap_or_else(|| Answer::new(Decision::Reject { reason }).by("desk")))
            }
        }
    }

    fn submit(&self, question: &PendingQuestion, answer: oneshot::Sender<Answer>) -> Registration {
        let mut waiting = self.lock();
        waiting.next_ticket += 1;
        let ticket = waiting.next_ticket;
        waiting.requests.push(Request { ticket, question: question.clone(), answer });
        Registration { broker: self.clone(), ticket }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's registration with the broker. It is given up when the wait ends, however it ends.
struct Registration {
    broker: QuestionBroker,
    ticket: u64,
}

impl Registration {
    /// Takes the request out. Says whether it was still there.
    fn leave(&self) -> bool {
        let mut waiting = self.broker.lock();
        let before = waiting.requests.len();
        waiting.requests.retain(|request| request.ticket != self.ticket);
        waiting.requests.len() < before
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.leave();
    }
}

fn noun(kind: &QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Approval => "approval",
        _ => "input request",
    }
}

impl Responder for QuestionBroker {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(self.wait(question))
    }
}

impl std::fmt::Debug for QuestionBroker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("QuestionBroker")
            .field("pending", &self.pending_count())
            .field("wait_limit", &self.wait_limit)
            .finish_non_exhaustive()
    }
}
