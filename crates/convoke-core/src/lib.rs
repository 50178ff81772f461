#![doc = include_str!("../README.md")]
//!
//! Everything that can be run is a [`Step`] over some state. A step is given a [`Scope`], and does whatever is not a
//! pure function of its state through that scope: it asks a [`Model`], calls a [`Tool`], asks a person, looks at the
//! clock. Each of these effects is written to a journal under the scope's [`Path`], so that a run which was killed, or
//! waits for a person for days, is resumed by running it again with the journal answering.
//!
//! # What this crate must never do
//! No input or output of its own: no provider, no database, no network, no files. It defines the traits ([`Model`],
//! [`Tool`], [`Store`], [`Responder`], [`Observer`]) that other crates implement.
//!
//! # Where to find what
//! | to understand | read |
//! |---|---|
//! | what a step is | [`Step`] |
//! | what a step may do | [`Scope`] |
//! | why runs survive | [`Entry`] and [`store`] |
//! | what stands between a run and the world | [`Interceptor`] |
//! | what listeners hear | [`Event`] |
//! | how to run something | [`Runtime`] and [`Workflow`] |
//! | how to read what a run wrote | [`journal`] |

pub mod ask;
mod backoff;
mod budget;
mod digest;
mod effect;
mod embedding;
mod error;
mod event;
mod id;
mod intercept;
pub mod journal;
mod json;
mod json_source;
mod message;
mod model;
mod path;
mod retrieve;
mod run;
mod scope;
mod step;
pub mod store;
mod time;
mod tool;

pub use ask::{Answer, Decision, PendingQuestion, Question, QuestionId, QuestionKind, Responder};
pub use backoff::Backoff;
pub use budget::{ASSUMED_OUTPUT_TOKENS, BYTES_PER_TOKEN, BudgetExhausted, Limits, Resource};
pub use digest::{Digest, InvalidDigest};
pub use effect::{
    AwaitedCalls, CustomEffect, LostResult, OnDoubt, PendingDecision, ReceivedMail, StepNote, Visibility,
};
pub use embedding::{Embedder, EmbeddingPurpose, Embeddings};
pub use error::{
    BranchErrors, BranchFailure, CategorisedError, Category, Divergence, Error, InDoubt, RecordedError,
    StepError, StepsMissing, Suspension, TimedOut, UnusableReply,
};
pub use event::{
    Event, EventKind, InvalidPosition, ModelCall, ModelCallEnd, Moment, Observer, Position, RunEnd, StepEnd,
};
pub use id::{InvalidRunId, MAX_RUN_ID_LENGTH, RunId};
pub use intercept::{
    EffectOutcome, EffectRequest, InterceptedEffect, Interceptor, InvalidLabel, Label, Labels, SideOutput,
    Verdict,
};
pub use journal::{Blob, EffectKind, Entry, IdempotencyKey, Phase, RecordedOutcome};
pub use json::{json_text, sort_keys};
pub use message::{
    Media, MediaSource, Message, Money, Part, Role, ToolCall, ToolResult, Transcript, Usage, kept_transcript,
};
pub use model::{
    CallContext, FinishReason, Model, ModelError, ModelErrorKind, ModelParams, ModelReply, ModelRequest,
    OutputSchema, Price, Reality, ReasoningEffort, ReplyBuilder, ReplyDelta, ReplyStream, ToolChoice,
};
pub use path::{Path, Segment};
pub use retrieve::{Passage, PassageSource, Retriever, RetrieverSource};
pub use run::{
    Attendant, CancelStatus, FORBID_LIVE_MODELS, Fork, GoOn, Outcome, Registry, Replay, RunOptions,
    RunStream, Runner, Runtime, RuntimeBuilder, Start, State, Subscription, WhenBusy, WhenDropped, Workflow,
    cancel_for_good,
};
pub use scope::{
    Canceller, ComposingScope, FailurePolicy, Lane, Recovery, ReservedScope, Scope, Settings, StepFailure,
    Tap,
};
pub use step::{Bounds, BoxFuture, Nature, Outline, SettingsChange, SharedStep, Step};
pub use store::{Launch, Mail, NewMail, RunStatus, Store, StoreError};
pub use time::Timestamp;
pub use tool::{
    Access, AccessMode, DuplicateTool, Execution, Invocation, Origin, Preparation, Reconciliation, Repeat,
    Timeout, Tool, ToolDefinition, ToolEffect, ToolEffects, ToolSpec, Toolset,
};
