//! Loaders that do not read a disk: files in memory, and none at all.

use std::collections::BTreeMap;

use super::{LoadError, Loader, PathContent, normal};

/// Files that are kept in memory.
///
/// ```
/// use convoke_goals::agentfile::load::{PathContent, Loader, MemoryLoader};
///
/// let files = MemoryLoader::default().with("agents/critic.md", "You are a critic.");
/// assert_eq!(files.find("agents/../agents/critic.md"), Ok(PathContent::Text("You are a critic.".into())));
/// assert_eq!(files.find("agents"), Ok(PathContent::Folder));
/// assert_eq!(files.names("agents"), Ok(vec!["critic.md".to_owned()]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryLoader {
    files: BTreeMap<String, String>,
    skills: Vec<String>,
}

impl MemoryLoader {
    /// Adds a file.
    #[must_use]
    pub fn with(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(normal(path), text.into());
        self
    }

    /// Looks for skills in a folder, too.
    #[must_use]
    pub fn with_skills(mut self, folder: &str) -> Self {
        self.skills.push(normal(folder));
        self
    }
}

impl Loader for MemoryLoader {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let normal = normal(path);
        if normal.starts_with("..") {
            return Err(LoadError::Outside { path: path.to_owned() });
        }
        if let Some(text) = self.files.get(&normal) {
            return Ok(PathContent::Text(text.clone()));
        }
        let prefix = format!("{normal}/");
        let is_folder =
            self.files.range(prefix.clone()..).next().is_some_and(|(name, _)| name.starts_with(&prefix));
        Ok(if is_folder { PathContent::Folder } else { PathContent::Nothing })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let prefix = format!("{}/", normal(folder));
        let within = self.files.keys().filter_map(|path| path.strip_prefix(&prefix));
        Ok(within.filter(|name| !name.contains('/')).map(str::to_owned).collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let prefix = format!("{}/", normal(folder));
        let within = self.files.keys().filter_map(|path| path.strip_prefix(&prefix)?.split_once('/'));
        let mut folders: Vec<String> = within.map(|(folder, _)| folder.to_owned()).collect();
        folders.dedup();
        Ok(folders)
    }

    fn skill(&self, name: &str) -> Option<String> {
        let folders = self.skills.iter().map(|folder| format!("{folder}/{name}"));
        folders.into_iter().find(|folder| self.find(folder) == Ok(PathContent::Folder))
    }
}

/// No files at all: for a text that did not come from a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Loader for NoFiles {
    fn find(&self, _: &str) -> Result<PathContent, LoadError> {
        Ok(PathContent::Nothing)
    }

    fn names(&self, _: &str) -> Result<Vec<String>, LoadError> {
        Ok(Vec::new())
    }

    fn skill(&self, _: &str) -> Option<String> {
        None
    }
}
