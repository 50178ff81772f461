//! The proxy that accepts the connections of a command.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::gateway::Gateway;
use super::refusals::Refusals;
use super::{HostAsker, HostRules, NetworkReport, http, socks};

/// How long nothing is accepted when that has failed: for want of descriptors, most likely.
const PAUSE: Duration = Duration::from_millis(50);

/// Limits on the connections of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// How many there are at once. More have to wait.
    pub connections: usize,
    /// How long one may take to say what it wants.
    pub head: Duration,
    /// How long it may take to reach that, without the time a person takes who is asked.
    pub connect: Duration,
    /// How long nothing may go to or fro.
    pub idle: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(10),
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(5 * 60),
        }
    }
}

/// A proxy for the connections of one command, about to be started. It speaks HTTP (`CONNECT`, and whole addresses for plain
/// http) and SOCKS 5 on the same port.
///
/// ```
/// use convoke_tools::network::{HostRules, Proxy, variables};
/// use convoke_tools::policy::Policy;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "version = 1\n[commands]\nnetwork = \"hosts\"\nhosts.allow = [\"*.crates.io\"]\n";
/// let rules = HostRules::new([Policy::parse(text, "policy.toml")?]);
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?; // in the command's own network
/// let variables = variables(listener.local_addr()?.port());
/// let proxy = Proxy::new(&rules).start([listener])?;
/// // … the command runs with these variables …
/// # drop(variables);
/// let report = proxy.finish().await;
/// assert_eq!(report.note(), None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is accepted until `start` is called"]
pub struct Proxy {
    rules: HostRules,
    asker: Option<HostAsker>,
    limits: ProxyLimits,
}

/// A proxy at work. Dropping it ends all of its connections.
pub struct RunningProxy {
    gateway: Arc<Gateway>,
    work: JoinSet<()>,
}

impl Proxy {
    /// Makes a proxy for hosts that these rules let through.
    pub fn new(rules: &HostRules) -> Self {
        Self { rules: rules.clone(), asker: None, limits: ProxyLimits::default() }
    }

    /// Asks a person where the rules say so. Without it, such hosts are refused.
    pub fn asker(mut self, asker: HostAsker) -> Self {
        self.asker = Some(asker);
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: ProxyLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Accepts on these, which may be in another network than this process.
    ///
    /// # Errors
    /// If they cannot be waited for.
    pub fn start(self, listeners: impl IntoIterator<Item = StdListener>) -> io::Result<RunningProxy> {
        let gateway = Arc::new(Gateway {
            rules: self.rules,
            asker: self.asker,
            limits: self.limits,
            refusals: Mutex::new(Refusals::default()),
            connected: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let mut work = JoinSet::new();
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            work.spawn(accept(listener, Arc::clone(&gateway), Arc::clone(&room)));
        }
        Ok(RunningProxy { gateway, work })
    }
}

impl RunningProxy {
    /// Ends all connections, and says what there was to say.
    pub async fn finish(mut self) -> NetworkReport {
        self.work.shutdown().await;
        self.gateway.report()
    }
}

impl std::fmt::Debug for RunningProxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunningProxy").field("rules", &self.gateway.rules).finish_non_exhaustive()
    }
}

/// Takes connections in while there is room for them. They end when this does.
async fn accept(listener: TcpListener, gateway: Arc<Gateway>, room: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        // Those that are over are let go.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let gateway = Arc::clone(&gateway);
                connections.spawn(async move {
                    // The program at the other end sees that it is over, and that is all there is to tell.
                    let _ = serve(stream, &gateway).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The first byte tells what is spoken: SOCKS says its version, HTTP begins with a letter.
async fn serve(stream: TcpStream, gateway: &Gateway) -> io::Result<()> {
    let mut first = [0];
    timeout(gateway.limits.head, stream.peek(&mut first)).await??;
    match first[0] {
        socks::VERSION => socks::serve(stream, gateway).await,
        _ => http::serve(stream, gateway).await,
    }
}
