//! The kinds of values that keys take.

/// The kind of a key's values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ValueKind {
    /// A model's name: `service/model`.
    Model,
    /// Several models' names.
    Models,
    /// The name of a profile.
    Profile,
    /// Any text that is not empty.
    Text,
    /// Several texts.
    Texts,
    /// Hosts.
    Hosts,
    /// A path; from the folder of the file that has it, `~/` for the user's home.
    Path,
    /// Several paths.
    Paths,
    /// An `http` or `https` address.
    Address,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number.
    Number {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A number above 0.
    Positive,
    /// A time: `30s`, `1h30m`.
    Time,
    /// An amount in dollars.
    Dollars,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Headers of requests: names and values. `${NAME}` in a value is an environment variable.
    Headers,
    /// Variables for a program: names and values. `${NAME}` in a value is a variable of ours.
    Variables,
}

impl ValueKind {
    /// Returns what to write, in words.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Model => "a model's name, such as \"anthropic/claude-sonnet-5-5\"".to_owned(),
            Self::Models => "a list of models' names, such as [\"local/smollm2\"]".to_owned(),
            Self::Profile => "the name of a profile, such as \"fast\"".to_owned(),
            Self::Text => "a text between quotes".to_owned(),
            Self::Texts => "a list of texts, such as [\"ann\", \"bob\"]".to_owned(),
            Self::Hosts => "a list of hosts, such as [\"proxy.example\"]".to_owned(),
            Self::Path => "a path between quotes".to_owned(),
            Self::Paths => "a list of paths, such as [\"~/skills\"]".to_owned(),
            Self::Address => "an address that begins with http:// or https://".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole { least, most: u64::MAX } => format!("a whole number, {least} or more"),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number { least, most } => format!("a number from {least} to {most}"),
            Self::Positive => "a number above 0, such as 5 or 0.5".to_owned(),
            Self::Time => "a time, such as \"30s\", \"5m\" or \"1h30m\"".to_owned(),
            Self::Dollars => "an amount in dollars, such as 1.50".to_owned(),
            Self::OneOf(words) => format!("one of \"{}\"", words.join("\", \"")),
            Self::Headers => "a table of headers, such as { x-team = \"looms\" }".to_owned(),
            Self::Variables => "a table of variables, such as { PORT = \"8080\" }".to_owned(),
        }
    }

    /// Returns whether its values may be shown: headers may carry keys.
    #[must_use]
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Headers | Self::Variables)
    }
}
