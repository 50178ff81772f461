//! The options of programs that start other programs.

use super::UnclearPart;
use super::word::Word;

/// How another program is started.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Letters that take a value.
    with_value: &'static str,
    /// Letters that take none.
    flags: &'static str,
    long_with_value: &'static [&'static str],
    long_flags: &'static [&'static str],
    /// Words before the program.
    pub(super) operands: usize,
}

const fn wrapper(
    name: &'static str,
    with_value: &'static str,
    flags: &'static str,
    operands: usize,
) -> Wrapper {
    Wrapper { name, with_value, flags, long_with_value: &[], long_flags: &[], operands }
}

pub(super) const ENV: Wrapper = Wrapper {
    long_with_value: &["unset", "chdir"],
    long_flags: &["ignore-environment", "null", "debug"],
    ..wrapper("env", "uC", "i0v", 0)
};

pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper("nohup", "", "", 0),
    wrapper("setsid", "", "cfw", 0),
    Wrapper { long_with_value: &["adjustment"], ..wrapper("nice", "n", "0123456789", 0) },
    wrapper("ionice", "cnpPu", "t", 0),
    Wrapper {
        long_with_value: &["kill-after", "signal"],
        long_flags: &["foreground", "preserve-status", "verbose"],
        ..wrapper("timeout", "ks", "v", 1)
    },
    Wrapper { long_with_value: &["input", "output", "error"], ..wrapper("stdbuf", "ioe", "", 0) },
    wrapper("time", "fo", "avp", 0),
    wrapper("command", "", "pvV", 0),
    wrapper("builtin", "", "", 0),
    wrapper("exec", "a", "cl", 0),
    Wrapper {
        long_with_value: &["user", "group", "host", "prompt", "chdir"],
        long_flags: &["preserve-env", "non-interactive", "login", "shell", "background", "stdin"],
        ..wrapper("sudo", "ughpCrtTURD", "AbEeHiKklnPSsv", 0)
    },
    wrapper("doas", "uCa", "nsL", 0),
    Wrapper {
        long_with_value: &["userspec", "groups"],
        long_flags: &["skip-chdir"],
        ..wrapper("chroot", "", "", 1)
    },
    wrapper("strace", "eopsuaEOIPSbX", "fFtTrvxyCcDdhikqVzZ", 0),
    wrapper("ltrace", "eopsualnADFwx", "fbcCSrtTiL", 0),
    Wrapper {
        long_with_value: &["timeout", "wait", "conflict-exit-code"],
        long_flags: &["shared", "exclusive", "nonblock", "close", "no-fork"],
        ..wrapper("flock", "wE", "sxenFo", 1)
    },
    Wrapper {
        long_with_value: &["interval"],
        long_flags: &["differences", "no-title", "beep", "errexit", "chgexit", "color", "exec"],
        ..wrapper("watch", "n", "dtbegcx", 0)
    },
    Wrapper {
        long_with_value: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
        // A value of the first two can only stand behind a `=`.
        long_flags: &[
            "max-lines",
            "replace",
            "null",
            "no-run-if-empty",
            "verbose",
            "interactive",
            "exit",
            "open-tty",
        ],
        ..wrapper("xargs", "adEILnPs", "0prtxo", 0)
    },
    wrapper("busybox", "", "", 0),
    wrapper("toybox", "", "", 0),
];

impl Wrapper {
    pub(super) fn unclear(&self) -> UnclearPart {
        UnclearPart::because(format!("which program `{}` starts cannot be told from its options", self.name))
    }

    /// What is left after the options, as far as all of them are known.
    pub(super) fn after_options<'w>(&self, mut words: &'w [Word]) -> Result<&'w [Word], UnclearPart> {
        while let Some((word, rest)) = words.split_first() {
            let Some(text) = word.fixed() else {
                // A word that could be anything could be an option.
                let could_be_one = word.known().is_empty() || word.known().starts_with('-');
                return if could_be_one { Err(self.unclear()) } else { Ok(words) };
            };
            if text == "--" {
                return Ok(rest);
            }
            let takes_next = if let Some(long) = text.strip_prefix("--") {
                self.long_takes_next(long)?
            } else if let Some(short) = text.strip_prefix('-').filter(|short| !short.is_empty()) {
                self.short_takes_next(short)?
            } else {
                return Ok(words);
            };
            words = if takes_next { rest.get(1..).unwrap_or_default() } else { rest };
        }
        Ok(words)
    }

    fn long_takes_next(&self, long: &str) -> Result<bool, UnclearPart> {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        if self.long_with_value.contains(&name) {
            Ok(value.is_none())
        } else if self.long_flags.contains(&name) {
            Ok(false)
        } else {
            Err(self.unclear())
        }
    }

    fn short_takes_next(&self, short: &str) -> Result<bool, UnclearPart> {
        match short.char_indices().find(|(_, letter)| !self.flags.contains(*letter)) {
            None => Ok(false),
            Some((at, letter)) if self.with_value.contains(letter) => Ok(at + 1 == short.len()),
            Some(_) => Err(self.unclear()),
        }
    }
}
