//! Lease owners: how long a lease lasts, how often it is renewed, and whether its owner is still alive.
//!
//! An owner is a host, a process and a store handle within it. A process is told from a later one with the same
//! number by when it started. One that cannot be looked for from here, on another host or in another container, counts as
//! alive as long as it renews its leases. In doubt an owner counts as alive: taking over is then the user's decision, never ours.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use convoke_core::Timestamp;

/// For how long a lease holds that is not renewed, where nobody can look for its owner.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// How often leases are renewed.
pub(crate) const RENEWAL: Duration = Duration::from_secs(20);

/// A owner of leases as a store writes it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseOwner {
    process: u32,
    started: String,
    handle: u64,
    host: String,
    /// Where its number is that of a process; older versions did not say.
    namespace: Option<String>,
}

/// What comes between a host and a namespace.
const NAMESPACE: &str = " pid:";

/// The store handles of this process that can still write.
static HANDLES: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

impl LeaseOwner {
    /// A new owner in this process. It counts as alive until it [ends](Self::end).
    pub(crate) fn begin() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        HANDLES.lock().unwrap_or_else(PoisonError::into_inner).insert(handle);
        let process = std::process::id();
        let started = platform::started(process).unwrap_or_default();
        Self { process, started, handle, host: host().to_owned(), namespace: platform::namespace() }
    }

    /// Says that this owner will never write again.
    pub(crate) fn end(&self) {
        HANDLES.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.handle);
    }

    /// This process, as people read it.
    pub(crate) fn describe_this_process() -> String {
        describe(std::process::id(), host())
    }

    /// The owner written down as this text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let (process, started, handle) =
            (parts.next()?.parse().ok()?, parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        let host = parts.next()?;
        let (host, namespace) = match host.split_once(NAMESPACE) {
            Some((host, namespace)) => (host, Some(namespace.to_owned())),
            None => (host, None),
        };
        Some(Self { process, started, handle, host: host.to_owned(), namespace })
    }

    /// The text to write down.
    pub(crate) fn text(&self) -> String {
        let namespace = self.namespace.iter().flat_map(|namespace| [NAMESPACE, namespace]);
        let namespace: String = namespace.collect();
        // After the host: an older version then finds a host that is not its own, and takes the owner for alive.
        format!("{} {} {} {}{namespace}", self.process, self.started, self.handle, self.host)
    }

    /// Whether the owner may still write; its leases were last renewed until then. Those of older versions do not say.
    pub(crate) fn is_alive(&self, until: Option<Timestamp>) -> bool {
        let is_out_of_sight =
            self.host != host() || self.is_elsewhere() && !platform::ended_with_the_machine(&self.started);
        if is_out_of_sight {
            return until.is_none_or(|until| Timestamp::now() < until);
        }
        let same_process = platform::started(self.process).as_deref() == Some(&*self.started);
        if same_process && self.process == std::process::id() {
            return HANDLES.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.handle);
        }
        same_process
    }
}

impl LeaseOwner {
    /// Whether its process is in another namespace, where numbers of processes are others: nobody here can look for it.
    fn is_elsewhere(&self) -> bool {
        self.namespace.is_some() && self.namespace != platform::namespace()
    }
}

/// As people read it.
impl fmt::Display for LeaseOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&describe(self.process, &self.host))?;
        formatter.write_str(if self.is_elsewhere() { " (in another container)" } else { "" })
    }
}

fn describe(process: u32, host: &str) -> String {
    format!("process {process} on {host}")
}

fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .or_else(|| std::env::var("HOSTNAME").ok())
            .or_else(|| std::env::var("COMPUTERNAME").ok())
            .unwrap_or_default();
        let name = name.trim();
        if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
    })
}

