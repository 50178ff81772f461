//! What listeners know about the state, so that they need only be told what changed.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::Path;
use crate::event::EventKind;

#[derive(Default)]
pub(crate) struct Published(Mutex<HashMap<(TypeId, Path), Value>>);

impl Published {
    /// The event that brings listeners up to date; `None` if they are.
    pub(crate) fn update<S: 'static>(&self, owner: &Path, current: Value) -> Option<EventKind> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.insert((TypeId::of::<S>(), owner.clone()), current.clone()) {
            None => Some(EventKind::StateSnapshot { state: current }),
            Some(previous) => {
                let patch = json_patch::diff(&previous, &current);
                // A patch is a list of plain operations.
                (!patch.0.is_empty()).then(|| EventKind::StateDelta {
                    patch: serde_json::to_value(&patch).unwrap_or(Value::Null),
                })
            }
        }
    }
}
