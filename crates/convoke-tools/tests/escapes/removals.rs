//! What a command removed, or gave another name: it comes out last, and nothing is lost with it.

use std::process::Command;

use serde_json::json;

use crate::common::SECRET;
use crate::gate::{bash, looked_at, meanwhile, person, view};
use crate::shell::in_views;

/// What a command gave another name is not lost because that name may not come out.
#[tokio::test]
async fn what_was_removed_is_kept_if_something_with_content_did_not_come_out() {
    let Some(hands) = view("what_was_removed_is_kept_if_something_with_content_did_not_come_out") else {
        return;
    };
    let before = "mkdir -p conf/deep; echo precious > .example; echo precious > conf/deep/one; echo precious > report; \
                  echo other > place; mkdir full; echo other > full/two";
    for (command, at, told_of) in [
        ("mv .example .env", ".example", "`.env`"),
        ("mv conf .ssh", "conf/deep/one", "`.ssh`"),
        ("mv report secrets.yaml; rm -r conf", "report", "`secrets.yaml`"),
        ("mv report secrets.yaml; rm -r conf", "conf/deep/one", "`secrets.yaml`"),
        // Made anew, so that what was in it is not seen through it.
        ("mv conf/deep/one .env; rm -r conf; mkdir conf; echo x > conf/more", "conf/deep/one", "`.env`"),
        ("mv report moved; rm place; mkdir place; mv moved place/.env", "report", "`place/.env`"),
        ("rm -r full; ln -s /etc/passwd out; mv report full", "report", "`out`"),
        // Folders and files in each other's place, where the new one does not come out.
        ("mv report t; mkdir report; mv t report/.env", "report", "`report/.env`"),
        ("mv place t; mkdir place; mv report place/report; mv t .env", "place/report", "`.env`"),
    ] {
        person(&hands, &format!("rm -rf * .example; {before}"));
        let told = bash(&hands, command).await;
        let kept = std::fs::read_to_string(hands.inside(at)).unwrap_or_default();
        assert!(kept == "precious\n" || kept == "other\n", "{command}: {told}");
        let why = format!(
            "it was kept, because {told_of}, which the same command made or changed, did not come out"
        );
        assert!(told.contains(&why), "{command}: {told}");
        let others = person(&hands, "grep -rls other .");
        assert_eq!(others.lines().count(), 2, "{command}: {told}\n{others}");
    }
    // What had its place taken is beside it.
    let beside = person(&hands, "cat place.kept-*");
    assert_eq!(beside, "other\n");
    // So is a file whose place a link has taken, or a link whose place a file has.
    person(&hands, &format!("rm -rf * .example; {before}; ln -s place link"));
    let told = bash(&hands, "mv report .env; ln -s place report; mv link .env.local; echo x > link").await;
    assert_eq!(person(&hands, "cat report.kept-*; readlink link.kept-*"), "precious\nplace\n", "{told}");
    assert_eq!(told.matches("what was there is `").count(), 2, "{told}");
    // It is bounded, and begins with what it is about.
    person(&hands, "rm -rf *; mkdir many; cd many; seq 3000 | xargs touch");
    let told = bash(&hands, "echo x > .env; rm many/*").await;
    assert!(told.starts_with("[denied: `.env` was not taken over: it is protected"), "{told}");
    assert!(told.len() < 4_000 && told.contains("2993 more changes were not taken over"), "{told}");
    assert_eq!(person(&hands, "ls many").lines().count(), 3_000);
}

/// What has nothing in it that could be lost, or was only removed, is no reason to keep anything.
#[tokio::test]
async fn removals_come_out_beside_what_has_no_content() {
    let Some(hands) = view("removals_come_out_beside_what_has_no_content") else { return };
    hands.put(".env", SECRET);
    hands.put("both/.env", SECRET);
    for command in ["mkfifo pipe; rm old", "rm -f .env old", "mv .env .env.local; rm old", "rm -rf both old"]
    {
        hands.put("old", "x");
        let told = bash(&hands, command).await;
        assert!(told.contains("denied: ") && !hands.inside("old").exists(), "{command}: {told}");
    }
    hands.put("old/inside", "x");
    hands.put("file", "x");
    let told = bash(&hands, "rm -r old; mv file old; mkdir file; echo y > file/new").await;
    assert_eq!(
        (told.as_str(), hands.content("old"), hands.content("file/new")),
        ("Exit code: 0", "x".into(), "y\n".into())
    );
    assert_eq!(person(&hands, "ls -A"), ".env\nboth\nfile\nold\n");
}

