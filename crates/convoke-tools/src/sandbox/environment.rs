//! The environment of a command: variables and a private folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

use super::SandboxError;
use super::scratch::Scratch;
use crate::repository;

/// Variables taken over from this process. No key is ever among them: what is not here is not there.
const TAKEN_OVER: &[&str] = &["PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ"];

/// Folders of programs, when this process has no path.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where a command finds its home in a view.
const HOME: &str = "/convoke/home";
/// Where it finds outputs that were too long.
const OUTPUTS: &str = "/convoke/outputs";

/// A folder for the temporary files and the home of a sandbox's commands. It goes when the sandbox does.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    scratch: Scratch,
}

/// A folder of a sandbox, and where commands in a view find it.
pub(super) struct MountedFolder {
    pub(super) from: PathBuf,
    pub(super) at: &'static str,
}

impl PrivateFolder {
    pub(super) fn make() -> Result<Self, SandboxError> {
        let scratch = Scratch::make(&std::env::temp_dir(), &["home", "tmp", "outputs", "etc"])?;
        let private = Self { scratch };
        let failed = |error: std::io::Error| SandboxError::setup("a private folder", error);
        private.identity().map_err(failed)?;
        Ok(private)
    }

    /// Who a command is: to the system, and to git.
    fn identity(&self) -> std::io::Result<()> {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = accounts.lines().find(|line| line.split(':').nth(2) == Some(&user.to_string()));
        let name =
            own.and_then(|line| line.split(':').next()).filter(|name| !name.is_empty()).unwrap_or("user");
        let own = format!("{name}:x:{user}:{group}::{HOME}:/bin/bash\n");
        let others = ["root:x:0:0:root:/root:/bin/sh\n", "nobody:x:65534:65534:nobody:/:/bin/false\n"];
        let others = others.iter().filter(|line| line.split(':').nth(2) != Some(&user.to_string()));
        let accounts: String = std::iter::once(&*own).chain(others.copied()).collect();
        std::fs::write(self.scratch.path().join("etc/passwd"), accounts)?;
        let groups = format!("root:x:0:\nnogroup:x:65534:\n{name}:x:{group}:\n");
        std::fs::write(self.scratch.path().join("etc/group"), groups)?;
        std::fs::write(self.home().join(".gitconfig"), repository::identity().to_string())
    }

    /// Files that stand for those of the machine.
    pub(super) fn accounts(&self) -> [MountedFolder; 2] {
        ["/etc/passwd", "/etc/group"]
            .map(|at| MountedFolder { from: self.scratch.path().join(at.trim_start_matches('/')), at })
    }

    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// What commands may write. The rest of the folder is ours: what is written there for a command must not be led
    /// elsewhere by it.
    pub(super) fn writable(&self) -> [PathBuf; 2] {
        [self.home(), self.temporary()]
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.scratch.path().join("tmp")
    }

    /// Where outputs are kept that are too long to be given back as a whole.
    pub(super) fn outputs(&self) -> PathBuf {
        self.scratch.path().join("outputs")
    }

    /// The same, as commands in a view find it, for writing and for reading.
    pub(super) fn shown(&self) -> ([MountedFolder; 2], MountedFolder) {
        let writable = [
            MountedFolder { from: self.home(), at: HOME },
            MountedFolder { from: self.temporary(), at: "/tmp" },
        ];
        (writable, MountedFolder { from: self.outputs(), at: OUTPUTS })
    }

    /// The variables of a command.
    pub(super) fn variables(
        &self,
        is_in_view: bool,
        others: &[&BTreeMap<String, OsString>],
    ) -> BTreeMap<String, OsString> {
        let mut variables: BTreeMap<String, OsString> = BTreeMap::new();
        for name in TAKEN_OVER {
            if let Some(value) = std::env::var_os(name) {
                variables.insert((*name).to_owned(), value);
            }
        }
        variables.entry("PATH".to_owned()).or_insert_with(|| PATH.into());
        variables.insert("TERM".to_owned(), "dumb".into());
        let (home, temporary) = match is_in_view {
            true => (HOME.into(), "/tmp".into()),
            false => (self.home(), self.temporary()),
        };
        variables.insert("HOME".to_owned(), home.into());
        variables.insert("TMPDIR".to_owned(), temporary.into());
        for more in others {
            variables.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        variables
    }
}
