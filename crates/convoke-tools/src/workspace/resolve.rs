//! Resolves a path, walking it by handles.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::{FileError, Workspace};

/// As many links as Linux itself follows.
const MOST_LINKS: usize = 40;
/// How often a walk begins anew when what it stands on is exchanged under it.
const MOST_ATTEMPTS: usize = 16;

/// What is done about a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Where it leads is meant.
    Links,
    /// The link itself is meant.
    Nothing,
}

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    File,
    Folder,
    Link,
    Other(&'static str),
}

impl FileKind {
    pub(crate) fn of(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Other("a pipe"),
            FileType::Socket => Self::Other("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Self::Other("a device"),
            _ => Self::Other("of an unknown kind"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Other(name) => name,
        }
    }
}

/// A resolved path in the workspace: the open folder it is in, and its name there.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The real path, from the top of the workspace. Empty for the top itself.
    pub(crate) path: PathBuf,
    /// The deepest folder on the way that exists.
    pub(crate) parent: Arc<OwnedFd>,
    pub(crate) target: Target,
}

#[derive(Debug)]
pub(crate) enum Target {
    /// The workspace itself.
    Top,
    /// Something in the folder.
    There { name: OsString, stat: Box<Stat> },
    /// Nothing. The names are what would have to be made, the last one being the target itself.
    Missing { names: Vec<OsString> },
}

impl ResolvedPath {
    pub(crate) fn kind(&self) -> Option<FileKind> {
        match &self.target {
            Target::Top => Some(FileKind::Folder),
            Target::There { stat, .. } => Some(FileKind::of(FileType::from_raw_mode(stat.st_mode))),
            Target::Missing { .. } => None,
        }
    }
}

/// Errors of a walk.
enum WalkError {
    /// Something was exchanged between two steps.
    Exchanged,
    Refused(FileError),
}

impl From<FileError> for WalkError {
    fn from(error: FileError) -> Self {
        Self::Refused(error)
    }
}

impl Workspace {
    /// Walks a path. Protection is not looked at, but for the links on the way: a protected link leads nowhere.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>, follow: Follow) -> Result<ResolvedPath, FileError> {
        let path = path.as_ref();
        for _ in 0..MOST_ATTEMPTS {
            match Walk::new(self, path)?.run(follow) {
                Ok(place) => return Ok(place),
                Err(WalkError::Refused(error)) => return Err(error),
                Err(WalkError::Exchanged) => std::thread::yield_now(),
            }
        }
        Err(FileError::Unsteady { path: path.display().to_string() })
    }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    asked: &'a Path,
    /// The folders from the top to here, each with its name.
    way: Vec<(OsString, Arc<OwnedFd>)>,
    ahead: VecDeque<OsString>,
    links: usize,
}

