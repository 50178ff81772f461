//! PromptPacks, as the host sees them.

mod beside;
mod compile;
mod definition;
mod evaluated;
mod skills;
mod way;

use std::ops::Range;
use std::sync::Arc;

use convoke_goals::agentfile::diagnostic::{Code, Diagnostic, Diagnostics};
use convoke_goals::agentfile::load::Loader;
use convoke_goals::agentfile::{Source, Span};
use convoke_machine::finding::Finding;
use convoke_machine::pack::{self, looks_like_a_pack};
use convoke_text::diagnostic::within;

use crate::definition::{Definition, DefinitionKind};
use definition::PackDefinition;
use skills::PackSkills;

pub use compile::{CompiledFile, compile_pack};

/// What the person says first, unless a pack has a variable of that name.
pub(crate) const MESSAGE: &str = "message";

/// The composition that is run as a function instead of the workflow, unless a pack has a variable of that name.
pub(crate) const COMPOSITION: &str = "composition";

/// The prompt that is talked with where nothing else says which of several, unless a pack has a variable of that name.
pub(crate) const PROMPT: &str = "prompt";

/// The state that the workflow begins in instead of its first, unless a pack has a variable of that name.
pub(crate) const STATE: &str = "state";

/// The name under which the conversation is remembered, unless a pack has a variable of that name.
pub(crate) const MEMORY: &str = "memory";

/// Whether others may send the events of every state. No input and no variable is called so.
pub(crate) const EVERY_EVENT: &str = "every event";

/// The name under which runs keep what they were started from.
pub(crate) const NAME: &str = "pack";

/// PromptPacks, in JSON or YAML.
#[derive(Debug, Clone, Copy, Default)]
pub struct PackKind;

impl DefinitionKind for PackKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "pack"
    }

    fn recognizes(&self, name: &str, bytes: &[u8]) -> bool {
        [".pack.json", ".pack.yaml", ".pack.yml"].iter().any(|ending| name.ends_with(ending))
            || std::str::from_utf8(bytes).is_ok_and(looks_like_a_pack)
    }

    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<Arc<dyn Definition>>, Diagnostics) {
        let mut named = None;
        let (pack, findings) = pack::read_with(source.text(), |pack, findings| {
            beside::add_schemas(pack, files, findings);
            let workflows = beside::workflows(pack, files, findings);
            evaluated::misfits(pack, findings);
            named = Some((workflows, PackSkills::read(pack, source.name(), files, findings)));
        });
        let definition = pack.zip(named).map(|(pack, (workflows, skills))| {
            Arc::new(PackDefinition::new(pack, workflows, skills, &findings)) as Arc<dyn Definition>
        });
        (definition, diagnostics(source, &findings))
    }
}

/// What was found in a file, by place.
pub(crate) fn diagnostics(source: &Source, findings: &[Finding]) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for finding in findings {
        diagnostics.add(finding.severity, || diagnostic(source, finding));
    }
    diagnostics.sort();
    diagnostics
}

pub(crate) fn diagnostic(source: &Source, finding: &Finding) -> Diagnostic {
    let Range { start, end } = within(finding.place.clone().unwrap_or_default(), source.text());
    let code = Code::Other(finding.code, finding.severity);
    let diagnostic = Diagnostic::new(code, Span::new(start, end), &finding.message).path(&finding.path);
    match &finding.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
