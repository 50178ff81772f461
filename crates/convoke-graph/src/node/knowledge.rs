//! The `knowledge` node: passages that have to do with a question.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NodeCall, NodeSite, Typed};

/// Something that can be searched for passages.
pub trait Retriever: Send + Sync {
    /// Finds passages, the best first.
    ///
    /// # Errors
    /// If the search failed. What nothing is found for is no failure.
    fn search<'a>(&'a self, search: &'a Search) -> BoxFuture<'a, Result<Vec<Passage>, Error>>;
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Search {
    /// The question.
    pub query: String,
    /// Where; empty for wherever there is something.
    pub dataset: String,
    /// At most so many passages.
    pub top_k: usize,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// Its text.
    pub content: String,
    /// How well it fits.
    pub score: f64,
    /// Where it is from.
    pub document: String,
}

/// Searches what the equipment has for it.
pub(super) struct Knowledge(Arc<dyn Retriever>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KnowledgeConfig {
    /// The question; the variable `query` unless said otherwise.
    query: Option<String>,
    /// Where to search.
    #[serde(default)]
    dataset: String,
    /// At most so many passages; 5 unless said otherwise.
    #[serde(default = "five")]
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

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        let retriever = site.equipment.retriever.clone();
        retriever.map(Self).ok_or_else(|| "there is nothing here that can be searched".to_owned())
    }

    fn run<'a>(&'a self, config: KnowledgeConfig, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let query = config.query.unwrap_or_else(|| call.board.text("query").to_owned());
            let search = Search { query, dataset: config.dataset, top_k: config.top_k };
            let effect = call.scope.custom("knowledge").request(&search).repeatable();
            let found: Vec<Passage> = effect.perform(|_| self.0.search(&search)).await?;
            let found: Value = serde_json::to_value(found)?;
            Ok(call.board.set(&config.output_key, found)?)
        })
    }
}
