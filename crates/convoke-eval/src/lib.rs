#![doc = include_str!("../README.md")]
//!
//! | module | what it is for |
//! |---|---|
//! | [`scenario`] | what a scenario file says |
//! | `read` | scenario files and files of replies, JSON or YAML, and everything that is wrong with them |
//! | [`assertion`], `threshold` | what can be asserted, and from which score on it holds |
//! | `json_part` | parts of JSON values, by names and indices or by JMESPath |
//! | `kind` | kinds of assertions, by their names |
//! | [`observation`] | what is known of a run that is over |
//! | `fit` | whether a scenario fits the file that it is run against |
//! | `evaluate` | assertions compared with an observation |
//! | [`judge`] | what a model is asked that judges |
//! | [`report`], `junit`, `compare` | what came of it: for programs, for CI, beside an earlier report |
//!
//! **What it must never do.** Open a file, call a model, run anything, or know who shows its reports.

pub mod assertion;
mod compare;
mod evaluate;
mod fit;
mod json_part;
pub mod judge;
mod junit;
mod kind;
pub mod observation;
mod read;
pub mod report;
pub mod scenario;
mod threshold;

pub use assertion::Assertion;
pub use compare::{Change, Comparison, ScenarioChange, compare};
pub use evaluate::{Evaluated, cannot_fail, evaluate, evaluate_declared, evaluate_step};
pub use junit::junit;
pub use observation::{Facts, Observation, Vocabulary};
pub use read::{Replies, misfit, read};
pub use report::{AssertionReport, Report, RunReport, ScenarioReport};
pub use scenario::Scenario;
