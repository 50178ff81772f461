//! TOML files that are read along a table of keys.
//!
//! A key is written with those of its sections, `commands.hosts.allow`; `*` stands for a name that the user gives. What the keys take is
//! for whoever has the table; how tables are gone through, and what is found in them called, is here, alike for every file.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Larger files are not read: nobody wrote them.
const LARGEST: u64 = 1024 * 1024;

/// The keys directly below a place, in their order.
///
/// ```
/// let keys = ["version", "tools.*.calls", "tools.*.paths.deny", "limits.memory"];
/// let below = |place| convoke_text::keyed::children(keys.into_iter(), place);
/// assert_eq!(below(""), ["version", "tools", "limits"]);
/// assert_eq!((below("tools"), below("tools.*")), (vec!["*"], vec!["calls", "paths"]));
/// ```
pub fn children<'k>(keys: impl Iterator<Item = &'k str>, place: &str) -> Vec<&'k str> {
    let mut children = Vec::new();
    for key in keys {
        let below = match place {
            "" => Some(key),
            _ => key.strip_prefix(place).and_then(|rest| rest.strip_prefix('.')),
        };
        let Some(child) = below.and_then(|rest| rest.split('.').next()) else { continue };
        if !children.contains(&child) {
            children.push(child);
        }
    }
    children
}

/// A name below a place.
#[must_use]
pub fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// The entries of a table as they stand in the text.
#[must_use]
pub fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Returns what messages call a value.
#[must_use]
pub fn called(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Names in a sentence.
#[must_use]
pub fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Reads a file that people write, which is `what`, such as `policy`.
///
/// # Errors
/// Why it cannot be read, in words: it is not a regular file, too large, or not text.
pub fn read_file(path: &Path, what: &str) -> Result<String, String> {
    let mut text = String::new();
    // Opening a pipe would wait until somebody writes into it.
    let unfollowed = |error: std::io::Error| match path.is_symlink() {
        true => format!("it is a link that cannot be followed: {error}"),
        false => error.to_string(),
    };
    if !path.metadata().map_err(unfollowed)?.is_file() {
        return Err("it is not a regular file; put one in its place".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > LARGEST {
        return Err(format!("it is larger than 1 MiB, which is no {what}"));
    }
    Ok(text)
}
