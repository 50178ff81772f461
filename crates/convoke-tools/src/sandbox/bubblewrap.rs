//! Confinement by bubblewrap: namespaces, with a root folder in which there is only what may be there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::filter::{self, Sockets};
use super::holes::Holes;
use super::landlock::{SETTINGS, SYSTEM};
use super::{Network, Sandbox, SandboxError};
use crate::workspace::Kind;

/// Where bubblewrap is. A program of that name in the workspace, or in a folder that depends on where one is, is none: the
/// model may have put it there, and it would be started unconfined.
pub(super) fn on_path(workspace: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    found_in(std::env::split_paths(&path), workspace)
}

fn found_in(folders: impl Iterator<Item = PathBuf>, workspace: &Path) -> Option<PathBuf> {
    let programs = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("bwrap"));
    programs
        .filter_map(|program| program.canonicalize().ok())
        .find(|real| real.is_file() && !real.starts_with(workspace))
}

/// Whether it works here: where namespaces are forbidden it is installed and of no use.
pub(super) fn available(program: Option<&Path>) -> Result<PathBuf, String> {
    /// What was found out, for each program: it takes some milliseconds, and does not change.
    static KNOWN: Mutex<Vec<(PathBuf, Result<(), String>)>> = Mutex::new(Vec::new());
    let Some(program) = program else { return Err("bubblewrap is not installed".to_owned()) };
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let found = known.iter().find(|(known, _)| known == program).map(|(_, found)| found.clone());
    let found = found.unwrap_or_else(|| {
        let found = tried(program);
        known.push((program.to_owned(), found.clone()));
        found
    });
    found.map(|()| program.to_owned())
}

fn tried(program: &Path) -> Result<(), String> {
    let output = Command::new(program)
        .args([
            "--unshare-all",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--",
            "/bin/sh",
            "-c",
            ":",
        ])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("bubblewrap cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("bubblewrap does not work here: {}", said.trim()))
}

/// The arguments that put a program into its place. The filter comes through this file descriptor.
pub(super) fn arguments(
    sandbox: &Sandbox,
    holes: &Holes,
    folder: &Path,
    filter: i32,
) -> Result<Vec<OsString>, SandboxError> {
    let mut arguments = Arguments(Vec::new());
    arguments.add(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    if sandbox.network == Network::Open {
        arguments.add(["--share-net"]);
    }
    for path in SYSTEM.iter().chain(SETTINGS).filter(|path| **path != "/proc") {
        arguments.add(["--ro-bind-try", path, path]);
    }
    arguments.add(["--proc", "/proc", "--dev", "/dev"]);
    arguments.add([OsStr::new("--bind"), sandbox.private.temporary().as_os_str(), OsStr::new("/tmp")]);
    for path in sandbox.private.writable() {
        arguments.add([OsStr::new("--bind"), path.as_os_str(), path.as_os_str()]);
    }
    let outputs = sandbox.private.outputs();
    arguments.add([OsStr::new("--ro-bind"), outputs.as_os_str(), outputs.as_os_str()]);
    for (folder, holes) in sandbox.opened() {
        let path = folder.path();
        arguments.add([OsStr::new("--ro-bind"), path.as_os_str(), path.as_os_str()]);
        arguments.hide(path, &holes);
    }
    for path in sandbox.opened_whole() {
        arguments.add([OsStr::new("--ro-bind-try"), path.as_os_str(), path.as_os_str()]);
    }
    // The links that lead there are not there.
    for (path, alias) in &sandbox.aliases {
        arguments.add([OsStr::new("--ro-bind-try"), path.as_os_str(), alias.as_os_str()]);
    }
    let top = sandbox.workspace.path();
    arguments.add([OsStr::new("--bind"), top.as_os_str(), top.as_os_str()]);
    arguments.cover(top, holes);
    // What is written where nothing is mounted would be gone with the command: better it fails.
    arguments.add(["--remount-ro", "/"]);
    arguments.add([OsStr::new("--chdir"), folder.as_os_str()]);
    arguments.add(["--seccomp", &filter.to_string(), "--"]);
    Ok(arguments.0)
}

/// The filter for what runs inside. `clone3` need not be hidden there: a namespace in a namespace shows nothing more.
pub(super) fn filter(sandbox: &Sandbox) -> Result<Vec<u8>, SandboxError> {
    let sockets = match sandbox.network {
        // Alone in its network, it may talk to itself.
        Network::None => Sockets::Any,
        Network::Open => Sockets::Internet,
    };
    let programs = filter::programs(sockets)?;
    Ok(programs.first().map(filter::bytes).unwrap_or_default())
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<A: Into<OsString>, const N: usize>(&mut self, more: [A; N]) {
        self.0.extend(more.map(Into::into));
    }

    /// Hides secrets, and puts what is read-only over itself.
    fn cover(&mut self, top: &Path, holes: &Holes) {
        // A folder that is mounted, if only on itself, cannot be moved away with what is in it.
        for folder in holes.folders() {
            let path = top.join(folder);
            self.add([OsStr::new("--bind"), path.as_os_str(), path.as_os_str()]);
        }
        self.hide(top, holes);
        for (path, kind) in &holes.read_only {
            let path = top.join(path);
            if *kind != Kind::Link {
                self.add([OsStr::new("--ro-bind"), path.as_os_str(), path.as_os_str()]);
            }
        }
    }

    /// Puts something empty over each secret.
    fn hide(&mut self, top: &Path, holes: &Holes) {
        for (path, kind) in &holes.secret {
            let path = top.join(path);
            match kind {
                Kind::Folder => {
                    self.add([OsStr::new("--tmpfs"), path.as_os_str()]);
                    self.add([OsStr::new("--remount-ro"), path.as_os_str()]);
                }
                // A link leads to something that is covered by its own name, or is not there.
                Kind::Link => {}
                Kind::File | Kind::Other(_) => {
                    self.add([OsStr::new("--ro-bind"), OsStr::new("/dev/null"), path.as_os_str()]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_model_could_have_put_there_is_not_bubblewrap() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a path");
        let place = |name: &str| {
            let folder = top.join(name);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("bwrap"), "").expect("a file");
            folder
        };
        let (inside, outside) = (place("work/.venv/bin"), place("usr/bin"));
        let linked = top.join("linked");
        std::os::unix::fs::symlink(&inside, &linked).expect("a link");
        let find = |folders: &[&Path]| {
            found_in(folders.iter().map(|folder| folder.to_path_buf()), &top.join("work"))
        };
        assert_eq!(find(&[&inside, &linked, &outside]), Some(outside.join("bwrap")));
        assert_eq!(find(&[&inside, &linked]), None);
        let here = std::env::current_dir().expect("a folder");
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(outside.strip_prefix("/").expect("an absolute path"));
        assert!(relative.join("bwrap").is_file());
        assert_eq!(find(&[&relative]), None);
    }
}
