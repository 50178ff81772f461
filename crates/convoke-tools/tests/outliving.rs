//! Commands whose Convoke is killed: they end too, and what is left of one is found by whoever goes on.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::{Hands, with_bash};
use convoke_core::{IdempotencyKey, Reconciliation, RunId};
use convoke_tools::sandbox::{Confinement, Network, Sandbox};
use convoke_tools::shell::bash;
use convoke_tools::workspace::Workspace;
use serde_json::{Value, json};

/// Set in the process that is killed: the workspace it works in.
const WORKSPACE: &str = "CONVOKE_TOOLS_TEST_WORKSPACE";

/// Set in it too: what it has done when it is killed.
const DONE: &str = "CONVOKE_TOOLS_TEST_DONE";

/// One that stays in its group, and one that leaves its group, its session and its parent.
const COMMAND: &str = "setsid sh -c 'echo $$ > left; sleep 1000' & echo $$ > stayed; sleep 1000";

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// The numbers that the command's processes write down.
fn processes(folder: &Path) -> Option<[u32; 2]> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
    Some([number("left")?, number("stayed")?])
}

/// Waits for something to come true; however busy the machine is, it does within this time.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} never came true");
}

#[tokio::test]
async fn plays_the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(WORKSPACE) else { return };
    let workspace = Workspace::open(folder).unwrap();
    let sandbox = Sandbox::new(&workspace).unwrap().confinement(Confinement::Landlock);
    let tool: std::sync::Arc<dyn convoke_core::Tool> = std::sync::Arc::new(bash(&sandbox));
    let _ = common::call(&tool, json!({"command": COMMAND})).await;
}

#[test]
fn a_command_under_landlock_ends_with_a_killed_convoke() {
    let hands = Hands::new();
    let mut convoke = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "plays_the_process_that_is_killed", "--nocapture"])
        .env(WORKSPACE, hands.workspace.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = eventually("the command has begun", || match convoke.try_wait().unwrap() {
        Some(_) => Some(None),
        None => processes(hands.workspace.path()).map(Some),
    });
    let Some(begun) = begun else {
        return common::skipped(
            "a_command_under_landlock_ends_with_a_killed_convoke",
            "nothing confines here",
        );
    };
    assert!(begun.iter().all(|process| is_alive(*process)));
    convoke.kill().unwrap();
    convoke.wait().unwrap();
    eventually("they have ended", || (!begun.iter().any(|process| is_alive(*process))).then_some(()));
}

#[tokio::test]
async fn plays_the_process_that_is_killed_around_a_command() {
    let (Some(folder), Ok(done)) = (std::env::var_os(WORKSPACE), std::env::var(DONE)) else { return };
    let workspace = Workspace::open(folder).unwrap();
    let sandbox = Sandbox::new(&workspace).unwrap().confinement(Confinement::View);
    let tool: std::sync::Arc<dyn convoke_core::Tool> = std::sync::Arc::new(bash(&sandbox));
    let arguments = json!({"command": done});
    let prepared = tool.prepare(&arguments).await;
    writeln!(std::io::stdout(), "\nbefore {}", prepared.before().unwrap()).unwrap();
    if !done.is_empty() {
        let prepared = prepared.clone();
        let step = Calling { tool, arguments, prepared };
        let told =
            convoke_core::Runtime::new().start(&convoke_core::Workflow::new(step), String::new()).await;
        assert!(told.unwrap().completed().unwrap().contains("Exit code: 0"));
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_command_of_which_nothing_has_come_out_is_known_not_to_be_done_whenever_its_convoke_was_killed() {
    use Reconciliation::{Ask, NotDone};
    let all = Ask("The command had ended, and what it changed has come out of its view.".to_owned());
    for (done, expected) in [("", NotDone), ("cat kept", NotDone), ("echo x > kept", all)] {
        let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
        std::fs::write(hands.workspace.path().join("kept"), "here").unwrap();
        let killed = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "plays_the_process_that_is_killed_around_a_command", "--nocapture"])
            .env(WORKSPACE, hands.workspace.path())
            .env(DONE, done)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&killed.stdout);
        let Some(before) = told.lines().find_map(|line| line.strip_prefix("before ")) else {
            return common::skipped("a_command_of_which_nothing_has_come_out", "there are no views here");
        };
        let before: Value = serde_json::from_str(before).unwrap();
        if before["layers"].is_null() {
            return common::skipped("a_command_of_which_nothing_has_come_out", "there are no views here");
        }
        let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
        let (tool, arguments) = (hands.tool("bash"), json!({"command": done}));
        assert_eq!(
            tool.reconcile(&key, &arguments, Some(&before)).await.unwrap(),
            expected,
            "{done}: {told}"
        );
    }
}

