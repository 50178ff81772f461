//! Wrappers: programs that start other programs.
//!
//! Each is reported itself, and so is what it starts. An option that is not known here could take the next word with it:
//! then it is unclear which word is the program, and that is what is said.

use super::expansion::hides_a_substitution;
use super::options::{ENV, WRAPPERS, Wrapper};
use super::parser::DEEPEST;
use super::word::Word;
use super::{ParsedCommandLine, SimpleCommand, UnclearPart, arithmetic, git, possible_commands, read_within};

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "rbash"];

/// Programs that do nothing but start another.
const TRANSPARENT: &[&str] = &[
    "nohup", "setsid", "nice", "ionice", "timeout", "stdbuf", "time", "command", "builtin", "exec", "env",
    "eval", "busybox", "toybox", "xargs", "trap",
];

/// Builtins that change what later words mean.
const CHANGE_MEANINGS: &[&str] =
    &["alias", "unalias", "enable", "hash", "shopt", "coproc", "bind", "complete", "fc", "history"];

/// Builtins that compute what is in their words, quoted or not.
const COMPUTE: &[&str] = &[
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "printf",
    "test",
    "[",
    "read",
    "unset",
    "wait",
    "mapfile",
    "readarray",
    "set",
];

/// Whether a variable decides which programs are started, or what they do.
pub(super) fn steers_programs(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "BASH_ENV",
        "BASH_CMDS",
        "BASH_ALIASES",
        "BASH_LOADABLES_PATH",
        "ENV",
        "HOME",
        "XDG_CONFIG_HOME",
        "PAGER",
        "MANPAGER",
        "LESSOPEN",
        "LESSCLOSE",
        "TAR_OPTIONS",
        "RIPGREP_CONFIG_PATH",
        "GIT_DIR",
        "GIT_COMMON_DIR",
        "GIT_WORK_TREE",
        "GIT_PAGER",
        "GIT_TEMPLATE_DIR",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS4",
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_EXEC_PATH",
        "GIT_PROXY_COMMAND",
        "GIT_ASKPASS",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC",
        "RUSTDOC",
        "SHELL",
        "MAKEFLAGS",
        "MAKEFILES",
        "GNUMAKEFLAGS",
        "GOFLAGS",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "PYTEST_ADDOPTS",
        "PYTEST_PLUGINS",
        "BROWSER",
        "FZF_DEFAULT_COMMAND",
    ];
    const BEGINNINGS: &[&str] = &["LD_", "DYLD_", "GIT_CONFIG", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a command runs what it reads.
pub(super) fn reads_commands(command: &SimpleCommand) -> bool {
    let is_shell = command.program().is_some_and(|program| SHELLS.contains(&base(program)));
    is_shell && matches!(shell_script(command.arguments()), Ok(Script::Input))
}

/// Takes a command, and what it starts, into the reading.
pub(super) fn unwrap(mut command: SimpleCommand, input: Option<&Word>, reading: &mut ParsedCommandLine) {
    let before = reading.commands.len();
    if let Err(unclear) = look(&command, input, reading) {
        reading.unclear.push(unclear);
    }
    let only_starts = |program| TRANSPARENT.contains(&base(program)) || SHELLS.contains(&base(program));
    command.transparent = reading.commands.len() > before && command.program().is_some_and(only_starts);
    reading.commands.push(command);
}

fn look(
    command: &SimpleCommand,
    input: Option<&Word>,
    reading: &mut ParsedCommandLine,
) -> Result<(), UnclearPart> {
    let Some(program) = command.program() else {
        let written = command.words.first().map_or("", Word::written);
        return Err(UnclearPart::because(format!(
            "which program `{written}` is, is only known when it runs"
        )));
    };
    if command.within.len() >= DEEPEST {
        return Err(UnclearPart::because(format!("it is nested more than {DEEPEST} levels deep")));
    }
    let (program, arguments) = (base(program), command.arguments());
    if SHELLS.contains(&program) {
        return shell(command, input, reading);
    }
    if CHANGE_MEANINGS.contains(&program) && !arguments.is_empty() {
        return Err(UnclearPart::because(format!("`{program}` changes what later words mean")));
    }
    if COMPUTE.contains(&program) {
        return computed(program, arguments);
    }
    match program {
        "eval" => {
            let arguments = after_mark(arguments);
            let known: Vec<&str> = arguments.iter().map(Word::known).collect();
            read_within(&known.join(" "), &inside(command, "eval"), reading);
            fixed_text(arguments).map(drop).ok_or_else(|| only_then("`eval`"))
        }
        "trap" => trap(command, reading),
        "source" | "." => sourced(program, arguments),
        "find" => find(command, reading),
        "git" => git::look(command, reading),
        "compgen" => completed(command, reading),
        // These say what a name stands for, and start nothing.
        "command" if arguments.first().is_some_and(|word| matches!(word.known(), "-v" | "-V")) => Ok(()),
        // A program of git's own folder is a subcommand.
        own if own.strip_prefix("git-").is_some_and(|name| !name.is_empty()) => {
            let mut words = vec![Word::plain("git"), Word::plain(&own[4..])];
            words.extend_from_slice(arguments);
            start(command, "git", words, Vec::new(), reading);
            Ok(())
        }
        "env" => environment(command, reading),
        "parallel" | "su" | "runuser" | "script" | "systemd-run" | "nsenter" | "unshare" => {
            Err(UnclearPart::because(format!("what `{program}` starts is not looked into")))
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
            Some(wrapper) => wrapped(wrapper, command, reading),
            None => possible_commands::unclear(&command.words),
        },
    }
}

/// `compgen` runs what is behind `-C`, and expands what is behind `-W`.
fn completed(command: &SimpleCommand, reading: &mut ParsedCommandLine) -> Result<(), UnclearPart> {
    let mut is_clear = true;
    for (at, word) in command.arguments().iter().enumerate() {
        let text = word.known();
        let runs = text.starts_with('-') && text.contains(['C', 'F']);
        if let Some(next) = command.arguments().get(at + 1).filter(|_| runs) {
            read_within(next.known(), &inside(command, "compgen"), reading);
        }
        is_clear &= !runs && !text.contains(['$', '`']) && word.fixed().is_some();
    }
    if is_clear { Ok(()) } else { Err(only_then("`compgen`")) }
}

fn wrapped(
    wrapper: &Wrapper,
    command: &SimpleCommand,
    reading: &mut ParsedCommandLine,
) -> Result<(), UnclearPart> {
    let rest = wrapper.after_options(command.arguments())?;
    let options = &command.arguments()[..command.arguments().len() - rest.len()];
    let Some((operands, rest)) = rest.split_at_checked(wrapper.operands) else { return Ok(()) };
    if operands.iter().any(|word| word.dynamic && !word.quoted) {
        return Err(wrapper.unclear());
    }
    let Some(first) = rest.first() else { return Ok(()) };
    // What is for a shell: of `flock` what is behind `-c`, of `watch` all words, joined.
    let script = match wrapper.name {
        "flock" if matches!(first.fixed(), Some("-c" | "--command")) => Some(&rest[1..]),
        "watch" if !options.iter().any(is_exec) => Some(rest),
        _ => None,
    };
    if let Some(words) = script {
        let text = fixed_text(words).ok_or_else(|| wrapper.unclear())?;
        read_within(&text, &inside(command, wrapper.name), reading);
        return Ok(());
    }
    let mut words = rest.to_vec();
    if wrapper.name == "xargs" {
        // What is read is put in the place of this text, in all words.
        if let Some(place) = replaced_by_xargs(options) {
            for word in words.iter_mut().filter(|word| word.known().contains(place)) {
                *word = Word::unknown(word.written());
            }
        }
        words.push(Word::unknown("…"));
    }
    start(command, wrapper.name, words, Vec::new(), reading);
    Ok(())
}

/// The text that `xargs` puts what it reads in the place of.
fn replaced_by_xargs(options: &[Word]) -> Option<&str> {
    options.iter().enumerate().find_map(|(at, option)| match option.known() {
        "-I" => options.get(at + 1).map(Word::known),
        "--replace" => Some("{}"),
        text => text.strip_prefix("--replace=").or_else(|| text.strip_prefix("-I")),
    })
}

/// Whether an option of `watch` says that no shell is wanted.
fn is_exec(option: &Word) -> bool {
    let text = option.known();
    text == "--exec"
        || text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('x'))
}

