//! Standard output and standard error. Nothing else in this program writes to them but a [`Screen`](super::Screen),
//! and whoever has a person answer.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use convoke_history::lines::Paint;
use convoke_host::view::View;
use convoke_host::{FailureReport, FileProblems};
use serde::Serialize;
use serde_json::json;

use super::{Palette, Rich, Table, Tone, text};
use crate::arguments::Color;
use crate::failure::{Failure, error_json};

/// Narrower than this, lines are broken by the terminal rather than made unreadable by us.
const NARROWEST: usize = 40;

/// Where results and notes go.
pub(crate) struct Output {
    results: BufWriter<Stdout>,
    palette: Palette,
    notes: Palette,
    width: Option<usize>,
    /// As what results are wanted, if not as text.
    documents: Option<Documents>,
    /// Whether the document that was asked for is written.
    has_document: bool,
    /// Whether results go to a terminal.
    is_terminal: bool,
}

/// How JSON is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Documents {
    /// One document.
    One,
    /// A line for each of several, of which the last is the result.
    Lines,
}

impl Output {
    /// `documents` is as what results are wanted, if not as text: then errors are, too.
    pub(crate) fn new(color: Color, documents: Option<Documents>) -> Self {
        Self {
            results: BufWriter::new(io::stdout()),
            palette: Palette::new(color, &io::stdout()),
            notes: Palette::new(color, &io::stderr()),
            width: width(),
            documents,
            has_document: false,
            is_terminal: io::stdout().is_terminal(),
        }
    }

    /// How wide lines may be. `None` if nobody cares: the output is a file or another program.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// A line of the result.
    pub(crate) fn line(&mut self, line: &Rich) -> Result<(), Failure> {
        self.plain(&line.paint(self.palette))
    }

