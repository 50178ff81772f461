//! The origin of a run: the folder its agents work in, and the policy of that folder.
//!
//! What a person approved was meant for that folder, and so were the rules in it. A run never goes on in another one because
//! somebody happens to be there; and never does a record, which may have come with somebody else's folder, lead agents to a folder
//! that its user is not in.

use std::path::{Path, PathBuf};

use convoke_config::{Config, may_exist};
use serde::{Deserialize, Serialize};

/// The origin of a run: where it was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunOrigin {
    /// The folder that `convoke` was started in.
    pub here: PathBuf,
    /// The folder that agents work in.
    pub workspace: PathBuf,
    /// The folder's policy, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PathBuf>,
}

impl RunOrigin {
    /// Describes this process as an origin.
    #[must_use]
    pub fn here(config: &Config) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        Self {
            here: real(&here),
            workspace: real(&config.workspace().path),
            policy: config.locations().policy.as_deref().map(real),
        }
    }

    /// Checks whether what was begun there is the same when it goes on here. A policy that is gone cannot hold any more; one that is named
    /// instead is named anew.
    #[must_use]
    pub fn is_like(&self, other: &Self, names_policy: bool) -> bool {
        // One that cannot be looked at is not gone.
        let holds =
            |policy: &PathBuf| names_policy || other.policy.as_ref() == Some(policy) || !may_exist(policy);
        self.workspace == other.workspace && self.policy.as_ref().is_none_or(holds)
    }

    /// Says why a run that was begun there does not fit here.
    #[must_use]
    pub fn difference(&self, here: &Self) -> String {
        if self.workspace == here.workspace {
            let policy = self.policy.as_deref().unwrap_or(Path::new("")).display();
            return format!("was begun under {policy}, which does not hold in this folder");
        }
        let (there, here) = (self.workspace.display(), &here.workspace);
        if !may_exist(&self.workspace) {
            return format!("works in {there}, which is not there any more");
        }
        // Where a process is has no name once the folder is deleted.
        if here.is_relative() {
            return format!(
                "works in {there}, and the folder that this process was started in is not there any more"
            );
        }
        format!("works in {there}, and this is {}: what it may do was said there", here.display())
    }

    /// Checks whether the folder that agents worked in, or the one that `convoke` was started in, is not there any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        !may_exist(&self.workspace) || !may_exist(&self.here)
    }
}

/// The name that a folder or a file really has.
fn real(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute())
}
