//! Size limits of packages.

/// Size limits of a package. They hold while it is read, not afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The package itself, in bytes.
    pub package: u64,
    /// Everything in it, unpacked, in bytes.
    pub unpacked: u64,
    /// Files and folders.
    pub files: usize,
    /// How many times larger than its compressed form the content may be, if it is larger than a MiB.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { package: 32 << 20, unpacked: 64 << 20, files: 5_000, ratio: 200 }
    }
}

impl Limits {
    /// What compressed content of this size may unpack to.
    pub(crate) fn unpacked_from(&self, compressed: usize) -> u64 {
        const ALWAYS: u64 = 1 << 20;
        self.unpacked.min((compressed as u64).saturating_mul(self.ratio).max(ALWAYS))
    }
}
