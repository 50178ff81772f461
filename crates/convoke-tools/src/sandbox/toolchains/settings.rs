//! Settings of a toolchain that it does not work without, unless a key is in them.

use std::path::Path;

use toml::de::{DeTable, DeValue};

/// Whether a file of settings in TOML has nothing in it that is named like a key, and no address with a password.
pub(super) fn has_no_key(file: &Path) -> bool {
    /// Larger files are nobody's settings.
    const LARGEST: u64 = 256 * 1024;
    let is_small = file.metadata().is_ok_and(|found| found.len() <= LARGEST);
    let text = if is_small { std::fs::read_to_string(file).ok() } else { None };
    let Some(text) = text else { return false };
    DeTable::parse(&text).is_ok_and(|table| !names_a_key(table.get_ref()))
}

fn names_a_key(table: &DeTable<'_>) -> bool {
    table.iter().any(|(name, value)| {
        let name = name.get_ref().to_lowercase();
        let words = ["token", "secret", "password", "key", "auth"];
        words.iter().any(|word| name.contains(word)) || holds_a_key(value.get_ref())
    })
}

fn holds_a_key(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Table(table) => names_a_key(table),
        DeValue::Array(all) => all.iter().any(|value| holds_a_key(value.get_ref())),
        DeValue::String(text) => text.contains('@') || text.to_lowercase().contains("bearer"),
        _ => false,
    }
}
