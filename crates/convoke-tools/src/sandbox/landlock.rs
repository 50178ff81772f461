//! Confinement by Landlock: rules on files that a thread puts on itself and that its children inherit.
//!
//! Landlock can only allow, and what is allowed for a folder is allowed for everything beneath it. So the folders above a
//! secret are opened for listing only, and what is in them one by one. A command can then not make new files directly in
//! those folders; it is told so. What is read-only cannot be had this way at all without losing the folder it is in, and
//! is looked after by `read_only_snapshot.rs`.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags, openat};

use super::protected_paths::ProtectedPaths;
use super::{Network, Sandbox, SandboxError};
use crate::workspace::{FileKind, Follow, Workspace, listed};

/// Programs and libraries.
pub(super) const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// What programs look up, and nobody minds being known. Who has an account here is not part of it: programs do with
/// numbers, as they do in containers.
pub(super) const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/sys/devices/system/cpu",
    "/proc",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
];

/// Devices that hold nothing.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The oldest Landlock that will do. Before it, any file that its owner could write could be emptied.
const NEEDED: ABI = ABI::V3;
/// The newest one that is known here: rules on networks came with the fourth, on signals and sockets with the sixth.
const KNOWN: ABI = ABI::V6;

/// Whether this kernel has it.
pub(super) fn available() -> Result<(), String> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(Ruleset::create);
    ruleset.map(drop).map_err(|error| format!("this kernel has no Landlock of version 3 ({error})"))
}

/// The rules for a command.
pub(super) fn rules(sandbox: &Sandbox, holes: &ProtectedPaths) -> Result<RulesetCreated, SandboxError> {
    let failed = |error: ::landlock::RulesetError| SandboxError::setup("rules on files", error);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))
        .map_err(failed)?
        .scope(Scope::from_all(KNOWN))
        .map_err(failed)?;
    if sandbox.network != Network::Open {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(failed)?;
    }
    let mut rules = Rules { created: ruleset.create().map_err(failed)? };
    let program = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    for path in SYSTEM {
        rules.allow_if_there(Path::new(path), program)?;
    }
    for path in SETTINGS {
        rules.allow_if_there(Path::new(path), AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    for path in DEVICES {
        rules.allow_if_there(Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    for (folder, holes) in sandbox.opened() {
        rules.open(&folder, Path::new(""), program, &holes)?;
    }
    for path in sandbox.opened_whole() {
        rules.allow_if_there(path, program)?;
    }
    for path in sandbox.private.writable() {
        rules.allow_if_there(&path, everything())?;
    }
    rules.allow_if_there(&sandbox.private.outputs(), AccessFs::ReadFile | AccessFs::ReadDir)?;
    rules.open(&sandbox.workspace, Path::new(""), everything(), holes)?;
    Ok(rules.created)
}

/// Puts the rules on this thread and on everything that it starts.
pub(super) fn confine(rules: RulesetCreated) -> Result<(), SandboxError> {
    let status = rules.restrict_self().map_err(|error| SandboxError::setup("rules on files", error))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(SandboxError::setup("rules on files", "the kernel does not enforce them"));
    }
    Ok(())
}

/// All that can be done to files, but for devices.
fn everything() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

struct Rules {
    created: RulesetCreated,
}

impl Rules {
    fn allow_if_there(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
        let Ok(handle) = PathFd::new(path) else { return Ok(()) };
        self.allow(handle, access, path.is_file() || !path.is_dir())
    }

    fn allow(
        &mut self,
        handle: impl AsFd,
        access: BitFlags<AccessFs>,
        is_file: bool,
    ) -> Result<(), SandboxError> {
        let access = if is_file { access & AccessFs::from_file(KNOWN) } else { access };
        let rule = PathBeneath::new(handle, access);
        (&mut self.created)
            .add_rule(rule)
            .map(drop)
            .map_err(|error| SandboxError::setup("rules on files", error))
    }

    /// Opens a folder of the workspace with everything beneath it but secrets.
    fn open(
        &mut self,
        workspace: &Workspace,
        folder: &Path,
        access: BitFlags<AccessFs>,
        holes: &ProtectedPaths,
    ) -> Result<(), SandboxError> {
        let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let place = workspace.resolve(path, Follow::Nothing)?;
        let handle = workspace.open_folder(&place)?;
        if !holes.are_beneath(folder) {
            return self.allow(handle, access, false);
        }
        self.allow(&handle, AccessFs::ReadDir.into(), false)?;
        for (name, kind) in listed(&handle, folder)? {
            let child: PathBuf = folder.join(&name);
            if holes.is_secret(&child) {
                continue;
            }
            match kind {
                FileKind::Folder => self.open(workspace, &child, access, holes)?,
                FileKind::File => {
                    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let file: Result<OwnedFd, _> = openat(&handle, &name, flags, Mode::empty());
                    // Gone meanwhile: nothing to open.
                    if let Ok(file) = file {
                        self.allow(file, access, true)?;
                    }
                }
                FileKind::Link | FileKind::Other(_) => {}
            }
        }
        Ok(())
    }
}
