//! The `script` node: JavaScript in a sandbox, as a function of the board.
//!
//! A script is given the variables that it asks for, and what it sets is written; no other variable passes through JavaScript, which
//! has no whole numbers beyond 2⁵³ and no difference between 1 and 1.0. It has no clock, no chance, no files and no network, so it gives the
//! same every time and is not written down. Time and memory are limited.

#[cfg(feature = "script")]
mod given;
#[cfg(feature = "script")]
mod javascript;
#[cfg(feature = "script")]
mod runaway;

#[cfg(feature = "script")]
use std::borrow::Cow;
use std::ops::Range;
#[cfg(feature = "script")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use convoke_core::Error;
use convoke_text::document::Node;
use convoke_text::finding::Finding;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[cfg(feature = "script")]
use self::given::Given;
use super::{NodeCall, NodeSite, Ports, Typed};
use crate::Board;
#[cfg(feature = "script")]
use crate::GraphFault;
use crate::board::RESERVED;
use crate::run::Rules;

/// What schemas call scripts.
pub(crate) const FORMAT: &str = "javascript";

/// What it is called if a script cannot be read.
pub(crate) const INVALID: &str = "invalid-script";

/// Runs a script.
pub(super) struct Script(Engine);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptConfig {
    /// The script: `board.setVar("sum", board.getVar("a") + 1)`.
    #[schemars(extend("format" = "javascript"))]
    source: String,
    /// What it knows as `config`.
    #[serde(default)]
    config: Value,
}

impl Typed for Script {
    const NAME: &'static str = "script";
    type Config = ScriptConfig;

    fn ports(_: &Value) -> Ports {
        Ports::unknown()
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Engine::new().map(Self)
    }

    async fn run(&self, config: ScriptConfig, call: NodeCall<'_>) -> Result<(), Error> {
        self.0.run((config.source, config.config), call.board, call.rules, &[]).await.map(drop)
    }
}

/// Says what keeps a script from being read, without running any of it.
#[cfg(feature = "script")]
pub(crate) fn invalid(source: &str, path: &str) -> Option<Finding> {
    let (message, line) = syntax_error(source)?;
    let message = format!("this script cannot be read: {message} (line {line} of the script)");
    Some(Finding::error(INVALID, path, message))
}

#[cfg(not(feature = "script"))]
pub(crate) fn invalid(_: &str, _: &str) -> Option<Finding> {
    None
}

/// Where the line is in a file in which a script cannot be read, if it is a line of the file too.
#[cfg(feature = "script")]
pub(crate) fn line_of(text: &str, file: &Node, path: &str) -> Option<Range<usize>> {
    let script = file.at(path)?;
    let source = crate::reference::literal(script.text()?)?;
    let (_, number) = syntax_error(&source)?;
    let line = source.lines().nth(number - 1)?.trim();
    let mut start = script.place.start;
    // Scripts over several lines begin with a line of their own: `source: |`.
    for (index, written) in text.get(start..)?.split_inclusive('\n').enumerate().take(number + 1) {
        if index + 1 >= number && !line.is_empty() && written.trim() == line {
            let start = start + written.find(line)?;
            return Some(start..start + line.len());
        }
        start += written.len();
    }
    None
}

#[cfg(not(feature = "script"))]
pub(crate) fn line_of(_: &str, _: &Node, _: &str) -> Option<Range<usize>> {
    None
}

/// The first syntax error, and its line.
#[cfg(feature = "script")]
fn syntax_error(source: &str) -> Option<(String, usize)> {
    let owned = source.to_owned();
    let checked = runaway::within_time(move |is_over| javascript::compiled(&owned, is_over), Arc::default());
    let said = checked.err()?;
    let (message, line) = said.rsplit_once('\n').unwrap_or((&said, "1"));
    Some((message.to_owned(), line.parse().unwrap_or(1)))
}

/// Whether earlier builds had other rules for a script that is written so: what it changed of what `getVars` gave it was lost, and some
/// names of the engine that it set were passed over.
pub(crate) fn had_other_rules(source: &str) -> bool {
    let sets_reserved = |call: &str| {
        let name = call.trim_start().trim_start_matches(['"', '\'', '`']);
        name.starts_with(RESERVED) && !name.starts_with(RESULT)
    };
    let calls = ["setVar(", "deleteVar("].into_iter().flat_map(|call| source.split(call).skip(1));
    source.contains("getVars") || calls.into_iter().any(sets_reserved)
}

