//! The manifest of a run: what it was started from, kept with it for resuming it, except secrets.
//!
//! It is what the run's record keeps for its host, where a fork finds it too, and whence it never comes into a prompt, an event or
//! a result. Runs of earlier builds have it in their input, beside the goals' state.

use std::path::PathBuf;
use std::time::Duration;

use convoke_config::Supervision;
use convoke_core::store::{Launch, RunRecord};
use convoke_core::{Limits, ToolDefinition, Toolset};
use convoke_goals::agentfile::load::Skill;
use convoke_goals::agentfile::model::Input;
use convoke_goals::agentfile::{self, Agentfile};
use convoke_goals::{Equipment, Secrets, SkillShelf};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fingerprints::Fingerprints;
use crate::host::GoOnOptions;
use crate::kept_files::KeptFiles;
use crate::run_origin::RunOrigin;
use crate::tools::as_described;

/// The manifest of a run: what it was started from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Where the file was.
    pub path: String,
    /// The file.
    pub text: String,
    /// What it named with `FROM`.
    #[serde(default)]
    pub(crate) beside: KeptFiles,
    /// Where it was begun. Runs of earlier builds do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<RunOrigin>,
    /// The model for whatever names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether that model was asked for by name, rather than found.
    #[serde(default)]
    pub model_asked: bool,
    /// What was told of the folder that is worked in. Prompts have it: told again, it must be the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workspace: String,
    /// What its models were told about tools, which must be the same when it goes on.
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// The skills that can be taken up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// Who may answer its questions and until when. Questions say so: asked again, they must be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerRules>,
    /// The policy that was named, instead of the folder's. It is to be named again: what a policy allows that is named, the
    /// user allows, and a store may have come with somebody else's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PathBuf>,
    /// What the run may use: what was configured when it began, with what was given instead. Runs of earlier builds have
    /// only what was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// How long it may be at work, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How many turns one goal or agent may take, if that was configured when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_per_goal: Option<u32>,
    /// What its secrets are known by.
    #[serde(default, skip_serializing_if = "Fingerprints::is_empty")]
    pub(crate) fingerprints: Fingerprints,
}

/// Rules for answers: who may give them, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerRules {
    /// Who; empty: anyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// How long an answer is waited for. `None`: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
}

impl From<&Supervision> for AnswerRules {
    fn from(supervision: &Supervision) -> Self {
        Self { by: supervision.answerers.clone(), within: supervision.human_expiry }
    }
}

impl Manifest {
    /// What is kept with a run for going on with it, under the name of its kind, so that other kinds can stand beside it.
    pub(crate) fn launch(&self, kind: &str) -> serde_json::Result<Launch> {
        let stored = Map::from_iter([(kind.to_owned(), serde_json::to_value(self)?)]);
        Ok(Launch::default().host(Value::Object(stored)))
    }

    /// The same with what somebody says who goes on with the run `here`: it holds from then on, for whoever goes on later too.
    pub(crate) fn with_options(mut self, options: &GoOnOptions, here: impl FnOnce() -> RunOrigin) -> Self {
        if let Some(policy) = &options.policy {
            self.policy = Some(policy.clone());
        }
        if let Some(model) = &options.model {
            self.model = Some(model.clone());
            self.model_asked = true;
        }
        if let Some(limits) = &options.limits {
            self.limits = Some(self.limits.unwrap_or_default().replaced_by(limits));
        }
        self.timeout = options.timeout.or(self.timeout);
        if options.anywhere {
            self.place = Some(here());
        }
        self
    }