fn environment(command: &SimpleCommand, reading: &mut ParsedCommandLine) -> Result<(), UnclearPart> {
    let mut rest = ENV.after_options(command.arguments())?;
    if rest.first().and_then(Word::fixed) == Some("-") {
        rest = ENV.after_options(&rest[1..])?;
    }
    let mut variables = Vec::new();
    while let Some((word, after)) = rest.split_first() {
        // Quotes do not matter to a program, only to the shell.
        let Some((name, _)) = word.known().split_once('=') else { break };
        if steers_programs(name) || name.is_empty() {
            return Err(sets(name));
        }
        variables.push(name.to_owned());
        rest = after;
    }
    if !rest.is_empty() {
        start(command, "env", rest.to_vec(), variables, reading);
    }
    Ok(())
}

fn trap(command: &SimpleCommand, reading: &mut ParsedCommandLine) -> Result<(), UnclearPart> {
    let is_marked = command.arguments().first().and_then(Word::fixed) == Some("--");
    let Some(first) = command.arguments().get(usize::from(is_marked)) else { return Ok(()) };
    let text = first.fixed().ok_or_else(|| only_then("`trap`"))?;
    // `-` puts back what was; what else begins like that is an option, unless options have ended.
    let is_option = text == "-" || (text.starts_with('-') && !is_marked);
    if !text.is_empty() && !is_option {
        read_within(text, &inside(command, "trap"), reading);
    }
    Ok(())
}

