//! Ignore rules: what `.gitignore` names is passed over by searches, and said to be.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Hands, SECRET};
use serde_json::json;

/// A project with output, dependencies and logs.
fn project() -> Hands {
    let hands = Hands::new();
    hands.put(".gitignore", "# output\n/target/\nnode_modules/\n*.log\n!keep.log\n");
    for path in [
        "src/main.rs",
        "target/debug/build.rs",
        "web/node_modules/left-pad/index.js",
        "web/index.js",
        "a.log",
        "src/keep.log",
        "src/target/not_the_top.rs",
    ] {
        hands.put(path, "needle\n");
    }
    hands
}

#[tokio::test]
async fn output_and_dependencies_are_not_searched_and_the_model_is_told() {
    let hands = project();
    assert_eq!(
        hands.done("grep", json!({"pattern": "needle"})).await,
        "src/keep.log:1: needle\nsrc/main.rs:1: needle\nsrc/target/not_the_top.rs:1: needle\nweb/index.js:1: needle\n\
         [passed over 3 ignored paths (a.log, target/, web/node_modules/); `ignored: true` includes them]"
    );
    let all = hands.done("grep", json!({"pattern": "needle", "ignored": true})).await;
    assert_eq!(all.matches("needle").count(), 7, "{all}");
    assert!(!all.contains("passed over"), "{all}");
    assert_eq!(
        hands.done("glob", json!({"pattern": "*.js"})).await,
        "web/index.js\n[passed over 2 ignored paths (target/, web/node_modules/); `ignored: true` includes them]"
    );
    let all = hands.done("glob", json!({"pattern": "*.js", "ignored": true})).await;
    assert_eq!(all, "web/index.js\nweb/node_modules/left-pad/index.js\n");
    let shown = hands.done("tree", json!({})).await;
    assert!(!shown.contains("left-pad") && shown.contains("not_the_top.rs"), "{shown}");
    assert!(shown.contains("[passed over 3 ignored paths (a.log, target/, web/node_modules/)"), "{shown}");
    assert!(hands.done("tree", json!({"ignored": true})).await.contains("left-pad"));
    assert!(hands.done("ls", json!({})).await.contains("target/"), "a listing of one folder is whole");
}

#[tokio::test]
async fn whoever_names_what_is_ignored_gets_it() {
    let hands = project();
    for (tool, arguments) in [
        ("grep", json!({"pattern": "needle", "path": "target"})),
        ("grep", json!({"pattern": "needle", "path": "target/debug"})),
        ("grep", json!({"pattern": "needle", "path": "target/debug/build.rs"})),
        ("grep", json!({"pattern": "needle", "include": "target/**/*.rs"})),
        ("glob", json!({"pattern": "target/**/*.rs"})),
        ("glob", json!({"pattern": "./target/debug/build.rs"})),
        ("glob", json!({"pattern": "*.rs", "path": "target"})),
        ("tree", json!({"path": "target"})),
    ] {
        let told = hands.done(tool, arguments.clone()).await;
        assert!(told.contains("build.rs") && !told.contains("passed over"), "{tool} {arguments}: {told}");
    }
}

#[tokio::test]
async fn rules_of_a_folder_override_those_above_and_hold_beneath_it() {
    let hands = Hands::new();
    hands.put(".gitignore", "*.gen\n/only/here.txt\n");
    hands.put("a/.gitignore", "!*.gen\n/local.txt\n");
    hands.put("a/b/.ignore", "*.gen\n!/kept.gen\n");
    hands.put("a/b/.gitignore", "!*.gen\n");
    hands.put(".git/info/exclude", "private.txt\n");
    hands.put("inner/.git/info/exclude", "inner.txt\n");
    for path in [
        "x.gen",
        "a/x.gen",
        "a/local.txt",
        "a/b/local.txt",
        "a/b/x.gen",
        "a/b/kept.gen",
        "c/x.gen",
        "only/here.txt",
        "c/only/here.txt",
        "private.txt",
        "a/private.txt",
        "inner/inner.txt",
        "inner.txt",
    ] {
        hands.put(path, "needle\n");
    }
    // Asked for a folder, rules of those above it hold too.
    let found = hands.done("grep", json!({"pattern": "needle", "path": "a"})).await;
    let lines: Vec<&str> = found.lines().filter_map(|line| line.strip_suffix(":1: needle")).collect();
    assert_eq!(lines, ["a/b/kept.gen", "a/b/local.txt", "a/x.gen"], "{found}");
    let found = hands.done("grep", json!({"pattern": "needle"})).await;
    let lines: Vec<&str> = found.lines().filter_map(|line| line.strip_suffix(":1: needle")).collect();
    assert_eq!(
        lines,
        ["a/b/kept.gen", "a/b/local.txt", "a/x.gen", "c/only/here.txt", "inner.txt"],
        "{found}"
    );
    assert!(
        found.contains("passed over 8 ignored paths (a/b/x.gen, a/local.txt, a/private.txt, …)"),
        "{found}"
    );
}

