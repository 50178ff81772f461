//! The `knowledge` node: passages that have to do with a question.

use std::sync::Arc;

use convoke_core::{Error, Passage, Retriever};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ports::output;
use super::{GraphEquipment, NodeCall, NodeSite, PortType, Ports, Typed};
use crate::inputs::QUERY;
use crate::reference::shown;

/// Searches what the program knows.
pub(super) struct Knowledge(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KnowledgeConfig {
    /// The question; the variable `query` unless said otherwise.
    query: Option<String>,
    /// The collection that is searched. It may be left out if there is only one.
    #[serde(default)]
    dataset: String,
    /// At most so many passages; 5 unless said otherwise.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = usize::MAX))]
    top_k: usize,
    /// The variable that the passages go to; `results` unless said otherwise.
    #[serde(default = "results")]
    output_key: String,
}

fn five() -> usize {
    5
}

fn results() -> String {
    "results".to_owned()
}

impl Typed for Knowledge {
    const NAME: &'static str = "knowledge";
    type Config = KnowledgeConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "results", PortType::Array)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        let node = Self(Arc::clone(site.equipment));
        match site.known_text("dataset") {
            None if site.config.get("dataset").is_some() => Ok(node),
            dataset => node.retriever(dataset.unwrap_or_default()).map(|_| node),
        }
    }

    async fn run(&self, config: KnowledgeConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let asked = || call.board.get(QUERY).map(shown).unwrap_or_default();
        let query = config.query.unwrap_or_else(asked);
        let retriever = self.retriever(&config.dataset).map_err(Error::permanent)?;
        let search = json!({"query": query, "dataset": config.dataset, "top_k": config.top_k});
        let effect = call.scope.custom("knowledge").request(&search).repeatable();
        let found: Vec<Passage> = effect.perform(|_| retriever.retrieve(&query, config.top_k)).await?;
        Ok(call.board.set(&config.output_key, serde_json::to_value(found)?)?)
    }
}

impl Knowledge {
    fn retriever(&self, dataset: &str) -> Result<Arc<dyn Retriever>, String> {
        match &self.0.knowledge {
            Some(knowledge) => knowledge(dataset),
            None => Err("there is nothing here that can be searched".to_owned()),
        }
    }
}
