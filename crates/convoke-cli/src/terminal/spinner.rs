//! A spinner on standard error while something takes long.

use convoke_history::human;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Palette, Rich, Screen};
use crate::arguments::Color;

/// How often the sign moves.
const TICK: Duration = Duration::from_millis(120);
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Shows that something is under way. Dropping it takes the sign away.
#[derive(Default)]
pub(crate) struct Spinner(Option<Sign>);

/// The thread that draws, and what it is told to say. It ends when nobody can tell it anything any more.
struct Sign {
    texts: Sender<String>,
    thread: JoinHandle<()>,
}

impl Spinner {
    /// Says what is waited for and for how long it has been, if somebody watches on a terminal that can draw.
    pub(crate) fn begin(what: &str) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if !io::stderr().is_terminal() || is_dumb {
            return Self(None);
        }
        let what = super::text::one_line(what);
        let (texts, told) = channel();
        let thread = std::thread::Builder::new().name("convoke-waiting".to_owned());
        let thread = thread.spawn(move || draw(what, &told));
        // Without a thread there is no sign; what is waited for comes all the same.
        Self(thread.ok().map(|thread| Sign { texts, thread }))
    }

    /// Says something else from now on.
    pub(crate) fn say(&self, what: String) {
        if let Some(sign) = &self.0 {
            // The thread ends only after this.
            let _ = sign.texts.send(what);
        }
    }

    /// Takes the sign away.
    pub(crate) fn end(&mut self) {
        if let Some(Sign { texts, thread }) = self.0.take() {
            drop(texts);
            let _ = thread.join();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.end();
    }
}

fn draw(mut what: String, told: &Receiver<String>) {
    let begun = Instant::now();
    let mut screen = Screen::new(Palette::new(Color::Never, &io::stderr()));
    for spinner in SPINNER.into_iter().cycle() {
        let (width, _) = Screen::size();
        screen.draw(&[Rich::plain(line(spinner, &what, begun.elapsed())).cut(width)], width);
        let next = Instant::now() + TICK;
        loop {
            match told.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(text) => what = text,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return screen.clear(Screen::size().0),
            }
        }
    }
}

fn line(spinner: char, what: &str, elapsed: Duration) -> String {
    let elapsed = match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => human::duration(elapsed),
    };
    format!("{spinner} {what} {elapsed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_and_for_how_long() {
        assert_eq!(line('⠋', "loading smollm2", Duration::from_millis(3_900)), "⠋ loading smollm2 3 s");
        assert_eq!(line('⠙', "x", Duration::from_secs(65)), "⠙ x 1 min 05 s");
    }
}
