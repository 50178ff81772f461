//! Everything that is promised of goals and Agentfiles, topic by topic.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agentfile_runs;
mod common;
mod conditions;
mod context_budget;
mod convergence;
mod corrections;
mod durability;
mod execution;
mod failures;
mod fan_out;
mod files_to_trees;
mod flow;
mod formatting;
mod human;
mod inputs;
mod layers;
mod lexer;
mod listeners;
mod loading;
mod loops;
mod memory;
mod old_runs;
mod on_demand;
mod outline;
mod outputs;
mod parallel;
mod parser;
mod prepare;
mod prompts;
mod property;
mod reasons_to_look;
mod reference;
mod refused_files;
mod rejected;
mod run_support;
mod secrets;
mod sent_back;
mod skills;
mod spawning;
mod statements;
mod supervised;
mod supervised_tools;
mod supervised_workflows;
mod supervision;
mod supervision_params;
mod supervision_resume;
mod tool_calls;
mod tree;
mod values_in_prompts;
mod variables;
mod verdicts;
mod workflow_agents;