#[tokio::test]
async fn git_agrees() {
    let hands = project();
    hands.put("src/.gitignore", "t*/\n!/target\nmain.rs\n\\#odd\nspace\\ \n[ab].txt\n**/deep/**\n!deep/x\n");
    for path in
        ["src/#odd", "src/space ", "src/a.txt", "src/c.txt", "src/deep/x", "src/one/deep/two/y", "src/tmp/z"]
    {
        hands.put(path, "needle\n");
    }
    let git = |arguments: &[&str]| {
        let run = std::process::Command::new("git").args(arguments).current_dir(hands.inside("")).output();
        run.ok()
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8(output.stdout).unwrap())
    };
    if git(&["init", "--quiet"]).is_none() {
        return common::skipped("git_agrees", "git cannot be run");
    }
    let told = git(&["ls-files", "-z", "--others", "--exclude-standard"]).unwrap();
    let mut by_git: Vec<&str> =
        told.split_terminator('\0').filter(|path| !path.ends_with(".gitignore")).collect();
    by_git.sort_unstable();
    let found = hands.done("grep", json!({"pattern": "needle"})).await;
    let ours: Vec<&str> = found.lines().filter_map(|line| line.strip_suffix(":1: needle")).collect();
    assert_eq!(ours, by_git);
}

#[tokio::test]
async fn rules_behind_links_are_not_read() {
    let hands = Hands::new();
    std::fs::write(hands.outside("rules"), "*.txt\n").unwrap();
    std::fs::create_dir_all(hands.outside("git/info")).unwrap();
    std::fs::write(hands.outside("git/info/exclude"), "*.txt\n").unwrap();
    hands.put("rules", "*.txt\n");
    hands.put("a.txt", "needle");
    hands.put("b/b.txt", "needle");
    hands.link(hands.outside("rules"), ".gitignore");
    hands.link(hands.outside("git"), ".git");
    // Neither does git follow one that stays inside.
    hands.link("../rules", "b/.gitignore");
    assert_eq!(
        hands.done("grep", json!({"pattern": "needle"})).await,
        "a.txt:1: needle\nb/b.txt:1: needle\n"
    );
    // A pipe holds up nobody.
    std::process::Command::new("mkfifo").arg(hands.inside(".ignore")).status().unwrap();
    assert!(hands.done("grep", json!({"pattern": "needle"})).await.contains("a.txt"));
}

#[tokio::test]
async fn rules_without_end_are_cut_and_that_is_said() {
    let nested = format!("{}a{}\n", "{".repeat(60_000), "}".repeat(60_000));
    let long = "a".repeat(200_000);
    let many: String = (0..100_000).map(|number| format!("**/a*a*a*a*a*b{number}/**\n")).collect();
    for hostile in [nested, long, many, "?*".repeat(30_000)] {
        let hands = Hands::new();
        hands.put("a.txt", "needle");
        hands.put(".gitignore", &hostile);
        let found = hands.done("grep", json!({"pattern": "needle"})).await;
        assert_eq!(
            found,
            "a.txt:1: needle\n[some ignore rules are too long, and were not applied]",
            "{}",
            &hostile[..20]
        );
    }
    // What is in order above is taken.
    let hands = Hands::new();
    hands.put("a.txt", "needle");
    hands.put(".gitignore", &format!("*.txt\n{}\n", "{".repeat(500)));
    assert!(!hands.done("grep", json!({"pattern": "needle"})).await.contains("a.txt:1"));
    let deep = "d/".repeat(40);
    hands.put(&format!("{deep}x.md"), "needle");
    for depth in 1..=40 {
        hands.put(&format!("{}.gitignore", "d/".repeat(depth)), &"b*c?d*e\n".repeat(8_000));
    }
    let found = hands.done("grep", json!({"pattern": "needle"})).await;
    assert!(found.contains("x.md:1: needle") && found.contains("too long"), "{found}");
}

#[tokio::test]
async fn protected_files_are_not_named_for_being_ignored() {
    let hands = Hands::new();
    hands.put(".gitignore", ".env\n");
    hands.put(".env", SECRET);
    let found = hands.done("glob", json!({"pattern": "*"})).await;
    assert!(!found.contains(".env") && found.contains("1 protected path not shown"), "{found}");
    let found = hands.done("grep", json!({"pattern": "secret"})).await;
    assert_eq!(found, "No matches found.\n[not searched: 1 protected path]");
}

#[tokio::test]
async fn a_pattern_of_endless_choices_is_refused() {
    let hands = project();
    let pattern = format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000));
    for (tool, arguments) in [
        ("glob", json!({"pattern": pattern})),
        ("grep", json!({"pattern": "needle", "include": pattern})),
        ("glob", json!({"pattern": "{".repeat(400)})),
    ] {
        let refused = hands.refused(tool, arguments).await;
        assert!(refused.contains("too long"), "{refused}");
    }
}

/// Every model is told of every tool in every call.
#[test]
fn descriptions_stay_short() {
    let hands = Hands::new();
    for (tool, most) in [("glob", 1_300), ("grep", 1_300), ("tree", 700)] {
        let definition = serde_json::to_string(&hands.tool(tool).spec().definition).unwrap();
        assert!(definition.len() <= most, "{tool}: {} bytes: {definition}", definition.len());
    }
}
