//! State files of interrupted rebases, picks and merges, which git goes by when it continues.
//!
//! Some of these files say what is executed: the list of what is still to be done, and the strategy, which is the name of a
//! program. Only those that are known come out, and only with content that is known to be harmless.

use super::config::Config;

/// What is only read: names of commits and branches, messages, patches, counters and switches.
const PLAIN: &[&str] = &[
    "abort-safety",
    "allow_rerere_autoupdate",
    "amend",
    "applying",
    "author-script",
    "autostash",
    "cdate_is_adate",
    "current",
    "current-fixups",
    "dirtyindex",
    "drop_redundant_commits",
    "end",
    "final-commit",
    "head",
    "head-name",
    "ignore_date",
    "info",
    "interactive",
    "keep",
    "keep_redundant_commits",
    "last",
    "message",
    "message-fixup",
    "message-squash",
    "messageid",
    "msg",
    "msg-clean",
    "msgnum",
    "next",
    "no-reschedule-failed-exec",
    "no_inbody_headers",
    "onto",
    "orig-head",
    "original-commit",
    "patch",
    "quiet",
    "quoted-cr",
    "rebasing",
    "refs-to-delete",
    "reschedule-failed-exec",
    "rewritten",
    "rewritten-list",
    "rewritten-pending",
    "scissors",
    "sign",
    "signoff",
    "squash-onto",
    "stopped-sha",
    "threeway",
    "update-refs",
    "utf8",
    "verbose",
];

/// The strategies that are part of git: any other name is that of a program.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// What strategies can be told.
const STRATEGY_OPTIONS: &[&str] = &[
    "diff-algorithm",
    "find-renames",
    "histogram",
    "ignore-all-space",
    "ignore-cr-at-eol",
    "ignore-space-at-eol",
    "ignore-space-change",
    "minimal",
    "no-renames",
    "no-renormalize",
    "ours",
    "patience",
    "rename-threshold",
    "renormalize",
    "subtree",
    "theirs",
];

/// What a pick that was interrupted can have been told, but for its strategy. A key to sign with is not among them.
const PICK_OPTIONS: &[&str] = &[
    "allow-empty",
    "allow-empty-message",
    "allow-ff",
    "allow-rerere-auto",
    "default-msg-cleanup",
    "drop-redundant-commits",
    "edit",
    "keep-redundant-commits",
    "mainline",
    "no-commit",
    "record-origin",
    "signoff",
];

/// Whether a file of an interrupted rebase or pick may come out, by its name in its folder and its content.
pub(crate) fn is_harmless_progress(name: &str, content: &[u8]) -> bool {
    let is_patch = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_patch || PLAIN.contains(&name) {
        return true;
    }
    match name {
        "git-rebase-todo" | "git-rebase-todo.backup" | "todo" | "done" => is_harmless_todo(content),
        "strategy" => {
            text(content).is_some_and(|text| STRATEGIES.contains(&text.trim_end_matches(['\n', '\r'])))
        }
        "strategy_opts" => {
            words(content).is_some_and(|mut words| words.all(|word| is_strategy_option(&word)))
        }
        "apply-opt" => words(content).is_some_and(|mut words| words.all(|word| is_apply_option(&word))),
        "opts" => Config::read(content).is_some_and(|config| has_harmless_options(&config)),
        _ => false,
    }
}

fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok()
}

/// The words of a list in the quotes of a shell, none of which has a blank, a quote or a backslash in it.
fn words(content: &[u8]) -> Option<impl Iterator<Item = String>> {
    let text = text(content)?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=%./'\" \n".contains(letter);
    let words = text.split_ascii_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned());
    text.chars().all(is_plain).then_some(words)
}

fn is_strategy_option(word: &str) -> bool {
    let word = word.trim_start_matches('-');
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    STRATEGY_OPTIONS.contains(&name)
}

/// `--unsafe-paths` would have patches change what is outside of the tree.
fn is_apply_option(word: &str) -> bool {
    let is_counted = |option: &str| {
        let number = word.strip_prefix(option).unwrap_or("x");
        number.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_counted("-p")
        || is_counted("-C")
        || word.starts_with("--whitespace=")
        || matches!(word, "--ignore-space-change" | "--ignore-whitespace" | "--reject" | "--3way" | "-3")
}

fn has_harmless_options(config: &Config) -> bool {
    config.settings.iter().all(|setting| {
        let value = setting.value.as_deref().unwrap_or_default();
        setting.section == "options"
            && setting.subsection.is_none()
            && match &*setting.key {
                "strategy" => STRATEGIES.contains(&value),
                "strategy-option" => is_strategy_option(value),
                key => PICK_OPTIONS.contains(&key),
            }
    })
}

/// Whether nothing in the list of an interrupted rebase executes anything.
fn is_harmless_todo(content: &[u8]) -> bool {
    const KNOWN: &[&str] = &[
        "pick",
        "p",
        "reword",
        "r",
        "edit",
        "e",
        "squash",
        "s",
        "fixup",
        "f",
        "drop",
        "d",
        "label",
        "l",
        "reset",
        "t",
        "merge",
        "m",
        "update-ref",
        "u",
        "noop",
        "break",
        "b",
        "revert",
    ];
    let Some(text) = text(content) else { return false };
    text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#')).all(|line| {
        let command = line.split([' ', '\t']).next().unwrap_or_default();
        KNOWN.contains(&command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_executes_is_not_harmless() {
        assert!(is_harmless_todo(b"pick abc one\n# comment\n\nfixup def two\nlabel onto\n"));
        for evil in ["exec x", "x y", "pick a\nexec b", "  exec x", "\texec x", "EXEC x", "unknown x"] {
            assert!(!is_harmless_todo(evil.as_bytes()), "{evil}");
        }
    }

    #[test]
    fn what_names_a_program_or_leads_elsewhere_is_not_harmless() {
        for (name, content) in [
            ("strategy", "ort\n"),
            ("strategy_opts", " '--theirs' '--find-renames=40%'\n"),
            ("strategy_opts", "\"theirs\" \"find-renames=40%\"\n"),
            ("apply-opt", "'-p1' '--whitespace=fix'\n"),
            ("opts", "[options]\n\tno-commit = true\n\tstrategy = ort\n\tstrategy-option = theirs\n"),
            ("opts", ""),
            ("head-name", "refs/heads/main\n"),
            ("0001", "From abc\n"),
        ] {
            assert!(is_harmless_progress(name, content.as_bytes()), "{name}: {content}");
        }
        for (name, content) in [
            ("strategy", "x/evil\n"),
            ("strategy", "../evil"),
            ("strategy_opts", " '--x'\n"),
            ("strategy_opts", "'--theirs' '; evil'\n"),
            ("gpg_sign_opt", "-S"),
            ("apply-opt", "'--unsafe-paths'\n"),
            ("apply-opt", "'--directory=../x'\n"),
            ("opts", "[options]\n\tstrategy = x/evil\n"),
            ("opts", "[options]\n\tgpg-sign = x\n"),
            ("opts", "[include]\n\tpath = x\n"),
            ("anything", "x"),
        ] {
            assert!(!is_harmless_progress(name, content.as_bytes()), "{name}: {content}");
        }
    }
}
