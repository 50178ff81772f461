//! Packages, and what their signatures are worth.

use convoke_history::lines::Rich;
use convoke_history::{Tone, human, text};
use convoke_package::{FileInfo, Package, Verification};
use serde_json::{Value, json};

use super::View;
use crate::in_words;

/// A package whose signature was looked at.
#[derive(Debug)]
pub struct VerifiedPackage<'a> {
    /// The package.
    pub package: &'a Package,
    /// The worth of its signature.
    pub verification: &'a Verification,
    /// The files in it.
    pub files: Vec<FileInfo>,
}

impl View for VerifiedPackage<'_> {
    fn document(&self) -> Value {
        json!({"manifest": self.package.manifest(), "signature": self.verification, "files": self.files})
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let manifest = self.package.manifest();
        let (tone, sign) = match self.verification.is_verified() {
            true => (Tone::Good, "✓ Verified"),
            false => (Tone::Bad, "✗ Not verified"),
        };
        let title = text::one_line(&format!("{} {}", manifest.name, manifest.version));
        let head = Rich::new(tone, sign).with(Tone::Strong, format!(" {title}"));
        let mut lines = vec![head.with(Tone::Plain, format!(": {}", in_words(self.verification)))];
        if !manifest.description.is_empty() {
            lines.push(Rich::plain(format!("  {}", text::one_line(&manifest.description))));
        }
        lines.extend(self.files.iter().map(|file| {
            let run = if file.executable { "  can be run" } else { "" };
            let line = Rich::plain(format!("  {}", text::one_line(&file.path)));
            line.with(Tone::Faint, format!("  {}{run}", human::bytes(file.size)))
        }));
        lines
    }
}
