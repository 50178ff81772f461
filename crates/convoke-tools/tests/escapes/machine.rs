//! Parts of the machine that are in a view, or not: places in `/opt` and `/usr/local`, devices.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::common::SECRET;
use crate::gate::{bash, view};
use crate::shell::in_views;

/// A folder among the system's programs, if this user may make one.
fn folder_in(place: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("convoke-test-").tempdir_in(place).ok()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    Some(folder)
}

fn put(path: impl AsRef<Path>, content: &str) {
    std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn what_lies_among_programs_is_not_shown_for_that() {
    let Some((opt, local)) = folder_in("/opt").zip(folder_in("/usr/local")) else { return };
    put(opt.path().join(".env"), SECRET);
    put(opt.path().join("notes.txt"), SECRET);
    put(local.path().join("credentials.json"), SECRET);
    put(local.path().join("plain.txt"), SECRET);
    let _listener = std::os::unix::net::UnixListener::bind(opt.path().join("socket")).unwrap();
    let Some(hands) = view("what_lies_among_programs_is_not_shown_for_that") else { return };
    let told = bash(
        &hands,
        &format!(
            "cat {0}/.env {0}/notes.txt {1}/* {1}/credentials.json; ls {0}; true",
            opt.path().display(),
            local.path().display()
        ),
    )
    .await;
    assert!(!told.contains(SECRET) && !told.contains("socket"), "{told}");
    let connect = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}/socket\")'",
        opt.path().display()
    );
    assert!(!bash(&hands, &connect).await.ends_with("Exit code: 0"));
}

#[tokio::test]
async fn of_opt_what_the_path_leads_to_is_shown_but_for_secrets() {
    let Some((opt, linked)) = folder_in("/opt").zip(folder_in("/opt")) else { return };
    put(opt.path().join("bin/tool"), "#!/bin/sh\ncat \"${0%/*}/../lib/pkg/credentials.py\"\n");
    put(opt.path().join("lib/pkg/credentials.py"), "part of a package\n");
    put(opt.path().join("conf/.env"), SECRET);
    put(linked.path().join("app/program"), "#!/bin/sh\necho linked\n");
    put(linked.path().join("app/id_rsa"), SECRET);
    put(linked.path().join("beside.txt"), SECRET);
    std::os::unix::fs::symlink(linked.path().join("app/program"), opt.path().join("bin/other")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(opt.path().join("lib/socket")).unwrap();
    let path = format!("{}/bin:/usr/bin:/bin", opt.path().display());
    let set_up = |sandbox: convoke_tools::sandbox::Sandbox| sandbox.variable("PATH", path.clone());
    let Some(hands) = in_views("of_opt_what_the_path_leads_to_is_shown_but_for_secrets", set_up) else {
        return;
    };
    assert_eq!(bash(&hands, "tool; other").await, "part of a package\nlinked\nExit code: 0");
    let told = bash(
        &hands,
        &format!(
            "cat {0}/conf/.env {1}/app/id_rsa {1}/beside.txt; test -S {0}/lib/socket",
            opt.path().display(),
            linked.path().display()
        ),
    )
    .await;
    assert!(!told.contains(SECRET) && !told.ends_with("Exit code: 0"), "{told}");
}

#[tokio::test]
async fn a_home_is_covered_wherever_it_is() {
    for place in ["/opt", "/usr", "/usr/local", "/usr/share"] {
        let Some(home) = folder_in(place) else { return };
        put(home.path().join("notes.txt"), SECRET);
        put(home.path().join("bin/tool"), "#!/bin/sh\necho used\n");
        let path = format!("{}/bin:/usr/bin:/bin", home.path().display());
        let set_up = |sandbox: convoke_tools::sandbox::Sandbox| {
            let bin = home.path().join("bin");
            sandbox.covered(home.path()).readable(bin).variable("PATH", path.clone())
        };
        let Some(hands) = in_views("a_home_is_covered_wherever_it_is", set_up) else { return };
        let told = bash(&hands, &format!("cat {0}/notes.txt; ls -A {0}; tool", home.path().display())).await;
        assert!(!told.contains(SECRET) && !told.contains("notes.txt\n"), "{place}: {told}");
        // What of it is open stays open.
        assert!(told.contains("used\n"), "{place}: {told}");
        let told =
            bash(&hands, &format!("ln -s {}/notes.txt link; echo x > {0}/made", home.path().display())).await;
        assert!(!hands.inside("link").is_symlink() && !home.path().join("made").exists(), "{place}: {told}");
    }
}

/// What lies beside a workspace is no part of the system, wherever the workspace is.
#[tokio::test]
async fn what_surrounds_a_workspace_is_covered() {
    use convoke_tools::sandbox::{Confinement, Sandbox, SandboxCommand};
    use convoke_tools::workspace::Workspace;
    if !crate::has_views() {
        return;
    }
    for place in ["/opt", "/usr/local", "/usr/share"] {
        let Some(around) = folder_in(place) else { return };
        put(around.path().join("other/notes.txt"), SECRET);
        put(around.path().join("work/plain"), "plain");
        let workspace = Workspace::open(around.path().join("work")).unwrap();
        let sandbox = Sandbox::new(&workspace).unwrap().confinement(Confinement::View);
        let task = SandboxCommand::new("sh", ["-c", "cat plain ../other/notes.txt; echo new > made"]);
        let finished = sandbox.run(task).await.unwrap();
        assert_eq!(finished.stdout.to_string().trim(), "plain", "{place}");
        assert!(around.path().join("work/made").exists(), "{place}");
    }
}

#[tokio::test]
async fn devices_are_used_and_not_changed() {
    let Some(hands) = view("devices_are_used_and_not_changed") else { return };
    let state = || {
        ["full", "zero", "null", "random", "urandom"].map(|name| {
            let found = std::fs::metadata(Path::new("/dev").join(name)).unwrap();
            (found.mode(), found.uid(), found.gid())
        })
    };
    let before = state();
    for command in [
        "chmod 600 /dev/full",
        "chown 1001 /dev/zero",
        "touch -d 2001-01-01 /dev/urandom",
        "python3 -c 'import os; os.setxattr(\"/dev/full\", \"trusted.x\", b\"1\")'",
    ] {
        let told = bash(&hands, command).await;
        assert!(!told.ends_with("Exit code: 0"), "{command}: {told}");
    }
    assert_eq!(state(), before);
    let told = bash(
        &hands,
        "set -e; echo x > /dev/null; echo x >> /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; \
         ! echo x 2>/dev/null > /dev/full",
    )
    .await;
    assert_eq!(told, "4\n4\nExit code: 0");
}

#[test]
fn what_goes_while_a_view_is_made_does_not_keep_it_from_being_made() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let Some(hands) = view("what_goes_while_a_view_is_made_does_not_keep_it_from_being_made") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let is_over = AtomicBool::new(false);
    let told: Vec<String> = std::thread::scope(|scope| {
        // As if packages were installed and removed meanwhile.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(folder_in("/usr/local"));
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let told = runtime.block_on(async {
            let mut told = Vec::new();
            for _ in 0..30 {
                told.push(bash(&hands, "echo there").await);
            }
            told
        });
        is_over.store(true, Ordering::Relaxed);
        told
    });
    assert!(told.iter().all(|told| told.starts_with("there")), "{told:?}");
}
