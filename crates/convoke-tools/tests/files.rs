//! The file tools, and what they say when they cannot.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::os::unix::fs::PermissionsExt;

use common::{Hands, call, call_for_step};
use convoke_core::{AccessMode, IdempotencyKey, Origin, Reconciliation, Repeat, RunId, ToolEffect};
use serde_json::{Value, json};

#[tokio::test]
async fn a_file_is_written_read_edited_and_removed() {
    let hands = Hands::new();
    assert_eq!(
        hands.done("write", json!({"path": "a/b.txt", "content": "one\ntwo\n"})).await,
        "made a/b.txt (8 bytes)"
    );
    assert_eq!(hands.done("read", json!({"path": "a/b.txt"})).await, "one\ntwo\n");
    assert_eq!(
        hands.done("edit", json!({"path": "a/b.txt", "old": "two", "new": "three"})).await,
        "replaced 1 occurrence in a/b.txt, at line 2"
    );
    assert_eq!(hands.content("a/b.txt"), "one\nthree\n");
    assert_eq!(hands.done("rm", json!({"path": "a/b.txt"})).await, "removed a/b.txt");
    assert!(!hands.inside("a/b.txt").exists());
    assert!(hands.refused("read", json!({"path": "a/b.txt"})).await.contains("does not exist"));
}

#[tokio::test]
async fn the_absolute_path_of_the_workspace_is_understood() {
    let hands = Hands::new();
    let path = hands.put("a.txt", "text");
    assert_eq!(hands.done("read", json!({"path": path})).await, "text");
}

#[tokio::test]
async fn a_path_that_leaves_the_workspace_is_refused_for_that_whatever_is_missing_on_the_way() {
    let hands = Hands::new();
    hands.put("a.txt", "text");
    for path in ["foo/../../x", "foo/bar/../../../x", "a.txt/../../x", "../x"] {
        let refused = hands.refused("read", json!({"path": path})).await;
        assert!(refused.contains("leads out of the workspace"), "{path}: {refused}");
    }
    for path in ["foo/../x", "foo/bar/../../x"] {
        let refused = hands.refused("read", json!({"path": path})).await;
        assert!(refused.contains("does not exist"), "{path}: {refused}");
    }
}

#[tokio::test]
async fn a_long_file_comes_in_pages_that_say_how_to_go_on() {
    let hands = Hands::new();
    let text: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    hands.put("long.txt", &text);
    let page = hands.done("read", json!({"path": "long.txt"})).await;
    assert!(page.ends_with("line 2000\n[lines 1 to 2000 of 5000; go on with offset 2001]"), "{page}");
    let page = hands.done("read", json!({"path": "long.txt", "offset": 2001, "limit": 2})).await;
    assert_eq!(page, "line 2001\nline 2002\n[lines 2001 to 2002 of 5000; go on with offset 2003]");
    let page = hands.done("read", json!({"path": "long.txt", "offset": 4999})).await;
    assert_eq!(page, "line 4999\nline 5000\n");
    let page = hands.done("read", json!({"path": "long.txt", "offset": 6000})).await;
    assert_eq!(page, "[there is no line 6000: the file has 5000]");
    hands.put("wide.txt", &"x".repeat(200_000));
    let page = hands.done("read", json!({"path": "wide.txt"})).await;
    assert!(
        page.len() < 5_000 && page.contains("[the line above is cut: it has 200000 bytes]"),
        "{}",
        page.len()
    );
    assert_eq!(
        hands.done("head", json!({"path": "long.txt", "lines": 1})).await,
        "line 1\n[lines 1 to 1 of 5000; go on with offset 2]"
    );
    assert_eq!(hands.done("tail", json!({"path": "long.txt", "lines": 2})).await, "line 4999\nline 5000\n");
}

