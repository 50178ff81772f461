//! Checks the tool names of a file against the tools that exist.
//!
//! The language does not: a program has tools of its own, and servers bring theirs. So this is no part of
//! [`read`](super::read), and only what is nearly the name of a known tool is an error, or `none` among others. What a run
//! was started from is never checked by this again: it was begun with what it has.

use convoke_text::nearest;

use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::syntax::Tools;
use super::{Source, parser};

/// Adds an error for every name in a list of tools that is nearly one of the `known` ones, and for a `none` among others.
///
/// ```
/// use convoke_goals::agentfile::diagnostic::Diagnostics;
/// use convoke_goals::agentfile::{Source, misspelt_tools};
///
/// let source = Source::new("x", "NAME x\nGOAL g \"Look\" TOOLS raed, weather, mcp_rea\nRUN main USING g\n");
/// let mut diagnostics = Diagnostics::default();
/// misspelt_tools(&source, &["read", "grep"], &mut diagnostics);
/// let found: Vec<_> = diagnostics.iter().map(|found| source.text()[found.span.start..found.span.end].to_owned()).collect();
/// assert_eq!(found, ["raed"]);
/// ```
pub fn misspelt_tools(source: &Source, known: &[&str], diagnostics: &mut Diagnostics) {
    let (tree, _) = parser::parse(source.text());
    let lists = tree.statements.iter().filter_map(|statement| statement.clauses.tools.as_ref());
    for name in lists.flat_map(|tools| match &tools.value {
        Tools::Named(names) => names.as_slice(),
        Tools::None => &[],
    }) {
        let written = name.value.as_str();
        if source.text().get(name.span.start..name.span.end) == Some("none") {
            diagnostics.error(|| {
                let message = "`none` stands alone: it means no tools at all";
                Diagnostic::new(Code::BadValue, name.span, message)
                    .label("among other tools")
                    .help("leave `none` out, or the others")
            });
            continue;
        }
        // Servers' tools and those of knowledge are known once these are; a pattern may stand for any.
        let is_found_later = ["mcp_", "knowledge_search_"].iter().any(|prefix| written.starts_with(prefix));
        if known.contains(&written) || is_found_later || written.contains('*') {
            continue;
        }
        if let Some(meant) = nearest(written, known.iter().copied()) {
            diagnostics.error(|| {
                Diagnostic::new(Code::UnknownTool, name.span, format!("there is no tool `{written}`"))
                    .label("not known")
                    .suggest(Some(meant), str::to_owned)
            });
        }
    }
    diagnostics.sort();
}
