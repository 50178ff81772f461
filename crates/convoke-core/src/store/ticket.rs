//! Tickets: promises that a batch will be durable.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::StoreError;
use crate::step::BoxFuture;

/// A promise that a batch will be durable.
///
/// It may be cloned and awaited by several; dropping it does not undo the batch.
#[derive(Clone)]
pub struct Ticket(Shared<BoxFuture<'static, Result<(), StoreError>>>);

impl Ticket {
    /// A ticket that is done when the future is.
    pub fn new(future: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Self {
        let future: BoxFuture<'static, _> = Box::pin(future);
        Self(future.shared())
    }

    /// A ticket that is already done.
    #[must_use]
    pub fn done(result: Result<(), StoreError>) -> Self {
        Self::new(std::future::ready(result))
    }
}

impl Future for Ticket {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context)
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ticket").field("result", &self.0.peek()).finish()
    }
}
