//! What most programs need, in one line: `use convoke::prelude::*;`
//!
//! Names that both typed steps and goals have are those of the steps; of goals they are `goals::Workflow` and
//! `goals::Agent`.

pub use convoke_agent::{
    Agent, AgentResult, AgentStop, AgentTool, Approval, ClientTool, FunctionTool, WorkflowTool,
};
pub use convoke_core::{
    Answer, Attendant, BoxFuture, Canceller, Decision, EffectOutcome, EffectRequest, Error, Event, EventKind,
    Fork, Intercepted, Interceptor, Label, Labels, Limits, Message, Model, ModelParams, Money, Outcome,
    Position, Question, Registry, RunId, RunStatus, Runner, Runtime, Scope, Step, StepEnd, Store,
    Subscription, ToolEffect, ToolEffects, Toolset, Transcript, Verdict, Workflow,
};
pub use convoke_goals as goals;
pub use convoke_goals::{
    Equipment, Goal, GoalState, Input, Prepared, Secrets, Sequence, Spawning, Supervision, Values, when,
};
pub use convoke_models::{Match, Reply, ScriptedModel};
pub use convoke_steps::{
    AgentStep, Chain, Classifier, Join, Loop, Map, Merge, OnError, Parallel, Retry, RetryPolicy, Router,
    StepExt, ToolStep, func, prompt, task, task_boxed,
};
pub use convoke_store::{MemoryStore, SqliteStore};
