//! Arithmetic evaluation: values that the shell computes as numbers, and where they come from.
//!
//! Bash runs what it computes: `x='a[$(evil)]'; echo $((x))` starts `evil`, and so do `[[ $x -eq 1 ]]`, `${v:$x}` and `${!x}`. A
//! text in the command line that could do that is found where it is assigned. What comes from elsewhere, a file or the output
//! of a program, nobody can read beforehand: computing it is unclear. Numbers, and what programs count, are not asked about.

use std::collections::BTreeSet;

use super::expansion::hides_a_substitution;
use super::word::Word;
use super::{ParsedCommandLine, SimpleCommand, UnclearPart, base};

/// All parameters of functions and scripts, as one: which is which depends on `shift`.
pub(super) const PARAMETERS: &str = "@";

/// Programs whose output is numbers, whatever they are given.
const COUNTING: &[&str] =
    &["wc", "nproc", "date", "seq", "expr", "stat", "bc", "id", "tput", "pgrep", "cksum"];

/// The known values of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VariableValues {
    /// Variables that are computed.
    computed: BTreeSet<String>,
    /// Variables and the ones that their values are made of.
    made_of: Vec<(String, String)>,
    /// Variables with text that nobody knows beforehand.
    foreign: BTreeSet<String>,
    /// Functions that are defined.
    functions: BTreeSet<String>,
}

impl VariableValues {
    /// These are computed: all names in a text.
    pub(super) fn compute(&mut self, text: &str) {
        self.computed.extend(names_in(text));
    }

    /// A variable gets a word as its value.
    pub(super) fn give(&mut self, name: &str, word: &Word) {
        self.made_of.extend(word.names.iter().map(|from| (name.to_owned(), from.clone())));
        if word.output || word.pattern || hides_a_substitution(word.known()) {
            self.give_foreign(name);
        }
    }

    /// A variable gets what is read from somewhere.
    pub(super) fn give_foreign(&mut self, name: &str) {
        self.foreign.insert(name.to_owned());
    }

    /// A function has this name.
    pub(super) fn define(&mut self, name: &str) {
        self.functions.insert(name.to_owned());
    }

    /// What builtins do to variables.
    pub(super) fn note(&mut self, command: &SimpleCommand) {
        let arguments = command.arguments();
        let operands = || arguments.iter().filter(|word| !word.known().starts_with('-'));
        let option = |letter| {
            arguments.iter().any(|word| word.known().starts_with('-') && word.known().contains(letter))
        };
        match command.program().unwrap_or_default() {
            "local" | "declare" | "typeset" | "export" | "readonly" => {
                for word in operands() {
                    if let Some(name) = word.assigned() {
                        self.give(name, word);
                        if option('i') {
                            self.compute(name);
                        }
                    }
                }
            }
            "let" => operands().for_each(|word| self.compute(&word.source)),
            "read" | "mapfile" | "readarray" => operands().for_each(|word| self.give_foreign(word.known())),
            "printf" if option('v') => {
                if let Some((name, values)) = arguments.get(1..).and_then(<[Word]>::split_first) {
                    values.iter().for_each(|word| self.give(name.known(), word));
                }
            }
            "set" => arguments.iter().for_each(|word| self.give(PARAMETERS, word)),
            _ => {}
        }
    }

    /// What is computed although it comes from elsewhere.
    fn unclear(&mut self, commands: &[SimpleCommand]) -> Option<UnclearPart> {
        for command in commands {
            if command.program().is_some_and(|name| self.functions.contains(name)) {
                command.arguments().iter().for_each(|word| self.give(PARAMETERS, word));
            }
        }
        loop {
            let known = self.foreign.len();
            let reached = self
                .made_of
                .iter()
                .filter(|(_, from)| self.foreign.contains(from))
                .map(|(name, _)| name.clone());
            let reached: Vec<String> = reached.collect();
            self.foreign.extend(reached);
            if self.foreign.len() == known {
                break;
            }
        }
        let name = self.computed.iter().find(|name| self.foreign.contains(*name))?;
        let what = if name == PARAMETERS { "a parameter".to_owned() } else { format!("`{name}`") };
        Some(UnclearPart::because(format!(
            "{what} is computed, and the shell runs a `$(…)` in its value, which comes from elsewhere"
        )))
    }
}

/// Adds to a reading what its variables make unclear.
pub(super) fn conclude(reading: &mut ParsedCommandLine) {
    let mut values = std::mem::take(&mut reading.values);
    reading.unclear.extend(values.unclear(&reading.commands));
}

/// Whether what these commands write is text: the last one decides.
pub(super) fn writes_text(commands: &[SimpleCommand]) -> bool {
    let Some(last) = commands.last() else { return false };
    let arguments = last.arguments();
    if arguments.iter().any(|word| hides_a_substitution(word.known())) {
        return true;
    }
    match last.program().map(base) {
        Some("grep" | "egrep" | "rg") => {
            !arguments.iter().any(|word| matches!(word.known(), "-c" | "--count"))
        }
        Some("echo" | "printf") => arguments.iter().any(|word| word.fixed().is_none()),
        Some("git") => !arguments.iter().any(|word| word.known() == "--count"),
        Some(program) => !COUNTING.contains(&program),
        None => true,
    }
}

/// Direct output of programs in what is computed.
pub(super) fn computes_output() -> UnclearPart {
    UnclearPart::because("the output of a program is computed, and the shell runs a `$(…)` in it")
}

/// Names of variables in a text that is computed, and the parameters as one.
fn names_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let parameters = ["$@", "$*", "${@", "${*"].iter().any(|all| text.contains(all))
        || text.match_indices('$').any(|(at, _)| {
            text[at + 1..]
                .trim_start_matches(['{', '!'])
                .starts_with(|letter: char| letter.is_ascii_digit() && letter != '0')
        });
    text.split(move |letter| !is_part(letter))
        .filter(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_'))
        .chain(parameters.then_some(PARAMETERS))
        .map(str::to_owned)
}