#[tokio::test]
async fn what_is_not_text_is_refused_with_its_size_and_kind() {
    let hands = Hands::new();
    std::fs::write(hands.inside("a.png"), b"\x89PNG\r\n\x1a\n\0\0\0").unwrap();
    assert_eq!(
        hands.refused("read", json!({"path": "a.png"})).await,
        "`a.png` is not text: a PNG image, 11 bytes; it cannot be shown"
    );
    std::fs::write(hands.inside("latin.txt"), b"caf\xe9\n").unwrap();
    assert!(hands.refused("read", json!({"path": "latin.txt"})).await.contains("text that is not UTF-8"));
    assert!(hands.refused("read", json!({"path": "."})).await.contains("is a folder, not a file"));
}

#[tokio::test]
async fn an_edit_must_be_unique_and_says_where_the_matches_are() {
    let hands = Hands::new();
    hands.put("a.rs", "let a = 1;\nlet b = 2;\nlet a = 1;\n");
    let refusal = hands.refused("edit", json!({"path": "a.rs", "old": "let a = 1;", "new": "x"})).await;
    assert!(refusal.contains("2 times, at lines 1, 3"), "{refusal}");
    let refusal = hands.refused("edit", json!({"path": "a.rs", "old": "let  b = 2;", "new": "x"})).await;
    assert!(refusal.contains("white space") && refusal.contains("at line 2"), "{refusal}");
    assert!(
        hands
            .refused("edit", json!({"path": "a.rs", "old": "", "new": "x"}))
            .await
            .contains("`old` is empty")
    );
    assert!(
        hands
            .refused("edit", json!({"path": "b.rs", "old": "a", "new": "x"}))
            .await
            .contains("does not exist")
    );
    hands.done("edit", json!({"path": "a.rs", "old": "let a = 1;", "new": "x", "all": true})).await;
    assert_eq!(hands.content("a.rs"), "x\nlet b = 2;\nx\n");
}

