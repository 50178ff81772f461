//! A folder whose runs are kept, and `convoke` run there.

use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

use assert_cmd::cargo::cargo_bin_cmd;
use convoke_config::{Environment, Loader};
use convoke_core::Store;
use convoke_core::store::Batch;
use convoke_store::SqliteStore;
use tempfile::TempDir;

use crate::journal::Run;

/// A folder, and where the data of its user is: no test writes into a real home.
pub(crate) struct Place {
    folder: TempDir,
    data: TempDir,
}

impl Place {
    /// A folder without a store.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), data: tempfile::tempdir().unwrap() }
    }

    /// A folder with a store that has these runs, oldest first.
    pub(crate) fn with(runs: impl IntoIterator<Item = Run>) -> Self {
        let place = Self::empty();
        let store = place.store();
        for run in runs {
            let (id, created, updated, holder) = (run.id.clone(), run.created, run.updated, run.holder);
            let (new, change) = run.into_parts();
            wait(async {
                let lease = store.create(new).await.unwrap();
                if let Some(change) = change {
                    store.append(&lease, Batch { change: Some(change), ..Batch::default() }).await.unwrap();
                }
                store.release(&lease);
            });
            // The store's own clock is the wall clock; snapshots need one that stands still.
            wait(store.run(&id)).unwrap();
            let connection = rusqlite::Connection::open(place.file()).unwrap();
            connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
            let times = (created.as_micros(), updated.as_micros(), id.as_str());
            connection.execute("UPDATE runs SET created = ?1, updated = ?2 WHERE id = ?3", times).unwrap();
            if let Some(holder) = holder {
                connection
                    .execute("UPDATE runs SET holder = ?1 WHERE id = ?2", (holder, id.as_str()))
                    .unwrap();
            }
        }
        drop(store);
        place
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Where the data of the user is.
    pub(crate) fn data(&self) -> &str {
        self.data.path().to_str().unwrap()
    }

    /// Where the runs of the folder are kept.
    pub(crate) fn file(&self) -> PathBuf {
        self.file_of("")
    }

    /// Where the runs of a folder in it are kept, if it is a project of its own.
    pub(crate) fn file_of(&self, folder: &str) -> PathBuf {
        let environment = Environment::of([("XDG_DATA_HOME", self.data())]);
        let places = Loader::new(environment).folder(self.folder.path().join(folder)).locations();
        let file = places.project.store().unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        file
    }

    /// The names of all files that are kept for the user.
    pub(crate) fn kept(&self) -> Vec<String> {
        fn below(folder: &std::path::Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => below(&path, found),
                    false => found.push(path.display().to_string()),
                }
            }
        }
        let mut found = Vec::new();
        below(self.data.path(), &mut found);
        found
    }

    /// The files of the folder and those that runs are kept in, with their contents and the time of their last change.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
        let listed =
            |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let files = listed(self.path()).chain(listed(self.file().parent().unwrap()));
        let mut files: Vec<_> = files
            .map(|file| {
                let changed = file.metadata().unwrap().modified().unwrap();
                (file.clone(), std::fs::read(file).unwrap(), changed)
            })
            .collect();
        files.sort();
        files
    }

    /// Writes a file in the folder.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The store itself.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(self.file()).unwrap())
    }

    /// Runs `convoke` here, on a terminal of 80 columns without colours.
    pub(crate) fn convoke(&self, arguments: &[&str]) -> Output {
        self.convoke_with(arguments, &[("COLUMNS", "80")])
    }

    /// Runs `convoke` here with these variables.
    pub(crate) fn convoke_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = cargo_bin_cmd!("convoke");
        command
            .current_dir(self.folder.path())
            .env_clear()
            .envs([("USER", "ann"), ("XDG_DATA_HOME", self.data())])
            .envs(variables.iter().copied());
        command.args(arguments).output().unwrap()
    }

    /// What a user sees: the command, its exit code, and both streams.
    pub(crate) fn seen(&self, arguments: &[&str]) -> String {
        self.seen_with(arguments, &[("COLUMNS", "80")])
    }

    pub(crate) fn seen_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.convoke_with(arguments, variables);
        let mut seen = format!("$ convoke {}\n", arguments.join(" "));
        seen.push_str(&String::from_utf8(output.stdout).unwrap());
        let notes = String::from_utf8(output.stderr).unwrap();
        if !notes.is_empty() {
            seen.push_str(&format!("--- stderr\n{notes}"));
        }
        seen.push_str(&format!("--- exit {}\n", output.status.code().unwrap()));
        // What the command makes itself is made now.
        let mut lines =
            seen.lines().map(|line| if line.contains("just now (") { "started   [NOW]" } else { line });
        let seen = lines.by_ref().map(|line| format!("{line}\n")).collect::<String>();
        let folder = self.folder.path().canonicalize().unwrap().display().to_string();
        let store = self.file().display().to_string();
        seen.replace(&store, "[STORE]").replace(&folder, "[FOLDER]").replace(self.data(), "[DATA]")
    }
}

/// Runs `convoke` in a place whose user is at home there, with more variables.
pub(crate) fn at_home<'a>(place: &Place, more: &[(&'a str, &'a str)], arguments: &[&str]) -> Output {
    let home = place.path().canonicalize().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap();
    let mut variables = vec![("COLUMNS", "80"), ("HOME", &*home), ("PATH", &*path)];
    variables.extend(more);
    place.convoke_with(arguments, &variables)
}

/// Waits for a future.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// The result as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The notes as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
