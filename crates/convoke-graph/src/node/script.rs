//! The `script` node: JavaScript in a sandbox, as a function of the board.
//!
//! A script is given the variables and gives them back changed. It has no clock, no chance, no files and no network, so it gives the
//! same every time and is not written down. Time and memory are limited.

use convoke_core::{BoxFuture, Error};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{NodeCall, NodeSite, Ports, Typed};
use crate::Board;

/// Runs a script.
pub(super) struct Script(Engine);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptConfig {
    /// The script: `board.setVar("sum", board.getVar("a") + 1)`.
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

    fn run<'a>(&'a self, config: ScriptConfig, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.0.run(config.source, config.config, call.board, &[]).await.map(drop) })
    }
}

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
        _: String,
        _: Value,
        _: &mut Board,
        _: &[(&str, Value)],
    ) -> Result<Map<String, Value>, Error> {
        Err(Error::permanent("this build runs no scripts"))
    }

    #[cfg(feature = "script")]
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self(()))
    }

    /// Runs a script on a board, with some more variables that begin with `__`. Gives those of them that there are afterwards.
    #[cfg(feature = "script")]
    pub(super) async fn run(
        &self,
        source: String,
        config: Value,
        board: &mut Board,
        more: &[(&str, Value)],
    ) -> Result<Map<String, Value>, Error> {
        let Self(()) = self;
        let mut vars = board.to_object();
        let before = vars.clone();
        vars.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let input = serde_json::json!({"vars": vars, "config": config}).to_string();
        // A script may compute for as long as it is allowed to, which is no work for a thread that others wait for.
        let done = tokio::task::spawn_blocking(move || javascript::run(&source, input));
        let made = done.await.map_err(Error::failed)?.map_err(Error::permanent)?;
        let made: Made = serde_json::from_str(&made)?;
        if let Some(message) = made.error {
            return Err(Error::permanent(format!("the script says: {message}")));
        }
        let (own, vars): (Map<_, _>, Map<_, _>) =
            made.vars.into_iter().partition(|(key, _)| key.starts_with("__iteration_"));
        for key in before.keys().filter(|key| !vars.contains_key(*key)) {
            board.remove(key)?;
        }
        for (key, value) in vars {
            if before.get(&key) != Some(&value) {
                board.set(&key, value)?;
            }
        }
        Ok(own)
    }
}

#[cfg(feature = "script")]
#[derive(Deserialize)]
struct Made {
    vars: Map<String, Value>,
    error: Option<String>,
}

#[cfg(feature = "script")]
mod javascript {
    use std::time::{Duration, Instant};

    use rquickjs::{CatchResultExt, Context, Runtime};

    const TIME: Duration = Duration::from_secs(5);
    const MEMORY: usize = 64 << 20;
    const STACK: usize = 512 << 10;

    /// What a script is run by: it makes variables and words of `input`, and gives both as JSON.
    const FRAME: &str = r#"(function (source, input) {
        const given = JSON.parse(input), vars = given.vars;
        const done = {};
        let error = null;
        const has = (name) => Object.prototype.hasOwnProperty.call(vars, name);
        const board = {
            getVar: (name) => (has(name) ? vars[name] : null),
            setVar: (name, value) => { vars[name] = value === undefined ? null : value; },
            hasVar: has,
            deleteVar: (name) => { delete vars[name]; },
            getVars: () => JSON.parse(JSON.stringify(vars)),
        };
        const signal = {
            done: () => { throw done; },
            error: (message) => { error = String(message && message.message ? message.message : message); throw done; },
        };
        const run = new Function("board", "config", "signal", "Date", source);
        Math.random = () => { throw new Error("scripts have no chance: they give the same every time"); };
        delete globalThis.Date;
        delete globalThis.performance;
        try { run(board, given.config, signal, undefined); } catch (thrown) { if (thrown !== done) { throw thrown; } }
        return JSON.stringify({ vars, error });
    })"#;

    pub(super) fn run(source: &str, input: String) -> Result<String, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let end = Instant::now() + TIME;
        runtime.set_interrupt_handler(Some(Box::new(move || Instant::now() > end)));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let frame: rquickjs::Function<'_> =
                ctx.eval(FRAME).catch(&ctx).map_err(|error| error.to_string())?;
            frame.call::<_, String>((source, input)).catch(&ctx).map_err(|error| {
                if Instant::now() > end {
                    return format!("the script took longer than {} seconds", TIME.as_secs());
                }
                format!("the script failed: {}", error.to_string().trim())
            })
        })
    }
}
