//! What a run was started from, kept with it: whatever resuming it takes, except secrets.
//!
//! It is what the run's record keeps for its host, where a fork finds it too, and whence it never comes into a prompt, an event or
//! a result. Runs of earlier builds have it in their input, beside the goals' state.

use std::path::PathBuf;
use std::time::Duration;

use convoke_config::Supervision;
use convoke_core::store::{Launch, RunRecord};
use convoke_core::{Limits, ToolDefinition};
use convoke_goals::agentfile;
use convoke_goals::agentfile::load::Skill;
use serde::{Deserialize, Serialize};

use super::fingerprints::Fingerprints;
use super::kept::Kept;
use super::place::Place;
use crate::shell;

/// What a run was started from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Where the file was.
    pub(crate) path: String,
    /// The file.
    pub(crate) text: String,
    /// What it named with `FROM`.
    #[serde(default)]
    pub(crate) beside: Kept,
    /// Where it was begun. Runs of earlier builds do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<Place>,
    /// The model for whatever names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Whether that model was asked for by name, rather than found.
    #[serde(default)]
    pub(crate) model_asked: bool,
    /// What was told of the folder that is worked in. Prompts have it: told again, it must be the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) workspace: String,
    /// What its models were told about tools, which must be the same when it goes on.
    #[serde(default)]
    pub(crate) tools: Vec<ToolDefinition>,
    /// The skills that can be taken up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<Skill>,
    /// Who may answer its questions and until when. Questions say so: asked again, they must be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answers: Option<Answers>,
    /// The policy that was named, instead of the folder's. It is to be named again: what a policy allows that is named, the
    /// user allows, and a store may have come with somebody else's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PathBuf>,
    /// What the run may use, instead of what is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<Limits>,
    /// How long it may be at work, instead of what is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Duration>,
    /// What its secrets are known by.
    #[serde(default, skip_serializing_if = "Fingerprints::is_empty")]
    pub(crate) fingerprints: Fingerprints,
}

/// Who may answer, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answers {
    /// Who; empty: anyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by: Vec<String>,
    /// How long an answer is waited for. `None`: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) within: Option<Duration>,
}

impl From<&Supervision> for Answers {
    fn from(supervision: &Supervision) -> Self {
        Self { by: supervision.answerers.clone(), within: supervision.human_expiry }
    }
}

/// Where it stands: under this name, so that other kinds of runs can stand beside it.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    agentfile: T,
}

impl Manifest {
    /// What is kept with a run for going on with it.
    pub(crate) fn launch(&self) -> serde_json::Result<Launch> {
        Ok(Launch::default().host(serde_json::to_value(Stored { agentfile: self })?))
    }

    /// The option that names the policy it was started with, for the user to copy.
    pub(crate) fn named_policy(&self) -> Option<String> {
        let file = self.policy.as_ref()?.display().to_string();
        Some(format!("--policy {}", shell::quoted(&file)))
    }

    /// The options that give its secrets again, which are not kept, for the user to fill in.
    pub(crate) fn secrets(&self) -> String {
        let source = agentfile::Source::new(&*self.path, &*self.text);
        let (file, _) = agentfile::read(&source, &self.beside);
        let inputs = file.into_iter().flat_map(|file| file.inputs);
        let needed = inputs.filter(|input| input.secret && input.default.is_none());
        needed.map(|input| format!(" -i {}=VALUE", input.name)).collect()
    }

    /// What a stored run was started from, if it is a run of an Agentfile.
    pub(crate) fn of(record: &RunRecord) -> Option<Self> {
        let stored = match &record.launch.host {
            Some(host) => Stored::<Self>::deserialize(host).ok(),
            None => serde_json::from_slice(&record.input).ok(),
        };
        stored.map(|stored| stored.agentfile)
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
            beside: Kept::default(),
            place: Some(Place { here: "/a".into(), workspace: "/a/b".into(), policy: None }),
            model: Some("scripted/a.toml".to_owned()),
            model_asked: true,
            workspace: "a folder".to_owned(),
            tools: vec![convoke_core::ToolSpec::new("read", "Reads.", ToolEffects::NONE).definition],
            skills: Vec::new(),
            answers: Some(Answers { by: vec!["ann".to_owned()], within: Some(Duration::from_secs(9)) }),
            policy: Some("policy.toml".into()),
            limits: Some(Limits::default().tokens(100)),
            timeout: Some(Duration::from_secs(60)),
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
            launch: manifest.launch().unwrap(),
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
        record.input = serde_json::to_vec(&Stored { agentfile: &manifest }).unwrap().into();
        assert_eq!(Manifest::of(&record), Some(manifest));
    }
}
