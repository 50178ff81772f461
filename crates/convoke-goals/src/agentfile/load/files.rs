//! The loader of files on disk, within the folder that an Agentfile may see.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::{LoadError, Loader, PathContent};

/// Prompts are short. What is larger was not meant.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The files in the folder of an Agentfile and below, and skills wherever they are kept. Links are followed and must
/// end there, too.
#[derive(Debug, Clone)]
pub struct FileLoader {
    folder: PathBuf,
    skills: Vec<PathBuf>,
}

impl FileLoader {
    /// For Agentfiles in a folder.
    ///
    /// # Errors
    /// If the folder is not there.
    pub fn new(folder: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { folder: folder.as_ref().canonicalize()?, skills: Vec::new() })
    }

    /// For an Agentfile: the folder it is in.
    ///
    /// # Errors
    /// If the folder is not there.
    pub fn beside(file: impl AsRef<Path>) -> io::Result<Self> {
        match file.as_ref().parent() {
            Some(parent) if !parent.as_os_str().is_empty() => Self::new(parent),
            _ => Self::new("."),
        }
    }

    /// Looks for skills in a folder, too; after those that were given before. A leading `~` is the user's home.
    #[must_use]
    pub fn with_skills(mut self, folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        let home = || std::env::var_os("HOME").filter(|home| !home.is_empty());
        let folder = match (folder.strip_prefix("~"), home()) {
            (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ => folder.to_owned(),
        };
        // A folder that is not there has no skills in it.
        self.skills.extend(folder.canonicalize());
        self
    }

    /// The bytes of a file that may be larger than a text. `None` if there is no file.
    ///
    /// # Errors
    /// If it lies outside, has more than `largest` bytes, or cannot be read.
    pub fn bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>, LoadError> {
        let Some(real) = self.real(path)? else { return Ok(None) };
        if !fs::metadata(&real).map_err(|error| failed(path, &error))?.is_file() {
            return Ok(None);
        }
        read(path, &real, largest).map(Some)
    }

    /// The real place of a path. `None` if nothing is there.
    fn real(&self, path: &str) -> Result<Option<PathBuf>, LoadError> {
        let joined = self.folder.join(path);
        match joined.canonicalize() {
            Ok(real) if self.may_see(&real) => Ok(Some(real)),
            Ok(_) => Err(LoadError::Outside { path: path.to_owned() }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                // Whether something is there is none of its business outside of its folder, either.
                let plain = super::normal(path);
                let outside =
                    plain.starts_with("..") || plain.starts_with('/') && !self.may_see(Path::new(&plain));
                if outside { Err(LoadError::Outside { path: path.to_owned() }) } else { Ok(None) }
            }
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// The names of what is in a folder and of a kind, in order.
    fn entries(&self, folder: &str, is_wanted: fn(&fs::FileType) -> bool) -> Result<Vec<String>, LoadError> {
        let Some(real) = self.real(folder)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in fs::read_dir(&real).map_err(|error| failed(folder, &error))? {
            let entry = entry.map_err(|error| failed(folder, &error))?;
            let is_wanted = entry.file_type().is_ok_and(|kind| is_wanted(&kind));
            if let (true, Ok(name)) = (is_wanted, entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn may_see(&self, real: &Path) -> bool {
        real.starts_with(&self.folder) || self.skills.iter().any(|skills| real.starts_with(skills))
    }
}

impl Loader for FileLoader {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let Some(real) = self.real(path)? else { return Ok(PathContent::Nothing) };
        let kind = fs::metadata(&real).map_err(|error| failed(path, &error))?;
        if kind.is_dir() {
            return Ok(PathContent::Folder);
        }
        if !kind.is_file() {
            return Err(LoadError::Failed { path: path.to_owned(), reason: "not a file".to_owned() });
        }
        let bytes = read(path, &real, LARGEST)?;
        Ok(String::from_utf8(bytes).map_or(PathContent::Binary, PathContent::Text))
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.entries(folder, fs::FileType::is_file)
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.entries(folder, fs::FileType::is_dir)
    }

    fn skill(&self, name: &str) -> Option<String> {
        // A name, not a way out of the folder of skills.
        if name.is_empty() || name.contains(['/', '\\', '.']) {
            return None;
        }
        let folders = self.skills.iter().map(|skills| skills.join(name));
        folders.filter(|folder| folder.is_dir()).find_map(|folder| folder.to_str().map(str::to_owned))
    }

    fn skill_names(&self) -> Vec<String> {
        let entries = self.skills.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let skills = entries.filter(|entry| entry.path().join("SKILL.md").is_file());
        skills.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

fn read(path: &str, real: &Path, largest: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(real).map_err(|error| failed(path, &error))?;
    file.take(largest + 1).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
    if bytes.len() as u64 > largest {
        return Err(LoadError::TooLarge { path: path.to_owned(), limit: largest });
    }
    Ok(bytes)
}

fn failed(path: &str, error: &io::Error) -> LoadError {
    LoadError::Failed { path: path.to_owned(), reason: error.to_string() }
}
