//! What most programs need, in one line: `use convoke::prelude::*;`

pub use convoke_agent::{
    Agent, AgentResult, AgentStop, AgentTool, Approval, ClientTool, FunctionTool, WorkflowTool,
};
pub use convoke_core::{
    Answer, Canceller, Decision, Error, Event, EventKind, Fork, Limits, Message, Model, ModelParams, Money,
    Outcome, Question, Registry, RetryPolicy, RunId, RunStatus, Runner, Runtime, Scope, Step, StepEnd, Store,
    ToolEffect, ToolEffects, Toolset, Transcript, Workflow,
};
pub use convoke_models::{Match, Reply, ScriptedModel};
pub use convoke_steps::{
    AgentStep, Chain, Classifier, Join, Loop, Map, Merge, OnError, Parallel, Retry, Router, StepExt,
    ToolStep, func, prompt, task, task_boxed,
};
pub use convoke_store::{MemoryStore, SqliteStore};
