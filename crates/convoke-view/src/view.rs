//! The builder of views.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::error::ViewError;
use crate::prepared::PreparedView;
use crate::running::RunningProgram;

/// The network of a program in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Network {
    /// A loopback of its own, and nothing else.
    #[default]
    Loopback,
    /// The same, with a socket of ours listening at this port of it: [`RunningProgram::listener`].
    Listener(u16),
    /// That of this machine.
    Shared,
}

/// One thing that is put into a view.
#[derive(Debug, Clone)]
pub(crate) enum Mount {
    ReadOnly { from: PathBuf, at: PathBuf },
    Writable { from: PathBuf, at: PathBuf },
    Overlay { lower: Vec<PathBuf>, upper: Option<(PathBuf, PathBuf)>, at: PathBuf },
    Memory { at: PathBuf, bytes: u64, is_writable: bool },
    Link { at: PathBuf, to: PathBuf },
    Hidden { at: PathBuf },
}

/// A view that a program can be started in.
///
/// Pieces are put into it in the order in which they are given: what comes later lies on top. A process list, a few devices
/// and memory that programs share are always there.
#[derive(Debug, Clone)]
pub struct View {
    pub(crate) root: PathBuf,
    pub(crate) pieces: Vec<Mount>,
    pub(crate) start: PathBuf,
    pub(crate) network: Network,
    pub(crate) shared_memory: u64,
    pub(crate) filters: Vec<Vec<u8>>,
    pub(crate) limits: Vec<(u32, u64)>,
    pub(crate) groups: Vec<PathBuf>,
}

impl View {
    /// An empty view. The root is mounted at this folder, which must be there and stays empty; only the program's own mounts
    /// are seen there, and only by it.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            pieces: Vec::new(),
            start: PathBuf::from("/"),
            network: Network::default(),
            shared_memory: 64 << 20,
            filters: Vec::new(),
            limits: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Shows a file or a folder, for reading, at a path. What is a link here becomes the same link there.
    #[must_use]
    pub fn read_only(mut self, from: impl AsRef<Path>, at: impl AsRef<Path>) -> Self {
        let (from, at) = (from.as_ref().to_owned(), at.as_ref().to_owned());
        self.pieces.push(match std::fs::read_link(&from) {
            Ok(to) if from == at => Mount::Link { at, to },
            _ => Mount::ReadOnly { from, at },
        });
        self
    }

    /// Shows a folder, for reading and writing, at a path.
    #[must_use]
    pub fn writable(mut self, from: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        self.pieces.push(Mount::Writable { from: from.into(), at: at.into() });
        self
    }

    /// Shows folders lying on each other, the first on top, for reading.
    #[must_use]
    pub fn layers(mut self, lower: Vec<PathBuf>, at: impl Into<PathBuf>) -> Self {
        self.pieces.push(Mount::Overlay { lower, upper: None, at: at.into() });
        self
    }

    /// Shows folders lying on each other, the first on top, and keeps everything that is changed there in another one, `upper`.
    /// `work` is an empty folder on the same file system.
    #[must_use]
    pub fn overlay(
        mut self,
        lower: Vec<PathBuf>,
        upper: impl Into<PathBuf>,
        work: impl Into<PathBuf>,
        at: impl Into<PathBuf>,
    ) -> Self {
        self.pieces.push(Mount::Overlay { lower, upper: Some((upper.into(), work.into())), at: at.into() });
        self
    }

    /// An empty folder in memory, of at most so many bytes.
    #[must_use]
    pub fn memory(mut self, at: impl Into<PathBuf>, bytes: u64) -> Self {
        self.pieces.push(Mount::Memory { at: at.into(), bytes, is_writable: true });
        self
    }

    /// An empty folder that nothing can be put into.
    #[must_use]
    pub fn empty(mut self, at: impl Into<PathBuf>) -> Self {
        self.pieces.push(Mount::Memory { at: at.into(), bytes: 4096, is_writable: false });
        self
    }

    /// Puts something that cannot be opened in the place of a file.
    #[must_use]
    pub fn hidden(mut self, at: impl Into<PathBuf>) -> Self {
        self.pieces.push(Mount::Hidden { at: at.into() });
        self
    }

    /// The folder of the view that the program starts in.
    #[must_use]
    pub fn start(mut self, folder: impl Into<PathBuf>) -> Self {
        self.start = folder.into();
        self
    }

    /// Sets what the program may reach.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets how much memory programs may share through `/dev/shm`, in bytes.
    #[must_use]
    pub fn shared_memory(mut self, bytes: u64) -> Self {
        self.shared_memory = bytes;
        self
    }

    /// A filter on system calls, as a program of the kernel's own kind. Those that are added later are asked first.
    #[must_use]
    pub fn filter(mut self, program: Vec<u8>) -> Self {
        self.filters.push(program);
        self
    }

    /// A limit of the program and of everything it starts: one of the kernel's `RLIMIT_` numbers.
    #[must_use]
    pub fn limit(mut self, resource: u32, most: u64) -> Self {
        self.limits.push((resource, most));
        self
    }

    /// A control group that everything in the view is in, by its file `cgroup.procs`.
    #[must_use]
    pub fn group(mut self, processes: impl Into<PathBuf>) -> Self {
        self.groups.push(processes.into());
        self
    }

    /// Starts a program in the view. Its environment, arguments and standard streams are the command's; its folder is
    /// [`start`](Self::start). The program is looked for in the view.
    ///
    /// # Errors
    /// If the view cannot be made, or there is no such program in it.
    pub fn spawn(self, command: Command) -> Result<RunningProgram, ViewError> {
        let prepared = PreparedView::of(&self)?;
        child::spawn(prepared, command)
    }
}

/// A path beneath another root.
pub(crate) fn beneath(root: &Path, at: &Path) -> PathBuf {
    let mut path = OsString::from(root);
    path.push("/");
    path.push(at.strip_prefix("/").unwrap_or(at));
    PathBuf::from(path)
}
