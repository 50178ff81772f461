//! The `agent` node: a model with tools that works until it has an answer.

use std::sync::Arc;

use convoke_agent::Agent;
use convoke_core::{Error, Message, ModelParams, Nature, Transcript};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ports::{output, response};
use super::{GraphEquipment, NodeCall, NodeSite, PortType, Ports, Typed};
use crate::board::MAIN_CHANNEL;

pub(super) struct AgentNode(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentConfig {
    /// Its instructions.
    #[serde(default)]
    system_prompt: String,
    /// What it is to do. Without this, it goes on with the main channel, and its answer is appended there.
    prompt: Option<String>,
    /// The model; the run's unless said otherwise.
    model: Option<String>,
    /// The tools it has.
    #[serde(default)]
    tool_names: Vec<String>,
    /// How many turns it has.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    max_turns: Option<u32>,
    /// Randomness.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// The variable that its answer goes to; `response` unless said otherwise.
    #[serde(default = "response")]
    output_key: String,
}

impl Typed for AgentNode {
    const NAME: &'static str = "agent";
    const NATURE: Nature = Nature::Composite;
    type Config = AgentConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "response", PortType::String)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        site.check_tools()?;
        site.check_model()?;
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: AgentConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let mut params = ModelParams::default();
        params.temperature = config.temperature;
        let tools = self.0.tools_named(&config.tool_names).map_err(Error::permanent)?;
        let mut agent = Agent::builder(call.id)
            .shared_model(self.0.model_for(call.scope, config.model.as_deref())?)
            .params(params)
            .tools(tools);
        if !config.system_prompt.is_empty() {
            agent = agent.system(config.system_prompt);
        }
        if config.max_turns.is_some() {
            agent = agent.max_turns(config.max_turns);
        }
        let messages = match &config.prompt {
            Some(prompt) => Transcript::from(prompt.as_str()),
            None => call.board.channel(MAIN_CHANNEL),
        };
        let result = agent.build()?.run(call.scope, messages).await?;
        call.board.add_usage(result.usage);
        call.board.note_cut_short(call.id, result.cut_short());
        if config.prompt.is_none() {
            call.board.push(MAIN_CHANNEL, Message::assistant(result.text()))?;
        }
        Ok(call.board.set(&config.output_key, result.text())?)
    }
}
