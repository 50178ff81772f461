//! Programs that git starts: aliases, settings that are commands, and subcommands that take one.

use super::word::Word;
use super::{ParsedCommandLine, SimpleCommand, UnclearPart, read_within, wrapper};

/// Settings whose values git executes, or finds what it executes by. `*` is a name in between.
const EXECUTED: &[&str] = &[
    "alias.*",
    "pager.*",
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.cmd",
    "merge.*.driver",
    "mergetool.*.cmd",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "interactive.difffilter",
    "credential.helper",
    "credential.*.helper",
    "gpg.program",
    "gpg.*.program",
    "trailer.*.command",
    "trailer.*.cmd",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "uploadpack.packobjectshook",
    "browser.*.cmd",
    "man.*.cmd",
    "web.browser",
    "submodule.*.update",
];

/// What comes before a command: the subcommand it belongs to, and the word before it.
const STARTING: &[(&str, &str)] = &[
    ("rebase", "-x"),
    ("rebase", "--exec"),
    ("bisect", "run"),
    ("submodule", "foreach"),
    ("difftool", "-x"),
    ("difftool", "--extcmd"),
    ("grep", "-O"),
    ("grep", "--open-files-in-pager"),
    ("filter-branch", "--tree-filter"),
    ("filter-branch", "--index-filter"),
    ("filter-branch", "--msg-filter"),
    ("filter-branch", "--env-filter"),
    ("filter-branch", "--parent-filter"),
    ("filter-branch", "--commit-filter"),
    ("filter-branch", "--tag-name-filter"),
    ("filter-branch", "--setup"),
    ("fetch", "--upload-pack"),
    ("clone", "--upload-pack"),
    ("clone", "-u"),
    ("ls-remote", "--upload-pack"),
    ("push", "--receive-pack"),
    ("push", "--exec"),
    ("ls-remote", "--exec"),
    ("archive", "--exec"),
];

/// Looks for what a git command starts.
pub(super) fn look(command: &SimpleCommand, reading: &mut ParsedCommandLine) -> Result<(), UnclearPart> {
    let arguments = command.arguments();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.known();
        let next = arguments.get(at + 1);
        // `--config-env=key=VARIABLE`: what is executed is in a variable.
        if let Some(rest) = text.strip_prefix("--config-env") {
            let named = rest.strip_prefix('=').or(next.map(Word::known)).unwrap_or_default();
            let key = named.split('=').next().unwrap_or_default();
            if is_executed(key) || word.dynamic {
                return Err(UnclearPart::because(format!("what git runs for `{key}` is in a variable")));
            }
        }
        // `-c key=value`, and `git config key value`.
        let setting = text.split_once('=').map(|(key, value)| (key, Some(value)));
        let (key, value) = setting.unwrap_or((text, next.map(Word::known)));
        if is_executed(key) {
            let whole = if setting.is_some() { Some(word) } else { next };
            match (value.map(|value| (value, value.strip_prefix('!'))), alias(key)) {
                (Some((value, None)), Some(name)) => aliased(command, at, name, value, reading),
                (Some((value, script)), _) => {
                    read_within(script.unwrap_or(value), &wrapper::inside(command, "git"), reading);
                }
                (None, _) => {}
            }
            if whole.is_some_and(|word| word.fixed().is_none()) {
                return Err(UnclearPart::because(format!(
                    "what git runs for `{key}` is only known when it runs"
                )));
            }
        }
    }
    let is = |name: &str| arguments.iter().any(|word| word.known() == name);
    for (subcommand, before) in STARTING.iter().filter(|(subcommand, _)| is(subcommand)) {
        for (at, word) in arguments.iter().enumerate() {
            let (name, value) = match word.known().split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.known(), None),
            };
            // Long options can be cut short, and what letters take be joined to them.
            let is_it = name == *before
                || (name.len() > 3
                    && before.starts_with("--")
                    && name.starts_with("--")
                    && before.starts_with(name));
            let is_letter = before.len() == 2 && before.starts_with('-');
            let joined = word.known().strip_prefix(before).filter(|rest| is_letter && !rest.is_empty());
            let words = match joined.or(value.filter(|_| is_it)) {
                Some(script) => vec![Word::plain(script.trim_start_matches('='))],
                None if is_it => arguments[at + 1..]
                    .iter()
                    .skip_while(|word| word.known().starts_with('-'))
                    .cloned()
                    .collect(),
                None => continue,
            };
            started(command, subcommand, &words, reading)?;
        }
    }
    Ok(())
}

/// The name that a setting gives to a command of git's.
fn alias(key: &str) -> Option<&str> {
    key.get(..6).filter(|section| section.eq_ignore_ascii_case("alias."))?;
    key.get(6..)
}

/// An alias that stands for words of git's own command line. Where it is what the command does, the words behind it go on there.
fn aliased(
    command: &SimpleCommand,
    setting: usize,
    name: &str,
    value: &str,
    reading: &mut ParsedCommandLine,
) {
    let text = format!("git {value}");
    let mut own = ParsedCommandLine::default();
    read_within(&text, &[], &mut own);
    let used = subcommand(command.arguments()).filter(|at| {
        let is_it = command.arguments()[*at].known().eq_ignore_ascii_case(name);
        // Of several of one name the last one counts.
        let between = command.arguments().get(setting + 1..*at).unwrap_or_default();
        let is_again =
            |word: &Word| alias(word.known()).is_some_and(|rest| rest.starts_with(&format!("{name}=")));
        is_it && *at > setting && !between.iter().any(is_again)
    });
    match (used, own.commands.pop()) {
        (Some(at), Some(SimpleCommand { mut words, .. }))
            if own.commands.is_empty() && own.unclear.is_empty() =>
        {
            words.extend_from_slice(&command.arguments()[at + 1..]);
            wrapper::start(command, "git", words, Vec::new(), reading);
        }
        _ => read_within(&text, &wrapper::inside(command, "git"), reading),
    }
}

/// Where the subcommand stands: the first word that is no option, nor the value of one.
fn subcommand(arguments: &[Word]) -> Option<usize> {
    const WITH_VALUE: &[&str] = &[
        "-c",
        "-C",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--config-env",
        "--super-prefix",
        "--attr-source",
    ];
    let is_value = |at: usize| at > 0 && WITH_VALUE.contains(&arguments[at - 1].known());
    (0..arguments.len()).find(|at| !arguments[*at].known().starts_with('-') && !is_value(*at))
}

/// Words that git has a shell run, joined, or the first of them alone: that the rest may be git's own makes a reading only
/// longer.
fn started(
    command: &SimpleCommand,
    subcommand: &str,
    words: &[Word],
    reading: &mut ParsedCommandLine,
) -> Result<(), UnclearPart> {
    let Some(first) = words.first() else { return Ok(()) };
    if first.fixed().is_none() {
        return Err(UnclearPart::because(format!(
            "what `git {subcommand}` starts is only known when it runs"
        )));
    }
    let known: Vec<&str> = words.iter().map(Word::known).collect();
    let text = if first.known().contains(' ') { first.known().to_owned() } else { known.join(" ") };
    read_within(&text, &wrapper::inside(command, "git"), reading);
    Ok(())
}

fn is_executed(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    EXECUTED.iter().any(|own| match own.split_once('*') {
        Some((before, after)) => {
            key.len() > before.len() + after.len() && key.starts_with(before) && key.ends_with(after)
        }
        None => key == *own,
    })
}
