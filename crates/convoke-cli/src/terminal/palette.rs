//! The colours that tones have on a terminal.

use std::io::IsTerminal;

use convoke_history::Tone;
use convoke_history::lines::Paint;

use crate::arguments::Color;

/// Whether and how text is coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    colours: bool,
}

impl Palette {
    /// The palette for a stream.
    pub(crate) fn new(color: Color, stream: &impl IsTerminal) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stream.is_terminal() && !set("NO_COLOR") && !is_dumb(),
        };
        Self { colours }
    }

    /// Whether anything gets a colour.
    pub(crate) fn is_colored(self) -> bool {
        self.colours
    }
}

impl Paint for Palette {
    fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colours || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", code(tone))
    }
}

/// The number that turns a colour on.
fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => "1",
        Tone::Faint => "2",
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::Caution => "33",
        Tone::Accent => "36",
    }
}

#[cfg(test)]
mod tests {
    use convoke_history::lines::Rich;

    use super::*;

    #[test]
    fn colours_surround_pieces_only_when_wanted() {
        let line = Rich::plain("a").with(Tone::Bad, "b");
        assert_eq!(line.paint(Palette::new(Color::Always, &std::io::stdout())), "a\u{1b}[31mb\u{1b}[0m");
        assert_eq!(line.paint(Palette::new(Color::Never, &std::io::stdout())), "ab");
    }
}
