//! Supervision: a commitment before, an assessment after, a comparison, and a supervisor that decides.
//!
//! | phase | what happens | by whom |
//! |---|---|---|
//! | commit | says what it is going to do: a [`Commitment`] | the goal's model |
//! | execute | does it: an [`Attempt`] | whoever pursues the goal |
//! | post | says how that compares: an [`Assessment`] | the goal's model |
//! | reconcile | [`Trigger`]s, from both and from what can be seen without asking anybody | nobody: a pure function |
//! | supervise | a [`Verdict`], only if there is a trigger | the [`Supervisor`] |
//! | human | approves, revises or rejects, whatever the triggers | a person |
//!
//! A correction sends the goal back: it is executed again with *all* corrections so far, assessed and compared again.
//! [`SupervisedTask`] is that whole.
//!
//! **What it must never do.** Take silence for consent: a commitment or an assessment that cannot be had is a trigger, a
//! verdict that cannot be read is a question to a person, and where nobody may be asked the goal is halted. Nor does it
//! swallow a stop: whoever cancels, suspends or runs out of budget is obeyed.

mod answer;
mod commitment;
mod correction;
mod human;
mod model;
mod phase;
mod pipeline;
mod product;
mod prompts;
mod reconcile;
mod review;
mod supervisor;
mod trigger;
mod verdict;

pub use commitment::{Assessment, Commitment, Confidence};
pub(crate) use correction::StandingCorrections;
pub use correction::{Correction, CorrectionSource};
pub use human::HumanPolicy;
pub use model::ModelSupervisor;
pub use pipeline::{Attempt, SupervisedTask, SupervisionFailed};
pub use product::Product;
pub(crate) use prompts::JUDGED;
pub use reconcile::Thresholds;
pub use review::{Review, Statement};
pub use supervisor::Supervisor;
pub use trigger::Trigger;
pub use verdict::Verdict;

pub use crate::plan::SupervisedBy;
