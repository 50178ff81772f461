//! Run settings: what is drawn, looked up and decided once, when a run begins, and holds for all of it.

use std::sync::Arc;

use convoke_core::{Error, Scope};
use serde::{Deserialize, Serialize};

use crate::context::Fence;
use crate::equipment::Equipment;
use crate::rules::Rules;
use crate::secret::{SealedEquipment, Seals};

/// The settings of a run, the same for all its workflows.
#[derive(Clone)]
pub(super) struct RunSettings {
    pub(super) fence: Fence,
    /// What was known of the folder, whatever is known of it now.
    pub(super) workspace: Arc<str>,
    pub(super) rules: Rules,
    /// How many turns everybody has, if that is said.
    pub(super) max_turns: Option<u32>,
    /// What takes secrets out of what the author adds to prompts.
    pub(super) seals: Option<Arc<Seals>>,
}

/// The settings as the journal keeps them. Runs begun before there were rules to tell apart kept the text only.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RecordedSettings {
    Text(String),
    WithRules {
        workspace: String,
        rules: Rules,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_turns: Option<u32>,
    },
}

impl RunSettings {
    /// **Durable**: what is known of the folder, the rules, and how many turns everybody has.
    ///
    /// # Errors
    /// A run that was begun under rules that this build does not know; and stops.
    pub(super) async fn of(
        scope: &Scope,
        equipment: &Equipment,
        sealed: Option<SealedEquipment>,
    ) -> Result<Self, Error> {
        let fence = Fence::new(scope.random());
        let (workspace, seals) = match sealed {
            Some(SealedEquipment { workspace, whole }) => (workspace, Some(whole)),
            None => (equipment.workspace.clone(), None),
        };
        let now =
            RecordedSettings::WithRules { workspace, rules: Rules::CURRENT, max_turns: equipment.max_turns };
        let child = scope.child("workspace");
        let kept = child.custom("workspace").repeatable().perform(|_| async { Ok::<_, Error>(now) }).await?;
        let (workspace, rules, max_turns) = match kept {
            RecordedSettings::Text(workspace) => (workspace, Rules::FIRST, equipment.max_turns),
            RecordedSettings::WithRules { workspace, rules, max_turns } => (workspace, rules, max_turns),
        };
        if !rules.are_known() {
            return Err(Error::Refused(
                "this run was begun by a newer version of Convoke, with rules for prompts that this one does not have; \
                 go on with it there"
                    .into(),
            ));
        }
        Ok(Self { fence, workspace: workspace.into(), rules, max_turns, seals })
    }
}