    /// Lines of the result.
    pub(crate) fn lines(&mut self, lines: &[Rich]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// A table that is the result.
    pub(crate) fn table(&mut self, table: &Table) -> Result<(), Failure> {
        self.lines(&table.lines(self.width))
    }

    /// A line of the result that must not be changed in any way.
    pub(crate) fn plain(&mut self, line: &str) -> Result<(), Failure> {
        Ok(writeln!(self.results, "{}", line.trim_end())?)
    }

    /// A piece of a line that is still being written, to be seen at once.
    pub(crate) fn piece(&mut self, piece: &str) -> Result<(), Failure> {
        write!(self.results, "{}", text::clean(piece))?;
        self.flush()
    }

    /// A faint line on standard error.
    pub(crate) fn aside(&mut self, line: &str) {
        let _ = self.results.flush();
        let _ = writeln!(io::stderr(), "{}", self.notes.paint(Tone::Faint, &text::clean(line)));
    }

    /// A text that is the result, with a line break at its end: as it is, but for what a terminal would take for a command
    /// if it goes to one.
    pub(crate) fn verbatim(&mut self, text: &str) -> Result<(), Failure> {
        self.block(text)?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(self.results.write_all(end.as_bytes())?)
    }

    /// Lines of the result, as they are, but for what a terminal would take for a command if they go to one.
    pub(crate) fn block(&mut self, text: &str) -> Result<(), Failure> {
        let text = self.safe(text, text::visible);
        Ok(self.results.write_all(text.as_bytes())?)
    }

    /// What is made of a text where it goes to a terminal. Another program or a file gets every byte of it.
    fn safe<'t>(&self, text: &'t str, made: impl Fn(&str) -> String) -> Cow<'t, str> {
        if self.is_terminal { Cow::Owned(made(text)) } else { Cow::Borrowed(text) }
    }

    /// Whether notes have colours.
    pub(crate) fn colors_notes(&self) -> bool {
        self.notes.is_colored()
    }

    /// A text that explains something, on standard error, as it is: whoever made it has taken care of what a terminal
    /// would misunderstand.
    pub(crate) fn explanation(&mut self, text: &str) {
        let _ = self.results.flush();
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// A line of such a text.
    pub(crate) fn explained(&mut self, line: &Rich) {
        let line = line.paint(self.notes);
        self.explanation(line.trim_end());
    }

    /// What is wrong with a file, with its places, on standard error.
    pub(crate) fn problems(&mut self, problems: &FileProblems) {
        let rendered = problems.render(self.colors_notes(), self.width.unwrap_or(100));
        if !rendered.is_empty() {
            self.explanation(&rendered);
        }
    }

    /// A result: its document if JSON is wanted, and otherwise its lines and notes.
    pub(crate) fn show(&mut self, view: &(impl View + ?Sized)) -> Result<(), Failure> {
        if self.documents.is_some() {
            return self.json(&view.document());
        }
        self.lines(&view.lines(self.width))?;
        self.notes(view.notes());
        Ok(())
    }

    /// A result: this document if JSON is wanted, and otherwise this line.
    pub(crate) fn give(&mut self, document: &impl Serialize, line: impl Into<Rich>) -> Result<(), Failure> {
        match self.documents {
            Some(_) => self.json(&json!(document)),
            None => self.line(&line.into()),
        }
    }

    /// A whole result as JSON: in one line where lines are wanted.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.has_document = true;
        if matches!(self.documents, Some(Documents::Lines)) {
            return self.json_line(value);
        }
        let json = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        let json = self.safe(&json, text::visible_json);
        Ok(writeln!(self.results, "{json}")?)
    }

    /// One of several results as a line of JSON.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string(value).map_err(io::Error::from)?;
        let json = self.safe(&json, text::visible_json);
        Ok(writeln!(self.results, "{json}")?)
    }

    /// The last of several lines, which is the result.
    pub(crate) fn last_json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.has_document = true;
        self.json_line(value)
    }

    /// Something the user may want to know, on standard error.
    pub(crate) fn note(&mut self, note: &str) {
        // On a terminal both streams end up in the same place: keep their order. If results cannot be written, the next
        // one will say so.
        let _ = self.results.flush();
        self.labelled("note", Tone::Accent, note);
    }

    /// Several such things.
    pub(crate) fn notes(&mut self, notes: impl IntoIterator<Item: AsRef<str>>) {
        notes.into_iter().for_each(|note| self.note(note.as_ref()));
    }

    /// An error with its hints, on standard error; where JSON was asked for and is not given yet, also as the result.
    pub(crate) fn report(&mut self, report: &FailureReport) {
        // What was printed before the failure is still a result. If it cannot be written there is nobody to tell.
        let _ = match self.documents.filter(|_| !self.has_document) {
            Some(Documents::One) => self.json(&json!({"error": error_json(Some(report))})),
            Some(Documents::Lines) => {
                self.last_json_line(&json!({"error": error_json(Some(report)), "type": "error"}))
            }
            None => Ok(()),
        };
        let _ = self.flush();
        if let Some(problems) = &report.problems {
            self.problems(problems);
        }
        self.labelled("error", Tone::Bad, &report.message);
        for detail in &report.details {
            for line in text::wrap_sentence(&format!("  {}", text::clean(detail)), note_width(), 4) {
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
        for hint in &report.hints {
            self.labelled("hint", Tone::Accent, hint);
        }
    }

    fn labelled(&self, label: &str, tone: Tone, message: &str) {
        // If standard error is closed there is nobody left to tell.
        let whole = format!("{label}: {}", text::clean(message));
        for (index, line) in text::wrap_sentence(&whole, note_width(), 2).iter().enumerate() {
            let line = match line.strip_prefix(label).filter(|_| index == 0) {
                Some(rest) => format!("{}{rest}", self.notes.paint(tone, label)),
                None => line.clone(),
            };
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Hands over what is still buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.results.flush()?)
    }
}

/// How wide lines on standard error may be: as wide as the terminal, or as they like.
fn note_width() -> Option<usize> {
    let (_, columns) = console::Term::stderr().size_checked()?;
    io::stderr().is_terminal().then_some(usize::from(columns).max(NARROWEST))
}

fn width() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || {
        let (_, columns) = console::Term::stdout().size_checked()?;
        io::stdout().is_terminal().then_some(usize::from(columns))
    };
    stated.or_else(measured).filter(|columns| *columns > 0).map(|columns| columns.max(NARROWEST))
}
