//! Changes as text for a person.

use std::fmt::Write;

use super::Changes;
use super::one::{Change, Changed};
use crate::workspace::shown;

/// So many folders are named of what is not listed.
const MOST_FOLDERS: usize = 20;
/// So much is named of what will not come out.
const MOST_REFUSED: usize = 50;

impl Changes {
    /// Everything that is to be read: what happened to which path, and the changes inside of texts.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for changed in self.existing.iter().chain(&self.new) {
            line(&mut text, changed);
        }
        let more: usize = self.more_new.values().sum();
        if more > 0 {
            let named = self.more_new.iter().take(MOST_FOLDERS);
            let named: Vec<String> =
                named.map(|(top, count)| format!("{} ({count})", plain(&shown(top)))).collect();
            let others = match self.more_new.len().saturating_sub(MOST_FOLDERS) {
                0 => String::new(),
                others => format!(" and {others} others"),
            };
            let _ =
                writeln!(text, "… and {more} more new files and folders, in {}{others}", named.join(", "));
        }
        if !self.data.is_empty() {
            let parts: Vec<String> =
                self.data.iter().map(|(part, count)| format!("{} ({count})", plain(part))).collect();
            let _ = writeln!(text, "and git's own data: {}", parts.join(", "));
        }
        for refusal in self.refused.iter().take(MOST_REFUSED) {
            let _ = writeln!(text, "left out {}: {}", plain(&shown(&refusal.path)), refusal.why);
        }
        if let Some(more) = self.refused.len().checked_sub(MOST_REFUSED).filter(|more| *more > 0) {
            let _ = writeln!(text, "left out {more} more");
        }
        if !self.texts.is_empty() {
            let _ = write!(text, "\n{}", self.texts);
        }
        text
    }
}

fn line(text: &mut String, changed: &Changed) {
    let word = match changed.change {
        Change::Made => "made",
        Change::Changed => "changed",
        Change::Removed => "removed",
    };
    let details = match changed.details.is_empty() {
        true => String::new(),
        false => format!("  ({})", changed.details.join("; ")),
    };
    let _ = writeln!(text, "{word:8} {}{details}", plain(&shown(&changed.path)));
    for more in &changed.lines {
        let _ = writeln!(text, "{:9}{more}", "");
    }
}

/// A text in one line, with everything in it that could be taken for something else as what it is.
pub(super) fn plain(text: &str) -> String {
    match text.chars().any(char::is_control) {
        true => text.escape_debug().to_string(),
        false => text.to_owned(),
    }
}

/// A size in words.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["kB", "MB", "GB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1e3;
    let mut unit = 0;
    while size >= 999.95 && unit + 1 < UNITS.len() {
        size /= 1e3;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_words() {
        let told = [0, 999, 1_000, 2_300_000, 999_999, 5_000_000_000].map(size);
        assert_eq!(told, ["0 bytes", "999 bytes", "1.0 kB", "2.3 MB", "1.0 MB", "5.0 GB"]);
    }

    #[test]
    fn no_name_looks_like_another_line() {
        assert_eq!(plain("a\nremoved  b"), "a\\nremoved  b");
    }
}
