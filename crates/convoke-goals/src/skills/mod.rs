//! Skills that are loaded while working.
//!
//! Whoever pursues something is shown a catalogue: what each skill is called and what it is for. The text of one is read
//! only by those who take it up, with the tool `use_skill`, or by writing `[use-skill:NAME]`. From then on its
//! `allowed-tools` hold, to the end of that conversation.
//!
//! | to understand | read |
//! |---|---|
//! | which skills there are | `shelf.rs` |
//! | what a model is told | `text.rs` |
//! | the tool | `tool.rs` |
//! | which are in use, and what that forbids | `active.rs`, `allowed.rs` |
//!
//! Which skills are in use is read from the conversation, never kept beside it: a run that is resumed finds the same
//! limits where it goes on.

mod active;
pub(crate) mod allowed;
mod shelf;
mod text;
mod tool;

pub(crate) use active::ActiveSkills;
pub use shelf::SkillShelf;

/// The tool that takes up a skill.
pub(crate) const TOOL: &str = "use_skill";
