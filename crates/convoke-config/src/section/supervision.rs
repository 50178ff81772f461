//! The `supervision` section: the supervisor and its limits.

use std::collections::BTreeMap;
use std::time::Duration;

use convoke_models::ModelName;

use super::Profile;
use crate::schema::path;
use crate::{Setting, Value};

/// The `supervision` section: the supervisor and its limits.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Supervision {
    /// The model that supervises.
    pub supervisor: Supervisor,
    /// How often one goal may be sent back to be done otherwise; `None` is as the workflow says.
    pub max_reorients: Option<u32>,
    /// How long a question waits for a person; `None` is for ever.
    pub human_expiry: Option<Duration>,
    /// Who may answer; empty is anybody.
    pub answerers: Vec<String>,
}

/// The model that supervises.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Supervisor {
    /// The one that is supervised.
    #[default]
    Same,
    /// This one.
    Model(ModelName),
    /// The one of this profile.
    Profile(Box<Profile>),
}

pub(crate) fn supervision(settings: &[Setting], profiles: &BTreeMap<String, Profile>) -> Supervision {
    let mut supervision = Supervision::default();
    for setting in settings {
        match (setting.key.path, &setting.value) {
            (path::SUPERVISION_MODEL, Value::Text(model)) => {
                supervision.supervisor = model.parse().map_or(Supervisor::Same, Supervisor::Model);
            }
            (path::SUPERVISION_PROFILE, Value::Text(name)) => {
                if let Some(profile) = profiles.get(name) {
                    supervision.supervisor = Supervisor::Profile(Box::new(profile.clone()));
                }
            }
            (path::SUPERVISION_MAX_REORIENTS, Value::Whole(times)) => {
                supervision.max_reorients = u32::try_from(*times).ok();
            }
            (path::SUPERVISION_HUMAN_EXPIRY, Value::Time(time)) => supervision.human_expiry = Some(*time),
            (path::SUPERVISION_ANSWERERS, Value::Texts(people)) => supervision.answerers.clone_from(people),
            _ => {}
        }
    }
    supervision
}
