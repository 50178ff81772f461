//! Tests of servers whose programs are in the workspace, where agents change files.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use common::{SCRIPT, call, fake};
use convoke_core::BoxFuture;
use convoke_mcp::{
    Launch, LaunchedServer, Launcher, McpError, McpServers, Protocol, ServerConfig, ServerSandbox,
};
use serde_json::json;

/// A workspace with the small server in it.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(workspace.join("tools")).unwrap();
    std::fs::copy(SCRIPT, workspace.join("tools/server.py")).unwrap();
    (folder, workspace)
}

fn own(workspace: &Path) -> ServerConfig {
    ServerConfig::stdio("own", "python3")
        .args(["tools/server.py"])
        .folder(workspace)
        .protocol(Protocol::Initialize)
}

async fn started(workspace: &Path, config: ServerConfig) -> McpServers {
    McpServers::builder().server(config).workspace(workspace).start().await.unwrap()
}

#[tokio::test]
async fn a_server_whose_script_was_rewritten_is_not_started_again() {
    let (_folder, workspace) = workspace();
    let servers = started(&workspace, own(&workspace)).await;
    assert_eq!(servers.warnings(), Vec::<String>::new());
    // It dies, and is started again as it was.
    call(&servers, "own", "die", json!({})).await;
    assert_eq!(call(&servers, "own", "echo", json!({"text": "back"})).await, ("back".into(), false));
    // An agent rewrites it, and makes it die.
    let script = workspace.join("tools/server.py");
    let canary = workspace.join("canary");
    std::fs::write(&script, format!("open({canary:?}, 'w').write('ran')\n")).unwrap();
    call(&servers, "own", "die", json!({})).await;
    let error = servers.tool("own", "echo").await.err().unwrap();
    assert!(
        matches!(&error, McpError::Changed { files, .. } if files.contains("tools/server.py")),
        "{error}"
    );
    assert!(!canary.exists());
    // Nor is one with something new beside it, which its interpreter would load.
    std::fs::copy(SCRIPT, &script).unwrap();
    let shadow = workspace.join("tools/json.py");
    std::fs::write(&shadow, format!("open({canary:?}, 'w').write('ran')\n")).unwrap();
    let error = servers.tool("own", "echo").await.err().unwrap().to_string();
    assert!(error.contains("tools/json.py") && !canary.exists(), "{error}");
    // Put back, it is what it was.
    std::fs::remove_file(shadow).unwrap();
    assert_eq!(call(&servers, "own", "echo", json!({"text": "back"})).await, ("back".into(), false));
}

