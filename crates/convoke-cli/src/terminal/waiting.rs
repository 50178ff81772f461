//! A sign of life while something takes long, on standard error.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the sign moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows that something is under way. Dropping it takes the sign away.
#[derive(Default)]
pub(crate) struct Waiting(Option<ProgressBar>);

impl Waiting {
    /// Says what is waited for and for how long it has been, if somebody watches on a terminal that can draw.
    pub(crate) fn begin(what: &str) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if !io::stderr().is_terminal() || is_dumb {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(super::text::one_line(what));
        bar.enable_steady_tick(TICK);
        Self(Some(bar))
    }

    /// Takes the sign away.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.end();
    }
}
