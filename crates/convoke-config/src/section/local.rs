//! The `local` section: settings of models in the process.

use crate::schema::path;
use crate::{Setting, Value};

/// Settings of models in the process; `None` is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Local {
    /// How many tokens a conversation may have.
    pub context_tokens: Option<u32>,
    /// How many threads compute.
    pub threads: Option<u32>,
    /// How many requests are worked on at once.
    pub parallel: Option<u32>,
}

pub(crate) fn local(settings: &[Setting]) -> Local {
    let mut local = Local::default();
    for setting in settings {
        let Value::Whole(number) = setting.value else { continue };
        let number = u32::try_from(number).ok();
        match setting.key.path {
            path::LOCAL_CONTEXT_TOKENS => local.context_tokens = number,
            path::LOCAL_THREADS => local.threads = number,
            path::LOCAL_PARALLEL => local.parallel = number,
            _ => {}
        }
    }
    local
}