/// A call of `bash` in a view that is made ready: what is kept of it, and where its layers are.
async fn ready(hands: &Hands, arguments: &Value) -> Option<(Calling, Value, PathBuf)> {
    let tool = Arc::clone(hands.tool("bash"));
    let prepared = tool.prepare(arguments).await;
    let before = prepared.before().cloned().unwrap();
    let layers = before["layers"].as_str().map(PathBuf::from)?;
    Some((Calling { tool, arguments: arguments.clone(), prepared }, before, layers))
}

#[tokio::test]
async fn a_command_that_a_clean_stop_ends_is_known_not_to_be_done_wherever_it_had_come_to() {
    let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
    let arguments = json!({"command": "sleep 1000; echo x > made"});
    for turns in [0, 1, 2, 4, 8, 64] {
        let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
        let Some((step, before, _)) = ready(&hands, &arguments).await else {
            return common::skipped("a_command_that_a_clean_stop_ends", "there are no views here");
        };
        let workflow = convoke_core::Workflow::new(step);
        let runs = convoke_core::Runtime::new();
        let mut call = Box::pin(runs.start(&workflow, String::new()).into_future());
        for _ in 0..turns {
            assert!(tokio::time::timeout(Duration::from_millis(1), &mut call).await.is_err());
        }
        drop((call, workflow));
        // What it had begun beside ends by itself, and until then nobody can tell.
        let mut became = Reconciliation::Unknown;
        for _ in 0..6_000 {
            became = hands.tool("bash").reconcile(&key, &arguments, Some(&before)).await.unwrap();
            if became == Reconciliation::NotDone {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(became, Reconciliation::NotDone, "after {turns} turns");
    }
}

#[tokio::test]
async fn of_a_command_that_is_over_no_layers_are_left() {
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
    for command in ["true", "echo x > made", " ", "exit 3"] {
        let Some((step, _, layers)) = ready(&hands, &json!({"command": command})).await else {
            return common::skipped("of_a_command_that_is_over", "there are no views here");
        };
        let workflow = convoke_core::Workflow::new(step);
        let ended = convoke_core::Runtime::new().start(&workflow, String::new()).await.unwrap();
        drop((ended, workflow));
        eventually("they are gone", || (!layers.exists()).then_some(()));
    }
}

/// Set in the process that is stopped: its workspace.
const STOPPED: &str = "CONVOKE_TOOLS_TEST_STOPPED";

/// Set in it too: whether its command has the network.
const REACHING: &str = "CONVOKE_TOOLS_TEST_REACHING";

#[tokio::test]
async fn plays_the_process_that_is_stopped() {
    let Some(folder) = std::env::var_os(STOPPED) else { return };
    let workspace = Workspace::open(folder).unwrap();
    let sandbox = Sandbox::new(&workspace).unwrap().confinement(Confinement::View);
    let is_reaching = std::env::var_os(REACHING).is_some_and(|is| is == "true");
    let sandbox = sandbox.network(if is_reaching { Network::Open } else { Network::None });
    let tool: Arc<dyn convoke_core::Tool> = Arc::new(bash(&sandbox));
    let arguments = json!({"command": "echo x > made; sleep 2"});
    let prepared = tool.prepare(&arguments).await;
    writeln!(std::io::stdout(), "\nbefore {}", prepared.before().unwrap()).unwrap();
    let workflow = convoke_core::Workflow::new(Calling { tool, arguments, prepared });
    let told = convoke_core::Runtime::new().start(&workflow, String::new()).await.unwrap().completed();
    writeln!(std::io::stdout(), "told {told:?}").unwrap();
}

/// Whoever goes on with the run has the view closed, so what a stopped process does when it goes on does not come out.
#[tokio::test]
async fn nothing_comes_out_of_the_view_of_a_stopped_process_once_another_has_gone_on_with_its_run() {
    use std::io::BufRead;
    for (network, expected) in [(false, Reconciliation::NotDone), (true, Reconciliation::Unknown)] {
        let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "plays_the_process_that_is_stopped", "--nocapture"]);
        command
            .env(STOPPED, hands.workspace.path())
            .env(REACHING, network.to_string())
            .stdout(Stdio::piped());
        let mut convoke = command.spawn().unwrap();
        let mut told = std::io::BufReader::new(convoke.stdout.take().unwrap()).lines().map(Result::unwrap);
        let before = told.find_map(|line| line.strip_prefix("before ").map(str::to_owned)).unwrap();
        let before: Value = serde_json::from_str(&before).unwrap();
        let layers = before["layers"].as_str().or(before["reaching_layers"].as_str()).map(PathBuf::from);
        let Some(layers) = layers else {
            convoke.wait().unwrap();
            return common::skipped(
                "nothing_comes_out_of_the_view_of_a_stopped_process",
                "there are no views here",
            );
        };
        eventually("it is made", || layers.join("upper/made").exists().then_some(()));
        let process = rustix::process::Pid::from_child(&convoke);
        rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
        // The command comes to its end, and its process does not hear of it.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
        let became = hands.tool("bash").reconcile(&key, &json!({"command": "true"}), Some(&before)).await;
        assert_eq!(became.unwrap(), expected);
        rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
        let told: Vec<String> = told.collect();
        convoke.wait().unwrap();
        assert!(!hands.workspace.path().join("made").exists(), "{told:?}");
        assert!(told.iter().any(|line| line.contains("another process has taken over its run")), "{told:?}");
    }
}

