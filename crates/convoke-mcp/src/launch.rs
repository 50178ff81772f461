//! Launches the processes of servers.
//!
//! A [`Launcher`] starts it: unconfined, as every program of the user's, or however whoever embeds this wants it, in a sandbox
//! above all ([`McpServersBuilder::sandbox`](crate::McpServersBuilder::sandbox)). What talks to the process and looks after it is
//! the same in either case.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use convoke_core::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

/// Starts servers.
pub trait Launcher: Send + Sync + 'static {
    /// Starts one, with pipes to and from it. Its environment is what it is given, and nothing else.
    ///
    /// # Errors
    /// If it cannot be started as it is to be.
    fn launch(&self, launch: Launch) -> BoxFuture<'_, io::Result<LaunchedServer>>;
}

/// A server to be started.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// What it is called.
    pub server: String,
    /// The program, by its whole path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it works; `None` for where we do.
    pub folder: Option<PathBuf>,
    /// All variables that it sees. Their values may be secret.
    pub environment: BTreeMap<String, String>,
}

/// A server that has been started.
#[non_exhaustive]
pub struct LaunchedServer {
    /// What it reads.
    pub stdin: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    /// What it writes.
    pub stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// What it complains of.
    pub stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// Is over when it has ended. Dropping it ends the process.
    pub ended: BoxFuture<'static, ()>,
    /// Ends it.
    pub ending: Arc<dyn Terminator>,
}

/// Ends a server, with everything it has started.
pub trait Terminator: Send + Sync {
    /// Asks it to end.
    fn ask(&self);

    /// Ends it at once.
    fn kill(&self);
}

impl LaunchedServer {
    /// Creates one with these pipes, and this way to end it.
    pub fn new(
        stdin: impl AsyncWrite + Send + Sync + Unpin + 'static,
        stdout: impl AsyncRead + Send + Sync + Unpin + 'static,
        stderr: impl AsyncRead + Send + Sync + Unpin + 'static,
        ended: BoxFuture<'static, ()>,
        ending: Arc<dyn Terminator>,
    ) -> Self {
        Self { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr: Box::new(stderr), ended, ending }
    }
}

/// Starts servers with all the rights of this process, each as the leader of a group of its own.
pub(crate) struct Unconfined;

impl Launcher for Unconfined {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, io::Result<LaunchedServer>> {
        Box::pin(async move {
            let mut command = Command::new(&launch.program);
            command.args(&launch.arguments).env_clear().envs(&launch.environment);
            command.process_group(0).kill_on_drop(true);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(folder) = &launch.folder {
                command.current_dir(folder);
            }
            let mut child = command.spawn()?;
            let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let (Some(stdin), Some(stdout), Some(stderr)) = taken else {
                return Err(io::Error::other("its standard streams are missing"));
            };
            let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
            let ended = Box::pin(async move {
                // Whatever the answer is, it is not there any more.
                let _ = child.wait().await;
            });
            Ok(LaunchedServer::new(stdin, stdout, stderr, ended, Arc::new(group)))
        })
    }
}

/// The processes of a server.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails if nobody is left, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Terminator for Group {
    fn ask(&self) {
        self.signal(Signal::TERM);
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
    }
}

/// Names only: values may be secret, and so may arguments.
impl fmt::Debug for Launch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Launch")
            .field("server", &self.server)
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("folder", &self.folder)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .finish()
    }
}
