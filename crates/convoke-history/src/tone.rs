//! Tones: the meaning of a piece of text, for whoever gives it a colour, a class or a sign.

use convoke_core::RunStatus;

/// The meaning of a piece of text to its reader. A terminal has colours for it, a page classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// The name of something.
    Strong,
    /// What is beside the point.
    Faint,
    /// It went well.
    Good,
    /// It failed.
    Bad,
    /// Somebody should look at it.
    Caution,
    /// It is under way, or can be used: a number, a command.
    Accent,
}

impl Tone {
    /// The tone of a status.
    #[must_use]
    pub fn of(status: RunStatus) -> Self {
        match status {
            RunStatus::Completed => Self::Good,
            RunStatus::Running => Self::Accent,
            RunStatus::Suspended | RunStatus::Cancelled => Self::Caution,
            _ => Self::Bad,
        }
    }

    /// Returns its name, as a class of a page has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Strong => "strong",
            Self::Faint => "faint",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Caution => "caution",
            Self::Accent => "accent",
        }
    }
}
