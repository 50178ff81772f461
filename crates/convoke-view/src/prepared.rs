//! The prepared arguments: mounts, maps of users, devices, limits and filters, made before `fork`: between it and `exec` nothing can be allocated.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::error::ViewError;
use crate::view::{Mount, Network, View, beneath};

/// What root keeps in a view: its rights to files, which are bounded by what is in the view.
const FILE_RIGHTS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Devices that hold nothing.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// One change to the tree of mounts.
#[derive(Debug)]
pub(crate) enum MountStep {
    Folder(CString),
    File(CString),
    Link { at: CString, to: CString },
    Bind { from: CString, at: CString },
    Restrict { at: CString, attributes: u64, is_recursive: bool },
    Mount { kind: &'static CStr, at: CString, flags: u64, options: CString },
}

#[derive(Debug)]
pub(crate) struct PreparedView {
    pub(crate) root: CString,
    pub(crate) steps: Vec<MountStep>,
    pub(crate) start: CString,
    /// The lines that map this user and group into a user namespace, if one is needed.
    pub(crate) user: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) namespaces: i32,
    /// Whether the network is the view's own.
    pub(crate) has_loopback: bool,
    pub(crate) port: Option<u16>,
    pub(crate) filters: Vec<Vec<libc::sock_filter>>,
    pub(crate) limits: Vec<(u32, u64)>,
    pub(crate) groups: Vec<OwnedFd>,
    /// Changes that Landlock rules over, and where they are allowed. None where there is no Landlock.
    pub(crate) changes: u64,
    pub(crate) changeable: Vec<CString>,
    pub(crate) rights: u64,
}

impl PreparedView {
    pub(crate) fn of(view: &View) -> Result<Self, ViewError> {
        let mut tree = Tree { root: view.root.clone(), steps: Vec::new(), made: HashSet::new() };
        let root = path(&view.root)?;
        tree.mount(c"tmpfs", Path::new("/"), 0, "size=1m,mode=0755")?;
        tree.system(view.shared_memory)?;
        for piece in &view.pieces {
            tree.piece(piece)?;
        }
        // Last of all: what is put into an empty folder later needs a place in it.
        for piece in &view.pieces {
            if let Mount::Memory { at, is_writable: false, .. } = piece {
                tree.restrict(at, libc::MOUNT_ATTR_RDONLY, false)?;
            }
        }
        let root_only = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        tree.restrict(Path::new("/"), root_only, false)?;
        let may_mount = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
        let mut namespaces = libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        if !may_mount {
            namespaces |= libc::CLONE_NEWUSER;
        }
        if view.network != Network::Shared {
            namespaces |= libc::CLONE_NEWNET;
        }
        let map = |id: u32| format!("{id} {id} 1").into_bytes();
        let user = (!may_mount).then(|| (map(geteuid().as_raw()), map(getegid().as_raw())));
        let changeable = view.pieces.iter().filter_map(|piece| match piece {
            Mount::Writable { at, .. }
            | Mount::Overlay { upper: Some(_), at, .. }
            | Mount::Memory { at, is_writable: true, .. } => Some(at.as_path()),
            _ => None,
        });
        let changeable = changeable.chain([Path::new("/dev")]).map(path).collect::<Result<_, _>>()?;
        let groups = view.groups.iter().map(|group| {
            let file = OpenOptions::new().write(true).open(group);
            file.map(OwnedFd::from)
                .map_err(|error| failed(format!("the control group {}", group.display()), error))
        });
        Ok(Self {
            root,
            steps: tree.steps,
            start: path(&view.start)?,
            user,
            namespaces,
            has_loopback: view.network != Network::Shared,
            port: match view.network {
                Network::Listener(port) => Some(port),
                _ => None,
            },
            filters: view.filters.iter().map(|program| instructions(program)).collect(),
            limits: view.limits.clone(),
            groups: groups.collect::<Result<_, _>>()?,
            changes: ruled_changes(),
            changeable,
            rights: if may_mount { FILE_RIGHTS.bits() } else { 0 },
        })
    }
}

