//! Line input of a person: edited on a terminal, as it comes elsewhere.
//!
//! What was typed is remembered while the program runs, and never written to a file: the run has it already, if it is kept.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};

use rustyline::completion::Completer;
use rustyline::error::{ReadlineError, Signal};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

use crate::terminal::{Typed, UNREADABLE, read_typed};

/// What stands before the line that is to be typed.
const PROMPT: &str = "> ";

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    /// A line that is not empty.
    Line(String),
    /// Ctrl-C. Whatever stood in the line is gone.
    Interrupted { had_text: bool },
    /// Ctrl-D.
    End,
    /// The terminal is not there any more: nobody has said anything.
    Gone,
}

/// Where lines come from.
pub(super) enum LineInput {
    Edited(Box<Editor<LastLine, MemHistory>>),
    Plain,
}

impl LineInput {
    /// Edited if both the keyboard and the screen are a terminal; the editor draws on standard output.
    pub(super) fn open() -> Self {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Self::Plain;
        }
        let config = Config::builder().auto_add_history(true).build();
        let history = MemHistory::with_config(&config);
        match Editor::with_history(config, history) {
            Ok(mut editor) => {
                editor.set_helper(Some(LastLine::default()));
                Self::Edited(Box::new(editor))
            }
            Err(_) => Self::Plain,
        }
    }

    /// Waits for the next line.
    pub(super) fn next(&mut self) -> TypedLine {
        loop {
            let typed = match self {
                Self::Edited(editor) => edited(editor),
                Self::Plain => plain(),
            };
            match typed {
                TypedLine::Line(line) if line.trim().is_empty() => {}
                other => return other,
            }
        }
    }
}

fn edited(editor: &mut Editor<LastLine, MemHistory>) -> TypedLine {
    match editor.readline(PROMPT) {
        Ok(line) => TypedLine::Line(line),
        Err(ReadlineError::Interrupted | ReadlineError::Signal(Signal::Interrupt)) => {
            let had_text = editor.helper().is_some_and(|line| line.has_text.replace(false));
            TypedLine::Interrupted { had_text }
        }
        Err(ReadlineError::Eof) => end(),
        Err(_) => TypedLine::Gone,
    }
}

/// A terminal that was closed ends what is read, as Ctrl-D does, and is none any more.
fn end() -> TypedLine {
    if io::stdin().is_terminal() { TypedLine::End } else { TypedLine::Gone }
}

fn plain() -> TypedLine {
    let _ = write!(io::stderr(), "{PROMPT}");
    let _ = io::stderr().flush();
    match read_typed() {
        Typed::End => {
            // Nobody ended the line that the prompt stands in.
            let _ = writeln!(io::stderr());
            end()
        }
        Typed::Unreadable => {
            let _ = writeln!(io::stderr(), "{UNREADABLE}");
            plain()
        }
        Typed::Gone => TypedLine::Gone,
        Typed::Line(line) => TypedLine::Line(line),
    }
}

/// Remembers whether anything stands in the line, which the editor does not say when it is interrupted.
#[derive(Default)]
pub(super) struct LastLine {
    has_text: Cell<bool>,
}

impl Hinter for LastLine {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.has_text.set(!line.is_empty());
        None
    }
}

impl Completer for LastLine {
    type Candidate = String;
}

impl Highlighter for LastLine {}

impl Validator for LastLine {}

impl Helper for LastLine {}
