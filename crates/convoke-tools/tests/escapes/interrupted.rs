//! Rebases and picks that were interrupted: what they go on with executes nothing that a tool has written.

use serde_json::json;

use crate::gate::{bash, person, view};

/// Three commits, and a program that git would take for a strategy of that name.
const COMMITS: &str = "git init -q -b main; for i in 1 2 3; do echo $i > f$i; git add f$i; git commit -qm c$i; done; \
     git config user.name Ann; git config user.email ann@example.org";

fn strategy(hands: &crate::common::Hands) -> String {
    format!(
        "mkdir git-merge-x; printf '#!/bin/sh\\ntouch {}\\nexit 1\\n' > git-merge-x/evil; chmod +x git-merge-x/evil",
        hands.outside("ran").display()
    )
}

#[tokio::test]
async fn a_strategy_that_is_a_program_does_not_come_out() {
    let test = "a_strategy_that_is_a_program_does_not_come_out";
    let stopped = "export GIT_SEQUENCE_EDITOR='sed -i 1ibreak'; git rebase -q -i --no-ff";
    let picked =
        "git checkout -q -b o HEAD~2; echo z > f2; git add f2; git commit -qm z; git cherry-pick main~1 main";
    let go_on_picking = "git checkout -q --theirs f2; git add f2; GIT_EDITOR=true git cherry-pick --continue";
    for (command, go_on, give_up) in [
        (
            format!("{stopped} --strategy=x/evil HEAD~2; git commit -q --amend -m other"),
            "git rebase --continue",
            "git rebase --abort",
        ),
        (
            format!(
                "{stopped} HEAD~2; git commit -q --amend -m other; echo x/evil > .git/rebase-merge/strategy; \
                 echo \"'--x'\" > .git/rebase-merge/strategy_opts; echo -Sx > .git/rebase-merge/gpg_sign_opt"
            ),
            "git rebase --continue",
            "git rebase --abort",
        ),
        (
            format!(
                "{stopped} HEAD~2; mv .git/rebase-merge state; echo x/evil > state/strategy; ln -s ../state .git/rebase-merge"
            ),
            "git rebase --continue",
            "true",
        ),
        (
            format!("{picked}; printf '[options]\\n\\tstrategy = x/evil\\n' > .git/sequencer/opts"),
            go_on_picking,
            "git cherry-pick --abort",
        ),
    ] {
        for after in [go_on, give_up] {
            let Some(hands) = view(test) else { return };
            person(&hands, COMMITS);
            let told = bash(&hands, &format!("{}; {command}", strategy(&hands))).await;
            assert!(told.contains("denied: `.git/"), "{command}: {told}");
            let said = person(&hands, after);
            assert!(!hands.outside("ran").exists(), "{command}: {told}\n{said}");
            if after == give_up {
                let status = person(&hands, "git status");
                assert!(
                    !status.contains("in progress") && !status.contains("currently rebasing"),
                    "{command}: {said}{status}"
                );
            }
        }
    }
}

/// A stopped rebase and a stopped pick go on in the next command, with a strategy that is git's own.
#[tokio::test]
async fn what_is_harmless_goes_on() {
    let Some(hands) = view("what_is_harmless_goes_on") else { return };
    person(&hands, COMMITS);
    let told = bash(
        &hands,
        "export GIT_SEQUENCE_EDITOR='sed -i 1ibreak'; git rebase -q -i --no-ff --strategy=ort -X theirs HEAD~2",
    )
    .await;
    assert!(!told.contains("denied"), "{told}");
    let told = bash(&hands, "git rebase --continue 2>&1").await;
    assert!(told.ends_with("Exit code: 0") && !told.contains("denied"), "{told}");
    assert!(!person(&hands, "git status").contains("rebas"), "{told}");
    let told = bash(
        &hands,
        "git checkout -q -b o HEAD~2; echo z > f2; git add f2; git commit -qm z; git cherry-pick -x main~1 main 2>&1; true",
    )
    .await;
    assert!(told.contains("CONFLICT") && !told.contains("denied"), "{told}");
    let told = bash(
        &hands,
        "git checkout -q --theirs f2; git add f2; GIT_EDITOR=true git cherry-pick --continue 2>&1",
    )
    .await;
    assert!(told.ends_with("Exit code: 0") && !told.contains("denied"), "{told}");
    // And patches that do not apply.
    let told = bash(
        &hands,
        "git format-patch -q -1 main --stdout > p; git checkout -q -b am HEAD~3; echo q > f3; git add f3; git commit -qm q; \
         git am -q p 2>&1; git am --show-current-patch=diff > /dev/null; true",
    )
    .await;
    assert!(!told.contains("denied"), "{told}");
    assert!(bash(&hands, "git am --abort && git status --short").await.ends_with("Exit code: 0"));
}

#[tokio::test]
async fn file_tools_write_nothing_of_it_in_any_repository() {
    let hands = crate::common::Hands::new();
    person(&hands, &format!("{COMMITS}; git worktree add -q tree -b side; git clone -q --bare . bare"));
    for path in [
        ".git/rebase-merge/strategy",
        ".git/sequencer/opts",
        ".git/rebase-apply/apply-opt",
        ".git/worktrees/tree/rebase-merge/strategy",
        ".git/remotes/origin",
        "bare/sequencer/opts",
        "bare/remotes/origin",
        "bare/info/attributes",
    ] {
        let written = hands.call("write", json!({"path": path, "content": "x/evil"})).await;
        assert!(written.is_err() && !hands.inside(path).exists(), "{path}: {written:?}");
    }
}