pub(crate) fn failed(step: impl Into<String>, source: std::io::Error) -> ViewError {
    ViewError::Setup { step: step.into(), source }
}

fn path(path: &Path) -> Result<CString, ViewError> {
    text(path.as_os_str().as_bytes(), path.display())
}

fn text(bytes: &[u8], shown: impl Display) -> Result<CString, ViewError> {
    CString::new(bytes).map_err(|_| ViewError::Path { path: shown.to_string() })
}

/// The changes that this kernel's Landlock knows. The numbers are the kernel's, by the version they came with.
fn ruled_changes() -> u64 {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: asked for its version, the call takes no attributes and changes nothing.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    // Writing a file, removing and making everything there is.
    let first: u64 = (1 << 1) | (0b1_1111_1111 << 4);
    match version {
        i64::MIN..=0 => 0,
        1 => first,
        2 => first | (1 << 13),
        _ => first | (1 << 13) | (1 << 14),
    }
}

fn instructions(program: &[u8]) -> Vec<libc::sock_filter> {
    let instruction = |bytes: &[u8]| match *bytes {
        [a, b, jt, jf, c, d, e, f] => {
            let (code, k) = (u16::from_ne_bytes([a, b]), u32::from_ne_bytes([c, d, e, f]));
            libc::sock_filter { code, jt, jf, k }
        }
        // Chunks are of eight.
        _ => libc::sock_filter { code: 0, jt: 0, jf: 0, k: 0 },
    };
    program.chunks_exact(8).map(instruction).collect()
}

/// The steps that make a tree, from the outside.
struct Tree {
    root: PathBuf,
    steps: Vec<MountStep>,
    made: HashSet<PathBuf>,
}