fn find(command: &SimpleCommand, reading: &mut ParsedCommandLine) -> Result<(), UnclearPart> {
    let mut rest = command.arguments();
    if rest.iter().any(|word| word.dynamic && !word.quoted) {
        return Err(UnclearPart::because(
            "a word of `find` that is only known when it runs could be `-exec`",
        ));
    }
    if rest.iter().any(could_become_exec) {
        return Err(UnclearPart::because("a pattern among the words of `find` could become `-exec`"));
    }
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if !matches!(word.fixed(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            continue;
        }
        let end = after.iter().position(|word| matches!(word.fixed(), Some(";" | "+")));
        let Some(end) = end else {
            return Err(UnclearPart::because("what `find` starts does not end"));
        };
        let replaced = |word: &Word| match word.known().contains("{}") {
            true => Word::unknown(word.written()),
            false => word.clone(),
        };
        let words: Vec<Word> = after[..end].iter().map(replaced).collect();
        if !words.is_empty() {
            start(command, "find -exec", words, Vec::new(), reading);
        }
        rest = &after[end..];
    }
    Ok(())
}

/// Whether the shell could put one of find's own words in the place of a pattern, if there is a file of that name.
fn could_become_exec(word: &Word) -> bool {
    let glob = || globset::Glob::new(word.known()).map(|glob| glob.compile_matcher());
    // A whole folder's names are no way to hide one.
    word.pattern
        && word.known() != "*"
        && glob()
            .map_or(true, |glob| ["-exec", "-execdir", "-ok", "-okdir"].iter().any(|own| glob.is_match(own)))
}

/// What a shell runs.
enum Script<'w> {
    /// This text.
    Text(&'w Word),
    /// A file.
    File,
    /// What it reads.
    Input,
}

fn shell_script(arguments: &[Word]) -> Result<Script<'_>, UnclearPart> {
    let mut given = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.fixed() {
            Some("--" | "-") => {
                let next = words.next();
                return Ok(
                    next.map_or(Script::Input, |word| if given { Script::Text(word) } else { Script::File })
                );
            }
            Some("--rcfile" | "--init-file") => drop(words.next()),
            Some(long) if long.starts_with("--") => {}
            Some(short) if short.starts_with(['-', '+']) => {
                given |= short.starts_with('-') && short.contains('c');
                if short.contains('s') && !given {
                    return Ok(Script::Input);
                }
                if short.ends_with(['o', 'O']) {
                    words.next();
                }
            }
            _ if given => return Ok(Script::Text(word)),
            None if word.known().is_empty() || word.known().starts_with(['-', '+']) => {
                return Err(only_then("a shell"));
            }
            Some(file) if is_handed_over(file) => return Ok(Script::Input),
            _ => return Ok(Script::File),
        }
    }
    if given { Err(only_then("a shell")) } else { Ok(Script::Input) }
}

