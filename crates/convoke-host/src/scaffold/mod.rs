//! The first files of a project: an Agentfile, a `convoke.toml`, and what git leaves out.

mod agentfile;
mod settings;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use convoke_config::{NewFile, replace_file};

pub(crate) use agentfile::of_goal as agentfile_of_goal;

/// What is not to be shared: keys. Runs, with everything that was said in them, are not kept in the folder.
const IGNORED: [&str; 1] = ["credentials.toml"];

/// A plan of the first files of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPlan {
    /// The workflow's name.
    pub name: String,
    /// What it should do; `None` is the example.
    pub goal: Option<String>,
    /// The model to write down; `None` leaves it to be found.
    pub model: Option<String>,
    /// Who looks at results.
    pub watcher: Watcher,
}

/// The watchers of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    /// Nobody.
    Nobody,
    /// A model.
    Model,
    /// A person.
    Person,
}

/// The files of a project after writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenProject {
    /// Those that were written or added to.
    pub written: Vec<PathBuf>,
    /// Those that were there already, and stay as they are.
    pub kept: Vec<PathBuf>,
}

/// A file of a project that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written: {source}", path.display())]
pub struct ScaffoldError {
    /// The file.
    pub path: PathBuf,
    source: io::Error,
}

impl ProjectPlan {
    /// The plan if nobody is asked, for a folder of this name.
    #[must_use]
    pub fn usual(folder: &str) -> Self {
        Self { name: name_of(folder), goal: None, model: None, watcher: Watcher::Nobody }
    }

    /// Writes what is not there yet.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<WrittenProject, ScaffoldError> {
        let mut project = WrittenProject::default();
        for (path, text) in files(folder).into_iter().zip([agentfile::text(self), settings::text(self)]) {
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
            match made.and_then(|mut made| made.write_all(text.as_bytes())) {
                Ok(()) => project.written.push(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => project.kept.push(path),
                Err(source) => return Err(ScaffoldError { path, source }),
            }
        }
        let ignore = folder.join(".gitignore");
        match leave_out(&ignore) {
            Ok(true) => project.written.push(ignore),
            Ok(false) => {}
            Err(source) => return Err(ScaffoldError { path: ignore, source }),
        }
        Ok(project)
    }
}

/// Checks whether both files of a project are there.
#[must_use]
pub fn is_project(folder: &Path) -> bool {
    files(folder).iter().all(|file| file.exists())
}

fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join("Agentfile"), folder.join(convoke_config::FILE)]
}

/// Has git leave out what is not to be shared. Gives whether the file was changed; lines it has stay as they are.
fn leave_out(file: &Path) -> io::Result<bool> {
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let has = |wanted: &str| before.lines().any(|line| line.trim().trim_start_matches('/') == wanted);
    let missing: Vec<&str> = IGNORED.into_iter().filter(|wanted| !has(wanted)).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let break_line = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{break_line}{}\n", missing.join("\n"));
    replace_file(file, text.as_bytes(), NewFile::Usual)?;
    Ok(true)
}

/// A folder's name as the name of a workflow: letters, digits, `_` and `-`, a letter first.
fn name_of(folder: &str) -> String {
    let mut name = String::new();
    for letter in folder.chars().map(|letter| letter.to_ascii_lowercase()) {
        match letter {
            'a'..='z' | '0'..='9' | '_' => name.push(letter),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_matches('-');
    match name.chars().next() {
        None => "first".to_owned(),
        Some('a'..='z' | '_') => name.to_owned(),
        Some(_) => format!("flow-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_names_that_the_language_takes() {
        for (folder, name) in [
            ("My Project", "my-project"),
            ("2026 plans", "flow-2026-plans"),
            ("日本", "first"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(name_of(folder), name);
        }
    }
}
