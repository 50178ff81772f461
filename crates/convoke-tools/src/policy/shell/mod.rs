//! The shell parser: which programs a command line would start.
//!
//! A reader of the shell's language, made for one question: what are all the simple commands in this text, wherever they
//! hide (pipelines, lists, subshells, `$(…)`, backticks, here-documents, `sh -c`, `env`, `xargs`, `find -exec`)? It answers
//! with more than bash would do (both branches of an `if`, functions that nobody calls), never knowingly with less: what it
//! does not understand is an [`UnclearPart`], and whoever decides must not take that for permission.
//!
//! It is our own because of what it must never do: take a process down (its depth and the text's length are bounded, where
//! parsers by recursion overflow the stack), guess, or cost more than a few microseconds. See
//! `docs/decisions/0009-a-reader-of-shell-for-the-policy.md`.
//!
//! It is advice, not a wall. `make`, `npm test` or `python x.py` do what their files say, and no reading of the command
//! line tells what that is. The sandbox is the wall.

mod arithmetic;
mod compound;
mod expansion;
mod git;
mod options;
mod parser;
mod possible_commands;
mod redirect;
mod word;
mod wrapper;

pub(super) use possible_commands::possible;
pub use word::Word;
pub(super) use wrapper::base;

use parser::Parser;

/// Longer texts are not read: nobody approves them by reading either.
const LONGEST: usize = 64 * 1024;

/// One program that would be started, or one file that the shell itself would write (`>`) or read (`<`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program and its arguments. There is at least the program.
    pub words: Vec<Word>,
    /// Variables set for it alone, by name.
    pub variables: Vec<String>,
    /// What it was found in, outermost first: `$(…)`, `sh -c`, `xargs`.
    pub within: Vec<&'static str>,
    /// Whether all it does is start another one, which is in the reading too: `env`, `timeout`, `sh -c`.
    pub transparent: bool,
}

impl SimpleCommand {
    /// A program with its arguments, as they are.
    pub(super) fn of(words: &[String]) -> Self {
        let words = words.iter().map(|word| Word::plain(word.clone())).collect();
        Self { words, variables: Vec::new(), within: Vec::new(), transparent: false }
    }

    /// The program, if the text says which.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::fixed)
    }

    /// Returns what comes after the program.
    #[must_use]
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl std::fmt::Display for SimpleCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" ")?;
            }
            formatter.write_str(word.written())?;
        }
        if !self.within.is_empty() {
            write!(formatter, " (in {})", self.within.join(", "))?;
        }
        Ok(())
    }
}

/// A part of a command line that could not be told from the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnclearPart(pub(super) String);

impl UnclearPart {
    fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// A parsed command line: what it would do, as far as its text says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedCommandLine {
    /// The simple commands, in the order they are written.
    pub commands: Vec<SimpleCommand>,
    /// What is only decided when it runs. Nothing may be allowed on the strength of a reading with such a thing in it.
    pub unclear: Vec<UnclearPart>,
    /// Functions that start themselves beside themselves, in a pipeline, in the background or in a subshell: each call
    /// becomes several, until the machine has no more processes.
    pub multiplying: Vec<String>,
    /// What is known of variables while it is read.
    values: arithmetic::VariableValues,
}

/// Reads a command line.
///
/// ```
/// use convoke_tools::policy::shell;
///
/// let reading = shell::read("cd src && make -j4 | tee >(gzip > log.gz); echo $(date)");
/// let programs: Vec<_> = reading.commands.iter().filter_map(|command| command.program()).collect();
/// assert_eq!(programs, ["cd", "make", ">", "gzip", "tee", "date", "echo"]);
/// assert!(reading.unclear.is_empty());
///
/// assert!(!shell::read("$TOOL --version").unclear.is_empty());
/// ```
#[must_use]
pub fn read(text: &str) -> ParsedCommandLine {
    let mut reading = ParsedCommandLine::default();
    if text.len() > LONGEST {
        reading.unclear.push(UnclearPart::because(format!("it is longer than {} KiB", LONGEST / 1024)));
    } else {
        read_within(text, &[], &mut reading);
        arithmetic::conclude(&mut reading);
    }
    if reading.commands.is_empty() && reading.unclear.is_empty() {
        reading.unclear.push(UnclearPart::because("there is no command in it"));
    }
    reading
}

/// Reads a text that was found in another one.
fn read_within(text: &str, within: &[&'static str], reading: &mut ParsedCommandLine) {
    if let Err(unclear) = Parser::new(text, within, reading).whole() {
        reading.unclear.push(unclear);
    }
}
