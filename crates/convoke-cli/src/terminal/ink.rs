//! Colours, by what they mean.

use std::io::IsTerminal;

use convoke_core::RunStatus;

use crate::arguments::Color;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ink {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Caution,
    Accent,
}

impl Ink {
    /// How a status looks.
    pub(crate) fn of(status: RunStatus) -> Self {
        match status {
            RunStatus::Completed => Self::Good,
            RunStatus::Running => Self::Accent,
            RunStatus::Suspended | RunStatus::Cancelled => Self::Caution,
            _ => Self::Bad,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Caution => "33",
            Self::Accent => "36",
        }
    }
}

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

    /// A text in its colour.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if !self.colours || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", ink.code())
    }
}
