//! The knowledge of a project: where it is kept, what compares meanings, and the tools that look things up in it.

use std::path::PathBuf;
use std::sync::Arc;

use convoke_config::Config;
use convoke_core::{BoxFuture, Error, Passage, Retriever, RetrieverSource, Tool};
use convoke_knowledge::{KNOWLEDGE_SEARCH, Knowledge, KnowledgeError, knowledge_search, knowledge_search_in};
use convoke_tools::embedding::LazyEmbedder;

use crate::{Host, HostError, models};

/// The file with the knowledge of this project; `None` for a user without a home.
pub(crate) fn file(config: &Config) -> Option<PathBuf> {
    Some(config.locations().project.data_folder()?.join("knowledge.db"))
}

/// The knowledge of this project, which need not be there yet; `None` for a user without a home.
pub(crate) fn of(config: &Config) -> Option<Knowledge> {
    Some(Knowledge::at(file(config)?).embedder(embedder()))
}

/// What finds passages in the knowledge of this project, by the name of a collection; `None` for a user without a home. A run that
/// goes on has perhaps asked already for the only one there was then.
pub(crate) fn source(config: &Config, goes_on: bool) -> Option<RetrieverSource> {
    let knowledge = of(config)?;
    Some(Arc::new(move |name| {
        let name = Some(name).filter(|name| !name.is_empty());
        let found = |name| Arc::new(knowledge.retriever(name)) as Arc<dyn Retriever>;
        if let Err(missing) = knowledge.check(name) {
            return Err(match missing {
                KnowledgeError::Several { .. } if goes_on => return Ok(found(name)),
                KnowledgeError::Several { names } => {
                    format!(
                        "this project has several collections of knowledge: name one of them as `dataset`: {}",
                        names.join(", ")
                    )
                }
                KnowledgeError::Missing { name, .. } => absent_collection(&name),
                other => other.to_string(),
            });
        }
        Ok(found(name))
    }))
}

/// Stands where something was searched, for telling a run again from its journal.
pub(crate) struct NotSearched;

impl Retriever for NotSearched {
    fn retrieve<'a>(&'a self, _: &'a str, _: usize) -> BoxFuture<'a, Result<Vec<Passage>, Error>> {
        Box::pin(async { Err(Error::permanent("nothing is searched while a run is told again")) })
    }
}

/// What compares meanings in this process, if something does.
pub(crate) fn embedder() -> LazyEmbedder {
    LazyEmbedder::new(|| models::local::embedder().ok())
}

/// The tools that look things up: one for everything, and one for each collection there is; none where there is nothing to look
/// up. A file that cannot be read is said, and done without.
pub(crate) async fn tools(config: &Config, notes: &mut Vec<String>) -> Vec<Arc<dyn Tool>> {
    let Some(knowledge) = of(config) else { return Vec::new() };
    let collections = knowledge.collections().await.unwrap_or_else(|error| {
        notes.push(format!("the knowledge of this project cannot be read: {error}"));
        Vec::new()
    });
    if collections.is_empty() {
        return Vec::new();
    }
    let by_name = collections.iter().map(|collection| knowledge_search_in(&knowledge, &collection.name));
    let tools = std::iter::once(knowledge_search(&knowledge)).chain(by_name);
    tools.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

/// Why a tool that looks things up is not there. `None` if it is no such tool.
pub(crate) fn why_absent(tool: &str) -> Option<String> {
    Some(match tool.strip_prefix(KNOWLEDGE_SEARCH)? {
        "" => absent_collection(""),
        name => absent_collection(name.strip_prefix('_')?),
    })
}

/// What is said where a collection is not there; without a name, where there is none.
fn absent_collection(name: &str) -> String {
    match name {
        "" => "this project has no knowledge yet; `convoke knowledge add NAME PATH` makes some".to_owned(),
        name => format!(
            "this project has no knowledge named `{name}`; `convoke knowledge add {name} PATH` makes it, and `convoke knowledge list` \
             lists what there is"
        ),
    }
}

impl Host {
    /// Returns the knowledge of this project, which need not be there yet.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn knowledge(&self) -> Result<Knowledge, HostError> {
        of(self.config()).ok_or(HostError::NoStorePlace)
    }

    /// Returns why knowledge is searched by words alone, if it is.
    #[must_use]
    pub fn why_words_alone(&self) -> Option<String> {
        models::local::embedder_missing()
    }

    /// Makes the place of this project's knowledge.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_knowledge_place(&self) -> Result<(), HostError> {
        let file = file(self.config()).ok_or(HostError::NoStorePlace)?;
        crate::store::make_place(&self.config().locations().project, &file)
    }
}
