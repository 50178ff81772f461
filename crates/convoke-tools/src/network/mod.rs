//! The network for commands, by host: a proxy outside of a command's network, through which it reaches what the policy lets it.
//!
//! A command that runs in a network of its own has nothing there but loopback. A socket that listens there is handed to this
//! process, and [`Proxy`] accepts on it: it reads which host is wanted, asks [`HostRules`] (the policy, and where the policy
//! says `ask`, a person), looks the name up itself, looks at the addresses, and connects to one of those it has looked at.
//! Commands know of it by [variables](variables()).
//!
//! | file | what it is for |
//! |---|---|
//! | `destination` | a host and a port, in one spelling |
//! | `rules`, `questions` | what the policy says of one; what a person says of those it asks about |
//! | `proxy`, `gateway` | connections, and how one outwards comes about |
//! | `http`, `socks` | the two ways of asking for one, told apart by the first byte |
//! | `tunnel` | what goes to and fro after that |
//! | `refusals`, `closed` | what the model is told of hosts that were refused, and of a network that is closed |
//! | `variables` | what programs are told |
//!
//! **What it must never do.** Look up or connect to anything before the policy has let it; connect to an address that was not
//! looked at; read what is in a tunnel; outlive its command.

mod closed_note;
mod destination;
mod gateway;
mod http;
mod proxy;
mod questions;
mod refusals;
mod rules;
mod socks;
mod tunnel;
mod variables;

pub use closed_note::closed_note;
#[cfg(target_os = "linux")]
pub(crate) use closed_note::{NO_NETWORK_OF_ITS_OWN, wanted_network};
pub use destination::{Destination, InvalidDestination};
pub use proxy::{Proxy, ProxyLimits, RunningProxy};
pub use questions::{HostAsker, HostQuestions};
pub use refusals::{NetworkReport, RefusedHost};
pub use rules::HostRules;
pub use variables::variables;
