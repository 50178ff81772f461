//! Packages that are installed.

use std::path::PathBuf;

use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, text};
use convoke_package::InstalledVersion;
use serde_json::{Value, json};

use super::View;

/// What is installed.
#[derive(Debug)]
pub struct InstalledPackages {
    /// Each version of each package.
    pub packages: Vec<InstalledVersion>,
    /// The folder that they are in.
    pub home: PathBuf,
}

impl View for InstalledPackages {
    fn document(&self) -> Value {
        json!(self.packages)
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        if self.packages.is_empty() {
            return Vec::new();
        }
        let left = |title| Column::new(title, Align::Left);
        let mut table = Table::new([left("PACKAGE"), left("VERSION"), left("FOLDER")]);
        for found in &self.packages {
            table.row([
                (Tone::Strong, text::one_line(&found.name)),
                (Tone::Plain, text::one_line(&found.version)),
                (Tone::Faint, text::one_line(&found.path.display().to_string())),
            ]);
        }
        table.lines(width)
    }

    fn notes(&self) -> Vec<String> {
        let home = self.home.display();
        let none = || format!("no package is installed in {home}; `convoke install FILE` installs one");
        self.packages.is_empty().then(none).into_iter().collect()
    }
}
