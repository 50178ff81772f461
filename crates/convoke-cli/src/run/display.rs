//! Displays a run under way on standard error.

use std::io::{self, IsTerminal, Write};

use convoke_core::{Event, Timestamp};
use convoke_history::lines::{Canvas, LogLines, LogOptions, draw};
use convoke_history::progress::RunProgress;
use convoke_host::models::reading;
use convoke_host::stored::trigger_words;
use convoke_telemetry::logging;

use crate::arguments::Color;
use crate::terminal::{Palette, Rich, Screen};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Quiet,
    Usual,
    Verbose,
}

/// Shows a run under way.
pub(crate) struct Display {
    mode: DisplayMode,
    palette: Palette,
    says: bool,
    interrupt: &'static str,
}

enum DisplayMode {
    Nothing,
    Lines(LogLines),
    Picture(Screen),
}

impl Display {
    /// A picture on a terminal that can show one, lines elsewhere. The lines of a log go with lines. `interrupt` says what Ctrl-C does.
    pub(crate) fn new(verbosity: Verbosity, says: bool, color: Color, interrupt: &'static str) -> Self {
        let palette = Palette::new(color, &io::stderr());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let wants_lines = verbosity == Verbosity::Verbose
            || logging::is_on()
            || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
        let mode = match verbosity {
            Verbosity::Quiet => DisplayMode::Nothing,
            _ if !io::stderr().is_terminal() || is_dumb || wants_lines => {
                let verbose = verbosity == Verbosity::Verbose;
                DisplayMode::Lines(LogLines::new(LogOptions { verbose, says, reason: trigger_words }))
            }
            _ => DisplayMode::Picture(Screen::new(palette)),
        };
        Self { mode, palette, says, interrupt }
    }

    /// The colours of what is shown.
    pub(crate) fn palette(&self) -> Palette {
        self.palette
    }

    /// Whether it is to be drawn again and again.
    pub(crate) fn is_picture(&self) -> bool {
        matches!(self.mode, DisplayMode::Picture(_))
    }

    /// Whether nothing is shown.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.mode, DisplayMode::Nothing)
    }

    /// Something has happened, and is in the tree already.
    pub(crate) fn heard(&mut self, progress: &RunProgress, event: &Event) {
        if let DisplayMode::Lines(plain) = &mut self.mode {
            for line in plain.lines(progress, event) {
                // If standard error is closed there is nobody who watches.
                let _ = writeln!(io::stderr(), "{}", line.paint(self.palette));
            }
        }
    }

    /// Draws the picture, if there is one.
    pub(crate) fn draw(&mut self, progress: &RunProgress) {
        if let DisplayMode::Picture(screen) = &mut self.mode {
            let (width, height) = Screen::size();
            // The cursor stands in the line below.
            let height = height.saturating_sub(1);
            let (now, says, interrupt) = (Timestamp::now(), self.says, self.interrupt);
            let canvas = Canvas { width, height, now, says, reading: reading(), interrupt };
            screen.draw(&draw(progress, canvas), width);
        }
    }

    /// Makes room for somebody else to write.
    pub(crate) fn step_aside(&mut self) {
        if let DisplayMode::Picture(screen) = &mut self.mode {
            screen.clear(Screen::size().0);
        }
    }

    /// Shows the end of it, and leaves that.
    pub(crate) fn finish(&mut self, progress: &RunProgress) {
        self.draw(progress);
        if let DisplayMode::Picture(screen) = &mut self.mode {
            screen.leave();
        }
    }

    /// Lines for the person who is being asked, and what stands before the line they type.
    pub(crate) fn ask(&self, lines: &[Rich], prompt: &str) {
        let mut error = io::stderr().lock();
        for line in lines {
            let _ = writeln!(error, "{}", line.paint(self.palette));
        }
        let _ = write!(error, "{prompt}");
        let _ = error.flush();
    }
}