#[tokio::test]
async fn a_patch_is_applied_as_a_whole_or_not_at_all() {
    let hands = Hands::new();
    let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
    hands.put("p.txt", before);
    let good = "--- a/p.txt\n+++ b/p.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -6,3 +6,4 @@\n f\n g\n+G\n h\n";
    let half = good.replace("-b", "-x");
    let refusal = hands.refused("patch", json!({"path": "p.txt", "patch": half})).await;
    assert!(refusal.contains("not changed: hunk 1: line 2 is `b`, and the patch expects `x`"), "{refusal}");
    let late = good.replace(" g\n", " nothing\n");
    assert!(hands.refused("patch", json!({"path": "p.txt", "patch": late})).await.contains("hunk 2"));
    assert_eq!(hands.content("p.txt"), before);
    assert_eq!(
        hands.done("patch", json!({"path": "p.txt", "patch": good})).await,
        "applied 2 hunks to p.txt"
    );
    assert_eq!(hands.content("p.txt"), "a\nB\nc\nd\ne\nf\ng\nG\nh\n");
    // The lines stand elsewhere, once.
    hands.put("p.txt", &format!("0\n0\n{before}"));
    hands.done("patch", json!({"path": "p.txt", "patch": good})).await;
    assert_eq!(hands.content("p.txt"), "0\n0\na\nB\nc\nd\ne\nf\ng\nG\nh\n");
    // A new file, without a line end.
    let new = "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n";
    hands.done("patch", json!({"path": "n.txt", "patch": new})).await;
    assert_eq!(hands.content("n.txt"), "x\ny");
    for (patch, why) in [
        ("nothing", "no hunk"),
        ("@@ -1,2 +1,2 @@\n a\n", "ends early"),
        ("@@ x @@\n", "not a hunk's header"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n", "several files"),
        ("--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "use rm"),
    ] {
        let refusal = hands.refused("patch", json!({"path": "p.txt", "patch": patch})).await;
        assert!(refusal.contains(why), "{patch}: {refusal}");
    }
}

#[tokio::test]
async fn glob_knows_folders_at_any_depth_and_sorts() {
    let hands = Hands::new();
    for path in ["src/z.rs", "src/deep/er/a.rs", "src/b.txt", "top.rs", ".git/x.rs"] {
        hands.put(path, "");
    }
    assert_eq!(
        hands.done("glob", json!({"pattern": "**/*.rs"})).await,
        "src/deep/er/a.rs\nsrc/z.rs\ntop.rs\n"
    );
    assert_eq!(hands.done("glob", json!({"pattern": "*.rs"})).await, "src/deep/er/a.rs\nsrc/z.rs\ntop.rs\n");
    assert_eq!(hands.done("glob", json!({"pattern": "src/*.rs"})).await, "src/z.rs\n");
    assert_eq!(
        hands.done("glob", json!({"pattern": "*.{rs,txt}", "path": "src"})).await,
        "src/b.txt\nsrc/deep/er/a.rs\nsrc/z.rs\n"
    );
    assert_eq!(hands.done("glob", json!({"pattern": "*.py"})).await, "[nothing matches]");
    let some = hands.done("glob", json!({"pattern": "*.rs", "limit": 1})).await;
    assert_eq!(some, "src/deep/er/a.rs\n[there are more; narrow the pattern, or raise the limit]");
    assert!(hands.refused("glob", json!({"pattern": "a[/"})).await.contains("is not a pattern"));
}

#[tokio::test]
async fn grep_gives_places_and_says_what_it_left_out() {
    let hands = Hands::new();
    hands.put("src/a.rs", "fn main() {}\n// TODO one\n");
    hands.put("src/b.txt", "todo two\nTODO three\n");
    std::fs::write(hands.inside("bin"), b"TODO\0").unwrap();
    assert_eq!(
        hands.done("grep", json!({"pattern": "TODO \\w+"})).await,
        "src/a.rs:2: // TODO one\nsrc/b.txt:2: TODO three\n"
    );
    assert_eq!(
        hands.done("grep", json!({"pattern": "todo", "ignore_case": true, "include": "*.txt"})).await,
        "src/b.txt:1: todo two\nsrc/b.txt:2: TODO three\n"
    );
    assert_eq!(
        hands.done("grep", json!({"pattern": "TODO", "path": "src/a.rs"})).await,
        "src/a.rs:2: // TODO one\n"
    );
    assert_eq!(hands.done("grep", json!({"pattern": "nowhere"})).await, "No matches found.");
    assert!(hands.done("grep", json!({"pattern": "TODO", "limit": 1})).await.contains("[there are more;"));
    assert!(hands.refused("grep", json!({"pattern": "("})).await.contains("not a regular expression"));
}

#[tokio::test]
async fn folders_are_listed_made_moved_copied_and_removed() {
    let hands = Hands::new();
    hands.done("mkdir", json!({"path": "one/two"})).await;
    assert!(hands.done("mkdir", json!({"path": "one/two"})).await.contains("was there already"));
    hands.put("one/a.txt", "abc");
    assert_eq!(hands.done("ls", json!({"path": "one"})).await, "a.txt  3\ntwo/\n");
    assert_eq!(hands.done("ls", json!({"path": "one/two"})).await, "[the folder is empty]");
    assert_eq!(hands.done("tree", json!({})).await, "one/\n  a.txt  3\n  two/\n");
    hands.done("cp", json!({"source": "one", "destination": "copy"})).await;
    assert_eq!(hands.content("copy/a.txt"), "abc");
    hands.done("mv", json!({"source": "copy/a.txt", "destination": "one/two"})).await;
    assert_eq!(hands.content("one/two/a.txt"), "abc");
    hands.put("other.txt", "other");
    assert!(
        hands
            .refused("mv", json!({"source": "other.txt", "destination": "one/a.txt"}))
            .await
            .contains("exists already")
    );
    assert!(
        hands
            .refused("cp", json!({"source": "other.txt", "destination": "one/a.txt"}))
            .await
            .contains("exists already")
    );
    hands.done("mv", json!({"source": "other.txt", "destination": "one/a.txt", "replace": true})).await;
    assert_eq!(hands.content("one/a.txt"), "other");
    assert!(
        hands
            .refused("mv", json!({"source": "one", "destination": "one/two/three"}))
            .await
            .contains("into itself")
    );
    assert!(hands.refused("rm", json!({"path": "one"})).await.contains("say `recursive`"));
    assert_eq!(
        hands.done("rm", json!({"path": "one", "recursive": true})).await,
        "removed one (4 entries in all)"
    );
    assert!(
        hands.refused("rm", json!({"path": ".", "recursive": true})).await.contains("the workspace itself")
    );
}

#[tokio::test]
async fn files_are_compared() {
    let hands = Hands::new();
    hands.put("a", "1\n2\n");
    hands.put("b", "1\n3\n");
    assert_eq!(hands.done("diff", json!({"file_a": "a", "file_b": "a"})).await, "Files are identical");
    let diff = hands.done("diff", json!({"file_a": "a", "file_b": "b"})).await;
    assert_eq!(diff, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
    // What diff gives, patch takes.
    hands.done("patch", json!({"path": "a", "patch": diff})).await;
    assert_eq!(hands.content("a"), "1\n3\n");
}

#[tokio::test]
async fn a_write_keeps_permissions_and_leaves_nothing_behind() {
    let hands = Hands::new();
    let path = hands.put("run.sh", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    hands.done("write", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(hands.content("run.sh"), "new");
    assert!(
        hands.refused("write", json!({"path": "run.sh/x", "content": ""})).await.contains("not a folder")
    );
    let names: Vec<_> =
        std::fs::read_dir(hands.workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.sh"]);
}

#[tokio::test]
async fn links_that_stay_inside_are_followed_and_stay_links() {
    let hands = Hands::new();
    hands.put("real/a.txt", "text");
    hands.link("real", "folder");
    hands.link(hands.inside("real/a.txt"), "absolute");
    assert_eq!(hands.done("read", json!({"path": "folder/a.txt"})).await, "text");
    assert_eq!(hands.done("read", json!({"path": "folder/../real/a.txt"})).await, "text");
    assert_eq!(hands.done("read", json!({"path": "absolute"})).await, "text");
    hands.done("write", json!({"path": "absolute", "content": "new"})).await;
    assert_eq!(hands.content("real/a.txt"), "new");
    assert!(hands.inside("absolute").is_symlink());
    hands.link("circle", "circle");
    assert!(hands.refused("read", json!({"path": "circle"})).await.contains("circle"));
    // As many as Linux follows, and one more.
    hands.link("real/a.txt", "1");
    for number in 2..=41 {
        hands.link((number - 1).to_string(), &number.to_string());
    }
    assert_eq!(hands.done("read", json!({"path": "40"})).await, "new");
    assert!(hands.refused("read", json!({"path": "41"})).await.contains("more than 40 links"));
}

#[tokio::test]
async fn a_file_whose_names_are_all_inside_is_read() {
    let hands = Hands::new();
    let path = hands.put("a.txt", "text");
    std::fs::hard_link(&path, hands.inside("b.txt")).unwrap();
    assert_eq!(hands.done("read", json!({"path": "b.txt"})).await, "text");
    let refused = hands.refused("write", json!({"path": "b.txt", "content": "x"})).await;
    assert!(refused.contains("has 2 hard links"), "{refused}");
    // What is only not to be changed may be read by another name as well.
    let config = hands.put(".git/config", "[core]\n");
    std::fs::hard_link(&config, hands.inside("config.txt")).unwrap();
    assert_eq!(hands.done("read", json!({"path": "config.txt"})).await, "[core]\n");
}

/// A file in the place of a repository says whose hooks are run; a folder that becomes one may bring its own.
#[tokio::test]
async fn no_repository_is_put_in_place_by_moving_or_writing() {
    let hands = Hands::new();
    hands.put("plain.txt", "gitdir: elsewhere");
    hands.put("hooked/hooks/pre-commit", "#!/bin/sh\n");
    hands.put("bare/HEAD", "ref: refs/heads/main\n");
    hands.put("sub/.git", "gitdir: ../.git/modules/sub");
    for (tool, arguments) in [
        ("write", json!({"path": ".git", "content": "gitdir: elsewhere"})),
        ("mv", json!({"source": "plain.txt", "destination": ".git"})),
        ("cp", json!({"source": "plain.txt", "destination": "deep/.git"})),
        ("rm", json!({"path": "sub/.git"})),
        ("mv", json!({"source": "hooked", "destination": ".git"})),
    ] {
        let what = format!("{tool} {arguments}");
        let refused = hands.refused(tool, arguments).await;
        assert!(refused.contains("is protected (read-only"), "{what}: {refused}");
    }
    hands.done("mv", json!({"source": "bare", "destination": ".git"})).await;
    assert_eq!(hands.content(".git/HEAD"), "ref: refs/heads/main\n");
}

#[tokio::test]
async fn files_are_taken_up_to_a_length_and_whole_or_not_at_all() {
    const LONGEST: u64 = 16 << 20;
    let hands = Hands::new();
    let file = std::fs::File::create(hands.inside("long")).unwrap();
    file.set_len(LONGEST).unwrap();
    hands.done("cp", json!({"source": "long", "destination": "copy"})).await;
    assert_eq!(std::fs::metadata(hands.inside("copy")).unwrap().len(), LONGEST);
    file.set_len(LONGEST + 2).unwrap();
    let refused = hands.refused("cp", json!({"source": "long", "destination": "other"})).await;
    let limit = "`long` has 16777218 bytes, more than the 16777216 that a tool may read as a whole";
    assert_eq!(refused, limit);
    let content = "x".repeat(usize::try_from(LONGEST).unwrap() + 1);
    let refused = hands.refused("write", json!({"path": "other", "content": content})).await;
    assert_eq!(refused, "`other` has 16777217 bytes, more than the 16777216 that a tool may write");
    assert!(!hands.inside("other").exists());
}

#[tokio::test]
async fn what_is_not_text_or_no_file_is_called_what_it_is() {
    let hands = Hands::new();
    hands.put("nul", "a\0b");
    let refused = hands.refused("edit", json!({"path": "nul", "old": "a", "new": "c"})).await;
    assert_eq!(refused, "`nul` is not text: binary data, 3 bytes; it cannot be shown");
    let _socket = std::os::unix::net::UnixListener::bind(hands.inside("socket")).unwrap();
    let refused = hands.refused("read", json!({"path": "socket"})).await;
    assert_eq!(refused, "`socket` is a socket, not a file");
    let error = convoke_tools::workspace::Workspace::open(hands.inside("nul")).unwrap_err().to_string();
    assert!(error.starts_with("cannot open the workspace"), "{error}");
}

#[tokio::test]
async fn searches_go_two_hundred_levels_deep() {
    let hands = Hands::new();
    let above = |folders: usize| "d/".repeat(folders);
    hands.put(&format!("{}seen", above(199)), "");
    hands.put(&format!("{}unseen", above(200)), "");
    let found = hands.done("glob", json!({"pattern": "**/*seen"})).await;
    assert!(found.contains("/seen") && !found.contains("unseen"), "{found}");
}

#[test]
fn tools_say_what_they_touch_and_where_results_come_from() {
    let hands = Hands::new();
    hands.put("real.txt", "");
    hands.link("real.txt", "link.txt");
    let accesses = |name: &str, arguments| hands.tool(name).accesses(&arguments);
    let write = accesses("write", json!({"path": "./x/../link.txt", "content": ""}));
    let edit = accesses("edit", json!({"path": "real.txt", "old": "a", "new": "b"}));
    let other = accesses("write", json!({"path": "other.txt", "content": ""}));
    let grep = accesses("grep", json!({"pattern": "x"}));
    let remove = accesses("rm", json!({"path": "deep", "recursive": true}));
    let deep = accesses("write", json!({"path": "deep/er.txt", "content": ""}));
    assert_eq!(write[0].mode, AccessMode::Write);
    assert!(edit[0].conflicts_with(&write[0]), "the same file by another way: {write:?}");
    assert!(!edit[0].conflicts_with(&other[0]));
    assert!(grep[0].conflicts_with(&other[0]));
    assert!(!grep[0].conflicts_with(&accesses("read", json!({"path": "a"}))[0]));
    assert!(remove[0].conflicts_with(&deep[0]));
    let origin = hands.tool("read").origin(&json!({"path": "real.txt"}));
    assert_eq!(origin, Origin::File("real.txt".to_owned()));
}

#[test]
fn effects_and_repetition_are_declared() {
    let hands = Hands::new();
    for (name, writes, irreversible, repeat) in [
        ("read", false, false, Repeat::Safe),
        ("grep", false, false, Repeat::Safe),
        ("write", true, false, Repeat::Safe),
        ("mkdir", true, false, Repeat::Safe),
        ("edit", true, false, Repeat::Never),
        ("patch", true, false, Repeat::Never),
        ("mv", true, false, Repeat::Never),
        ("cp", true, false, Repeat::Never),
        ("rm", true, true, Repeat::Never),
    ] {
        let spec = hands.tool(name).spec();
        assert_eq!(spec.effects.contains(ToolEffect::Writes), writes, "{name}");
        assert_eq!(spec.effects.contains(ToolEffect::Irreversible), irreversible, "{name}");
        assert_eq!(spec.repeat, repeat, "{name}");
        assert!(spec.timeout.is_some(), "{name}");
    }
    let reading = convoke_tools::files::reading(&hands.workspace);
    let names: Vec<_> = reading.iter().map(|tool| tool.spec().name()).collect();
    assert_eq!(names, ["read", "head", "tail", "glob", "grep", "ls", "tree", "diff"]);
}

#[tokio::test]
async fn an_interrupted_change_is_found_out_about() {
    let hands = Hands::new();
    let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
    // As journals of older versions have it, without what it was like before.
    let became =
        async |name: &str, arguments| hands.tool(name).reconcile(&key, &arguments, None).await.unwrap();
    let edit = json!({"path": "a.txt", "old": "one", "new": "two"});
    hands.put("a.txt", "one");
    assert_eq!(became("edit", edit.clone()).await, Reconciliation::NotDone);
    hands.done("edit", edit.clone()).await;
    assert!(matches!(became("edit", edit).await, Reconciliation::Done(_)));
    let doubling = json!({"path": "a.txt", "old": "two", "new": "two two"});
    assert_eq!(became("edit", doubling.clone()).await, Reconciliation::NotDone, "the new text is not there");
    hands.put("a.txt", "two two");
    assert_eq!(became("edit", doubling).await, Reconciliation::Unknown);
    hands.put("a.txt", "two");
    let patch =
        json!({"path": "a.txt", "patch": "@@ -1 +1 @@\n-two\n\\ No newline\n+three\n\\ No newline\n"});
    assert_eq!(became("patch", patch.clone()).await, Reconciliation::NotDone);
    hands.done("patch", patch.clone()).await;
    assert!(matches!(became("patch", patch).await, Reconciliation::Done(_)));
    let mv = json!({"source": "a.txt", "destination": "b.txt"});
    assert_eq!(became("mv", mv.clone()).await, Reconciliation::NotDone);
    hands.done("mv", mv.clone()).await;
    assert!(matches!(became("mv", mv).await, Reconciliation::Done(_)));
    let rm = json!({"path": "b.txt"});
    assert_eq!(became("rm", rm.clone()).await, Reconciliation::Unknown, "another may have been made there");
    hands.done("rm", rm.clone()).await;
    assert!(matches!(became("rm", rm).await, Reconciliation::Done(_)));
}

/// What is known of a call when it was not made, when it was, and when somebody has been there since.
async fn reconciled(name: &str, arguments: Value, set_up: &dyn Fn(&Hands)) -> [Reconciliation; 3] {
    let hands = Hands::new();
    set_up(&hands);
    let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
    let tool = hands.tool(name);
    let prepared = tool.prepare(&arguments).await;
    let became = async || tool.reconcile(&key, &arguments, prepared.before()).await.unwrap();
    let before = became().await;
    hands.done(name, arguments.clone()).await;
    let after = became().await;
    for path in ["a.txt", "b.txt"] {
        hands.put(path, "by somebody else");
    }
    [before, after, became().await]
}

#[tokio::test]
async fn an_interrupted_change_knows_by_what_was_kept_before_whether_it_was_made() {
    let one = |content: &'static str| move |hands: &Hands| drop(hands.put("a.txt", content));
    let edit = |old: &str, new: &str, all: bool| json!({"path": "a.txt", "old": old, "new": new, "all": all});
    let changes = [
        // Edits that leave the old text in the file.
        ("edit", edit("\n\n\n", "\n\n", false), "x\n\n\n\ny"),
        ("edit", edit("  ", " ", true), "x    y"),
        ("edit", edit("ab", "", false), "aabb"),
        // One that puts the old text there again, and one whose new text was there before.
        ("edit", edit("one", "one one", false), "one"),
        ("edit", edit("one", "two", false), "one two"),
        // A patch that fits twice.
        ("patch", json!({"path": "a.txt", "patch": "@@ -1,1 +1,2 @@\n x\n+x\n"}), "x\nx\nx\n"),
        ("cp", json!({"source": "a.txt", "destination": "b.txt", "replace": true}), "one"),
        ("mv", json!({"source": "a.txt", "destination": "b.txt", "replace": true}), "one"),
        ("rm", json!({"path": "a.txt"}), "one"),
    ];
    for (name, arguments, content) in changes {
        let what = arguments.to_string();
        let [before, after, later] = reconciled(name, arguments, &one(content)).await;
        assert_eq!(before, Reconciliation::NotDone, "{name} {what}");
        assert!(matches!(after, Reconciliation::Done(_)), "{name} {what}: {after:?}");
        assert_eq!(later, Reconciliation::Unknown, "{name} {what}");
    }
    // Into a folder, under the same name; over a file that is there.
    for name in ["cp", "mv"] {
        let set_up = |hands: &Hands| drop((hands.put("a.txt", "one"), hands.put("f/a.txt", "two")));
        let arguments = json!({"source": "a.txt", "destination": "f", "replace": true});
        let [before, after, _] = reconciled(name, arguments, &set_up).await;
        assert_eq!(before, Reconciliation::NotDone, "{name}");
        assert!(matches!(after, Reconciliation::Done(_)), "{name}: {after:?}");
    }
}

#[tokio::test]
async fn what_a_dead_process_was_writing_is_taken_away_and_what_a_living_one_writes_is_not() {
    let hands = Hands::new();
    hands.put("a/.convoke-00000000000000ab.tmp", "half of it");
    for own in ["notes", "ab", "not-hexadecimal-"] {
        hands.put(&format!("a/.convoke-{own}.tmp"), "somebody's own");
    }
    let living = hands.put("a/.convoke-00000000000000cd.tmp", "being written");
    let living = std::fs::File::open(living).unwrap();
    living.lock().unwrap();
    std::os::unix::fs::symlink("b.txt", hands.inside("a/.convoke-00000000000000ef.tmp")).unwrap();
    hands.done("write", json!({"path": "a/b.txt", "content": "all of it"})).await;
    let mut left: Vec<_> =
        std::fs::read_dir(hands.inside("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    let expected = [
        ".convoke-00000000000000cd.tmp",
        ".convoke-00000000000000ef.tmp",
        ".convoke-ab.tmp",
        ".convoke-not-hexadecimal-.tmp",
        ".convoke-notes.tmp",
        "b.txt",
    ];
    assert_eq!(left, expected);
}

/// agentcore 243: each type ok or wrong, required missing or null, optional missing; agentcore 244: the schema.
#[tokio::test]
async fn agentcore_243_244_arguments_are_checked_against_the_schema() {
    let hands = Hands::new();
    hands.put("a.txt", "1\n2\n");
    let schema = &hands.tool("read").spec().definition.parameters;
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["path"]));
    assert!(schema["properties"]["offset"]["description"].as_str().unwrap().contains("first line"));
    let read = hands.tool("read");
    for (arguments, why) in [
        (json!({}), "\"path\" is missing"),
        (json!({"path": null}), "path"),
        (json!({"path": 3}), "path"),
        (json!({"path": "a.txt", "offset": "x"}), "offset"),
        (json!({"path": "a.txt", "offset": 0}), "offset"),
        (json!({"path": "a.txt", "lines": 3}), "lines"),
    ] {
        let refusal = call(read, arguments.clone()).await.unwrap_err();
        assert!(refusal.starts_with("invalid arguments") && refusal.contains(why), "{arguments}: {refusal}");
    }
    assert_eq!(call(read, json!({"path": "a.txt", "limit": null})).await.unwrap(), "1\n2\n");
}

/// agent 67: the model gets to read what went wrong, and the run completes.
#[tokio::test]
async fn agent_067_a_missing_file_is_a_result_for_the_model() {
    let hands = Hands::new();
    let words = hands.refused("read", json!({"path": "nowhere.txt"})).await;
    assert_eq!(words, "`nowhere.txt` does not exist; list the folder to see what does");
}

#[tokio::test]
async fn an_edit_of_millions_of_places_is_neither_slow_nor_endless() {
    let hands = Hands::new();
    hands.put("many.txt", &"a\n".repeat(1 << 20));
    let words = hands.refused("edit", json!({"path": "many.txt", "old": "a", "new": "b"})).await;
    assert!(words.contains("1048576 times"), "{words}");
    let long = "x".repeat(100_000);
    let words =
        hands.refused("edit", json!({"path": "many.txt", "old": "a", "new": long, "all": true})).await;
    assert!(words.contains("longer than"), "{words}");
    hands.done("edit", json!({"path": "many.txt", "old": "a\n", "new": "b\n", "all": true})).await;
    assert!(hands.content("many.txt").starts_with("b\nb\n"));
}

#[tokio::test]
async fn a_patch_for_a_line_beyond_all_numbers_is_refused() {
    let hands = Hands::new();
    hands.put("a.txt", "one\ntwo\n");
    for start in ["18446744073709551615", "18446744073709551614", "999999999999"] {
        let patch = format!("@@ -{start},2 +1,2 @@\n-one\n-two\n+three\n+four\n");
        let words = hands.refused("patch", json!({"path": "a.txt", "patch": patch})).await;
        assert!(words.contains("was not changed") && !words.contains("panicked"), "{words}");
    }
    assert_eq!(hands.content("a.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn to_a_step_a_file_is_its_whole_text_or_an_error() {
    let hands = Hands::new();
    let asked = async |name: &str, arguments: Value| call_for_step(hands.tool(name), arguments).await;
    let numbers: String = (1..=3_000).map(|number: u32| format!("{number}\n")).collect();
    let long = format!("{}\r\nend", "x".repeat(20_000));
    for text in [numbers.as_str(), "", &long, &"é".repeat(1 << 19)] {
        hands.put("a.txt", text);
        assert!(asked("read", json!({"path": "a.txt"})).await.unwrap() == text);
    }
    hands.put("a.txt", &numbers);
    let part = json!({"path": "a.txt", "offset": 2_999, "limit": 1});
    assert_eq!(asked("read", part).await.unwrap(), "2999\n");
    assert_eq!(asked("read", json!({"path": "a.txt", "offset": 4_000})).await.unwrap(), "");
    assert_eq!(asked("head", json!({"path": "a.txt", "lines": 2})).await.unwrap(), "1\n2\n");
    hands.put("a.txt", &"x".repeat((1 << 20) + 1));
    let told = asked("read", json!({"path": "a.txt"})).await.unwrap_err().to_string();
    assert!(
        told.contains("`a.txt`, which has 1048577 bytes, is more than the 1048576 that a step is given"),
        "{told}"
    );
    hands.put(".env", "KEY=1");
    let told = asked("read", json!({"path": ".env"})).await.unwrap_err().to_string();
    assert!(told.contains("is protected"), "{told}");
    let schema = hands.tool("read").spec().definition.parameters["properties"]["limit"].clone();
    assert_eq!((&schema["default"], &schema["type"]), (&json!(2_000), &json!("integer")));
}
