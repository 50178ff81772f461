//! Attempts to get out, or at what is protected. Each must be refused with a reason, and what is legitimate beside it
//! must pass. `docs/security.md` has the table.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod aftermath;
#[cfg(target_os = "linux")]
mod chains;
#[cfg(target_os = "linux")]
mod gate;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod git_places;
#[cfg(target_os = "linux")]
mod git_settings;
#[cfg(target_os = "linux")]
mod interrupted;
#[cfg(target_os = "linux")]
mod later;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod neighbours;
mod paths;
mod protected;
mod races;
#[cfg(target_os = "linux")]
mod removals;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod shell_secrets;
#[cfg(target_os = "linux")]
mod tasks;

/// Whether commands can be confined by the kernel alone.
#[cfg(target_os = "linux")]
fn has_landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))
        .and_then(Ruleset::create);
    needed.is_ok()
}

/// Whether commands can work in views.
#[cfg(target_os = "linux")]
fn has_views() -> bool {
    let folder = tempfile::tempdir().unwrap();
    convoke_view::available(folder.path()).is_ok()
}
