//! The last published state, for deltas to listeners.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::Path;
use crate::event::EventKind;

#[derive(Default)]
pub(crate) struct PublishedState(Mutex<HashMap<(TypeId, Path), Value>>);

impl PublishedState {
    /// Tells the event that brings listeners up to date, unless they are. Under one lock: what one tells is what the
    /// next one compares with.
    pub(crate) fn update<S: 'static>(&self, owner: &Path, current: Value, tell: impl FnOnce(EventKind)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let event = match known.insert((TypeId::of::<S>(), owner.clone()), current.clone()) {
            None => Some(EventKind::StateSnapshot { state: current }),
            Some(previous) => {
                let patch = json_patch::diff(&previous, &current);
                // A patch is a list of plain operations.
                (!patch.0.is_empty()).then(|| EventKind::StateDelta {
                    patch: serde_json::to_value(&patch).unwrap_or(Value::Null),
                })
            }
        };
        if let Some(event) = event {
            tell(event);
        }
    }
}