/// The variable that the script of an `iteration` sets.
const RESULT: &str = "__iteration_result";

/// What runs scripts, if this build has something that does.
pub(super) struct Engine(());

impl Engine {
    #[cfg(not(feature = "script"))]
    pub(super) fn new() -> Result<Self, String> {
        Err("this build runs no scripts: it was made without the feature `script`".to_owned())
    }

    #[cfg(not(feature = "script"))]
    pub(super) async fn run(
        &self,
        _: (String, Value),
        _: &mut Board,
        _: Rules,
        _: &[(&str, Value)],
    ) -> Result<Map<String, Value>, Error> {
        Err(Error::permanent("this build runs no scripts"))
    }

    #[cfg(feature = "script")]
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self(()))
    }

    /// Runs a script, which knows a configuration, on a board, with some more variables that begin with `__`. Gives those of them that there are afterwards.
    #[cfg(feature = "script")]
    pub(super) async fn run(
        &self,
        (source, config): (String, Value),
        board: &mut Board,
        rules: Rules,
        more: &[(&str, Value)],
    ) -> Result<Map<String, Value>, Error> {
        let Self(()) = self;
        let mut given = board.clone();
        more.iter().for_each(|(key, value)| given.put(key, value.clone()));
        let given = Given { vars: given, config, rules, iterates: !more.is_empty() };
        let stop = StopOnDrop::default();
        let stopped = Arc::clone(&stop.0);
        // A script may compute for as long as it is allowed to, which is no work for a thread that others wait for.
        let done = tokio::task::spawn_blocking(move || {
            runaway::within_time(move |is_over| javascript::run(&source, given, is_over), stopped)
        });
        let made =
            done.await.map_err(Error::failed)?.map_err(|problem| Error::permanent(bounded(&problem)))?;
        let made: Made = serde_json::from_str(&made).map_err(|error| {
            GraphFault::error(format!(
                "the script failed: what it set is not written as it is, since it gives all objects another `toJSON`: {error}"
            ))
        })?;
        if let Some(fault) = made.fault {
            return Err(GraphFault::error(format!("the script failed: {}", bounded(&fault))));
        }
        if let Some(message) = made.error {
            return Err(GraphFault::error(format!("the script says: {}", bounded(&message))));
        }
        let Written { vars, removed } = made.made.unwrap_or_default();
        let is_own = |key: &str| key.starts_with("__iteration_");
        let (own, vars): (Map<_, _>, Map<_, _>) = vars.into_iter().partition(|(key, _)| is_own(key));
        for key in removed.iter().filter(|key| !is_own(key)) {
            board.remove(key)?;
        }
        for (key, value) in vars {
            board.set(&key, value)?;
        }
        Ok(own)
    }
}

/// The longest message of a script, in bytes.
#[cfg(feature = "script")]
const LONGEST: usize = 4_000;
/// How much of that is its end, where its line stands.
#[cfg(feature = "script")]
const END: usize = 500;

/// What a script says of itself, which may be anything, without its middle if it is long.
#[cfg(feature = "script")]
fn bounded(said: &str) -> Cow<'_, str> {
    if said.len() <= LONGEST {
        return said.into();
    }
    let (first, last) = (said.floor_char_boundary(LONGEST - END), said.ceil_char_boundary(said.len() - END));
    format!("{} [… {} bytes left out …] {}", &said[..first], last - first, &said[last..]).into()
}

#[cfg(feature = "script")]
#[derive(Deserialize)]
struct Made {
    /// Nothing if it did not come to an end.
    made: Option<Written>,
    /// What it said with `signal.error`.
    error: Option<String>,
    /// What went wrong in it.
    fault: Option<String>,
}

#[cfg(feature = "script")]
#[derive(Deserialize, Default)]
struct Written {
    vars: Map<String, Value>,
    removed: Vec<String>,
}

/// Tells a script to stop once nobody waits for it.
#[cfg(feature = "script")]
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

#[cfg(feature = "script")]
impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
