//! Which statements there are, and which clauses each of them takes.

/// What a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StatementKind {
    /// `NAME`: what the workflow is called.
    Name,
    /// `INPUT`: a value the workflow is given.
    Input,
    /// `AGENT`: somebody who pursues goals.
    Agent,
    /// `GOAL`: something to achieve.
    Goal,
    /// `CONVERGE`: something to achieve by improving on it.
    Converge,
    /// `LOOP`: with a text the same as `CONVERGE`; without one a `RUN` that is repeated.
    Loop,
    /// `RUN`: goals to pursue now.
    Run,
    /// `SUPERVISED`: everything is.
    Supervised,
    /// `SECURITY`: how suspicious to be.
    Security,
    /// `MODEL`, `TOOLS`, `TIMEOUT`, `RETRY` or `BUDGET` for the whole file.
    Setting,
}

impl StatementKind {
    /// The words that begin statements.
    pub const WORDS: &[(&str, StatementKind)] = &[
        ("NAME", Self::Name),
        ("INPUT", Self::Input),
        ("AGENT", Self::Agent),
        ("GOAL", Self::Goal),
        ("CONVERGE", Self::Converge),
        ("LOOP", Self::Loop),
        ("RUN", Self::Run),
        ("SUPERVISED", Self::Supervised),
        ("SECURITY", Self::Security),
        ("MODEL", Self::Setting),
        ("TOOLS", Self::Setting),
        ("TIMEOUT", Self::Setting),
        ("RETRY", Self::Setting),
        ("BUDGET", Self::Setting),
    ];

    /// Its first word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Setting => "MODEL, TOOLS, TIMEOUT, RETRY or BUDGET",
            other => Self::WORDS.iter().find(|(_, kind)| *kind == other).map_or("", |(word, _)| word),
        }
    }

    /// Whether a name comes after the first word.
    #[must_use]
    pub fn is_named(self) -> bool {
        !matches!(self, Self::Supervised | Self::Security | Self::Setting)
    }

    /// The clauses it may have.
    #[must_use]
    pub fn clauses(self) -> &'static [ClauseKind] {
        use ClauseKind as C;
        match self {
            Self::Name | Self::Supervised | Self::Security | Self::Setting => &[],
            Self::Input => &[C::Default, C::Secret],
            Self::Agent => &[
                C::Text,
                C::From,
                C::Outputs,
                C::Requires,
                C::Model,
                C::Tools,
                C::Timeout,
                C::Retry,
                C::Budget,
                C::Supervised,
                C::Unsupervised,
            ],
            Self::Goal => &[
                C::Text,
                C::From,
                C::Outputs,
                C::Using,
                C::Model,
                C::Tools,
                C::Timeout,
                C::Retry,
                C::Budget,
                C::When,
                C::Supervised,
                C::Unsupervised,
            ],
            Self::Converge | Self::Loop => &[
                C::Text,
                C::From,
                C::Outputs,
                C::Using,
                C::Within,
                C::Model,
                C::Tools,
                C::Timeout,
                C::Retry,
                C::Budget,
                C::When,
                C::Supervised,
                C::Unsupervised,
            ],
            Self::Run => &[
                C::Using,
                C::Parallel,
                C::Model,
                C::Tools,
                C::Timeout,
                C::Retry,
                C::Budget,
                C::When,
                C::Supervised,
                C::Unsupervised,
            ],
        }
    }
}

/// What a clause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the word itself")]
pub enum ClauseKind {
    Text,
    From,
    Outputs,
    Using,
    Requires,
    Within,
    Default,
    Secret,
    Model,
    Tools,
    Timeout,
    Retry,
    Budget,
    When,
    Parallel,
    Supervised,
    Unsupervised,
}

impl ClauseKind {
    /// The words that begin clauses.
    pub const WORDS: &[(&str, ClauseKind)] = &[
        ("FROM", Self::From),
        ("->", Self::Outputs),
        ("USING", Self::Using),
        ("REQUIRES", Self::Requires),
        ("WITHIN", Self::Within),
        ("DEFAULT", Self::Default),
        ("SECRET", Self::Secret),
        ("MODEL", Self::Model),
        ("TOOLS", Self::Tools),
        ("TIMEOUT", Self::Timeout),
        ("RETRY", Self::Retry),
        ("BUDGET", Self::Budget),
        ("WHEN", Self::When),
        ("PARALLEL", Self::Parallel),
        ("SUPERVISED", Self::Supervised),
        ("UNSUPERVISED", Self::Unsupervised),
    ];

    /// Its first word, or what it is if it has none.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("a text", |(word, _)| word)
    }
}
