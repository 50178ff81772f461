//! The terminal mode: whether it shows what is typed, and whether it edits lines by itself.

/// Puts the terminal back into the mode it was in. Dropping it, for whatever reason, does that.
pub(crate) struct TerminalMode {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl TerminalMode {
    /// Remembers the mode that standard input is in. What is no terminal has none.
    pub(crate) fn keep() -> Self {
        Self {
            #[cfg(unix)]
            before: rustix::termios::tcgetattr(std::io::stdin()).ok(),
        }
    }

    /// Until it is dropped, what is typed is not shown. Elsewhere than on Unix it is; whoever asks says so.
    pub(crate) fn unseen() -> Self {
        let mode = Self::keep();
        #[cfg(unix)]
        if let Some(before) = &mode.before {
            use rustix::termios::{LocalModes, OptionalActions, tcsetattr};
            let mut unseen = before.clone();
            unseen.local_modes.remove(LocalModes::ECHO);
            unseen.local_modes.insert(LocalModes::ECHONL);
            // On what is no terminal nothing is shown anyway.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &unseen);
        }
        mode
    }
}

/// Throws away what was typed on standard input and not read yet, whole lines and the beginning of one.
pub(crate) fn forget_typed() {
    // What is no terminal has nothing that somebody typed.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(unix)]
impl Drop for TerminalMode {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