/// Also where it cannot be closed: the run is asked about before anything comes out.
#[tokio::test]
async fn nothing_comes_out_of_a_view_when_the_run_is_not_ours_any_more() {
    use convoke_core::Store;
    use convoke_core::store::OnBusy;
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::View));
    let arguments = json!({"command": "sleep 900.71; echo x > made"});
    let Some((step, _, _)) = ready(&hands, &arguments).await else {
        return common::skipped("nothing_comes_out_of_a_view", "there are no views here");
    };
    let store = convoke_store::MemoryStore::default();
    let runtime = convoke_core::Runtime::builder().store(store.clone()).build();
    let id = RunId::mint();
    let workflow = convoke_core::Workflow::new(step);
    let other = async {
        while common::sleeping("900.71").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.claim(&id, OnBusy::TakeOver).await.unwrap();
        for process in common::sleeping("900.71") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
    };
    let (ended, ()) =
        tokio::join!(runtime.start(&workflow, String::new()).id(id.clone()).into_future(), other);
    assert!(!hands.workspace.path().join("made").exists());
    let why = ended.unwrap().error.unwrap().to_string();
    assert!(why.contains("taken over by another writer"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_still_runs_of_an_interrupted_command_is_ended_before_anybody_is_asked() {
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::Off));
    let key = IdempotencyKey::derive(&RunId::mint(), &serde_json::from_value(json!("main")).unwrap(), 0);
    let arguments = json!({"command": COMMAND});
    let tool = hands.tool("bash");
    let prepared = tool.prepare(&arguments).await;
    let before: Value = prepared.before().cloned().unwrap();
    let runs = convoke_core::Runtime::new();
    let step = Calling { tool: std::sync::Arc::clone(tool), arguments: arguments.clone(), prepared };
    let workflow = convoke_core::Workflow::new(step);
    let call = tokio::spawn(async move { runs.start(&workflow, String::new()).await });
    let folder = hands.workspace.path().to_owned();
    let begun =
        tokio::task::spawn_blocking(move || eventually("it has begun", || processes(&folder))).await.unwrap();
    match tool.reconcile(&key, &arguments, Some(&before)).await.unwrap() {
        Reconciliation::Ask(remark) => {
            // How many are left to be counted depends on who ends with whom; below, that none is left.
            let told = ["was", "were"].map(|verb| format!("still ran, and {verb} ended just now"));
            assert!(told.iter().any(|told| remark.contains(told)), "{remark}")
        }
        other => panic!("{other:?}"),
    }
    assert!(!begun.iter().any(|process| is_alive(*process)));
    assert_eq!(tool.reconcile(&key, &arguments, Some(&before)).await.unwrap(), Reconciliation::Unknown);
    let told = call.await.unwrap().unwrap().completed().unwrap();
    assert!(told.contains("Killed by signal 9"), "{told}");
}

/// Makes one call that was made ready before.
struct Calling {
    tool: std::sync::Arc<dyn convoke_core::Tool>,
    arguments: Value,
    prepared: convoke_core::Preparation,
}

impl convoke_core::Step<String> for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    fn run<'a>(
        &'a self,
        scope: &'a convoke_core::Scope,
        told: &'a mut String,
    ) -> convoke_core::BoxFuture<'a, Result<(), convoke_core::Error>> {
        Box::pin(async move {
            let key = IdempotencyKey::derive(scope.run_id(), scope.path(), 1);
            let (arguments, prepared) = (&self.arguments, &self.prepared);
            let call = convoke_core::Invocation { scope, key: &key, arguments, prepared };
            *told = self.tool.call(call).await?;
            Ok(())
        })
    }
}
