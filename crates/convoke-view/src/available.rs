//! Checks whether views can be made on this machine.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Unavailable;
use crate::view::View;

/// Checks whether programs can be started in views here: one is, with everything that views are made of, in a
/// folder that is given for that. It takes some milliseconds; the answer holds for as long as this process lives.
///
/// # Errors
/// What failed: containers and some systems keep ordinary users, or everybody, from making namespaces or mounts.
pub fn available(folder: &Path) -> Result<(), Unavailable> {
    let unavailable = |why: String| Unavailable { why };
    let place = |name: &str| {
        let path = folder.join(name);
        match std::fs::create_dir(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(unavailable(format!("making `{}`: {error}", path.display())))
            }
            _ => Ok(path),
        }
    };
    let (root, lower, upper, work) = (place("root")?, place("lower")?, place("upper")?, place("work")?);
    let file = lower.join("file");
    let made = std::fs::write(&file, "").and_then(|()| std::fs::create_dir_all(lower.join("folder")));
    made.map_err(|error| unavailable(format!("making `{}`: {error}", file.display())))?;
    let mut view = View::new(root);
    for path in ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache"] {
        if Path::new(path).symlink_metadata().is_ok() {
            view = view.read_only(path, path);
        }
    }
    for path in ["/nix/store", "/gnu/store"] {
        if Path::new(path).is_dir() {
            view = view.read_only(path, path);
        }
    }
    let view = view.overlay(vec![lower], &upper, work, "/changed").start("/changed");
    // What is removed and made anew is what file systems below an overlay can be too old for.
    let script = "rm file && rm -r folder && mkdir folder && : >folder/made && test -d /proc/self";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = view.spawn(command).map_err(|error| unavailable(error.to_string()))?;
    let mut said = String::new();
    if let Some(stderr) = &mut running.stderr {
        use std::io::Read;
        let _ = stderr.read_to_string(&mut said);
    }
    let ended = running.wait().map_err(|error| unavailable(error.to_string()))?;
    let is_there = ended.success() && upper.join("folder/made").is_file();
    if is_there { Ok(()) } else { Err(unavailable(format!("trying it out: {ended} {}", said.trim()))) }
}
