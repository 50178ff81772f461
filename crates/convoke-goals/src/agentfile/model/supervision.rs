//! The supervision setting: off, by a model, or by a person.

/// The supervision of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Supervision {
    /// Whoever watches over the whole.
    #[default]
    Inherit,
    /// Nobody.
    Off,
    /// A model.
    Llm,
    /// A person, who approves, revises or rejects what came of it.
    Human,
}

impl Supervision {
    /// Combines the supervision of a part with that of the whole around it, `outer`. What a person watches over is never left
    /// to anybody else.
    ///
    /// ```
    /// use convoke_goals::agentfile::model::Supervision::{Human, Inherit, Llm, Off};
    ///
    /// assert_eq!(Inherit.within(Llm), Llm);
    /// assert_eq!(Off.within(Llm), Off);
    /// assert_eq!(Llm.within(Human), Human);
    /// assert_eq!(Off.within(Human), Human);
    /// ```
    #[must_use]
    pub fn within(self, outer: Self) -> Self {
        match (self, outer) {
            (_, Self::Human) => Self::Human,
            (Self::Inherit, outer) => outer,
            (own, _) => own,
        }
    }

    /// Returns whether somebody is named to watch.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Llm | Self::Human)
    }

    /// Returns it as it is written, if it is.
    #[must_use]
    pub fn written(self) -> Option<&'static str> {
        match self {
            Self::Inherit => None,
            Self::Off => Some("UNSUPERVISED"),
            Self::Llm => Some("SUPERVISED"),
            Self::Human => Some("SUPERVISED HUMAN"),
        }
    }
}
