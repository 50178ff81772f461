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
mod dialect;
mod eval;
mod fragment;
mod import;
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
pub use dialect::{Compatibility, Dialect, Refusal};
pub use eval::merged;
pub use import::{ImportError, import};
pub use prompt::{BAD_VALIDATOR, CompiledPrompt, Moment, RenderError};
pub use validator::{Direction, Judgement, Validator, ValidatorError};
pub use variables::{Bound, CompiledVariable, Violation, Wrong};

use serde::Deserialize;

use self::document::{Content, Node};
use crate::finding::Finding;

/// Reads a pack, JSON or YAML: the pack if it can be run, and everything that is wrong with it, in the order of the text.
#[must_use]
pub fn read(text: &str) -> (Option<CompiledPack>, Vec<Finding>) {
    read_in(text, None)
}

/// Reads a pack as one dialect has it: what that one refuses is a mistake.
#[must_use]
pub fn read_as(text: &str, dialect: Dialect) -> (Option<CompiledPack>, Vec<Finding>) {
    read_in(text, Some(dialect))
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
    let fields = ["prompts", "template_engine"];
    if document::is_json(text) {
        return fields.iter().all(|field| text.contains(&format!("\"{field}\"")));
    }
    let begins = |field: &&str| {
        text.lines().any(|line| line.strip_prefix(*field).is_some_and(|rest| rest.starts_with(':')))
    };
    fields.iter().all(begins)
}

fn read_in(text: &str, strict: Option<Dialect>) -> (Option<CompiledPack>, Vec<Finding>) {
    let mut findings = Vec::new();
    let Some(node) = document::parse(text, &mut findings) else { return (None, findings) };
    let pack = compiled(&node, strict, &mut findings);
    for finding in findings.iter_mut().filter(|finding| finding.place.is_none()) {
        let name = ["unknown-field", "misplaced-field"]
            .contains(&finding.code)
            .then(|| node.name_place_of(&finding.path));
        finding.place = Some(name.flatten().unwrap_or_else(|| node.place_of(&finding.path)));
    }
    let start = |finding: &Finding| finding.place.as_ref().map_or(0, |place| place.start);
    findings.sort_by(|a, b| {
        (start(a), &a.path, a.severity, a.code).cmp(&(start(b), &b.path, b.severity, b.code))
    });
    findings.dedup_by(|a, b| a.path == b.path && a.code == b.code && (a.code == "unknown-field" || a == b));
    let pack = pack.filter(|_| !findings.iter().any(Finding::is_error));
    (pack, findings)
}

/// The pack, as far as it can be understood.
fn compiled(node: &Node, strict: Option<Dialect>, findings: &mut Vec<Finding>) -> Option<CompiledPack> {
    let verdict = shape::check(node);
    let compatibility = Compatibility::new(verdict.refusals);
    findings.extend(verdict.findings);
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
    if !verdict.mends.is_empty() {
        mended(node, &verdict.mends, findings);
        return None;
    }
    match model::Pack::deserialize(node) {
        Ok(pack) => CompiledPack::new(node.clone(), pack, compatibility, findings),
        // What is wrong has been said, in better words.
        Err(_) if findings.iter().any(Finding::is_error) => None,
        Err(error) => {
            findings.push(Finding::error("unreadable", "", format!("this is not a pack: {error}")));
            None
        }
    }
}

/// Looks at the rest of a pack of which some parts are missing or of the wrong type. What is found where something was put is
/// about that, not about the pack.
fn mended(node: &Node, mends: &[(String, Content)], findings: &mut Vec<Finding>) {
    let mut whole = node.clone();
    for (path, content) in mends {
        whole.put(path, content.clone());
    }
    let Ok(pack) = model::Pack::deserialize(&whole) else { return };
    let mut more = Vec::new();
    CompiledPack::new(whole, pack, Compatibility::default(), &mut more);
    let is_within = |path: &str, outer: &str| {
        path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    more.retain(|finding| !mends.iter().any(|(path, _)| is_within(&finding.path, path)));
    findings.extend(more);
}