impl<'a> Walk<'a> {
    fn new(workspace: &'a Workspace, asked: &'a Path) -> Result<Self, FileError> {
        if asked.as_os_str().is_empty() {
            return Err(FileError::Unfit("the path is empty; `.` is the workspace itself".to_owned()));
        }
        if asked.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(FileError::Unfit("the path has a NUL character in it".to_owned()));
        }
        let mut walk = Self { workspace, asked, way: Vec::new(), ahead: VecDeque::new(), links: 0 };
        let inside = walk.inside(asked, "it is an absolute path")?;
        walk.ahead = names(&inside).collect();
        walk.must_not_mean_home()?;
        Ok(walk)
    }

    /// `~/.bashrc` is meant to be in the home folder, as a shell would have it. A folder that is called so is one.
    fn must_not_mean_home(&self) -> Result<(), FileError> {
        let mut names = self.ahead.iter();
        let home = names.next().filter(|name| ["~", "$HOME", "${HOME}"].iter().any(|home| *name == home));
        let Some(home) = home.filter(|_| names.next().is_some()) else { return Ok(()) };
        if statat(self.here(), home, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(());
        }
        Err(self.outside("paths are from the top of the workspace, and no home folder is known here"))
    }

    fn run(mut self, follow: Follow) -> Result<ResolvedPath, WalkError> {
        while let Some(name) = self.ahead.pop_front() {
            if name == ".." {
                if self.way.pop().is_none() {
                    return Err(self.outside("`..` goes above its top").into());
                }
                continue;
            }
            let stat = match statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(self.missing(name)?),
                Err(errno) => return Err(FileError::io("look up", &self.path_of(&name), errno).into()),
            };
            let is_last = self.ahead.is_empty();
            match FileKind::of(FileType::from_raw_mode(stat.st_mode)) {
                FileKind::Link if !is_last || follow == Follow::Links => self.follow(&name)?,
                _ if is_last => return Ok(self.arrived(name, stat)),
                FileKind::Folder => self.enter(name)?,
                kind => {
                    self.stays_inside(std::iter::once(&name).chain(&self.ahead))?;
                    let path = self.path_of(&name);
                    return Err(FileError::WrongKind { path, is: kind.name(), wanted: "a folder" }.into());
                }
            }
        }
        // The path ended in `..`, or is the top: the folder we stand in.
        Ok(match self.way.pop() {
            None => ResolvedPath {
                path: PathBuf::new(),
                parent: Arc::clone(self.workspace.root()),
                target: Target::Top,
            },
            Some((name, folder)) => {
                let stat = rustix::fs::fstat(&*folder)
                    .map_err(|errno| FileError::io("look up", &self.path_of(&name), errno))?;
                self.arrived(name, stat)
            }
        })
    }

    fn here(&self) -> &Arc<OwnedFd> {
        self.way.last().map_or(self.workspace.root(), |(_, folder)| folder)
    }

    fn path_of(&self, name: &OsStr) -> PathBuf {
        self.way.iter().map(|(name, _)| name.as_os_str()).chain([name]).collect()
    }

    fn arrived(&self, name: OsString, stat: Stat) -> ResolvedPath {
        let path = self.path_of(&name);
        ResolvedPath {
            path,
            parent: Arc::clone(self.here()),
            target: Target::There { name, stat: Box::new(stat) },
        }
    }

    fn missing(&mut self, name: OsString) -> Result<ResolvedPath, FileError> {
        let names: Vec<OsString> = std::iter::once(name).chain(self.ahead.drain(..)).collect();
        self.stays_inside(&names)?;
        if names.iter().any(|name| name == "..") {
            return Err(FileError::Missing { path: self.path_of(&names[0]) });
        }
        let path = self.path_of(&names.iter().collect::<PathBuf>().into_os_string());
        Ok(ResolvedPath { path, parent: Arc::clone(self.here()), target: Target::Missing { names } })
    }

    /// A path that leaves the workspace is refused for that, also if something on the way is not there.
    fn stays_inside<'n>(&self, names: impl IntoIterator<Item = &'n OsString>) -> Result<(), FileError> {
        let mut depth = self.way.len();
        for name in names {
            depth = match name == ".." {
                true => depth.checked_sub(1).ok_or_else(|| self.outside("`..` goes above its top"))?,
                false => depth + 1,
            };
        }
        Ok(())
    }

    fn enter(&mut self, name: OsString) -> Result<(), WalkError> {
        match openat(&**self.here(), &name, FOLDER, Mode::empty()) {
            Ok(folder) => {
                self.way.push((name, Arc::new(folder)));
                Ok(())
            }
            // It was a folder a moment ago.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => Err(WalkError::Exchanged),
            Err(errno) => Err(FileError::io("enter", &self.path_of(&name), errno).into()),
        }
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), WalkError> {
        let path = self.path_of(name);
        self.workspace.protected().may_read(&path)?;
        self.links += 1;
        if self.links > MOST_LINKS {
            let why = format!(
                "`{}` is behind more than {MOST_LINKS} links, or links in a circle",
                self.asked.display()
            );
            return Err(FileError::Unfit(why).into());
        }
        let target = match readlinkat(&**self.here(), name, Vec::new()) {
            Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
            // It was a link a moment ago.
            Err(Errno::INVAL | Errno::NOENT) => return Err(WalkError::Exchanged),
            Err(errno) => return Err(FileError::io("read the link", &path, errno).into()),
        };
        let inside = self.inside(&target, &format!("the link `{}` leads there", path.display()))?;
        if target.is_absolute() {
            self.way.clear();
        }
        for name in names(&inside).collect::<Vec<_>>().into_iter().rev() {
            self.ahead.push_front(name);
        }
        Ok(())
    }

    /// A path from the top; an absolute one only if it names the workspace.
    fn inside(&self, path: &Path, how: &str) -> Result<PathBuf, FileError> {
        if !path.is_absolute() {
            return Ok(path.to_owned());
        }
        let inside = path.strip_prefix(self.workspace.path());
        inside.map(Path::to_owned).map_err(|_| self.outside(how))
    }

    fn outside(&self, how: &str) -> FileError {
        FileError::Outside { path: self.asked.display().to_string(), how: how.to_owned() }
    }
}

/// Opens a folder to go through it.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opens a folder to go through it.
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}
