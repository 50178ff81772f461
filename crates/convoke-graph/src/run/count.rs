//! How many nodes a run has begun, those of graphs within it included.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use convoke_core::Error;

use super::schedule::NodeBudgetExhausted;

tokio::task_local! {
    /// The count of the graph whose node is at work.
    static AROUND: Arc<NodeCount>;
}

/// The nodes that one graph has begun. They count for the graphs around it too.
pub(super) struct NodeCount {
    graph: String,
    limit: u64,
    begun: AtomicU64,
    around: Option<Arc<NodeCount>>,
}

impl NodeCount {
    /// The count of a graph that begins now, within the one whose node is at work.
    pub(super) fn of(graph: &str, limit: u64) -> Arc<Self> {
        let around = AROUND.try_with(Arc::clone).ok();
        Arc::new(Self { graph: graph.to_owned(), limit, begun: AtomicU64::new(0), around })
    }

    /// Counts one more node.
    pub(super) fn begin(&self) -> Result<(), Error> {
        let mut count = Some(self);
        while let Some(NodeCount { graph, limit, begun, around }) = count {
            if begun.fetch_add(1, Ordering::Relaxed) >= *limit {
                return Err(Error::permanent(NodeBudgetExhausted { graph: graph.clone(), limit: *limit }));
            }
            count = around.as_deref();
        }
        Ok(())
    }

    /// Has what graphs begin within a node count here.
    pub(super) fn around<F: Future>(self: &Arc<Self>, node: F) -> impl Future<Output = F::Output> {
        AROUND.scope(Arc::clone(self), node)
    }
}
