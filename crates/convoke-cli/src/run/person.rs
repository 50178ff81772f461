//! The responder of a run: the person at the terminal.

use convoke_core::{Answer, BoxFuture, PendingQuestion, Responder};
use tokio::sync::{mpsc, oneshot, watch};

/// Questions that may wait for the one who is being answered.
const QUEUE: usize = 16;

/// A question, and where its answer is waited for. Without an answer nobody is there, and the run suspends.
pub(crate) struct AskedQuestion {
    pub(crate) question: PendingQuestion,
    pub(crate) answer: oneshot::Sender<Option<Answer>>,
}

/// The side of the run.
pub(crate) struct Person {
    asks: mpsc::Sender<AskedQuestion>,
    left: watch::Receiver<bool>,
}

/// A person, the questions for whoever sits at the terminal, and what says that they have left.
pub(crate) fn person() -> (Person, mpsc::Receiver<AskedQuestion>, watch::Sender<bool>) {
    let (asks, questions) = mpsc::channel(QUEUE);
    let (leaves, left) = watch::channel(false);
    (Person { asks, left }, questions, leaves)
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.asks.send(AskedQuestion { question: question.clone(), answer }).await.ok()?;
            answered.await.ok().flatten()
        })
    }

    fn left(&self) -> BoxFuture<'_, ()> {
        let mut left = self.left.clone();
        Box::pin(async move {
            if left.wait_for(|left| *left).await.is_err() {
                // Nobody watches any more, and so nobody leaves.
                std::future::pending().await
            }
        })
    }
}
