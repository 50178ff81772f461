//! Jobs for the writer, and their results.

use std::sync::Arc;

use convoke_core::store::Lease;
use convoke_core::{RunId, StoreError};

use super::failure::Fault;
use super::promise::{Promise, PromiseFuture, promise};
use super::run;
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

    /// The lease it gives back, which is given back later if the transaction is lost.
    fn gives_back(&self) -> Option<&Lease> {
        None
    }
}

/// The job that gives a lease back. Nobody waits for it, so whatever fails is tried again by the writer.
pub(super) struct Release(pub(super) Lease);

impl Job for Release {
    fn perform(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        let released = run::release(writer, &self.0);
        if released.is_err() {
            writer.leases.return_later(&self.0);
        }
        released.map_err(|fault| fault.at(writer.place()))
    }

    fn finish(self: Box<Self>, _: &Result<(), StoreError>) {}

    fn run(&self) -> Option<&RunId> {
        Some(&self.0.run)
    }

    fn weight(&self) -> usize {
        0
    }

    fn gives_back(&self) -> Option<&Lease> {
        Some(&self.0)
    }
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
