//! What a command finds around it: variables and a private folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;

use super::SandboxError;

/// Variables taken over from this process. No key is ever among them: what is not here is not there.
const TAKEN_OVER: &[&str] = &["PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ"];

/// Folders of programs, when this process has no path.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A folder for the temporary files and the home of a sandbox's commands. It goes when the sandbox does.
#[derive(Debug)]
pub(super) struct Private {
    path: PathBuf,
}

impl Private {
    pub(super) fn make() -> Result<Self, SandboxError> {
        let failed = |why: &dyn std::fmt::Display| SandboxError::setup("a private folder", why);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| failed(&error))?;
        let top = std::env::temp_dir().canonicalize().map_err(|error| failed(&error))?;
        let path = top.join(format!("convoke-sandbox-{:016x}", u64::from_ne_bytes(random)));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&path).map_err(|error| failed(&error))?;
        let private = Self { path };
        for folder in [private.home(), private.temporary(), private.outputs()] {
            make(&folder).map_err(|error| failed(&error))?;
        }
        Ok(private)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What commands may write. The rest of the folder is ours: what is written there for a command must not be led
    /// elsewhere by it.
    pub(super) fn writable(&self) -> [PathBuf; 2] {
        [self.home(), self.temporary()]
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Where outputs are kept that are too long to be given back as a whole.
    pub(super) fn outputs(&self) -> PathBuf {
        self.path.join("outputs")
    }

    /// What lies on secrets, on files and on folders. On files it is a socket that nobody listens at: it cannot be opened,
    /// so nobody takes it for an empty file, and commits that.
    pub(super) fn nothing(&self) -> Result<(PathBuf, PathBuf), SandboxError> {
        let (file, folder) = (self.path.join("nothing"), self.path.join("empty"));
        let made = match mknodat(CWD, &file, FileType::Socket, Mode::RUSR, 0) {
            Err(Errno::EXIST) => Ok(()),
            made => made,
        };
        made.map_err(|errno| SandboxError::setup("a private folder", errno))?;
        match DirBuilder::new().mode(0o500).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(SandboxError::setup("a private folder", error))
            }
            _ => Ok((file, folder)),
        }
    }

    /// The variables of a command.
    pub(super) fn variables(&self, others: &[&BTreeMap<String, OsString>]) -> BTreeMap<String, OsString> {
        let mut variables: BTreeMap<String, OsString> = BTreeMap::new();
        for name in TAKEN_OVER {
            if let Some(value) = std::env::var_os(name) {
                variables.insert((*name).to_owned(), value);
            }
        }
        variables.entry("PATH".to_owned()).or_insert_with(|| PATH.into());
        variables.insert("TERM".to_owned(), "dumb".into());
        variables.insert("HOME".to_owned(), self.home().into());
        variables.insert("TMPDIR".to_owned(), self.temporary().into());
        for more in others {
            variables.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        variables
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Nothing more can be done if this fails: it is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
