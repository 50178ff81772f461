//! A sink that forwards events to several sinks.

use std::fmt;
use std::sync::Arc;

use super::{Notice, Sink};

/// Forwards events to several sinks, in this order. None is fine too.
#[derive(Clone, Default)]
pub struct Tee(Vec<Arc<dyn Sink>>);

impl Tee {
    /// Creates a sink that forwards to these.
    #[must_use]
    pub fn new(sinks: impl IntoIterator<Item = Arc<dyn Sink>>) -> Self {
        Self(sinks.into_iter().collect())
    }
}

impl Sink for Tee {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        self.0.iter().for_each(|sink| sink.fire(notice));
    }
}

impl<S: Sink + ?Sized> Sink for Arc<S> {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        (**self).fire(notice);
    }
}

impl fmt::Debug for Tee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tee({} sinks)", self.0.len())
    }
}
