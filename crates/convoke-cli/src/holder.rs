//! The process that works on a run, as far as it can be reached from here.

/// A process, by what a store says of it: `process 17 on machine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    process: i32,
    host: String,
}

impl Holder {
    /// The process a store names. `None` if it says more, or something else: then it is not one to be reached from here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (process, host) = text.strip_prefix("process ")?.split_once(" on ")?;
        let process = process.parse().ok().filter(|process| *process > 1)?;
        Some(Self { process, host: host.to_owned() })
    }

    /// Whether it is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        #[cfg(unix)]
        {
            rustix::system::uname().nodename().to_str() == Ok(&*self.host)
        }
        #[cfg(not(unix))]
        {
            false
        }
    }

    /// Asks it to stop, as Ctrl-C does.
    ///
    /// # Errors
    /// If it is gone, or somebody else's.
    pub(crate) fn interrupt(&self) -> std::io::Result<()> {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
            let process = Pid::from_raw(self.process).ok_or_else(gone)?;
            Ok(kill_process(process, Signal::INT)?)
        }
        #[cfg(not(unix))]
        Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_is_named_in_full_is_one() {
        let holder = Holder::parse("process 17 on a machine").unwrap();
        assert_eq!((holder.process, &*holder.host), (17, "a machine"));
        assert!(!holder.is_here());
        for other in ["process 1 on here", "process -4 on here", "somebody", "process x on here"] {
            assert_eq!(Holder::parse(other), None, "{other}");
        }
    }
}
