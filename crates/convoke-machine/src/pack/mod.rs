//! The pack as a document: reading it, its templates and variables, and everything that is wrong with it.
//!
//! [`read`] takes a text apart, finds everything that is wrong with it at once, and gives a [`CompiledPack`] if nothing is. That is
//! the only thing that can be run.
//!
//! ```
//! let (pack, findings) = convoke_machine::pack::read(r#"
//! id: greeter
//! name: Greeter
//! version: 1.0.0
//! template_engine: {version: v1, syntax: "{{variable}}"}
//! prompts:
//!   hello:
//!     id: hello
//!     name: Hello
//!     version: 1.0.0
//!     system_template: Greet {{name}}.
//!     variables: [{name: name, type: string, required: true}]
//! "#);
//! assert!(findings.is_empty(), "{findings:?}");
//! assert_eq!(pack.unwrap().entry(), Some("hello"));
//! ```

mod agent;
mod check;
mod compiled;
pub mod composition;
mod diagram;
mod dialect;
mod eval;
mod fragment;
mod import;
mod inputs;
pub mod model;
pub mod outline;
mod prompt;
mod shape;
pub mod template;
mod validator;
mod variables;

pub use convoke_text::document;

pub use agent::{AGENT, AgentCard, AgentSkill};
pub use compiled::CompiledPack;
pub use diagram::to_diagram;
pub use dialect::{Compatibility, Dialect, Refusal};
pub use eval::merged;
pub use import::{ImportError, Imported, import};
pub use inputs::PackInput;
pub use prompt::{BAD_VALIDATOR, CompiledPrompt, Moment, RenderError};
pub use validator::{Direction, Validator, ValidatorError};
pub use variables::{Bound, CompiledVariable, Violation, Wrong};

use std::borrow::Cow;

use serde::Deserialize;

use self::document::{Content, Node};
use self::shape::Verdict;
use crate::finding::Finding;

/// Reads a pack, JSON or YAML: the pack if it can be run, and everything that is wrong with it, in the order of the text.
#[must_use]
pub fn read(text: &str) -> (Option<CompiledPack>, Vec<Finding>) {
    read_with(text, |_, _| {})
}

/// Reads a pack together with what is beside it: what is wrong with that is found even where the pack has mistakes of its own.
/// What `beside` is given can only be run once it is given back.
#[must_use]
pub fn read_with(
    text: &str,
    beside: impl FnOnce(&mut CompiledPack, &mut Vec<Finding>),
) -> (Option<CompiledPack>, Vec<Finding>) {
    read_in(text, None, beside)
}

/// Reads a pack as one dialect has it: what that one refuses is a mistake.
#[must_use]
pub fn read_as(text: &str, dialect: Dialect) -> (Option<CompiledPack>, Vec<Finding>) {
    read_in(text, Some(dialect), |_, _| {})
}

/// Returns whether a text looks like a pack: an object, in JSON or YAML, with `prompts` and a `template_engine`.
///
/// ```
/// use convoke_machine::pack::looks_like_a_pack;
///
/// assert!(looks_like_a_pack(r#"{"template_engine": {}, "prompts": {}"#));
/// assert!(!looks_like_a_pack("NAME greet"));
/// ```
#[must_use]
pub fn looks_like_a_pack(text: &str) -> bool {
    document::looks_like(text, &["prompts", "template_engine"])
}

fn read_in(
    text: &str,
    strict: Option<Dialect>,
    beside: impl FnOnce(&mut CompiledPack, &mut Vec<Finding>),
) -> (Option<CompiledPack>, Vec<Finding>) {
    let mut findings = Vec::new();
    let Some(node) = document::parse(text, &mut findings) else { return (None, findings) };
    let Verdict { findings: shape, refusals, gaps, wholes, .. } = shape::check(&node);
    findings.extend(shape);
    document::inexact_numbers(&node, text, &mut findings);
    let compatibility = Compatibility { refusals };
    dialects(&node, strict, &compatibility, &mut findings);
    let whole = gaps.filled(&node);
    let pack = match model::Pack::deserialize(&*with_integers(&whole, wholes)) {
        Ok(pack) => {
            let mut more = Vec::new();
            let mut pack = CompiledPack::new(whole, pack, compatibility, &mut more);
            beside(&mut pack, &mut more);
            findings.extend(more.into_iter().filter(|finding| !gaps.explain(finding)));
            Some(pack)
        }
        // What is wrong has been said, in better words.
        Err(_) if findings.iter().any(Finding::is_error) => None,
        Err(error) => {
            findings.push(Finding::error("unreadable", "", format!("this is not a pack: {error}")));
            None
        }
    };
    document::place(&node, &mut findings);
    findings.dedup_by(|a, b| a.path == b.path && a.code == b.code && (a.code == "unknown-field" || a == b));
    (pack.filter(|_| !findings.iter().any(Finding::is_error)), findings)
}

/// A pack with whole numbers written as such, for whoever reads it into types.
fn with_integers(pack: &Node, wholes: Vec<(String, u32)>) -> Cow<'_, Node> {
    let mut pack = Cow::Borrowed(pack);
    for (path, value) in wholes {
        pack.to_mut().put(&path, Content::Number(value.into()));
    }
    pack
}

/// What the dialects refuse, where one is named.
fn dialects(
    node: &Node,
    strict: Option<Dialect>,
    compatibility: &Compatibility,
    findings: &mut Vec<Finding>,
) {
    for refusal in strict.into_iter().flat_map(|dialect| compatibility.refusals_of(dialect)) {
        let message = format!("version {} of the format refuses this: {}", refusal.dialect, refusal.message);
        findings.push(Finding::error("refused", &refusal.path, message));
    }
    if let Some(named) = node.get("$schema").and_then(Node::text).and_then(Dialect::named_by)
        && strict.is_none()
        && let Some(refusal) = compatibility.refusals_of(named).next()
    {
        let message =
            format!("`$schema` names version {named}, which refuses {}: {}", refusal.path, refusal.message);
        findings.push(Finding::warning("other-dialect", "/$schema", message));
    }
}
