//! The responder of a run: the person at the terminal.

use convoke_core::{Answer, BoxFuture, PendingQuestion, Responder};
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait for the one who is being answered.
const QUEUE: usize = 16;

/// A question, and where its answer is waited for. Without an answer nobody is there, and the run suspends.
pub(crate) struct AskedQuestion {
    pub(crate) question: PendingQuestion,
    pub(crate) answer: oneshot::Sender<Option<Answer>>,
}

/// The side of the run.
pub(crate) struct Person(mpsc::Sender<AskedQuestion>);

/// A person, and the questions for whoever sits at the terminal.
pub(crate) fn person() -> (Person, mpsc::Receiver<AskedQuestion>) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (Person(sender), receiver)
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.0.send(AskedQuestion { question: question.clone(), answer }).await.ok()?;
            answered.await.ok().flatten()
        })
    }
}
