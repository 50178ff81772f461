//! The hosts that a command line names for programs that talk to other machines.
//!
//! They are for explanations: what a command may reach is decided when it connects, whatever its text says. So this must never
//! let anything through.

use super::shell::{self, SimpleCommand, Word};
use super::{builtin, harmless_forms};
use crate::network::Destination;

/// Programs that take a host without a scheme for one on the web.
const BARE: &[&str] = &["curl", "wget"];

/// Whether a command line starts a program that talks to other machines, as far as its text says.
#[cfg(target_os = "linux")]
pub(crate) fn talks_to_others(text: &str) -> bool {
    shell::read(text).commands.iter().any(talks)
}

/// Whether a program talks to other machines.
pub(super) fn talks(command: &SimpleCommand) -> bool {
    let words = &command.words;
    let mut rules = builtin::about(words).filter(|rule| rule.why == builtin::BuiltInReason::Network);
    rules.any(|rule| rule.pattern.catches(words)) && !harmless_forms::only_looks(words)
}

/// The hosts that it names.
pub(super) fn hosts(command: &SimpleCommand) -> Vec<Destination> {
    let words = || command.arguments().iter().filter_map(Word::fixed).filter(|word| !word.starts_with('-'));
    let with_scheme: Vec<Destination> = words().filter_map(destination).collect();
    let is_bare = command.program().is_some_and(|program| BARE.contains(&shell::base(program)));
    match with_scheme.is_empty() && is_bare {
        true => words().filter_map(|word| destination(&format!("http://{word}"))).collect(),
        false => with_scheme,
    }
}

fn destination(address: &str) -> Option<Destination> {
    const SSH: u16 = 22;
    let url = url::Url::parse(address).ok()?;
    let port = url.port_or_known_default().or_else(|| (url.scheme() == "ssh").then_some(SSH))?;
    Destination::new(url.host_str()?, port).ok()
}
