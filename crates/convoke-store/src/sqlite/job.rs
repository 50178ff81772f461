//! Jobs for the writer, and their results.

use std::sync::Arc;

use convoke_core::{RunId, StoreError};

use super::failure::Fault;
use super::promise::{Promise, PromiseFuture, promise};
use super::wait_mode::WaitState;
use super::writer::Writer;

/// Something to do within a transaction that other jobs share.
pub(super) trait Job: Send {
    /// Does it. If it fails, the writer undoes what it wrote.
    fn perform(&mut self, writer: &mut Writer) -> Result<(), StoreError>;

    /// Tells whoever waits, once the transaction is durable or lost.
    fn finish(self: Box<Self>, transaction: &Result<(), StoreError>);

    /// The run whose lease it changes.
    fn run(&self) -> Option<&RunId>;

    /// About how many bytes it writes.
    fn weight(&self) -> usize;
}

/// A job that performs `work` and sends what it gave.
pub(super) struct Task<T, Work> {
    work: Option<Work>,
    run: Option<RunId>,
    weight: usize,
    result: Option<Result<T, StoreError>>,
    reply: Promise<Result<T, StoreError>>,
}

/// Where the result of a job arrives.
pub(super) type Reply<T> = PromiseFuture<Result<T, StoreError>>;

impl<T, Work> Task<T, Work>
where
    T: Send + 'static,
    Work: FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
{
    /// The job, and where its result will arrive.
    pub(super) fn queue(
        waits: &Arc<WaitState>,
        run: Option<RunId>,
        weight: usize,
        work: Work,
    ) -> (Box<dyn Job>, Reply<T>) {
        let (reply, result) = promise(waits);
        (Box::new(Self { work: Some(work), run, weight, result: None, reply }), result)
    }
}

impl<T, Work> Job for Task<T, Work>
where
    T: Send + 'static,
    Work: FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
{
    fn perform(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let result = work(writer).map_err(|fault| fault.at(writer.place()));
        self.result.insert(result).as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn finish(self: Box<Self>, transaction: &Result<(), StoreError>) {
        let result = match (self.result, transaction) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.clone()),
            (Some(Ok(value)), Ok(())) => Ok(value),
            // A job that was not performed belongs to no transaction that succeeded.
            (None, Ok(())) => return,
        };
        self.reply.keep(result);
    }

    fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    fn weight(&self) -> usize {
        self.weight
    }
}
