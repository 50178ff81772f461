//! Destinations: the host and port a command wants to connect to.

use std::fmt;
use std::net::IpAddr;

use url::Host;

/// The longest name of a host that the domain name system knows.
const LONGEST_NAME: usize = 253;

/// A host and a port, in the one spelling that rules are held against: lower case, numbers as numbers, no dot at the end.
///
/// ```
/// use convoke_tools::network::Destination;
///
/// let destination = Destination::parse("Crates.IO.:443")?;
/// assert_eq!(destination.to_string(), "crates.io:443");
/// assert_eq!(Destination::new("0x7f.1", 80)?.to_string(), "127.0.0.1:80");
/// assert!(Destination::parse("crates.io").is_err());
/// # Ok::<(), convoke_tools::network::InvalidDestination>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    host: Host<String>,
    port: u16,
}

/// The error of an invalid destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no host and port: {why}; write it as `example.com:443`")]
pub struct InvalidDestination {
    text: String,
    why: String,
}

impl Destination {
    /// A host, by its name or its number, and a port. A number of version 6 stands in brackets.
    ///
    /// # Errors
    /// If it is not the name of a host.
    pub fn new(host: &str, port: u16) -> Result<Self, InvalidDestination> {
        let invalid = |why: &dyn fmt::Display| InvalidDestination {
            text: host.chars().take(LONGEST_NAME).collect(),
            why: why.to_string(),
        };
        let name = match Host::parse(host).map_err(|error| invalid(&error))? {
            Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
            number => return Ok(Self { host: number, port }),
        };
        // What is left without dots at its end may be a number after all, or nothing.
        match Host::parse(&name).map_err(|error| invalid(&error))? {
            Host::Domain(name) if name.len() > LONGEST_NAME => Err(invalid(&"the name is too long")),
            host => Ok(Self { host, port }),
        }
    }

    /// A host and a port with a colon between them.
    ///
    /// # Errors
    /// If it is not that.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        let invalid = |why: &str| InvalidDestination {
            text: text.chars().take(LONGEST_NAME).collect(),
            why: why.to_owned(),
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(|| invalid("it has no port"))?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_number && *port != 0);
        Self::new(host, port.ok_or_else(|| invalid("its port is not a number from 1 to 65535"))?)
    }

    /// One at an address.
    pub(super) fn at(address: IpAddr, port: u16) -> Self {
        let host = match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        Self { host, port }
    }

    /// The host, as patterns name it.
    #[must_use]
    pub fn host(&self) -> String {
        self.host.to_string()
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if it is named by its number.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}
