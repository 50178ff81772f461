#![doc = include_str!("../README.md")]
//!
//! | module | what it is for |
//! |---|---|
//! | `host` | the [`Host`]: load, prepare, start, go on, subscribe, answer, record |
//! | `definition` | kinds of files that can be run, and what each of them is asked |
//! | `agentfile` | Agentfiles as such a kind, from disks and packages |
//! | `pack` | PromptPacks as such a kind |
//! | `graph` | graphs as such a kind |
//! | `eval` | scenarios run against a file, and judged |
//! | `prepared`, `running` | a definition with everything it needs; a run under way |
//! | `manifest`, `kept_files`, `run_origin`, `fingerprints` | what a run's record keeps for going on with it |
//! | `equipment`, `models` | models by name, profiles, what runs in this process |
//! | `follow` | a run that another process works on, read along |
//! | `tools`, `mcp`, `tool_call` | the tools of a run, and what they may reach; one of them called by hand |
//! | `memory` | what agents remember beyond a run, and conversations that come back |
//! | `knowledge` | where documents are kept that agents look things up in, and what compares meanings |
//! | `store` | where runs are kept, and how they are moved |
//! | `stored` | stored runs for people: which is meant, what it came to, what to do about it |
//! | `failure` | errors as they are told, with what can be done about them |
//! | `telemetry` | traces, metrics and the log |
//! | `checkup` | whether all of it is in order here |
//! | `gist`, `drawn`, `resumable` | what a stored run was given and came to; it as a diagram; whether it can go on |
//! | `packages` | where keys and packages are kept, and which one a name means |
//! | `changes` | what has changed in a file since a run of it began |
//! | `skills` | folders of skills that are not there |
//! | `scaffold` | the first files of a project |
//! | `planned` | what an Agentfile is going to do, for showing progress |
//! | `inputs`, `limits`, `answer`, `user` | what people give: inputs, limits, answers, their name |
//! | `view` | other things than runs as documents and lines: models, servers, settings, knowledge |
//! | `chat` | a conversation as a workflow, and those in the store |
//!
//! **What it must never do.** Read arguments, print, ask anybody anything by itself, or end the process: whatever is worth
//! saying is returned. Let a run go on with less confinement than its policies want.

mod agentfile;
mod answer;
mod changes;
pub mod chat;
mod checkup;
mod definition;
mod drawn;
mod equipment;
mod error;
pub mod eval;
mod failure;
mod fingerprints;
mod follow;
mod gist;
mod graph;
mod graph_way;
mod host;
mod inputs;
mod kept_files;
mod knowledge;
mod limits;
mod manifest;
mod mcp;
mod memory;
pub mod models;
mod nested;
mod pack;
mod packages;
mod planned;
mod prepared;
mod resumable;
mod run_origin;
mod running;
mod scaffold;
mod skills;
pub mod store;
pub mod stored;
mod telemetry;
mod tool_call;
pub mod tools;
mod user;
pub mod view;

pub use agentfile::{
    AgentfileKind, BUILT_IN_TOOLS, FileError, LARGEST_FILE, bytes_of, in_words, is_standard_input,
    read_source,
};
pub use answer::{InvalidAnswer, json_answer, media_answer};
pub use changes::{ChangedText, changed_texts};
pub use checkup::{CheckResult, Checkup, Diagnosis, ServiceStanding};
pub use convoke_machine::conversation::{
    CLIENT_REFUSED, CLIENT_REQUEST, CUT_SHORT, EVENT_PASSED_OVER, TakenTransition, VisitedState, Way,
};
pub use definition::{Definition, DefinitionKind, EquippedDefinition, LoadedFile, counted};
pub use drawn::{diagram_of, way_of};
pub use error::HostError;
pub use failure::{FailureKind, FailureReport, FileProblems};
pub use follow::{FollowedRun, FollowedState};
pub use gist::{gist, last_text};
pub use graph::GraphKind;
pub use host::{GoOnOptions, Host, HostBuilder, StartOptions, other_kind};
pub use inputs::{GivenInputs, InvalidInputs};
pub use limits::{InvalidLimits, parse_limits};
pub use manifest::{AnswerRules, Manifest};
pub use mcp::ConfiguredServers;
pub use nested::OtherKinds;
pub use pack::{CompiledFile, PackKind, compile_pack};
pub use packages::{
    installed_packages, other_versions, package_named, packages_folder, trust_only, trust_store,
    trusted_folder,
};
pub use planned::planned;
pub use prepared::{ExecutionOptions, PreparedRun};
pub use resumable::{can_go_on, is_cancelled_for_good};
pub use run_origin::RunOrigin;
pub use running::{ActiveRun, FinishedRun, RunCleanup};
pub use scaffold::{ProjectPlan, ScaffoldError, Watcher, WrittenProject, is_project};
pub use skills::{missing_folder, missing_skills};
pub use telemetry::RunTelemetry;
pub use tool_call::ToolCallError;
pub use user::user_name;
