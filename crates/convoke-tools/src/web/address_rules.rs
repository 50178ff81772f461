//! Rules about IP addresses: only public ones may be reached.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The rules for which addresses may be connected to: public ones, and no others.
///
/// There is no way to write it in a file: whoever wants a tool to reach an address of their own network names it in Rust.
///
/// ```
/// use convoke_tools::web::AddressRules;
///
/// let rules = AddressRules::public();
/// assert!(rules.check("93.184.216.34".parse()?).is_ok());
/// assert!(rules.check("169.254.169.254".parse()?).is_err());
/// assert!(rules.check("::ffff:10.0.0.1".parse()?).is_err());
///
/// let with_the_wiki = rules.and("10.1.2.3".parse()?);
/// assert!(with_the_wiki.check("10.1.2.3".parse()?).is_ok());
/// assert!(with_the_wiki.check("10.1.2.4".parse()?).is_err());
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct AddressRules {
    also: Vec<IpAddr>,
}

/// The error of an address that may not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {what}, and only public addresses may be reached")]
pub struct ForbiddenAddress {
    address: IpAddr,
    what: AddressClass,
}

/// The class of a forbidden address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Unspecified,
    Loopback,
    Private,
    Shared,
    LinkLocal,
    Metadata,
    Multicast,
    Documentation,
    Reserved,
}

impl AddressRules {
    /// Public addresses.
    #[must_use]
    pub fn public() -> Self {
        Self::default()
    }

    /// Adds this address, although it may not be public.
    #[must_use]
    pub fn and(mut self, address: IpAddr) -> Self {
        self.also.push(address);
        self
    }

    /// Checks whether an address may be connected to.
    ///
    /// # Errors
    /// What the address is instead.
    pub fn check(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        if self.also.contains(&address) {
            return Ok(());
        }
        let what = match address {
            IpAddr::V4(four) => version_4(four),
            IpAddr::V6(six) => version_6(six),
        };
        what.map_or(Ok(()), |what| Err(ForbiddenAddress { address, what }))
    }
}

/// The special purposes of IANA's registry, and addresses that clouds keep their credentials at.
fn version_4(address: Ipv4Addr) -> Option<AddressClass> {
    Some(match address.octets() {
        [169, 254, 169, 254 | 253 | 123] | [169, 254, 170, 2 | 23] => AddressClass::Metadata,
        [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => AddressClass::Metadata,
        [0, 0, 0, 0] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::Shared,
        [169, 254, ..] => AddressClass::LinkLocal,
        [224..=239, ..] => AddressClass::Multicast,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => {
            AddressClass::Reserved
        }
        _ => return None,
    })
}

/// Global unicast is all that is public; whatever carries an address of version 4 is what that address is.
fn version_6(address: Ipv6Addr) -> Option<AddressClass> {
    let segments = address.segments();
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        version_4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => return Some(AddressClass::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => return Some(AddressClass::Loopback),
        // Mapped addresses, and NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            return carried(high, low);
        }
        // 6to4.
        [0x2002, high, low, ..] => return carried(high, low).or(Some(AddressClass::Reserved)),
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => {
            if let Some(what) = carried(high, low) {
                return Some(what);
            }
        }
        _ => {}
    }
    Some(match segments {
        [0xfd00, 0xec2, ..] => AddressClass::Metadata,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Documentation,
        // Teredo, ORCHID and their kin.
        [0x2001, 0..=0x1ff, ..] => AddressClass::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        _ => AddressClass::Reserved,
    })
}

impl fmt::Display for AddressClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unspecified => "no address at all",
            Self::Loopback => "this machine (loopback)",
            Self::Private => "in a private network",
            Self::Shared => "in a provider's shared network",
            Self::LinkLocal => "link-local",
            Self::Metadata => "where a cloud keeps its metadata",
            Self::Multicast => "multicast",
            Self::Documentation => "reserved for documentation",
            Self::Reserved => "reserved",
        })
    }
}
