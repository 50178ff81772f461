//! Results of `bash`, and how commands end.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{sleeping, with_bash};
use convoke_core::{Category, Origin, RecordedError, Repeat, ToolEffect};
use convoke_tools::sandbox::{CommandLimits, Confinement};
use convoke_tools::shell::was_overtaken;
use serde_json::json;

#[tokio::test]
async fn output_error_output_and_code_are_given_back() {
    let hands = with_bash(|sandbox| sandbox);
    assert_eq!(hands.done("bash", json!({"command": "echo hello"})).await, "hello\nExit code: 0");
    assert_eq!(
        hands.done("bash", json!({"command": "echo out; echo err >&2; exit 3"})).await,
        "out\nSTDERR:\nerr\nExit code: 3"
    );
    assert!(hands.refused("bash", json!({"command": " "})).await.contains("the command is empty"));
    let killed = hands.done("bash", json!({"command": "kill -SEGV $$"})).await;
    assert!(killed.contains("Killed by signal 11"), "{killed}");
}

async fn for_step(hands: &common::Hands, command: &'static str) -> Result<String, RecordedError> {
    common::call_for_step(hands.tool("bash"), json!({"command": command})).await
}

#[tokio::test]
async fn to_a_step_a_command_is_what_it_wrote_and_fails_with_its_exit_code() {
    let hands = with_bash(|sandbox| sandbox);
    assert_eq!(for_step(&hands, "printf v1; echo quietly >&2").await.unwrap(), "v1");
    assert_eq!(for_step(&hands, "echo; echo two; echo").await.unwrap(), "\ntwo");
    let failed = for_step(&hands, "echo out; echo err >&2; exit 3").await.unwrap_err();
    assert_eq!(failed.to_string(), "Exit code: 3\nout\nSTDERR:\nerr");
    assert_eq!(failed.category(), Category::Permanent);
    let killed = for_step(&hands, "kill -9 $$").await.unwrap_err();
    assert!(killed.to_string().starts_with("Killed by signal 9"), "{killed}");
}

#[tokio::test]
async fn to_a_step_the_output_of_a_command_is_whole_or_an_error() {
    let hands = with_bash(|sandbox| sandbox);
    let numbers: Vec<String> = (1..=100_000).map(|number: u32| number.to_string()).collect();
    assert!(for_step(&hands, "seq 1 100000").await.unwrap() == numbers.join("\n"));
    let largest = for_step(&hands, "head -c 1048576 /dev/zero | tr '\\0' x").await.unwrap();
    assert_eq!(largest.len(), 1 << 20);
    for (command, bytes) in [
        ("head -c 1048577 /dev/zero | tr '\\0' x", "1048577"),
        ("head -c 9000000 /dev/zero | tr '\\0' '\\n'", "9000000"),
        // Each is three in a text.
        ("head -c 400000 /dev/zero | tr '\\0' '\\377'", "1200000"),
    ] {
        let error = for_step(&hands, command).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains(&format!("it wrote {bytes} bytes to its output")), "{told}");
        assert!(told.contains("given 1048576 at the most: have it write to a file (`… > FILE`)"), "{told}");
        assert_eq!(error.category(), Category::Permanent);
    }
}

#[tokio::test]
async fn to_a_step_a_command_whose_changes_are_lost_has_failed() {
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
    hands.put("log.txt", "before\n");
    hands.put("done.txt", "kept");
    let slow = for_step(&hands, "echo slow >> log.txt; rm done.txt; sleep 900.44; true");
    let quick = async {
        while sleeping("900.44").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for_step(&hands, "echo quick >> log.txt").await.unwrap();
        for process in sleeping("900.44") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
    };
    let (slow, ()) = tokio::join!(slow, quick);
    let lost = slow.unwrap_err();
    assert!(lost.to_string().contains("`log.txt` was not taken over: somebody else changed it"), "{lost}");
    assert_eq!(lost.category(), Category::Transient, "it may be run anew");
    assert!(was_overtaken(lost.category(), &lost.to_string()), "{lost}");
    assert_eq!(
        (hands.content("log.txt"), hands.content("done.txt")),
        ("before\nquick\n".into(), "kept".into())
    );
    let refused =
        for_step(&hands, "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit").await.unwrap_err();
    assert!(refused.to_string().contains("changes of it are lost: `.git"), "{refused}");
    assert_eq!(refused.category(), Category::Permanent, "another time it is refused too");
}

