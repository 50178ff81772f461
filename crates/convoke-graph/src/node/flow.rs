//! Nodes that say which way to go: `ifelse`, `router`, `loopguard`, `passthrough`. They write variables; edges test them.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Node, NodeCall, NodeSite, Port, PortType, Ports, Typed};
use crate::board::kind;
use crate::run::Rules;
use crate::{Condition, GraphFault};

async fn holds(condition: &str, call: &NodeCall<'_>) -> Result<bool, Error> {
    Ok(Condition::new(condition)?.decided(call.board, call.iterations).await?)
}

/// Writes `if`, `elif_1`, … or `else` to `branch_result`.
pub(super) struct IfElse;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IfElseConfig {
    /// What is tried, in order.
    conditions: Vec<Alternative>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Alternative {
    /// A condition.
    #[schemars(extend("format" = "condition"))]
    expression: String,
}

impl Typed for IfElse {
    const NAME: &'static str = "ifelse";
    type Config = IfElseConfig;

    fn ports(_: &Value) -> Ports {
        Ports::writing([("branch_result", PortType::String)])
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: IfElseConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let mut result = "else".to_owned();
        for (index, one) in config.conditions.iter().enumerate() {
            if holds(&one.expression, &call).await? {
                result = if index == 0 { "if".to_owned() } else { format!("elif_{index}") };
                break;
            }
        }
        Ok(call.board.set("branch_result", result)?)
    }
}

/// Writes the target of the first route whose condition is true to `route_target`.
pub(super) struct Router;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RouterConfig {
    /// The routes, in order. The first without a condition is taken if no other is.
    routes: Vec<Route>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Route {
    /// When it is taken.
    #[schemars(extend("format" = "condition"))]
    condition: Option<String>,
    /// What `route_target` then is.
    target: String,
}

impl Typed for Router {
    const NAME: &'static str = "router";
    type Config = RouterConfig;

    fn ports(_: &Value) -> Ports {
        Ports::writing([("route_target", PortType::String)])
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, config: RouterConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let mut target = None;
        for route in &config.routes {
            if let Some(condition) = &route.condition
                && holds(condition, &call).await?
            {
                target = Some(route);
                break;
            }
        }
        let otherwise = || config.routes.iter().find(|route| route.condition.is_none());
        let target = target.or_else(otherwise).map_or("", |route| &route.target);
        Ok(call.board.set("route_target", target)?)
    }
}

/// Counts how often it was come by.
pub(super) struct LoopGuard {
    /// The counters of the guards of loops within its own, which begin anew with every round.
    within: Vec<String>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopGuardConfig {
    /// How often is too often; 10 unless said otherwise.
    #[serde(default = "ten")]
    #[schemars(range(max = u64::MAX))]
    max_count: u64,
    /// The variable that it counts in, on and on; one of its own unless said otherwise, which begins anew whenever the guard of a loop
    /// around it counts.
    #[serde(default = "counter")]
    counter_key: String,
}

fn ten() -> u64 {
    10
}

fn counter() -> String {
    "__loop_count".to_owned()
}

/// The counter of a guard that names none.
fn counter_of(guard: &str) -> String {
    format!("__loop_count.{guard}")
}

impl Typed for LoopGuard {
    const NAME: &'static str = "loopguard";
    type Config = LoopGuardConfig;

    fn ports(config: &Value) -> Ports {
        let mut ports =
            Ports::writing([("loop_count", PortType::Integer), ("loop_count_exceeded", PortType::Bool)]);
        let key = config["counter_key"].as_str().filter(|key| !key.contains("${"));
        ports.outputs.extend(key.map(|key| Port::optional(key, PortType::Integer)));
        ports.reading(config, "counter_key", None, PortType::Integer)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self { within: site.guards_within.iter().map(|guard| counter_of(guard)).collect() })
    }

    async fn run(&self, config: LoopGuardConfig, call: NodeCall<'_>) -> Result<(), Error> {
        // The counter that nobody named is the engine's, and every guard has its own.
        let key = match config.counter_key.as_str() {
            "__loop_count" => counter_of(call.id),
            named => {
                crate::board::allowed(named)?;
                named.to_owned()
            }
        };
        let counted = match call.board.get(&key) {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_u64().ok_or_else(|| {
                GraphFault::error(format!(
                    "loopguard `{}` counts in `{key}`, which holds {}: name another variable as `counter_key`",
                    call.id,
                    kind(value)
                ))
            })?,
        };
        let count = counted.saturating_add(1);
        call.board.put(&key, count);
        if call.rules != Rules::Earlier {
            self.within.iter().for_each(|counter| {
                call.board.take(counter);
            });
        }
        call.board.set("loop_count", count)?;
        Ok(call.board.set("loop_count_exceeded", count >= config.max_count)?)
    }
}

/// The first node of a loop with loops in it: whenever it runs, a round begins, and the guards of those begin anew.
pub(crate) struct FirstOfRounds {
    work: Arc<dyn Node>,
    counters: Vec<String>,
}

impl FirstOfRounds {
    pub(crate) fn new(work: Arc<dyn Node>, guards: &[String]) -> Self {
        Self { work, counters: guards.iter().map(|guard| counter_of(guard)).collect() }
    }
}

impl Node for FirstOfRounds {
    fn run<'a>(&'a self, config: &'a Value, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> {
        if call.rules >= Rules::Ordered {
            self.counters.iter().for_each(|counter| {
                call.board.take(counter);
            });
        }
        self.work.run(config, call)
    }

    fn nature(&self) -> Nature {
        self.work.nature()
    }
}

/// Does nothing: where branches begin or meet.
pub(super) struct PassThrough;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Typed for PassThrough {
    const NAME: &'static str = "passthrough";
    type Config = Nothing;

    fn ports(_: &Value) -> Ports {
        Ports::default()
    }

    fn build(_: &NodeSite<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    async fn run(&self, _: Nothing, _: NodeCall<'_>) -> Result<(), Error> {
        Ok(())
    }
}