    /// What a stored run was started from, if it is a run of a file of one of these kinds, and which.
    pub(crate) fn of_kinds<'k>(
        record: &RunRecord,
        mut kinds: impl Iterator<Item = &'k str>,
    ) -> Option<(&'k str, Self)> {
        let in_input: Value;
        let stored = match &record.launch.host {
            Some(host) => host,
            // Runs of earlier builds.
            None => {
                in_input = serde_json::from_slice(&record.input).ok()?;
                &in_input
            }
        };
        kinds.find_map(|kind| Some((kind, Self::deserialize(stored.get(kind)?).ok()?)))
    }

    /// Equipment with what the run keeps of it: prompts and questions must be the same when it goes on, or is told again.
    pub(crate) fn applied_to(
        &self,
        mut equipment: Equipment,
        secrets: Secrets,
        tools: &Toolset,
    ) -> Equipment {
        if let Some(answers) = &self.answers {
            equipment.human.audience.clone_from(&answers.by);
            equipment.human.expiry = answers.within;
        }
        // A limit that was raised since holds for the turns that are yet to come.
        equipment.max_turns = self.turns_per_goal.max(equipment.max_turns);
        equipment.workspace.clone_from(&self.workspace);
        equipment.secrets = secrets;
        equipment.tools_on_demand = true;
        equipment.tools = as_described(&self.tools, tools);
        equipment.skills = SkillShelf::of(self.skills.clone());
        equipment
    }

    /// The Agentfile as it was, if it was one.
    #[must_use]
    pub fn agentfile(&self) -> Option<Agentfile> {
        let source = agentfile::Source::new(&*self.path, &*self.text);
        agentfile::read_with(&source, &self.beside, &crate::OtherKinds).0
    }

    /// The inputs of the Agentfile as it was.
    #[must_use]
    pub fn inputs(&self) -> Vec<Input> {
        self.agentfile().map(|file| file.inputs).unwrap_or_default()
    }

    /// Checks whether both were started from the same file.
    #[must_use]
    pub fn has_same_file(&self, other: &Self) -> bool {
        self.text == other.text && self.beside == other.beside
    }

    /// Reads what a stored run was started from, if it is a run of a file of ours: an Agentfile, a pack or a graph.
    #[must_use]
    pub fn of(record: &RunRecord) -> Option<Self> {
        let ours = [crate::agentfile::NAME, crate::pack::NAME, crate::graph::NAME];
        Self::of_kinds(record, ours.into_iter()).map(|(_, manifest)| manifest)
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::store::Totals;
    use convoke_core::{RunStatus, Timestamp, ToolEffects};

    use super::*;

    #[test]
    fn it_is_kept_whole_and_runs_of_earlier_builds_have_it_beside_their_state() {
        let manifest = Manifest {
            path: "plan.agent".to_owned(),
            text: "NAME plan".to_owned(),
            beside: KeptFiles::default(),
            place: Some(RunOrigin { here: "/a".into(), workspace: "/a/b".into(), policy: None }),
            model: Some("scripted/a.toml".to_owned()),
            model_asked: true,
            workspace: "a folder".to_owned(),
            tools: vec![convoke_core::ToolSpec::new("read", "Reads.", ToolEffects::NONE).definition],
            skills: Vec::new(),
            answers: Some(AnswerRules { by: vec!["ann".to_owned()], within: Some(Duration::from_secs(9)) }),
            policy: Some("policy.toml".into()),
            limits: Some(Limits::default().tokens(100)),
            timeout: Some(Duration::from_secs(60)),
            turns_per_goal: Some(7),
            fingerprints: Fingerprints::default(),
        };
        let mut record = RunRecord {
            id: "r1".parse().unwrap(),
            workflow: "plan".to_owned(),
            version: 1,
            latest: 1,
            status: RunStatus::Running,
            created: Timestamp::from_micros(0),
            updated: Timestamp::from_micros(0),
            input: "{}".into(),
            generation: Default::default(),
            outline: None,
            launch: manifest.launch("agentfile").unwrap(),
            outcome: None,
            seed: 0,
            epoch: 1,
            holder: None,
            forked_from: None,
            totals: Totals::default(),
            worked: Duration::ZERO,
            wake: None,
            channels: Vec::new(),
        };
        assert_eq!(Manifest::of(&record), Some(manifest.clone()));
        record.launch = Launch::default();
        assert_eq!(Manifest::of(&record), None);
        record.input = serde_json::to_vec(&serde_json::json!({"agentfile": manifest})).unwrap().into();
        assert_eq!(Manifest::of(&record), Some(manifest));
    }
}