#[cfg(target_os = "linux")]
mod platform {
    /// When a process started: clock ticks since boot, and which boot. `None` if it is not running.
    pub(super) fn started(process: u32) -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The second field is the program's name in parentheses and may contain anything.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        let ticks = fields.nth(18)?;
        // A zombie has ended; its parent has not noticed yet.
        (!matches!(state, "Z" | "X" | "x")).then(|| format!("{ticks}-{}", boot()))
    }

    /// The namespace that this process has its number in.
    pub(super) fn namespace() -> Option<String> {
        let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let digits: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    }

    /// Whether the machine was started again since.
    pub(super) fn ended_with_the_machine(started: &str) -> bool {
        started.split_once('-').is_some_and(|(_, then)| then != boot())
    }

    fn boot() -> String {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.chars().take_while(char::is_ascii_hexdigit).collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::process::{Command, Stdio};

    /// There are none.
    pub(super) fn namespace() -> Option<String> {
        None
    }

    /// Nobody knows.
    pub(super) fn ended_with_the_machine(_: &str) -> bool {
        false
    }

    /// A fixed text if a process with this number is running: there is no portable way to learn more.
    pub(super) fn started(process: u32) -> Option<String> {
        let gone = process != std::process::id()
            && cfg!(unix)
            && Command::new("ps")
                .args(["-p", &process.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| !status.success());
        (!gone).then(|| "-".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_survives_a_round_trip_as_text() {
        let owner = LeaseOwner::begin();
        assert_eq!(LeaseOwner::parse(&owner.text()), Some(owner.clone()));
        assert_eq!(LeaseOwner::parse("nonsense"), None);
        owner.end();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_owner_says_on_which_machine_it_is_since_when_and_in_which_namespace() {
        let read = |path| std::fs::read_to_string(path).unwrap().trim().to_owned();
        let (host, boot) = (read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id"));
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap().display().to_string();
        let owner = LeaseOwner::begin();
        let text = owner.text().replace(" pid:", " pid:[") + "]";
        assert!(text.ends_with(&format!("{host} {namespace}")), "{text}");
        assert!(text.contains(&format!("-{} ", boot.split('-').next().unwrap())), "{text}");
        owner.end();
    }

    #[test]
    fn a_handle_of_this_process_is_alive_until_it_ends() {
        let owner = LeaseOwner::begin();
        assert!(owner.is_alive(None));
        owner.end();
        assert!(!owner.is_alive(None));
    }

    #[test]
    fn another_host_counts_as_alive_and_an_earlier_process_with_our_number_as_dead() {
        let owner = LeaseOwner::begin();
        let elsewhere = LeaseOwner { host: "another host".to_owned(), process: u32::MAX, ..owner.clone() };
        assert!(elsewhere.is_alive(None));
        let now = Timestamp::now();
        assert!(
            elsewhere.is_alive(Some(now + LEASE)) && !elsewhere.is_alive(Some(now)),
            "until its leases are not renewed"
        );
        assert_eq!(LeaseOwner::parse(&elsewhere.text()), Some(elsewhere));
        if cfg!(target_os = "linux") {
            assert!(!LeaseOwner { started: "1-0".to_owned(), ..owner.clone() }.is_alive(None));
        }
        owner.end();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_in_another_namespace_counts_as_alive_until_the_machine_is_started_again() {
        let owner = LeaseOwner::begin();
        let elsewhere = LeaseOwner { namespace: Some("1".to_owned()), process: u32::MAX, ..owner.clone() };
        assert!(elsewhere.is_alive(None));
        assert!(elsewhere.to_string().ends_with("(in another container)"), "{elsewhere}");
        assert_eq!(LeaseOwner::parse(&elsewhere.text()), Some(elsewhere.clone()));
        assert!(!LeaseOwner { started: "1-0".to_owned(), ..elsewhere }.is_alive(None));
        // What older versions wrote.
        let older = LeaseOwner::parse(&format!("{} 1-0 7 {}", u32::MAX, host())).unwrap();
        assert_eq!((older.namespace.clone(), older.is_alive(None)), (None, false));
        owner.end();
    }

    #[test]
    #[cfg(unix)]
    fn a_process_is_dead_as_soon_as_it_was_killed_even_if_nobody_waited_for_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let started = platform::started(child.id()).unwrap();
        let namespace = platform::namespace();
        let owner =
            LeaseOwner { process: child.id(), started, handle: 1, host: host().to_owned(), namespace };
        assert!(owner.is_alive(None));
        child.kill().unwrap();
        while cfg!(target_os = "linux") && owner.is_alive(None) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!owner.is_alive(None));
    }
}
