//! Shared helpers of the tests: a small server in Python, and calls through the kernel.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "every test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_core::{
    Answer, BoxFuture, Error, Event, Outcome, PendingQuestion, Responder, Runtime, Scope, Step, Tool,
    ToolCall, Workflow,
};
use convoke_mcp::{McpServers, Protocol, ServerConfig};
use serde_json::Value;

pub const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_server.py");

/// The small server, as a command.
pub fn fake(name: &str) -> ServerConfig {
    ServerConfig::stdio(name, "python3").args([SCRIPT]).protocol(Protocol::Initialize)
}

/// A folder with a file that the small server writes what it hears to.
pub struct Log {
    folder: tempfile::TempDir,
}

impl Log {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub fn of(&self, config: ServerConfig) -> ServerConfig {
        config.args(["--log", self.path().to_str().unwrap()])
    }

    pub fn messages(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn methods(&self) -> Vec<String> {
        self.messages().iter().filter_map(|message| Some(message["method"].as_str()?.to_owned())).collect()
    }

    /// Waits until a message like this has arrived.
    pub async fn until(&self, is: impl Fn(&Value) -> bool) -> Value {
        let looking = async {
            loop {
                if let Some(found) = self.messages().into_iter().find(|message| is(message)) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), looking).await.expect("it never came")
    }

    pub async fn until_method(&self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await
    }
}

/// The small server over HTTP, until it is dropped.
pub struct Web {
    child: Child,
    folder: tempfile::TempDir,
    pub url: String,
}

impl Web {
    pub async fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("port");
        let child = Command::new("python3").arg(SCRIPT).arg("http").arg(&file).args(options).spawn().unwrap();
        let port = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                if let Ok(port) = std::fs::read_to_string(&file) {
                    return port;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let port = port.await.expect("it does not listen");
        Self { child, folder, url: format!("http://127.0.0.1:{port}/mcp") }
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts these servers, all of which must be there.
pub async fn started(configs: impl IntoIterator<Item = ServerConfig>) -> McpServers {
    let servers = McpServers::builder().servers(configs).start().await.unwrap();
    assert_eq!(servers.warnings(), Vec::<String>::new());
    servers
}

/// What a call gave: content, and whether it is a failure.
pub type Given = (String, bool);

/// Calls a tool, as an agent does.
pub struct Calling {
    pub tool: Arc<dyn Tool>,
    pub arguments: Value,
}

impl Step<Option<Given>> for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Option<Given>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = self.tool.spec().name().to_owned();
            let call = ToolCall { id: "one".into(), name, arguments: self.arguments.clone() };
            let call_scope = scope.tool_scope(&*self.tool, None);
            let result = call_scope.tool(&self.tool, &call).await?;
            *state = Some((result.content, result.is_error));
            Ok(())
        })
    }
}

/// A workflow that calls a tool of a server.
pub async fn calling(
    servers: &McpServers,
    server: &str,
    tool: &str,
    arguments: Value,
) -> Workflow<Option<Given>> {
    let tool = servers.tool(server, tool).await.unwrap();
    Workflow::new(Calling { tool, arguments })
}

/// Calls a tool of a server in a run of its own.
pub async fn call(servers: &McpServers, server: &str, tool: &str, arguments: Value) -> Given {
    call_in(&Runtime::new(), servers, server, tool, arguments).await.completed().unwrap().unwrap()
}

pub async fn call_in(
    runtime: &Runtime,
    servers: &McpServers,
    server: &str,
    tool: &str,
    arguments: Value,
) -> Outcome<Option<Given>> {
    runtime.start(&calling(servers, server, tool, arguments).await, None).await.unwrap()
}

/// The events of a call, and what it gave.
pub async fn told(servers: &McpServers, server: &str, tool: &str, arguments: Value) -> (Vec<Event>, Given) {
    let workflow = calling(servers, server, tool, arguments).await;
    let (events, outcome) = Runtime::new().start(&workflow, None).stream().collect().await;
    (events, outcome.unwrap().completed().unwrap().unwrap())
}

type Answering = Arc<dyn Fn(&PendingQuestion) -> Option<Answer> + Send + Sync>;

/// Answers questions with a function, and remembers them.
#[derive(Clone)]
pub struct Person {
    answer: Answering,
    pub asked: Arc<Mutex<Vec<PendingQuestion>>>,
}

impl Person {
    pub fn new(answer: impl Fn(&PendingQuestion) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default() }
    }

    /// Gives these answers, one after the other.
    pub fn saying<const N: usize>(answers: [Answer; N]) -> Self {
        let answers = Mutex::new(answers.into_iter());
        Self::new(move |_| answers.lock().unwrap().next())
    }

    pub fn runtime(&self) -> Runtime {
        Runtime::builder().responder(self.clone()).build()
    }

    pub fn titles(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|pending| pending.question.title.clone()).collect()
    }
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        self.asked.lock().unwrap().push(question.clone());
        let answer = (self.answer)(question);
        Box::pin(async move { answer })
    }
}

/// Whether a process is there (and more than a name in a table).
pub fn is_running(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Waits until a process is gone.
pub async fn until_gone(process: &str) {
    let looking = async {
        while is_running(process) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), looking).await.expect("it is still there");
}