fn shell(
    command: &SimpleCommand,
    input: Option<&Word>,
    reading: &mut ParsedCommandLine,
) -> Result<(), UnclearPart> {
    let options = || command.arguments().iter().map(Word::known);
    let has_file = options().any(|text| text.starts_with("--rcfile") || text.starts_with("--init-file"));
    let is_interactive = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('i');
    if has_file && options().any(is_interactive) {
        return Err(UnclearPart::because("a shell runs a file of commands before all others"));
    }
    let text = match shell_script(command.arguments())? {
        Script::File => return Ok(()),
        Script::Text(word) => word,
        Script::Input => input
            .ok_or_else(|| UnclearPart::because("a shell runs what it reads, which is only known then"))?,
    };
    // What is known of it is read also if there is more to come: it can only make the decision stricter.
    read_within(text.known(), &inside(command, "sh -c"), reading);
    for word in command.arguments().iter().skip_while(|word| !std::ptr::eq(*word, text)).skip(1) {
        reading.values.give(arithmetic::PARAMETERS, word);
    }
    text.fixed().map(drop).ok_or_else(|| only_then("a shell"))
}

/// The words after a `--` that ends options, if there is one.
fn after_mark(words: &[Word]) -> &[Word] {
    match words.split_first() {
        Some((first, rest)) if first.fixed() == Some("--") => rest,
        _ => words,
    }
}

/// Whether this is not a file but what the program was given to read.
fn is_handed_over(file: &str) -> bool {
    file == "/dev/stdin" || file.starts_with("/dev/fd/") || file.starts_with("/proc/")
}

/// A file whose commands are run: that is known only then if it is none.
fn sourced(program: &str, arguments: &[Word]) -> Result<(), UnclearPart> {
    let handed_over = after_mark(arguments)
        .first()
        .is_some_and(|word| word.written().contains("<(") || word.fixed().is_some_and(is_handed_over));
    if handed_over { Err(only_then(&format!("`{program}`"))) } else { Ok(()) }
}

fn computed(program: &str, arguments: &[Word]) -> Result<(), UnclearPart> {
    // These only compute the names of variables: what is in their brackets.
    let only_names = matches!(program, "test" | "[" | "printf");
    let runs =
        |word: &Word| hides_a_substitution(word.known()) && (!only_names || word.known().contains('['));
    if arguments.iter().any(runs) {
        return Err(UnclearPart::because(format!("`{program}` may run what is in its words")));
    }
    let can_set = !matches!(program, "test" | "[" | "let" | "wait" | "set");
    if let Some(name) = arguments.iter().filter(|_| can_set).find_map(named_by) {
        return Err(sets(name));
    }
    let has_letter = |letter: char| {
        let options = arguments.iter().map(Word::known).filter(|text| text.starts_with('-'));
        options.into_iter().any(|text| text.contains(letter))
    };
    if matches!(program, "declare" | "typeset" | "local") && has_letter('n') {
        return Err(UnclearPart::because("a variable becomes another name of one that is not looked for"));
    }
    if matches!(program, "mapfile" | "readarray") && has_letter('C') {
        return Err(UnclearPart::because(format!("what `{program} -C` starts is not looked into")));
    }
    Ok(())
}

/// The variable among those that steer programs that a word names: by itself, or behind the letters of an option (`-vPATH`).
fn named_by(word: &Word) -> Option<&str> {
    let name = word.known().split(['=', '+']).next().unwrap_or_default();
    let from = |at: usize| name.get(at..).filter(|name| steers_programs(name));
    match name.strip_prefix('-') {
        Some(_) => (2..name.len()).find_map(from),
        None => from(0),
    }
}

pub(super) fn start(
    outer: &SimpleCommand,
    name: &'static str,
    words: Vec<Word>,
    variables: Vec<String>,
    reading: &mut ParsedCommandLine,
) {
    let command = SimpleCommand { words, variables, within: inside(outer, name), transparent: false };
    unwrap(command, None, reading);
}

pub(super) fn inside(command: &SimpleCommand, name: &'static str) -> Vec<&'static str> {
    let mut within = command.within.clone();
    within.push(name);
    within
}

fn fixed_text(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<_>> = words.iter().map(Word::fixed).collect();
    texts.map(|texts| texts.join(" "))
}

fn only_then(what: &str) -> UnclearPart {
    UnclearPart::because(format!("what {what} runs is only known when it runs"))
}

pub(super) fn sets(name: &str) -> UnclearPart {
    UnclearPart::because(format!("it sets {name}, which decides what programs do"))
}

/// A program without its folder.
pub(in crate::policy) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
