//! Test fixture: a user with a home, and a project.
#![allow(dead_code, reason = "not every test file needs all of it")]

use std::path::{Path, PathBuf};

use convoke_config::{Config, Environment, Loader, Problems};
use tempfile::TempDir;

/// A home with a configuration folder, and a project in it.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(home.project()).unwrap();
        home
    }

    /// A home with these files.
    pub(crate) fn with(user: &str, folder: &str) -> Self {
        let home = Self::new();
        home.write(".config/convoke/convoke.toml", user);
        home.write("project/convoke.toml", folder);
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn environment<const N: usize>(&self, variables: [(&str, &str); N]) -> Environment {
        let home = self.folder.path().to_str().unwrap();
        let mut all: Vec<(&str, &str)> = variables.into();
        all.push(("HOME", home));
        Environment::from_iter(all)
    }

    pub(crate) fn loader<const N: usize>(&self, variables: [(&str, &str); N]) -> Loader {
        Loader::new(self.environment(variables)).folder(self.project())
    }

    pub(crate) fn load(&self) -> Result<Config, Problems> {
        self.loader([]).load()
    }

    /// A text without the place of this home.
    pub(crate) fn plain(&self, text: impl ToString) -> String {
        text.to_string().replace(self.folder.path().to_str().unwrap(), "~")
    }
}

/// What a folder's file with this text is.
pub(crate) fn read(text: &str) -> Result<Config, Problems> {
    Home::with("", text).load()
}
