//! Side effects and accesses that tools declare.

use serde::{Deserialize, Serialize};

/// A side effect that a tool may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// It looks at something.
    Reads,
    /// It changes something.
    Writes,
    /// It talks to other machines.
    Network,
    /// It starts processes or agents.
    Spawns,
    /// What it does cannot be undone.
    Irreversible,
}

/// The set of things a tool may do to the world.
///
/// ```
/// use convoke_core::{ToolEffect, ToolEffects};
///
/// let effects = ToolEffects::from_iter([ToolEffect::Network, ToolEffect::Irreversible]);
/// assert!(effects.contains(ToolEffect::Network));
/// assert!(effects.changes_the_world());
/// assert!(!ToolEffects::from(ToolEffect::Reads).changes_the_world());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<ToolEffect>", into = "Vec<ToolEffect>")]
pub struct ToolEffects(u8);

impl ToolEffects {
    /// No side effects: a pure function.
    pub const NONE: Self = Self(0);

    const ALL: [ToolEffect; 5] = [
        ToolEffect::Reads,
        ToolEffect::Writes,
        ToolEffect::Network,
        ToolEffect::Spawns,
        ToolEffect::Irreversible,
    ];

    /// Returns whether this is among them.
    #[must_use]
    pub const fn contains(self, effect: ToolEffect) -> bool {
        self.0 & (1 << effect as u8) != 0
    }

    /// Adds an effect.
    #[must_use]
    pub const fn and(self, effect: ToolEffect) -> Self {
        Self(self.0 | (1 << effect as u8))
    }

    /// Returns whether anything could be different afterwards. Talking to the network counts: nobody knows what is out there.
    #[must_use]
    pub const fn changes_the_world(self) -> bool {
        self.0 & !(1 << ToolEffect::Reads as u8) != 0
    }

    /// Returns whether a call makes a change: it writes, starts others, or does what cannot be undone. To talk to others alone is to look.
    #[must_use]
    pub const fn make_changes(self) -> bool {
        self.contains(ToolEffect::Writes)
            || self.contains(ToolEffect::Spawns)
            || self.contains(ToolEffect::Irreversible)
    }

    /// Returns what a call is taken to touch when nobody says more precisely.
    #[must_use]
    pub fn default_accesses(self) -> Vec<Access> {
        let everything = |mode| vec![Access { resource: "*".to_owned(), mode }];
        if self.make_changes() {
            everything(AccessMode::Write)
        } else if self.contains(ToolEffect::Reads) {
            everything(AccessMode::Read)
        } else {
            Vec::new()
        }
    }
}

impl FromIterator<ToolEffect> for ToolEffects {
    fn from_iter<I: IntoIterator<Item = ToolEffect>>(effects: I) -> Self {
        effects.into_iter().fold(Self::NONE, Self::and)
    }
}

impl From<ToolEffect> for ToolEffects {
    fn from(effect: ToolEffect) -> Self {
        Self::NONE.and(effect)
    }
}

impl<const N: usize> From<[ToolEffect; N]> for ToolEffects {
    fn from(effects: [ToolEffect; N]) -> Self {
        effects.into_iter().collect()
    }
}

impl From<Vec<ToolEffect>> for ToolEffects {
    fn from(effects: Vec<ToolEffect>) -> Self {
        effects.into_iter().collect()
    }
}

impl From<ToolEffects> for Vec<ToolEffect> {
    fn from(effects: ToolEffects) -> Self {
        ToolEffects::ALL.into_iter().filter(|effect| effects.contains(*effect)).collect()
    }
}

/// A resource that a call touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Its name: a path, an account; `folder/**` for a folder and everything beneath it, `*` for everything.
    pub resource: String,
    /// How.
    pub mode: AccessMode,
}

/// The mode of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// It only looks.
    Read,
    /// It may change it.
    Write,
}

impl Access {
    /// Looking at this.
    #[must_use]
    pub fn read(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), mode: AccessMode::Read }
    }

    /// Changing this.
    #[must_use]
    pub fn write(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), mode: AccessMode::Write }
    }

    /// Returns whether the two may not happen at once.
    ///
    /// ```
    /// use convoke_core::Access;
    ///
    /// let folder = Access::write("src/**");
    /// assert!(folder.conflicts_with(&Access::read("src/main.rs")));
    /// assert!(folder.conflicts_with(&Access::read("src")));
    /// assert!(!folder.conflicts_with(&Access::write("srcs/main.rs")));
    /// assert!(!Access::read("src/**").conflicts_with(&Access::read("src/main.rs")));
    /// ```
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let meet = covers(&self.resource, &other.resource) || covers(&other.resource, &self.resource);
        meet && (self.mode == AccessMode::Write || other.mode == AccessMode::Write)
    }
}

/// Whether the first resource is the second, or has it beneath it.
fn covers(resource: &str, other: &str) -> bool {
    if resource == "*" || resource == other {
        return true;
    }
    let Some(folder) = resource.strip_suffix("/**") else { return false };
    other.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
