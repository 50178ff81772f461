//! A picture at the bottom of a terminal that is drawn again and again in the same place.
//!
//! Each picture is written at once, over the last one: there is never a moment in which the place is empty. While it is
//! shown the cursor is hidden; whatever happens, dropping the screen brings it back.

use std::io::{self, Write};

use super::{Palette, Rich};

const HIDE_CURSOR: &str = "\u{1b}[?25l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";
/// Terminals that know these show what is between them all at once; others ignore them.
const BEGIN_PICTURE: &str = "\u{1b}[?2026h";
const END_PICTURE: &str = "\u{1b}[?2026l";
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// A place at the bottom of the terminal that standard error is.
pub(crate) struct Screen {
    palette: Palette,
    /// The widths of the lines that are there.
    drawn: Vec<usize>,
    is_hiding: bool,
}

impl Screen {
    pub(crate) fn new(palette: Palette) -> Self {
        Self { palette, drawn: Vec::new(), is_hiding: false }
    }

    /// How many columns and lines there are.
    pub(crate) fn size() -> (usize, usize) {
        let (lines, columns) = console::Term::stderr().size();
        (usize::from(columns), usize::from(lines))
    }

    /// Draws a picture where the last one is. Its lines must not be wider than the terminal.
    pub(crate) fn draw(&mut self, picture: &[Rich], width: usize) {
        let mut frame = String::from(BEGIN_PICTURE);
        if !self.is_hiding {
            frame.push_str(HIDE_CURSOR);
            self.is_hiding = true;
        }
        frame.push_str(&self.back(width));
        for line in picture {
            frame.push_str(&line.paint(self.palette));
            frame.push_str(CLEAR_LINE);
            frame.push('\n');
        }
        frame.push_str(CLEAR_BELOW);
        frame.push_str(END_PICTURE);
        self.drawn = picture.iter().map(Rich::width).collect();
        write(&frame);
    }

    /// Takes the picture away, so that others can write.
    pub(crate) fn clear(&mut self, width: usize) {
        if self.drawn.is_empty() && !self.is_hiding {
            return;
        }
        write(&format!("{}{CLEAR_BELOW}{SHOW_CURSOR}", self.back(width)));
        self.drawn.clear();
        self.is_hiding = false;
    }

    /// Leaves the picture where it is.
    pub(crate) fn leave(&mut self) {
        self.drawn.clear();
        if std::mem::take(&mut self.is_hiding) {
            write(SHOW_CURSOR);
        }
    }

    /// To the beginning of the last picture. A terminal that became narrower has broken its lines.
    fn back(&self, width: usize) -> String {
        let rows: usize = self.drawn.iter().map(|line| line.div_ceil(width.max(1)).max(1)).sum();
        if rows > 0 { format!("\r\u{1b}[{rows}A") } else { String::new() }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn write(text: &str) {
    // If standard error is closed there is nobody who watches.
    let mut error = io::stderr().lock();
    let _ = error.write_all(text.as_bytes());
    let _ = error.flush();
}
