//! Captures the errors that llama.cpp logs while it loads a model.
//!
//! llama.cpp reports a failure as nothing but a failure, and writes the reason to its log.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Does something and gives the first error the engine logged meanwhile. The log still goes where it always goes.
pub(super) fn capture<T>(action: impl FnOnce() -> T) -> (T, Option<String>) {
    let first = Arc::new(Mutex::new(None));
    let listener =
        ErrorListener { usual: tracing::dispatcher::get_default(Clone::clone), first: Arc::clone(&first) };
    let done = tracing::subscriber::with_default(listener, action);
    let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
    (done, first)
}

struct ErrorListener {
    usual: Dispatch,
    first: Arc<Mutex<Option<String>>>,
}

impl Subscriber for ErrorListener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR || self.usual.enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.usual.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.usual.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.usual.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::ERROR {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                event.record(&mut Message(&mut first));
            }
        }
        if self.usual.enabled(event.metadata()) {
            self.usual.event(event);
        }
    }

    fn enter(&self, span: &Id) {
        self.usual.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.usual.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.usual.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.usual.try_close(span)
    }
}

struct Message<'a>(&'a mut Option<String>);

impl Visit for Message<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            *self.0 = Some(value.trim().to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
