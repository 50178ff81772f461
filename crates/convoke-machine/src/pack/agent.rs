//! Agents of a pack, as others find them: cards, generated from what the pack says.

use serde::Serialize;

use super::CompiledPack;
use super::model::AgentDefinition;

/// The beginning of the names of tools that are agents of a pack.
pub const AGENT: &str = "a2a__";

/// The card with which an agent presents itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCard {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The pack's version.
    pub version: String,
    /// What it understands, as MIME types.
    pub default_input_modes: Vec<String>,
    /// What it says, as MIME types.
    pub default_output_modes: Vec<String>,
    /// What it can do: one thing, that of its prompt.
    pub skills: Vec<AgentSkill>,
}

/// Something that an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentSkill {
    /// The agent's name in the pack.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it understands, as MIME types.
    pub input_modes: Vec<String>,
    /// What it says, as MIME types.
    pub output_modes: Vec<String>,
}

/// The card of one agent.
pub(super) fn card(pack: &CompiledPack, key: &str, agent: &AgentDefinition) -> AgentCard {
    let prompt = pack.model().prompts.get(key);
    let name = prompt.map_or(key, |prompt| &prompt.name).to_owned();
    let described = agent.description.clone().filter(|description| !description.is_empty());
    let description =
        described.or_else(|| prompt.map(|prompt| prompt.description.clone())).unwrap_or_default();
    let modes =
        |modes: &[String]| if modes.is_empty() { vec!["text/plain".to_owned()] } else { modes.to_vec() };
    let (input_modes, output_modes) = (modes(&agent.input_modes), modes(&agent.output_modes));
    AgentCard {
        name: name.clone(),
        description: description.clone(),
        version: pack.model().version.clone(),
        default_input_modes: input_modes.clone(),
        default_output_modes: output_modes.clone(),
        skills: vec![AgentSkill {
            id: key.to_owned(),
            name,
            description,
            tags: agent.tags.clone(),
            input_modes,
            output_modes,
        }],
    }
}
