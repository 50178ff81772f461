//! The Agentfile language.
//!
//! ```text
//! NAME daily-plan
//! INPUT hours:int DEFAULT 4
//! AGENT critic "You are a rigorous critic."
//! GOAL analyze "Choose what fits into $hours hours" -> chosen USING critic SUPERVISED
//! CONVERGE polish "Refine $chosen" WITHIN 5
//! RUN main USING analyze, polish
//! ```
//!
//! A file goes through three stages, each usable alone:
//!
//! | stage | from | to | finds |
//! |---|---|---|---|
//! | [`lex`](lexer::lex) | text | [tokens](lexer) | characters that mean nothing, strings without an end |
//! | [`parse`](parser::parse) | tokens | a [syntax tree](syntax) with spans and comments | missing and misplaced words |
//! | [`check`] | the tree, and what `FROM` names, through a [`Loader`] | an [`Agentfile`] without unresolved names | undefined names, values that cannot be there yet, contradictions |
//!
//! No stage stops at the first mistake, none panics, and all of them take time in proportion to the text. Whatever they
//! find is a [`Diagnostic`](diagnostic::Diagnostic): what is wrong, where, why, and what to write instead.
//!
//! ```
//! use convoke_goals::agentfile::{Source, load::NoFiles, read};
//!
//! let source = Source::new("plan.agent", "NAME plan\nGOAL sort \"Sort $tasks\"\nRUN main USING srot\n");
//! let (file, diagnostics) = read(&source, &NoFiles);
//! assert!(file.is_none());
//! let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect();
//! assert_eq!(codes, ["undefined-variable", "undefined-goal"]);
//! ```
//!
//! Nothing here runs anything, reads anything but what its caller's loader gives it, or prints.

mod check;
pub mod diagnostic;
mod foreign;
mod format;
pub mod lexer;
pub mod load;
pub mod model;
pub mod outline;
pub mod parser;
mod source;
mod span;
pub mod syntax;
pub(crate) mod template;
mod tools;

pub use check::{check, check_with};
pub use format::format;
pub use model::Agentfile;
pub use source::Source;
pub use span::{Position, Span};
pub use template::{Piece, Template};
pub use tools::misspelt_tools;

use diagnostic::Diagnostics;
use load::Loader;

use crate::embedded::{NoOtherKinds, WorkflowReader};

/// Reads a file: parses it and checks it.
///
/// There is an [`Agentfile`] exactly if there is no error; warnings come with either.
pub fn read(source: &Source, loader: &dyn Loader) -> (Option<Agentfile>, Diagnostics) {
    read_with(source, loader, &NoOtherKinds)
}

/// Reads a file in which goals may be workflows of other kinds, which `reader` knows.
pub fn read_with(
    source: &Source,
    loader: &dyn Loader,
    reader: &dyn WorkflowReader,
) -> (Option<Agentfile>, Diagnostics) {
    if let Some(diagnostics) = not_an_agentfile(source) {
        return (None, diagnostics);
    }
    let (tree, mut diagnostics) = parser::parse(source.text());
    let file = check_with(&tree, loader, reader, &mut diagnostics);
    diagnostics.sort();
    (file, diagnostics)
}

/// Says so if a file is of another format that is easily mistaken for an Agentfile.
#[must_use]
pub fn not_an_agentfile(source: &Source) -> Option<Diagnostics> {
    foreign::found(source).map(|diagnostic| {
        let mut diagnostics = Diagnostics::default();
        diagnostics.error(|| diagnostic);
        diagnostics
    })
}
