//! Options of a machine: differences from the Go program, and how much is kept.

/// The behaviour of a machine. The default is what is described for packs; the others are there for packs that rely on the Go program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How far `on_max_visits` is followed.
    pub redirects: RedirectStyle,
    /// How many transitions, and how many snapshots of artifacts, are kept.
    pub history: usize,
    /// How many bytes one artifact may have.
    pub artifact_bytes: usize,
    /// How many bytes the history of artifacts may have; the newest snapshot is always kept.
    pub snapshot_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            redirects: RedirectStyle::Chain,
            history: 1000,
            artifact_bytes: 1 << 20,
            snapshot_bytes: 16 << 20,
        }
    }
}

/// The extent to which `on_max_visits` is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectStyle {
    /// Until a state that may be entered.
    Chain,
    /// Once, whatever the limit of the state it leads to: what the Go program does.
    SingleHop,
}