#[tokio::test]
async fn it_works_in_the_workspace() {
    let hands = with_bash(|sandbox| sandbox);
    hands.put("src/a.txt", "content");
    let result = hands
        .done(
            "bash",
            json!({"command": "pwd; cat src/a.txt; mkdir -p new/er; echo x > new/er/b.txt; mv new n"}),
        )
        .await;
    assert_eq!(result, format!("{}\ncontent\nExit code: 0", hands.workspace.path().display()));
    assert_eq!(hands.content("n/er/b.txt"), "x\n");
    let result = hands.done("bash", json!({"command": "cat a.txt", "folder": "src"})).await;
    assert_eq!(result, "content\nExit code: 0");
    assert!(hands.refused("bash", json!({"command": "ls", "folder": "../outside"})).await.contains("denied"));
}

#[tokio::test]
async fn ordinary_tools_work() {
    let hands = with_bash(|sandbox| sandbox);
    hands.put("a.txt", "3\n1\n2\n");
    for (command, result) in [
        ("sort a.txt | head -n 1", "1\n"),
        ("grep -c . a.txt", "3\n"),
        ("x=$(mktemp) && echo y > $x && cat $x && rm $x", "y\n"),
        ("cat <<END\nhere\nEND", "here\n"),
        ("cat <(echo sub)", "sub\n"),
        ("sed -i s/3/4/ a.txt && head -n1 a.txt", "4\n"),
        ("(sleep 0.01 & wait); echo done", "done\n"),
        ("timeout 600 echo quick", "quick\n"),
        ("timeout 0.1 sleep 600; echo $?", "124\n"),
        ("awk 'BEGIN { print 6*7 }'", "42\n"),
        ("find . -name a.txt", "./a.txt\n"),
        ("tar cf t.tar a.txt && tar tf t.tar", "a.txt\n"),
        ("echo $HOME > /dev/null && cd ~ && echo x > f && cat f", "x\n"),
    ] {
        let got = hands.done("bash", json!({"command": command})).await;
        assert_eq!(got, format!("{result}Exit code: 0"), "{command}");
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_a_result() {
    let hands = with_bash(|sandbox| sandbox);
    // A busy machine may take a second to begin.
    for seconds in [1, 10, 60] {
        let result =
            hands.done("bash", json!({"command": "echo begun; sleep 1000", "timeout": seconds})).await;
        let late = format!("command timed out after {seconds} seconds, and was killed");
        if result != late {
            assert_eq!(result, format!("begun\n{late}"));
            return;
        }
    }
    panic!("it never began");
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command() {
    let hands = with_bash(|sandbox| sandbox);
    let result =
        hands.done("bash", json!({"command": "(setsid sleep 1000.31 &) ; sleep 1000.31 & echo begun"})).await;
    assert_eq!(result, "begun\nExit code: 0");
    assert!(sleeping("1000.31").is_empty());
}

#[tokio::test]
async fn a_command_that_is_given_up_is_killed_and_has_changed_nothing() {
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
    hands.put("old", "before");
    let call = hands.call("bash", json!({"command": "echo after > old; touch new; exec sleep 1000.32"}));
    let until = async |sleeps: bool| {
        while sleeping("1000.32").is_empty() == sleeps {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        result = call => panic!("it ended: {result:?}"),
        () = until(true) => {}
    };
    until(false).await;
    assert_eq!(hands.content("old"), "before");
    assert!(!hands.inside("new").exists());
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept() {
    let hands = with_bash(|sandbox| sandbox);
    let result = hands.done("bash", json!({"command": "seq 1 100000"})).await;
    assert!(result.len() < 40_000, "{}", result.len());
    assert!(result.starts_with("1\n2\n") && result.contains("bytes left out …]"));
    let path = result.split("is in ").nth(1).unwrap().split(';').next().unwrap();
    let line = hands.done("bash", json!({"command": format!("sed -n 50000p {path}")})).await;
    assert_eq!(line, "50000\nExit code: 0");
}

#[tokio::test]
async fn too_much_output_ends_the_command() {
    let hands = with_bash(|sandbox| sandbox.limits(CommandLimits::default().output(1 << 20)));
    let result = hands.done("bash", json!({"command": "yes"})).await;
    assert!(result.ends_with("command was killed: it wrote too much output"), "{}", result.len());
}

#[tokio::test]
async fn without_a_sandbox_nothing_is_run_unless_that_is_said() {
    let none = with_bash(|sandbox| sandbox.confinement(Confinement::View).layers_at("/nowhere/at/all"));
    let words = none.refused("bash", json!({"command": "touch ran"})).await;
    assert!(words.contains("denied") && words.contains("sandbox = \"off\""), "{words}");
    assert!(!none.inside("ran").exists());
    let off = with_bash(|sandbox| sandbox.confinement(Confinement::Off));
    assert_eq!(off.done("bash", json!({"command": "echo free"})).await, "free\nExit code: 0");
}

#[test]
fn bash_says_what_it_does() {
    let hands = with_bash(|sandbox| sandbox);
    let bash = hands.tool("bash");
    assert!(bash.spec().effects.contains(ToolEffect::Irreversible));
    assert!(!bash.spec().effects.contains(ToolEffect::Network));
    assert_eq!(bash.spec().repeat, Repeat::Never);
    let arguments = json!({"command": "ls"});
    assert_eq!(bash.origin(&arguments), Origin::Command("ls".to_owned()));
}

/// Calls whose accesses conflict are made one after the other.
#[test]
fn agent_073_bash_conflicts_with_every_write_and_with_itself() {
    let hands = with_bash(|sandbox| sandbox);
    let bash = hands.tool("bash").accesses(&json!({"command": "ls"}));
    let write = hands.tool("write").accesses(&json!({"path": "a", "content": ""}));
    for other in [&write, &bash] {
        assert!(bash.iter().any(|one| other.iter().any(|other| one.conflicts_with(other))), "{other:?}");
    }
}

#[tokio::test]
async fn a_command_that_wanted_the_network_is_told_that_it_is_closed_and_how_it_is_opened() {
    use convoke_tools::network::HostRules;
    use convoke_tools::sandbox::Network;

    let failing = json!({"command": "echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6"});
    let closed = common::with_bash(|sandbox| sandbox);
    let told = closed.done("bash", failing.clone()).await;
    assert!(
        told.contains("the network is closed to commands") && told.contains("commands.hosts.allow"),
        "{told}"
    );
    // What a file says about it is no complaint.
    let told = closed.done("bash", json!({"command": "echo 'Could not resolve host: example.com'"})).await;
    assert!(!told.contains("the network is closed"), "{told}");
    let open = common::with_bash(|sandbox| sandbox.network(Network::Open));
    assert!(!open.done("bash", failing.clone()).await.contains("the network is closed"));
    // Under Landlock, nothing holds a command to single hosts: it reaches none.
    let hosts = Network::Hosts(HostRules::new([]));
    let unheld = common::with_bash(|sandbox| {
        sandbox.confinement(convoke_tools::sandbox::Confinement::Landlock).network(hosts)
    });
    let told = unheld.done("bash", failing).await;
    assert!(told.contains("nothing can hold a command to these here"), "{told}");
    // A program that says nothing about it is known by its name.
    let silent = json!({"command": "curl -s -m 2 http://192.0.2.1/; echo $?"});
    let told = unheld.done("bash", silent).await;
    assert!(told.contains("it reaches no host at all"), "{told}");
    let told = unheld.done("bash", json!({"command": "echo curl"})).await;
    assert_eq!(told, "curl\nExit code: 0");
    let told = unheld.done("bash", json!({"command": "exec 3<>/dev/tcp/127.0.0.1/1; echo $?"})).await;
    assert!(told.contains("Permission denied") || told.contains("not permitted"), "{told}");
}
