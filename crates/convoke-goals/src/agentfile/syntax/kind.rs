//! The tables of statement kinds and clause kinds, and which clauses each statement takes.

macro_rules! statements {
    ($($(#[$doc:meta])* $kind:ident $($word:literal)|+,)*) => {
        /// The kind of a statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum StatementKind { $($(#[$doc])* $kind,)* }

        impl StatementKind {
            /// The words that begin statements.
            pub const WORDS: &[(&str, StatementKind)] = &[$($(($word, Self::$kind),)+)*];
        }
    };
}

statements! {
    /// `NAME`: what the workflow is called.
    Name "NAME",
    /// `INPUT`: a value the workflow is given.
    Input "INPUT",
    /// `AGENT`: somebody who pursues goals.
    Agent "AGENT",
    /// `GOAL`: something to achieve.
    Goal "GOAL",
    /// `CONVERGE`: something to achieve by improving on it.
    Converge "CONVERGE",
    /// `LOOP`: with a text the same as `CONVERGE`; without one a `RUN` that is repeated.
    Loop "LOOP",
    /// `RUN`: goals to pursue now.
    Run "RUN",
    /// `SUPERVISED`: everything is.
    Supervised "SUPERVISED",
    /// `SECURITY`: how suspicious to be.
    Security "SECURITY",
    /// `MODEL`, `TOOLS`, `TIMEOUT`, `RETRY`, `BUDGET` or `MEMORY` for the whole file.
    Setting "MODEL" | "TOOLS" | "TIMEOUT" | "RETRY" | "BUDGET" | "MEMORY",
}

impl StatementKind {
    /// The statement that begins with a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        find(Self::WORDS, word)
    }

    /// Its first word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Setting => "MODEL, TOOLS, TIMEOUT, RETRY, BUDGET or MEMORY",
            other => Self::WORDS.iter().find(|(_, kind)| *kind == other).map_or("", |(word, _)| word),
        }
    }

    /// Returns whether a name comes after the first word.
    #[must_use]
    pub fn is_named(self) -> bool {
        !matches!(self, Self::Supervised | Self::Security | Self::Setting)
    }

    /// Returns whether it may have a clause.
    #[must_use]
    pub fn takes(self, clause: ClauseKind) -> bool {
        clause.statements().contains(&self)
    }

    /// The clauses it may have.
    pub fn clauses(self) -> impl Iterator<Item = ClauseKind> {
        ClauseKind::ALL.iter().copied().filter(move |clause| self.takes(*clause))
    }
}

macro_rules! clauses {
    ($($kind:ident $($word:literal)? [$($statement:ident)*],)*) => {
        /// The kind of a clause.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each is the word itself")]
        pub enum ClauseKind { $($kind,)* }

        impl ClauseKind {
            /// All of them.
            pub const ALL: &[ClauseKind] = &[$(Self::$kind,)*];

            /// The words that begin clauses.
            pub const WORDS: &[(&str, ClauseKind)] = &[$($(($word, Self::$kind),)?)*];

            /// The statements that may have it.
            #[must_use]
            pub fn statements(self) -> &'static [StatementKind] {
                match self { $(Self::$kind => &[$(StatementKind::$statement,)*],)* }
            }
        }
    };
}

clauses! {
    Text                        [Agent Goal Converge Loop],
    From "FROM"                 [Agent Goal Converge Loop],
    Outputs "->"                [Agent Goal Converge Loop],
    Using "USING"               [Goal Converge Loop Run],
    Requires "REQUIRES"         [Agent],
    Within "WITHIN"             [Converge Loop],
    Parallel "PARALLEL"         [Run],
    Default "DEFAULT"           [Input],
    Secret "SECRET"             [Input],
    Model "MODEL"               [Agent Goal Converge Loop Run],
    Tools "TOOLS"               [Agent Goal Converge Loop Run],
    Timeout "TIMEOUT"           [Agent Goal Converge Loop Run],
    Retry "RETRY"               [Agent Goal Converge Loop Run],
    Budget "BUDGET"             [Agent Goal Converge Loop Run],
    Memory "MEMORY"             [Goal Converge Loop Run],
    When "WHEN"                 [Goal Converge Loop Run],
    Supervised "SUPERVISED"     [Agent Goal Converge Loop Run],
    Unsupervised "UNSUPERVISED" [Agent Goal Converge Loop Run],
}

impl ClauseKind {
    /// The clause that begins with a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        find(Self::WORDS, word)
    }

    /// Its first word, or what it is if it has none.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("a text", |(word, _)| word)
    }
}

fn find<K: Copy>(words: &[(&str, K)], word: &str) -> Option<K> {
    words.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}
