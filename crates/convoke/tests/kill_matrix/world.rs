//! What the run does to the world, kept in files so that it outlives the process.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that stands for the world.
#[derive(Clone)]
pub(crate) struct World(PathBuf);

impl World {
    pub(crate) fn at(folder: &Path) -> Self {
        fs::create_dir_all(folder.join("keyed")).expect("the world can be made");
        Self(folder.to_owned())
    }

    /// Does something under a key: doing it again with the same key changes nothing.
    pub(crate) fn put(&self, key: &str, what: &str) {
        fs::write(self.0.join("keyed").join(key), what).expect("the world can be written to");
    }

    /// Does something that adds up when it is done again.
    pub(crate) fn add(&self, list: &str, key: &str, what: &str) {
        let mut file =
            OpenOptions::new().create(true).append(true).open(self.0.join(list)).expect("the list opens");
        file.write_all(format!("{key} {what}\n").as_bytes()).expect("the list can be written to");
    }

    pub(crate) fn has(&self, list: &str, key: &str) -> bool {
        self.lines(list).iter().any(|line| line.starts_with(key))
    }

    pub(crate) fn lines(&self, list: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(list)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What was done under keys, without the keys.
    pub(crate) fn keyed(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.join("keyed")).expect("the world can be read");
        let mut all: Vec<String> =
            files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("readable")).collect();
        all.sort();
        all
    }

    /// What is on a list, without the keys, and how many lines are there again under the same key.
    pub(crate) fn summary(&self, list: &str) -> (Vec<String>, usize) {
        let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
        let mut all = Vec::new();
        for line in self.lines(list) {
            let (key, what) = line.split_once(' ').unwrap_or((&line, ""));
            *by_key.entry(key.to_owned()).or_default() += 1;
            all.push(what.to_owned());
        }
        all.sort();
        (all, by_key.values().map(|count| count - 1).sum())
    }
}
