//! The resolver: looks up names and checks their addresses before anyone connects to them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use convoke_core::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::AddressRules;

/// Finds the addresses of a name.
pub trait Resolver: Send + Sync + 'static {
    /// All addresses the name stands for now.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// The only resolver the client has: what it gives has been checked, and the client connects to nothing else.
pub(super) struct CheckedResolver {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) rules: AddressRules,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let finding = self.resolver.resolve(name.as_str());
        let rules = self.rules.clone();
        Box::pin(async move {
            let found = finding.await?;
            // A name that stands for a public address and for one inside is up to no good: not even the public one
            // is taken.
            for address in &found {
                rules.check(*address)?;
            }
            let addresses: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
