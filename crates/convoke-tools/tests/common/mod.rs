//! Helpers shared by the tests of this crate.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "every test file uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::{
    BoxFuture, Error, RecordedError, Runtime, Scope, Step, Tool, ToolCall, ToolResult, Workflow,
};
use convoke_tools::files;
use convoke_tools::workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;

/// What nobody inside may ever see.
pub const SECRET: &str = "the-secret-outside";

/// A workspace beside a folder that is none of its business, and the tools on it.
pub struct Hands {
    pub folder: TempDir,
    pub workspace: Workspace,
    pub tools: Vec<Arc<dyn Tool>>,
    /// Where `bash` runs, if it is among them.
    #[cfg(target_os = "linux")]
    pub sandbox: Option<convoke_tools::sandbox::Sandbox>,
}

impl Hands {
    /// A workspace with file tools.
    pub fn new() -> Self {
        Self::with(files::all)
    }

    /// A workspace with these tools.
    pub fn with(tools: impl FnOnce(&Workspace) -> Vec<Arc<dyn Tool>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("inside")).unwrap();
        std::fs::create_dir(folder.path().join("outside")).unwrap();
        std::fs::write(folder.path().join("outside/secret.txt"), SECRET).unwrap();
        let workspace = Workspace::open(folder.path().join("inside")).unwrap();
        let tools = tools(&workspace);
        Self {
            folder,
            workspace,
            tools,
            #[cfg(target_os = "linux")]
            sandbox: None,
        }
    }

    /// A path inside.
    pub fn inside(&self, path: &str) -> PathBuf {
        self.workspace.path().join(path)
    }

    /// A path outside.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("outside").join(path)
    }

    /// Puts a file inside, with the folders it needs.
    pub fn put(&self, path: &str, content: &str) -> PathBuf {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// What a file inside contains.
    pub fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.inside(path)).unwrap()
    }

    /// Makes a link inside.
    pub fn link(&self, to: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(to, self.inside(path)).unwrap();
    }

    pub fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name() == name).unwrap()
    }

    /// Calls a tool in a run of its own: what the model would read.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<String, String> {
        call(self.tool(name), arguments).await
    }

    /// Calls a tool that must do as it is told.
    pub async fn done(&self, name: &str, arguments: Value) -> String {
        let what = format!("{name} {arguments}");
        self.call(name, arguments).await.unwrap_or_else(|error| panic!("{what} failed: {error}"))
    }

    /// Calls a tool that must refuse, and says with what words.
    pub async fn refused(&self, name: &str, arguments: Value) -> String {
        let what = format!("{name} {arguments}");
        match self.call(name, arguments).await {
            Ok(result) => panic!("{what} was done: {result}"),
            Err(error) => error,
        }
    }
}

/// Calls a tool in a run of its own.
pub async fn call(tool: &Arc<dyn Tool>, arguments: Value) -> Result<String, String> {
    call_in(&Runtime::new(), tool, arguments).await
}

/// Calls a tool in a run of this runtime.
pub async fn call_in(runtime: &Runtime, tool: &Arc<dyn Tool>, arguments: Value) -> Result<String, String> {
    let step = Call { tool: Arc::clone(tool), arguments };
    let outcome = runtime.start(&Workflow::new(step), None).await.unwrap();
    let result: ToolResult = outcome.completed().unwrap().unwrap();
    if result.is_error { Err(result.content) } else { Ok(result.content) }
}

/// Calls a tool for a step, in a run of its own: what it is given as data.
pub async fn call_for_step(tool: &Arc<dyn Tool>, arguments: Value) -> Result<String, RecordedError> {
    let step = Workflow::new(CallForStep(Call { tool: Arc::clone(tool), arguments }));
    Runtime::new().start(&step, None).await.unwrap().completed().unwrap().unwrap()
}

/// A step that calls a tool for itself.
struct CallForStep(Call);

impl Step<Option<Result<String, RecordedError>>> for CallForStep {
    fn name(&self) -> &str {
        "call"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        state: &'a mut Option<Result<String, RecordedError>>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Call { tool, arguments } = &self.0;
            let (name, arguments) = (tool.spec().name().to_owned(), arguments.clone());
            let call = ToolCall { id: "1".to_owned(), name, arguments };
            *state = Some(scope.tool_scope(&**tool, None).try_tool(tool, &call).await?);
            Ok(())
        })
    }
}

/// A step that calls a tool.
pub struct Call {
    pub tool: Arc<dyn Tool>,
    pub arguments: Value,
}

impl Step<Option<ToolResult>> for Call {
    fn name(&self) -> &str {
        "call"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        state: &'a mut Option<ToolResult>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let scope = scope.tool_scope(&*self.tool, None);
            let name = self.tool.spec().name().to_owned();
            let call = ToolCall { id: "1".to_owned(), name, arguments: self.arguments.clone() };
            *state = Some(scope.tool(&self.tool, &call).await?);
            Ok(())
        })
    }
}

/// Whether words are a denial.
#[track_caller]
pub fn assert_denied(words: &str, because: &str) {
    assert!(words.contains("denied"), "not a denial: {words}");
    assert!(words.contains(because), "expected `{because}`: {words}");
    assert!(!words.contains(SECRET), "the secret is out: {words}");
}

/// A workspace with file tools and `bash`, confined like this.
#[cfg(target_os = "linux")]
pub fn with_bash(
    set_up: impl FnOnce(convoke_tools::sandbox::Sandbox) -> convoke_tools::sandbox::Sandbox,
) -> Hands {
    let mut hands = Hands::with(files::all);
    let sandbox = set_up(convoke_tools::sandbox::Sandbox::new(&hands.workspace).unwrap());
    hands.tools.push(Arc::new(convoke_tools::shell::bash(&sandbox)));
    hands.sandbox = Some(sandbox);
    hands
}

/// The processes that sleep for this long. In a view processes have numbers of their own; these are the machine's.
#[cfg(target_os = "linux")]
pub fn sleeping(seconds: &str) -> Vec<i32> {
    let words = format!("sleep\0{seconds}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let sleeps = |process: &std::fs::DirEntry| {
        std::fs::read(process.path().join("cmdline")).is_ok_and(|found| found == words.as_bytes())
    };
    processes.filter(sleeps).filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

/// Says that a test is not run, where everybody sees it: output of tests that pass is not shown otherwise.
pub fn skipped(test: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}