/// Everything that an interpreter may load counts: packages that hide others, what was compiled, what lies where it works.
#[tokio::test]
async fn a_server_is_not_started_again_once_something_it_may_load_was_changed() {
    type Configured<'a> = &'a dyn Fn(&Path) -> ServerConfig;
    type Change = fn(&Path);
    let put = |path: PathBuf, content: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let module = |workspace: &Path| {
        put(workspace.join("pkg/__init__.py"), "");
        std::fs::copy(SCRIPT, workspace.join("pkg/server.py")).unwrap();
        ServerConfig::stdio("own", "python3")
            .args(["-m", "pkg.server"])
            .folder(workspace)
            .protocol(Protocol::Initialize)
    };
    let inline = |workspace: &Path| {
        let text = "exec(open('tools/server.py').read())";
        ServerConfig::stdio("own", "python3")
            .args(["-c", text])
            .folder(workspace)
            .protocol(Protocol::Initialize)
    };
    let cases: &[(Configured<'_>, Change, &str)] = &[
        (&own, |top| std::fs::create_dir_all(top.join("tools/json")).unwrap(), "tools/json"),
        (&own, |top| std::fs::create_dir_all(top.join("tools/__pycache__")).unwrap(), "tools/__pycache__"),
        (&own, |top| std::fs::write(top.join("tools/lib/old"), "new").unwrap(), "tools/lib/old"),
        (&own, |top| std::fs::write(top.join("tools/json.so"), "new").unwrap(), "tools/json.so"),
        (&module, |top| std::fs::write(top.join("json.py"), "new").unwrap(), "json.py"),
        (&module, |top| std::fs::create_dir_all(top.join("json")).unwrap(), "json"),
        (&inline, |top| std::fs::write(top.join("json.py"), "new").unwrap(), "json.py"),
    ];
    for (config, change, named) in cases {
        let (_folder, workspace) = workspace();
        put(workspace.join("tools/lib/old"), "old");
        let servers = started(&workspace, config(&workspace)).await;
        assert_eq!(servers.warnings(), Vec::<String>::new(), "{named}");
        call(&servers, "own", "die", json!({})).await;
        assert_eq!(
            call(&servers, "own", "echo", json!({"text": "back"})).await,
            ("back".into(), false),
            "{named}"
        );
        change(&workspace);
        call(&servers, "own", "die", json!({})).await;
        let error = servers.tool("own", "echo").await.err().unwrap();
        assert!(
            matches!(&error, McpError::Changed { files, .. } if files.contains(named)),
            "{named}: {error}"
        );
    }
}

/// A server of the workspace runs in the sandbox unless its user says otherwise; one from elsewhere has its user's rights.
#[tokio::test]
async fn a_server_of_the_workspace_runs_in_the_sandbox_where_there_is_one() {
    let (folder, workspace) = workspace();
    std::fs::copy(SCRIPT, folder.path().join("elsewhere.py")).unwrap();
    let elsewhere = || {
        let script = folder.path().join("elsewhere.py").display().to_string();
        ServerConfig::stdio("own", "python3").args([script]).protocol(Protocol::Initialize)
    };
    for (config, is_confined) in [
        (own(&workspace), true),
        (elsewhere().folder(&workspace), true),
        (own(&workspace).sandbox(ServerSandbox::Off), false),
        (elsewhere(), false),
    ] {
        let recorder = Arc::new(Recorder::default());
        let builder = McpServers::builder().sandbox(Arc::clone(&recorder) as Arc<dyn Launcher>);
        builder.server(config.clone()).workspace(&workspace).start().await.unwrap();
        assert_eq!(recorder.0.lock().unwrap().len(), usize::from(is_confined), "{config:?}");
    }
}

#[tokio::test]
async fn what_a_server_writes_itself_does_not_keep_it_from_being_started_again() {
    let (_folder, workspace) = workspace();
    std::fs::write(workspace.join("log"), "").unwrap();
    let servers = started(&workspace, own(&workspace).args(["--log", "log"])).await;
    call(&servers, "own", "die", json!({})).await;
    assert!(std::fs::metadata(workspace.join("log")).unwrap().len() > 0);
    assert_eq!(call(&servers, "own", "echo", json!({"text": "back"})).await, ("back".into(), false));
}

#[tokio::test]
async fn a_program_of_the_workspace_is_not_started_for_one_of_that_name() {
    let (_folder, workspace) = workspace();
    let canary = workspace.join("canary");
    let bin = workspace.join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["python3", "only-here"] {
        std::fs::write(bin.join(name), format!("#!/bin/sh\necho ran > {}\n", canary.display())).unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:.:{}", bin.display(), std::env::var("PATH").unwrap());
    let look = move |name: &str| match name {
        "PATH" => Some(path.clone()),
        name => std::env::var(name).ok(),
    };
    let only = ServerConfig::stdio("only", "only-here");
    let builder = McpServers::builder().variables(look).workspace(&workspace);
    let servers = builder.servers([own(&workspace), only]).start().await.unwrap();
    assert_eq!(call(&servers, "own", "echo", json!({"text": "x"})).await, ("x".into(), false));
    let error = servers.tool("only", "x").await.err().unwrap().to_string();
    assert!(error.contains("only-here") && error.contains("programs are not looked up there"), "{error}");
    assert!(!canary.exists());
    // Nor do scripts find their interpreters there.
    let (told, _) = call(&servers, "own", "env", json!({"name": "PATH"})).await;
    assert!(!told.contains(".venv"), "{told}");
}

/// Starts servers as they are, and keeps what it was asked for.
#[derive(Default)]
struct Recorder(Mutex<Vec<Launch>>);

impl Launcher for Recorder {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, std::io::Result<LaunchedServer>> {
        self.0.lock().unwrap().push(launch);
        Box::pin(async { Err(std::io::Error::other("the sandbox is full")) })
    }
}

#[tokio::test]
async fn a_server_that_is_to_run_in_the_sandbox_runs_there_or_not_at_all() {
    let sandboxed = |sandbox| fake("srv").variable("KEY", "hush-hush").sandbox(sandbox);
    let none = McpServers::builder().server(sandboxed(ServerSandbox::Required)).start().await.unwrap();
    assert!(none.warnings()[0].contains("`sandbox = true`"), "{:?}", none.warnings());
    let none = McpServers::builder().server(sandboxed(ServerSandbox::IfAvailable)).start().await.unwrap();
    assert_eq!(none.warnings(), Vec::<String>::new());
    for (sandbox, is_there) in
        [(ServerSandbox::Required, true), (ServerSandbox::IfAvailable, true), (ServerSandbox::Off, false)]
    {
        let recorder = Arc::new(Recorder::default());
        let builder = McpServers::builder().sandbox(Arc::clone(&recorder) as Arc<dyn Launcher>);
        let servers = builder.server(sandboxed(sandbox)).start().await.unwrap();
        let launches = recorder.0.lock().unwrap();
        assert_eq!(launches.len(), usize::from(is_there), "{sandbox:?}");
        assert_eq!(servers.warnings().concat().contains("the sandbox is full"), is_there, "{sandbox:?}");
        if let [launch] = &launches[..] {
            assert!(launch.program.is_absolute() && launch.program.ends_with("python3"), "{launch:?}");
            assert_eq!(launch.environment["KEY"], "hush-hush");
            assert!(!format!("{launch:?}").contains("hush-hush"));
        }
    }
}
