//! Opens outgoing connections: permitted, looked up, checked, made.
//!
//! In this order. A name that nobody permitted is not even looked up: whoever answers for its domain would hear of it, and a
//! name has room for a secret.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::questions::HostAnswer;
use super::refusals::Refusals;
use super::{Destination, HostAsker, HostRules, NetworkReport, ProxyLimits};
use crate::policy::PolicyOutcome;

/// What all connections of a command have in common.
pub(super) struct Gateway {
    pub(super) rules: HostRules,
    pub(super) asker: Option<HostAsker>,
    pub(super) limits: ProxyLimits,
    pub(super) refusals: Mutex<Refusals>,
    /// Whether a connection was made.
    pub(super) connected: AtomicBool,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

/// Errors of connecting.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// It is not permitted.
    #[error(
        "denied: the network is closed to `{destination}`: {why}. A person can open it with `commands.hosts.allow = \
         [\"{destination}\"]` in their own policy.toml"
    )]
    Denied { destination: Destination, why: String },
    /// Its name could not be looked up.
    #[error("`{destination}` could not be looked up: {why}")]
    Unknown { destination: Destination, why: io::Error },
    /// Nobody answers there.
    #[error("`{destination}` could not be reached: {why}")]
    Unreached { destination: Destination, why: io::Error },
    /// It took too long.
    #[error("`{destination}` did not answer in time")]
    TimedOut { destination: Destination },
}

impl Gateway {
    /// Connects to a destination that the rules let through, at an address that they do.
    pub(super) async fn open(&self, destination: &Destination) -> Result<TcpStream, ConnectError> {
        if let Some(address) = destination.address() {
            // Nobody is asked about what would be refused anyway.
            self.look_at(destination, address)?;
        }
        self.permit(destination).await?;
        let until = Instant::now() + self.limits.connect;
        let late = || ConnectError::TimedOut { destination: destination.clone() };
        let addresses = timeout_at(until, self.resolve(destination)).await.map_err(|_| late())??;
        let mut failure = None;
        let mut left = addresses.len() as u32;
        for address in addresses {
            // One that does not answer leaves time for the others.
            let share = until.saturating_duration_since(Instant::now()) / left;
            left -= 1;
            match timeout(share, TcpStream::connect(SocketAddr::new(address, destination.port()))).await {
                Ok(Ok(stream)) => {
                    self.connected.store(true, Relaxed);
                    return Ok(stream);
                }
                Ok(Err(error)) => failure = Some(error),
                Err(_) => {}
            }
        }
        Err(failure
            .map_or_else(late, |why| ConnectError::Unreached { destination: destination.clone(), why }))
    }

    async fn permit(&self, destination: &Destination) -> Result<(), ConnectError> {
        let decision = self.rules.decide(destination);
        let rule = decision.rule.to_string();
        let why = match (decision.outcome, &self.asker) {
            (PolicyOutcome::Allow, _) => return Ok(()),
            (PolicyOutcome::Deny, _) => rule,
            (PolicyOutcome::Ask, None) => format!("{rule}; nobody is there to be asked"),
            (PolicyOutcome::Ask, Some(asker)) => {
                match asker.ask(destination, decision, self.connected.load(Relaxed)).await {
                    HostAnswer::Yes => return Ok(()),
                    HostAnswer::No => format!("{rule}; it was not approved"),
                    HostAnswer::Nothing => format!("{rule}; nobody is there to be asked"),
                }
            }
        };
        Err(self.denied(destination, why))
    }

    /// The addresses of a destination, every one of which has been looked at.
    async fn resolve(&self, destination: &Destination) -> Result<Vec<IpAddr>, ConnectError> {
        if let Some(address) = destination.address() {
            return Ok(vec![address]);
        }
        let found = self.rules.resolver().resolve(&destination.host()).await;
        let found = match found {
            Ok(found) if found.is_empty() => {
                Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"))
            }
            found => found,
        };
        let found = found.map_err(|why| ConnectError::Unknown { destination: destination.clone(), why })?;
        // A name that stands for a public address and for one inside is up to no good: not even the public one is taken.
        for address in &found {
            self.look_at(destination, *address)?;
        }
        Ok(found)
    }

    fn look_at(&self, destination: &Destination, address: IpAddr) -> Result<(), ConnectError> {
        self.rules.check(address, destination.port()).map_err(|forbidden| {
            let why = format!("{forbidden}, unless commands.hosts.allow names the address itself");
            self.denied(destination, why)
        })
    }

    fn denied(&self, destination: &Destination, why: String) -> ConnectError {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).add(destination, &why);
        ConnectError::Denied { destination: destination.clone(), why }
    }

    pub(super) fn report(&self) -> NetworkReport {
        NetworkReport {
            connected: self.connected.load(Relaxed),
            refused: self.refusals.lock().unwrap_or_else(PoisonError::into_inner).list(),
            sent: self.sent.load(Relaxed),
            received: self.received.load(Relaxed),
        }
    }
}