/// A name that somebody else has taken meanwhile, in another process too.
#[tokio::test]
async fn what_was_to_get_a_name_that_is_taken_meanwhile_keeps_its_own() {
    let Some(hands) = view("what_was_to_get_a_name_that_is_taken_meanwhile_keeps_its_own") else { return };
    hands.put("report", "precious");
    hands.put("folder/inside", "precious");
    let command = "mv report final; mv folder other";
    let told = meanwhile(&hands, "900.61", command, "echo theirs > final; echo theirs > other").await;
    for path in ["report", "folder/inside"] {
        assert_eq!(hands.content(path), "precious", "{told}");
    }
    assert_eq!((hands.content("final"), hands.content("other")), ("theirs\n".into(), "theirs\n".into()));
    assert!(told.contains("`report` was not taken over: it was kept, because"), "{told}");
}

/// Where there is no room for what came of a file, the file stays.
#[tokio::test]
async fn what_has_no_room_under_its_new_name_keeps_its_own() {
    let test = "what_has_no_room_under_its_new_name_keeps_its_own";
    let folder = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=2m none {}", folder.path().display());
    if !rustix::process::geteuid().is_root()
        || !Command::new("sh").args(["-c", &mount]).status().unwrap().success()
    {
        return crate::common::skipped(test, "nothing can be mounted here");
    }
    let workspace = convoke_tools::workspace::Workspace::open(folder.path()).unwrap();
    std::fs::write(folder.path().join("data"), vec![7; 1_500_000]).unwrap();
    let sandbox = convoke_tools::sandbox::Sandbox::new(&workspace).unwrap();
    let tool: std::sync::Arc<dyn convoke_core::Tool> =
        std::sync::Arc::new(convoke_tools::shell::bash(&sandbox));
    let told = crate::common::call(&tool, json!({"command": "mv data data.moved"})).await;
    let left = std::fs::read(folder.path().join("data"));
    let is_there = folder.path().join("data.moved").exists();
    Command::new("umount").arg("-l").arg(folder.path()).status().unwrap();
    assert!(left.is_ok_and(|left| left == [7; 1_500_000]) && !is_there, "{told:?}");
}

/// A reviewer sees that it is kept.
#[tokio::test]
async fn whoever_reviews_is_told_what_is_kept_though_it_was_removed() {
    let test = "whoever_reviews_is_told_what_is_kept_though_it_was_removed";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    hands.put("report", "precious");
    let (seen, told) = looked_at(&hands, "mv report .env; echo good > made").await;
    let seen = seen.unwrap();
    assert!(
        seen.contains("left out report: it was kept, because `.env`") && !seen.contains("removed"),
        "{seen}"
    );
    assert_eq!(
        (hands.content("report"), hands.content("made")),
        ("precious".into(), "good\n".into()),
        "{told}"
    );
}

/// What a command does to one name of a file is no change of somebody else's to the others.
#[tokio::test]
async fn a_file_with_several_names_is_changed_and_removed_under_all_of_them() {
    let Some(hands) = view("a_file_with_several_names_is_changed_and_removed_under_all_of_them") else {
        return;
    };
    person(
        &hands,
        "for name in a c e; do echo old > $name; done; ln a b; ln c d; mkdir in out; ln e in/e; ln e out/e",
    );
    let changes = "for name in a b; do echo new > made; mv made $name; done; rm c d; rm -r in; rm out/e";
    let told = bash(&hands, changes).await;
    assert!(!told.contains("denied"), "{told}");
    assert_eq!(person(&hands, "cat a b; ls"), "new\nnew\na\nb\ne\nout\n");
    // Somebody else's change is kept under every name.
    person(&hands, "echo old > f; ln f g");
    let meanwhile = hands.workspace.path().join("g");
    let somebody = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        std::fs::write(meanwhile, "theirs\n").unwrap();
    });
    let told = bash(&hands, "rm f; sleep 2; rm g").await;
    somebody.join().unwrap();
    assert_eq!(told.matches("somebody else changed it").count(), 2, "{told}");
    assert_eq!(person(&hands, "cat f g"), "theirs\ntheirs\n");
}
