//! Recognises policies of the Go `agent` program by their keys.
//!
//! Such a file is one mistake, not as many as it has lines: `convoke policy import` translates it.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::problem::PolicyProblem;
use super::subject::is_built_in;

/// Keys that stand at the top of its files, and never of ours.
const TOP: &[&str] = &["default_deny", "allowed_dirs", "content", "security", "workspace"];

/// Keys that it has in the table of a tool.
const OF_TOOLS: &[&str] = &[
    "enabled",
    "allow",
    "deny",
    "allowlist",
    "denylist",
    "allowed_dirs",
    "allow_domains",
    "rate_limit",
    "timeout",
    "sandbox",
];

/// Keys that it has in the table of MCP tools.
const OF_MCP: &[&str] = &["enabled", "default_deny", "allowed_tools"];

/// What to say of a file that is in another format than ours.
pub(super) fn foreign(table: &DeTable<'_>, name: &str) -> Option<PolicyProblem> {
    let span = first_foreign_key(table)?;
    let quoted = if name.contains(' ') { format!("'{name}'") } else { name.to_owned() };
    let problem = PolicyProblem::at(
        span,
        "this is a policy of the Go `agent` program, in another format than Convoke's",
    );
    Some(problem.help(format!(
        "`convoke policy import {quoted}` prints it in this format; look at it, and put it in the place of this file"
    )))
}

fn first_foreign_key(table: &DeTable<'_>) -> Option<Range<usize>> {
    // Whoever writes our version means our keys.
    if table.iter().any(|(key, _)| key.get_ref() == "version") {
        return None;
    }
    let mut found = Vec::new();
    for (key, value) in table {
        let own = key.get_ref().as_ref();
        match (own, value.get_ref()) {
            ("tools", DeValue::Table(tools)) => {
                for (_, rules) in tools {
                    found.extend(key_among(rules.get_ref(), OF_TOOLS));
                }
            }
            ("mcp", mcp) => found.extend(key_among(mcp, OF_MCP)),
            (own, DeValue::Table(_)) if is_built_in(own) => found.push(key.span()),
            _ if TOP.contains(&own) => found.push(key.span()),
            _ => {}
        }
    }
    found.into_iter().min_by_key(|span| span.start)
}

fn key_among(rules: &DeValue<'_>, keys: &[&str]) -> Option<Range<usize>> {
    let DeValue::Table(rules) = rules else { return None };
    rules.iter().find(|(key, _)| keys.contains(&key.get_ref().as_ref())).map(|(key, _)| key.span())
}
