//! What a skill's `allowed-tools` allow.
//!
//! `read` allows a tool by its name; capitals do not matter. `Bash(git:*)` allows commands that begin with the word `git`,
//! `Bash(make test)` only that command; and only if a command is plain words, because nobody can say what a shell makes of
//! anything else.

use convoke_core::ToolCall;

/// Whether one of these lets a call be made.
pub(super) fn allows(allowed: &[String], call: &ToolCall) -> bool {
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
}
