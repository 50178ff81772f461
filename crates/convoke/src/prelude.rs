//! The prelude for programs of typed steps: `use convoke::prelude::*;`
//!
//! Programs of goals have a prelude of their own, `convoke::goals::prelude`: some names are in both, and mean different things.

pub use convoke_agent::{
    Agent, AgentResult, AgentStop, AgentTool, Approval, ClientTool, FunctionTool, WorkflowTool,
};
pub use convoke_core::{
    Answer, Attendant, BoxFuture, Canceller, Decision, EffectOutcome, EffectRequest, Error, Event, EventKind,
    Fork, InterceptedEffect, Interceptor, Label, Labels, Limits, Message, Model, ModelParams, Money, Outcome,
    Position, Question, Registry, RunId, RunStatus, Runner, Runtime, Scope, Step, StepEnd, Store,
    Subscription, ToolEffect, ToolEffects, Toolset, Transcript, Verdict, Workflow,
};
pub use convoke_models::{Match, Reply, ScriptedModel};
pub use convoke_steps::{
    AgentStep, Chain, Classifier, Dag, Join, Loop, Map, Merge, OnError, Parallel, Retry, RetryPolicy, Router,
    StepExt, ToolStep, func, prompt, task, task_boxed,
};
pub use convoke_store::MemoryStore;
#[cfg(feature = "sqlite")]
pub use convoke_store::SqliteStore;
