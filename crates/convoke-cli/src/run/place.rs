//! Where a run was begun: the folder its agents work in, and the policy of that folder.
//!
//! What a person approved was meant for that folder, and so were the rules in it. A run never goes on in another one because
//! somebody happens to be there; and never does a record, which may have come with somebody else's folder, lead agents to a folder
//! that its user is not in.

use std::path::{Path, PathBuf};

use convoke_config::{Config, is_there};
use convoke_core::store::RunRecord;
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::text;
use crate::{policies, shell};

/// Where a run was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The folder that `convoke` was started in.
    pub(crate) here: PathBuf,
    /// The folder that agents work in.
    pub(crate) workspace: PathBuf,
    /// The folder's policy, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PathBuf>,
}

impl Place {
    /// This one.
    pub(crate) fn here(arguments: &Arguments, config: &Config) -> Self {
        let (policy, _) = policies::places(arguments);
        let here = std::env::current_dir().unwrap_or_default();
        Self {
            here: real(&here),
            workspace: real(&config.workspace().path),
            policy: policy.as_deref().map(real),
        }
    }

    /// Whether what was begun there is the same when it goes on here. A policy that is gone cannot hold any more; one that is named
    /// instead is named anew.
    fn is_like(&self, other: &Self, names_policy: bool) -> bool {
        // One that cannot be looked at is not gone.
        let holds =
            |policy: &PathBuf| names_policy || other.policy.as_ref() == Some(policy) || !is_there(policy);
        self.workspace == other.workspace && self.policy.as_ref().is_none_or(holds)
    }
}

/// The name that a folder or a file really has.
fn real(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute())
}

/// Refuses to go on with a run anywhere but where it was begun.
pub(crate) fn must_be_where_it_was(
    session: &Session<'_>,
    record: &RunRecord,
    kept: &Manifest,
    here: &Place,
) -> Result<(), Failure> {
    let Some(there) = &kept.place else { return Ok(()) };
    if there.is_like(here, kept.policy.is_some()) {
        return Ok(());
    }
    let shown = |path: &Path| text::clean(&path.display().to_string());
    let again = session.resume_from(&record.id, kept);
    let failure = Failure::usage(if there.workspace == here.workspace {
        let policy = there.policy.as_deref().map(shown).unwrap_or_default();
        format!("run {} was begun under {policy}, which does not hold in this folder", record.id)
    } else {
        format!(
            "run {} works in {}, and this is {}: what it may do was said there",
            record.id,
            shown(&there.workspace),
            shown(&here.workspace)
        )
    });
    let folder = shell::quoted(&there.here.display().to_string());
    Err(failure.hint(format!("go on there: `cd {folder} && {again}`")).hint(format!(
        "if that folder is this one now, or the run is to work here: add `--here` to `{again}`"
    )))
}
