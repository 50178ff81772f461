//! Ports: what a type of nodes reads from the board and writes to it, as far as that is known before it runs.

use serde_json::Value;

use crate::Board;
use crate::board::MAIN_CHANNEL;

/// The type of what goes through a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Float,
    /// Yes or no.
    Bool,
    /// A list.
    Array,
    /// An object.
    Object,
    /// The messages of a channel.
    Messages,
    /// Tokens that were used.
    Usage,
    /// Anything.
    Any,
}

impl PortType {
    /// What messages call it.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Bool => "a boolean",
            Self::Array => "a list",
            Self::Object => "an object",
            Self::Messages => "messages",
            Self::Usage => "a count of tokens",
            Self::Any => "anything",
        }
    }

    /// Returns whether a port of this type takes what comes from one of another.
    #[must_use]
    pub fn accepts(self, given: Self) -> bool {
        self == given
            || self == Self::Any
            || given == Self::Any
            || (self == Self::Float && given == Self::Integer)
    }
}

/// A variable that nodes of a type read or write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The variable.
    pub name: String,
    /// What it is.
    pub kind: PortType,
    /// Whether it must be there: before the node runs if it is read, afterwards if it is written.
    pub required: bool,
}

impl Port {
    /// A port that must be there.
    #[must_use]
    pub fn required(name: impl Into<String>, kind: PortType) -> Self {
        Self { name: name.into(), kind, required: true }
    }

    /// A port that may be there.
    #[must_use]
    pub fn optional(name: impl Into<String>, kind: PortType) -> Self {
        Self { name: name.into(), kind, required: false }
    }
}

/// The variables that a node reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Ports {
    /// What it reads besides its configuration.
    pub inputs: Vec<Port>,
    /// What it writes.
    pub outputs: Vec<Port>,
    /// Whether it may write other variables too.
    pub is_open: bool,
}

impl Ports {
    /// Those of a node about which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Those of a node that writes these variables and no other.
    #[must_use]
    pub fn writing<N: Into<String>>(outputs: impl IntoIterator<Item = (N, PortType)>) -> Self {
        let outputs = outputs.into_iter().map(|(name, kind)| Port::required(name, kind)).collect();
        Self { outputs, ..Self::default() }
    }

    /// The same, with a variable that a configuration names, or the usual one, read as this; what is not known by now is left out.
    pub(crate) fn reading(
        mut self,
        config: &Value,
        field: &str,
        usual: Option<&str>,
        kind: PortType,
    ) -> Self {
        let named = config.get(field).map_or(usual, Value::as_str).filter(|name| !name.contains("${"));
        self.inputs.extend(named.map(|name| Port::optional(name, kind)));
        self
    }

    /// The first port that must be satisfied before a node runs and is not.
    pub(crate) fn missing_input(&self, board: &Board, config: &Value) -> Option<&Port> {
        let is_there = |port: &&Port| {
            let says = port.kind == PortType::Messages && !board.channel(MAIN_CHANNEL).is_empty();
            board.get(&port.name).is_some() || says || config.get(&port.name).is_some()
        };
        self.inputs.iter().filter(|port| port.required).find(|port| !is_there(port))
    }

    /// Whether a node must write messages: then it is asked how many there were before.
    pub(crate) fn writes_messages(&self) -> bool {
        self.outputs.iter().any(|port| port.required && port.kind == PortType::Messages)
    }

    /// The first port that a node has not written to and should have.
    pub(crate) fn missing_output(&self, before: Option<&Board>, after: &Board) -> Option<&Port> {
        let is_there = |port: &&Port| match port.kind {
            PortType::Messages => {
                let had = |channel| before.map_or(0, |before| before.channel(channel).len());
                let grew = |channel| after.channel(channel).len() > had(channel);
                grew(MAIN_CHANNEL) || grew(&port.name)
            }
            _ => after.get(&port.name).is_some(),
        };
        self.outputs.iter().filter(|port| port.required).find(|port| !is_there(port))
    }
}

/// The port of a variable that a configuration names; none if that is not known by now.
pub(crate) fn output(config: &Value, field: &str, usual: &str, kind: PortType) -> Ports {
    match config.get(field).map(|name| name.as_str().filter(|name| !name.contains("${"))) {
        None => Ports::writing([(usual, kind)]),
        Some(Some(name)) => Ports::writing([(name, kind)]),
        Some(None) => Ports::unknown(),
    }
}

/// The variable that answers go to unless said otherwise.
pub(super) fn response() -> String {
    "response".to_owned()
}
