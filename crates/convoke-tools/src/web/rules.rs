//! The rules every hop must meet before it is made.

use convoke_http::address::shown_with_query;
use url::{Host, Url};

use super::{AddressRules, Domains, ForbiddenAddress, WebError, WebLimits};

pub(super) type UrlJudge = dyn Fn(&Url, &Url) -> Result<(), String> + Send + Sync;

pub(super) struct Rules {
    pub(super) addresses: AddressRules,
    pub(super) ports: Vec<u16>,
    pub(super) domains: Option<Domains>,
    pub(super) judge: Option<Box<UrlJudge>>,
    pub(super) limits: WebLimits,
}

impl Rules {
    /// Checks a hop of what was asked for.
    pub(super) fn check(&self, url: &Url, asked_for: &Url) -> Result<(), WebError> {
        let unfit =
            |problem: &str| WebError::Address { address: shown(url.as_str()), problem: problem.to_owned() };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unfit(&format!("`{}` is not a way to read pages", url.scheme())));
        }
        let host = url.host().ok_or_else(|| unfit("it names no host"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebError::Credentials { host: host.to_string() });
        }
        let port = url.port_or_known_default().ok_or_else(|| unfit("it has no port"))?;
        if !self.ports.contains(&port) {
            let allowed: Vec<_> = self.ports.iter().map(u16::to_string).collect();
            return Err(WebError::Port { url: Box::new(url.clone()), port, allowed: allowed.join(", ") });
        }
        if self.domains.as_ref().is_some_and(|domains| !domains.allow(&host.to_string())) {
            return Err(WebError::NotAllowed { host: host.to_string() });
        }
        if let Some(judge) = &self.judge {
            judge(url, asked_for).map_err(|reason| WebError::Refused { reason })?;
        }
        // Names are looked at when they are resolved; numbers, in whatever spelling, are numbers by now.
        let number = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(number) => number.into(),
            Host::Ipv6(number) => number.into(),
        };
        self.addresses.check(number).map_err(|why| forbidden(url, why))
    }
}

pub(super) fn forbidden(url: &Url, why: ForbiddenAddress) -> WebError {
    WebError::Forbidden { host: url.host_str().unwrap_or_default().to_owned(), why }
}

/// An address as errors show it.
pub(super) fn shown(address: &str) -> String {
    shown_with_query(address).chars().take(200).collect()
}
