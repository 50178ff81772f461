//! Nodes that run something larger: `graph` (a graph), `iteration` (a graph or a script for every item of a list), `step` (any step
//! that the program has registered).

use std::sync::Arc;

use convoke_core::{Error, Nature, SharedStep};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::intake::Intake;
use super::ports::{output, response};
use super::script::Engine;
use super::{NodeCall, NodeSite, PortType, Ports, Typed};
use crate::{Board, Graph, GraphFault};

fn graph_named(site: &NodeSite<'_>) -> Result<Graph, String> {
    let name = site.known_text("graph").ok_or("`graph` must name a graph, without a reference")?;
    let graph = site.graphs.get(name).ok_or_else(|| format!("there is no graph `{name}`"))?;
    graph.equip_shared(site.equipment).map_err(|problems| problems.join("; "))
}

/// Runs a graph on a board of its own, and gives its answer.
async fn answer_of(graph: &Graph, mut board: Board, call: &mut NodeCall<'_>) -> Result<Value, Error> {
    call.scope.run(graph, &mut board).await?;
    call.board.add_usage(board.usage());
    for (node, reason) in board.cut_short() {
        call.board.note_cut_short(&format!("{}/{node}", call.id), Some(reason));
    }
    Ok(graph.answer(&board))
}

/// Runs a graph that is written under `graphs`.
pub(super) struct SubGraph(Graph);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubGraphConfig {
    /// Its name.
    #[serde(rename = "graph")]
    _graph: String,
    /// What it is given.
    #[serde(default)]
    inputs: Map<String, Value>,
    /// The variable that its answer goes to; `response` unless said otherwise.
    #[serde(default = "response")]
    output_key: String,
}

impl Typed for SubGraph {
    const NAME: &'static str = "graph";
    const NATURE: Nature = Nature::Composite;
    type Config = SubGraphConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "response", PortType::Any)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        graph_named(site).map(Self)
    }

    async fn run(&self, config: SubGraphConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        let intake = Intake::of(&self.0, call.scope)?;
        let mut inputs = config.inputs;
        if let Intake::Declared = intake {
            // What refers to something empty is not given, as it is not where a run begins.
            inputs.retain(|_, value| !value.is_null());
        }
        let board = intake.board(&self.0, inputs)?;
        let answer = answer_of(&self.0, board, &mut call).await?;
        Ok(call.board.set(&config.output_key, answer)?)
    }
}

/// Does the same for every item of a list, one after the other.
pub(super) struct Iteration(Body);

enum Body {
    Graph(Box<Graph>),
    Script(Engine),
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IterationConfig {
    /// The variable with the list; `items` unless said otherwise.
    #[serde(default = "items")]
    input_key: String,
    /// A script that is given the item as `__iteration_item`, its number as `__iteration_index`, and sets `__iteration_result`.
    #[schemars(extend("format" = "javascript"))]
    body_script: Option<String>,
    /// Or a graph that is given `item` and `index`, and whose answer is the result.
    #[serde(rename = "graph")]
    _graph: Option<String>,
    /// The variable that the results go to; `iteration_results` unless said otherwise.
    #[serde(default = "results")]
    output_key: String,
}

fn items() -> String {
    "items".to_owned()
}

fn results() -> String {
    "iteration_results".to_owned()
}

const NO_BODY: &str = "say what is done for each item: either `graph` or `body_script`";

impl Typed for Iteration {
    const NAME: &'static str = "iteration";
    const NATURE: Nature = Nature::Composite;
    type Config = IterationConfig;

    fn ports(config: &Value) -> Ports {
        let ports = match config.get("body_script") {
            Some(_) => Ports::unknown(),
            None => output(config, "output_key", "iteration_results", PortType::Array),
        };
        ports.reading(config, "input_key", Some("items"), PortType::Array)
    }

    fn problems(config: &Value) -> Vec<(String, String)> {
        let has_body = config.get("graph").is_some() != config.get("body_script").is_some();
        (!has_body).then(|| (String::new(), NO_BODY.to_owned())).into_iter().collect()
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        match (site.config.get("graph"), site.config.get("body_script")) {
            (Some(_), None) => Ok(Self(Body::Graph(Box::new(graph_named(site)?)))),
            (None, Some(_)) => Ok(Self(Body::Script(Engine::new()?))),
            _ => Err(NO_BODY.to_owned()),
        }
    }

    async fn run(&self, config: IterationConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        let items: Vec<Value> = call.board.typed(&config.input_key).ok_or_else(|| {
            GraphFault::error(format!("variable `{}` is not a list to go through", config.input_key))
        })?;
        let intake = match &self.0 {
            Body::Graph(graph) if !items.is_empty() => Intake::of(graph, call.scope)?,
            _ => Intake::AsItIs,
        };
        let mut results = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let at_item = |error: Error| match GraphFault::is_behind(&error) {
                true => GraphFault::error(format!("at index {index}: {error}")),
                false => error,
            };
            results.push(match &self.0 {
                Body::Graph(graph) => {
                    let board = intake.board_for_item(graph, item, index).map_err(at_item)?;
                    match answer_of(graph, board, &mut call).await {
                        Ok(answer) => answer,
                        Err(stop) => {
                            // Whoever looks at a run that waits sees how far it has come.
                            call.board.set(&config.output_key, results)?;
                            return Err(stop);
                        }
                    }
                }
                Body::Script(engine) => {
                    let source = config.body_script.clone().unwrap_or_default();
                    let more = [("__iteration_item", item), ("__iteration_index", index.into())];
                    let made = engine.run((source, Value::Null), call.board, call.rules, &more).await;
                    let mut made = made.map_err(at_item)?;
                    made.remove("__iteration_result").unwrap_or_default()
                }
            });
        }
        Ok(call.board.set(&config.output_key, results)?)
    }
}

/// Runs a step of the program.
pub(super) struct StepNode(SharedStep<Board>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepConfig {
    /// The name under which the program has registered it.
    #[serde(rename = "step")]
    #[schemars(with = "String")]
    _step: IgnoredAny,
}

impl Typed for StepNode {
    const NAME: &'static str = "step";
    const NATURE: Nature = Nature::Composite;
    type Config = StepConfig;

    fn ports(_: &Value) -> Ports {
        Ports::unknown()
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        let name = site.known_text("step").unwrap_or_default();
        let step = site.equipment.steps.get(name).map(Arc::clone);
        step.map(Self).ok_or_else(|| format!("the program has registered no step `{name}`"))
    }

    async fn run(&self, _: StepConfig, call: NodeCall<'_>) -> Result<(), Error> {
        call.scope.run(&*self.0, call.board).await
    }
}
