//! Checks the paths of files in a package.
//!
//! They are checked part by part, before anything is done with them. What passes here stays in its folder on every
//! system, whatever it is joined to.

use convoke_text::is_invisible;
use unicode_normalization::UnicodeNormalization;

use crate::error::PackageError;
use crate::excluded::by_name;

const DEEPEST: usize = 32;
const LONGEST_PART: usize = 200;
const LONGEST: usize = 1_000;

/// A path of a package, without a leading `./` and a trailing `/`.
pub(crate) fn checked(path: &str) -> Result<String, PackageError> {
    let refused = |reason| PackageError::Path { path: shown(path), reason };
    let plain = path.strip_prefix("./").unwrap_or(path);
    let plain = plain.strip_suffix('/').unwrap_or(plain);
    if plain.len() > LONGEST {
        return Err(refused("it is too long"));
    }
    let parts: Vec<&str> = plain.split('/').collect();
    if parts.len() > DEEPEST {
        return Err(refused("it is too deep"));
    }
    for part in parts {
        part_is_fit(part).map_err(refused)?;
        if let Some(why) = by_name(part) {
            return Err(refused(why));
        }
    }
    Ok(plain.to_owned())
}

fn part_is_fit(part: &str) -> Result<(), &'static str> {
    if part.is_empty() {
        return Err("a part of it is empty");
    }
    if part == ".." || part == "." {
        return Err("it leads elsewhere");
    }
    if part.starts_with('.') {
        return Err("hidden files are not packed");
    }
    if part.len() > LONGEST_PART {
        return Err("a part of it is too long");
    }
    if part.contains(['\\', ':']) {
        return Err("it has characters in it that mean something else elsewhere");
    }
    if part.contains(is_invisible) {
        return Err("it has characters in it that cannot be seen, or turn the direction of writing");
    }
    if part.ends_with(['.', ' ']) {
        return Err("a part of it ends with a dot or a space");
    }
    Ok(())
}

/// A path as systems see it that take `A` for `a`, and `é` for `e` with an accent after it: two paths with the same one are one
/// file there.
pub(crate) fn folded(path: &str) -> String {
    let composed: String = path.nfc().collect();
    // Upper case first: `ß` and `ss` have the same.
    composed.to_uppercase().to_lowercase().nfc().collect()
}

/// A name or a version: one part of a path, of letters, digits, `-`, `_`, `.` and `+`, beginning with a letter or digit.
pub(crate) fn segment(text: &str) -> Result<(), &'static str> {
    let fits = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '+');
    if !text.chars().all(fits) {
        return Err("it may only have letters, digits, `-`, `_`, `.` and `+` in it");
    }
    if !text.starts_with(char::is_alphanumeric) {
        return Err("it must begin with a letter or a digit");
    }
    part_is_fit(text)
}

/// A path of somebody else's in a message: nothing in it may fill the screen.
fn shown(path: &str) -> String {
    let mut shown: String = path.chars().take(200).flat_map(char::escape_debug).collect();
    if path.chars().count() > 200 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_inside_passes() {
        for good in
            ["Agentfile", "./Agentfile", "agents/", "a/b/c.md", "naïve ünïcode.md", "a..b", "settings.toml"]
        {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "./",
            "/",
            "/etc/passwd",
            "../x",
            "a/../x",
            "a/..",
            "a//b",
            "./../x",
            "././x",
            "a\\b",
            "C:x",
            ".git/config",
            "a/.env",
            "a/b\0c",
            "a\nb",
            "a.",
            "a /b",
            "../1.0.0-evil/x",
            "convoke.toml",
            "sub/Policy.toml",
            "credentials.toml",
            "agent.toml",
            "convoke.db",
            "convoke.db-journal",
            "convoke.db-scratchpad",
            "keys/server.pem",
            "keys/id_ed25519",
            "a/\u{202e}txt.exe",
            "a\u{200b}b",
            "a\u{7f}b",
            "a\u{9b}b",
        ] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
        assert!(checked(&"a/".repeat(40)).is_err());
    }

    #[test]
    fn names_and_versions_are_one_part_of_a_path() {
        for good in ["plan", "1.0.0", "1.0.0-rc.1+build", "a_b", "täglich"] {
            assert!(segment(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "../a", "-x", ".x", "a b", "a\\b", "a:b", "x."] {
            assert!(segment(bad).is_err(), "{bad:?}");
        }
    }
}
