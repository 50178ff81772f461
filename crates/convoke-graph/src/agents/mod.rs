//! Agents that are asked: who they are ([`Agent`]), what they are asked ([`Request`]), how they go about it ([`Strategy`]), what comes
//! of it ([`AgentResult`]), and what they have to do ([`Tasks`]).
//!
//! Every request is a run of the kernel. So it is durable, it can be cancelled and resumed from anywhere, and tasks are nothing but a
//! view of the index of runs: there is no second list that could say something else. What is remembered of a conversation, and who judges
//! an answer, is part of the run too.
//!
//! ```
//! use std::sync::Arc;
//!
//! use convoke_core::Runtime;
//! use convoke_graph::agents::{Agent, Agents, GraphStrategy, Request, Status};
//! use convoke_graph::{GraphDefinition, NodeTypes};
//! use serde_json::json;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let graph = GraphDefinition::new("greet", "out").node("out", "answer", json!({"template": "Hello {{.query}}!"}));
//! let greeter = Agent::new("greeter", GraphStrategy::new(graph, NodeTypes::standard())).description("Greets.");
//! let agents = Agents::new(Runtime::new());
//! let result = agents.run(&greeter, Request::text("Ada")).await?;
//! assert_eq!((result.status, result.answer()), (Status::Completed, Some(&json!("Hello Ada!"))));
//! # Ok::<(), convoke_graph::agents::AgentError>(())
//! # }).unwrap();
//! ```

mod agent;
mod cron;
mod dependencies;
mod referee;
mod request;
mod result;
mod runtime;
mod schedule;
mod strategy;
mod tasks;
mod work;

pub use agent::{Agent, AgentCard, Capabilities, Skill};
pub use cron::{Cron, CronError};
pub use dependencies::{Dependencies, DependencyError};
pub use referee::{Referee, Verdict};
pub use request::Request;
pub use result::{AgentResult, Artifact, Status, TokenUsage};
pub use runtime::{AgentError, AgentRun, Agents};
pub use schedule::{Job, When};
pub use strategy::{GRAPH_EQUIPMENT, GraphStrategy, Strategy};
pub use tasks::{Stage, Task, Tasks};
