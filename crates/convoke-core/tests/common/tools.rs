//! Tools for tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_core::{
    BoxFuture, CategorisedError, Category, Error, Invocation, Tool, ToolEffect, ToolEffects, ToolSpec,
};
use serde_json::Value;

/// A tool that is told what to give, how long to take, and notes what it was called with.
#[derive(Clone)]
pub(crate) struct TestTool {
    spec: ToolSpec,
    result: Result<String, String>,
    delay: Duration,
    in_doubt: bool,
    heard: Arc<Mutex<Vec<Value>>>,
    calls: Arc<AtomicUsize>,
}

impl TestTool {
    /// A tool that only looks, and gives this.
    pub(crate) fn gives(name: &str, result: &str) -> Self {
        Self::new(ToolSpec::new(name, "", ToolEffect::Reads.into()), Ok(result.to_owned()))
    }

    /// A tool that only looks, and fails like this.
    pub(crate) fn fails(name: &str, error: &str) -> Self {
        Self::new(ToolSpec::new(name, "", ToolEffects::NONE), Err(error.to_owned()))
    }

    pub(crate) fn new(spec: ToolSpec, result: Result<String, String>) -> Self {
        Self {
            spec,
            result,
            delay: Duration::ZERO,
            in_doubt: false,
            heard: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// The same tool, taking this long.
    pub(crate) fn slow(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The same tool, which does not know whether it took effect if it fails.
    pub(crate) fn in_doubt(self) -> Self {
        Self { in_doubt: true, ..self }
    }

    /// What it was called with.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.heard.lock().unwrap().push(call.arguments.clone());
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            self.result.clone().map_err(|failure| match self.in_doubt {
                true => Error::failed(CategorisedError::new(Category::Permanent, failure).in_doubt()),
                false => Error::from(failure),
            })
        })
    }
}