impl Tree {
    /// What every program needs.
    fn system(&mut self, shared_memory: u64) -> Result<(), ViewError> {
        let no_programs = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        // Who cannot be looked into is not listed: the first process of the view has our memory.
        self.mount(c"proc", Path::new("/proc"), no_programs, "hidepid=4")?;
        self.restrict(Path::new("/proc"), libc::MOUNT_ATTR_RDONLY, false)?;
        self.mount(c"tmpfs", Path::new("/dev"), libc::MS_NOSUID | libc::MS_NOEXEC, "size=64k,mode=0755")?;
        for name in DEVICES {
            let device = Path::new("/dev").join(name);
            self.bind(&device, &device, false)?;
            // It is the machine's own: its mode, owner and times are not for root in a view to change. Devices stay usable.
            self.restrict(&device, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID, false)?;
        }
        for (at, to) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
            ("/dev/ptmx", "pts/ptmx"),
        ] {
            self.link(Path::new(at), Path::new(to))?;
        }
        let terminals = libc::MS_NOSUID | libc::MS_NOEXEC;
        self.mount(c"devpts", Path::new("/dev/pts"), terminals, "newinstance,ptmxmode=0666,mode=0620")?;
        let options = format!("size={shared_memory},mode=1777");
        self.mount(c"tmpfs", Path::new("/dev/shm"), libc::MS_NOSUID | libc::MS_NODEV, &options)?;
        self.restrict(Path::new("/dev"), libc::MOUNT_ATTR_RDONLY, false)
    }

    fn piece(&mut self, piece: &Mount) -> Result<(), ViewError> {
        let hardened = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        match piece {
            Mount::ReadOnly { from, at } => {
                self.bind(from, at, from.is_dir())?;
                self.restrict(at, hardened | libc::MOUNT_ATTR_RDONLY, true)
            }
            Mount::Writable { from, at } => {
                self.bind(from, at, true)?;
                self.restrict(at, hardened, true)
            }
            Mount::Overlay { lower, upper, at } => {
                let lower = lower.iter().map(|folder| escaped(folder)).collect::<Vec<_>>().join(&b':');
                let mut options = b"userxattr,lowerdir=".to_vec();
                options.extend(lower);
                if let Some((upper, work)) = upper {
                    for (name, folder) in [("upperdir", upper), ("workdir", work)] {
                        options.extend(format!(",{name}=").into_bytes());
                        options.extend(escaped(folder));
                    }
                }
                self.folder(at)?;
                let options = text(&options, at.display())?;
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                let at = self.outside(at)?;
                self.steps.push(MountStep::Mount { kind: c"overlay", at, flags, options });
                Ok(())
            }
            Mount::Memory { at, bytes, is_writable } => {
                let options = format!("size={bytes},mode={}", if *is_writable { "1777" } else { "0555" });
                self.mount(c"tmpfs", at, libc::MS_NOSUID | libc::MS_NODEV, &options)
            }
            Mount::Link { at, to } => self.link(at, to),
            Mount::Hidden { at } => {
                self.bind(Path::new("/dev/null"), at, false)?;
                // A device where there may be none cannot be opened, so nobody takes it for an empty file.
                self.restrict(at, hardened | libc::MOUNT_ATTR_RDONLY, false)
            }
        }
    }

    fn outside(&self, at: &Path) -> Result<CString, ViewError> {
        path(&beneath(&self.root, at))
    }

    fn folder(&mut self, at: &Path) -> Result<(), ViewError> {
        let above: Vec<&Path> = at.ancestors().filter(|above| above.parent().is_some()).collect();
        for folder in above.into_iter().rev() {
            if self.made.insert(folder.to_owned()) {
                let folder = self.outside(folder)?;
                self.steps.push(MountStep::Folder(folder));
            }
        }
        Ok(())
    }

    fn link(&mut self, at: &Path, to: &Path) -> Result<(), ViewError> {
        self.folder(at.parent().unwrap_or(Path::new("/")))?;
        let (at, to) = (self.outside(at)?, path(to)?);
        self.steps.push(MountStep::Link { at, to });
        Ok(())
    }

    fn bind(&mut self, from: &Path, at: &Path, is_folder: bool) -> Result<(), ViewError> {
        if is_folder {
            self.folder(at)?;
        } else {
            self.folder(at.parent().unwrap_or(Path::new("/")))?;
            let file = self.outside(at)?;
            self.steps.push(MountStep::File(file));
        }
        let (from, at) = (path(from)?, self.outside(at)?);
        self.steps.push(MountStep::Bind { from, at });
        Ok(())
    }

    fn mount(&mut self, kind: &'static CStr, at: &Path, flags: u64, options: &str) -> Result<(), ViewError> {
        self.folder(at)?;
        let (at, options) = (self.outside(at)?, text(options.as_bytes(), options)?);
        self.steps.push(MountStep::Mount { kind, at, flags, options });
        Ok(())
    }

    fn restrict(&mut self, at: &Path, attributes: u64, is_recursive: bool) -> Result<(), ViewError> {
        let at = self.outside(at)?;
        self.steps.push(MountStep::Restrict { at, attributes, is_recursive });
        Ok(())
    }
}

/// A path as the options of an overlay have it.
fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .flat_map(|byte| matches!(byte, b'\\' | b':' | b',').then_some(b'\\').into_iter().chain([*byte]))
        .collect()
}

impl MountStep {
    /// What is told of it when it fails.
    pub(crate) fn shown(&self, root: &CStr) -> String {
        let place = |at: &CString| {
            let (at, root) = (at.to_string_lossy(), root.to_string_lossy());
            at.strip_prefix(&*root).map_or_else(|| at.to_string(), str::to_owned)
        };
        match self {
            Self::Folder(at) | Self::File(at) => format!("making `{}`", place(at)),
            Self::Link { at, .. } => format!("making the link `{}`", place(at)),
            Self::Bind { from, .. } => format!("showing `{}`", from.to_string_lossy()),
            Self::Restrict { at, .. } => format!("making `{}` read-only", place(at)),
            Self::Mount { kind, at, .. } => format!("mounting {} at `{}`", kind.to_string_lossy(), place(at)),
        }
    }
}
