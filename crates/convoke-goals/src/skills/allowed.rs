//! Rules of a skill's `allowed-tools`.
//!
//! `read` allows a tool by its name; capitals do not matter. An agent that is a skill also has tools by patterns
//! (`mcp_files_*`). `Bash(git:*)` allows commands that begin with the word `git`,
//! `Bash(make test)` only that command. Where somebody can read a shell's language ([`CommandReader`]), each of the programs
//! that a command line would start must be allowed; otherwise only plain words are, because nobody can say what a shell makes
//! of anything else.

use convoke_core::ToolCall;

use crate::agentfile::model::Tools;
use crate::equipment::CommandReader;

/// Whether one of these is about a tool: it may be called at all.
pub(crate) fn offers(allowed: &[String], tool: &str) -> bool {
    allowed.iter().any(|rule| offers_tool(rule, tool))
}

/// The tool that a rule is about.
pub(crate) fn tool_of(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool).trim()
}

fn offers_tool(rule: &str, tool: &str) -> bool {
    Tools::Named(vec![tool_of(rule).to_lowercase()]).allow(&tool.to_lowercase())
}

/// Whether these let a call be made, with a command read by somebody who can.
pub(crate) fn allow_read(allowed: &[String], call: &ToolCall, reader: Option<&CommandReader>) -> bool {
    let is_whole = |rule: &String| !rule.contains('(') && offers_tool(rule, &call.name);
    if allowed.iter().any(is_whole) {
        return true;
    }
    let command = call.arguments.get("command").and_then(|command| command.as_str());
    let (Some(reader), Some(command)) = (reader, command) else { return allows(allowed, call) };
    let patterns: Vec<&str> = allowed
        .iter()
        .filter(|rule| offers_tool(rule, &call.name))
        .filter_map(|rule| rule.strip_suffix(')')?.split_once('(').map(|(_, pattern)| pattern))
        .collect();
    let Some(programs) = reader(command).filter(|programs| !programs.is_empty()) else { return false };
    programs.iter().all(|words| patterns.iter().any(|pattern| fits(pattern, words)))
}

/// Whether the words of a command fit a pattern.
fn fits(pattern: &str, words: &[String]) -> bool {
    let expected = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(beginning) => words.starts_with(&expected(beginning)),
        None => pattern == "*" || words == expected(pattern),
    }
}

/// Whether one of these lets a call be made.
pub(crate) fn allows(allowed: &[String], call: &ToolCall) -> bool {
    allowed.iter().any(|rule| one_allows(rule, call))
}

fn one_allows(rule: &str, call: &ToolCall) -> bool {
    let Some((tool, pattern)) = rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return rule.eq_ignore_ascii_case(&call.name);
    };
    let command = call.arguments.get("command").and_then(|command| command.as_str());
    let Some(command) = command.map(str::trim).filter(|command| is_plain(command)) else { return false };
    tool.eq_ignore_ascii_case(&call.name)
        && match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
            Some(beginning) => {
                let rest = command.strip_prefix(beginning.trim());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            None => pattern == "*" || pattern == command,
        }
}

/// Whether a shell can only take this as words.
fn is_plain(command: &str) -> bool {
    command.chars().all(|character| {
        character.is_alphanumeric()
            || matches!(character, ' ' | '-' | '_' | '.' | '/' | ':' | ',' | '@' | '+' | '=' | '%')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn allowed(rule: &str, tool: &str, command: &str) -> bool {
        let call = ToolCall { id: "1".into(), name: tool.into(), arguments: json!({"command": command}) };
        allows(&[rule.to_owned()], &call)
    }

    #[test]
    fn tools_are_allowed_by_name() {
        assert!(allowed("Read", "read", "") && allowed("bash", "bash", "rm -rf x; y"));
        assert!(!allowed("read", "reader", "") && !allowed("", "read", ""));
    }

    #[test]
    fn commands_are_allowed_by_their_first_words_if_they_are_plain() {
        for good in ["git", "git status", "git log --since=2024-01-01", "  git diff a/b.rs"] {
            assert!(allowed("Bash(git:*)", "bash", good), "{good}");
        }
        for bad in [
            "gitx",
            "rm x",
            "git status; rm x",
            "git status && rm x",
            "git log | sh",
            "git $(rm x)",
            "git `rm x`",
            "git status\nrm x",
            "git log > x",
            "git commit -m 'x'",
            "git a\\ b",
            "",
            "cd x",
            "git *",
            "git ~",
            "git {a}",
        ] {
            assert!(!allowed("Bash(git:*)", "bash", bad), "{bad}");
        }
        assert!(
            allowed("Bash(make test)", "bash", "make test")
                && !allowed("Bash(make test)", "bash", "make all")
        );
        assert!(!allowed("Bash(git:*)", "read", "git status"));
    }

    #[test]
    fn every_program_that_a_command_line_starts_must_be_allowed() {
        // Reads lists of commands between `;`, and quotes around single words; gives up at `$`.
        let reader: CommandReader = std::sync::Arc::new(|text: &str| {
            let words = |part: &str| part.split_whitespace().map(|word| word.replace('\'', "")).collect();
            (!text.contains('$')).then(|| text.split(';').map(words).collect())
        });
        let allowed = |rules: &[&str], command: &str| {
            let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
            let call =
                ToolCall { id: "1".into(), name: "bash".into(), arguments: json!({"command": command}) };
            allow_read(&rules, &call, Some(&reader))
        };
        for good in ["git", "git commit -m 'x'", "git status; git log", "make test; git push"] {
            assert!(allowed(&["Bash(git:*)", "Bash(make test)"], good), "{good}");
        }
        for bad in ["gitx", "git status; rm x", "make all", "make test now", "git $X", "", "git log; > x"] {
            assert!(!allowed(&["Bash(git:*)", "Bash(make test)"], bad), "{bad}");
        }
        assert!(allowed(&["Bash(git add:*)"], "git add x") && !allowed(&["Bash(git add:*)"], "git rm x"));
        assert!(allowed(&["bash"], "rm $X") && !allowed(&["Read"], "git"));
    }
}
