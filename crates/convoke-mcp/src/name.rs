//! The table of exposed tool names.
//!
//! A model knows a tool by one name of at most 64 letters, digits, `_` and `-`. Nothing is ever read back out of such a
//! name: who called it is looked up.

use std::collections::BTreeSet;

/// The longest name that every provider takes.
pub const MAX_NAME_LENGTH: usize = 64;

/// The digits of a digest that make a name its own.
const DIGITS: usize = 8;

/// Names for these tools (server, tool), in their order: `mcp_SERVER_TOOL`, with what is not allowed in a name replaced.
///
/// A name that is too long is cut, and one that is taken (by a built-in tool, or by one that came before) is not given
/// out again: either ends in a digest of server and tool, so that it is the same name every time.
///
/// ```
/// let tools = [("files", "read"), ("a_b", "c"), ("a", "b_c"), ("web", "fetch page!")];
/// let names = convoke_mcp::exposed_names(tools, &Default::default());
/// assert_eq!(names[0], "mcp_files_read");
/// assert_eq!(names[1], "mcp_a_b_c");
/// assert!(names[2].starts_with("mcp_a_b_c_") && names[2].len() == 18);
/// assert_eq!(names[3], "mcp_web_fetch_page_");
/// ```
#[must_use]
pub fn exposed_names<'a>(
    tools: impl IntoIterator<Item = (&'a str, &'a str)>,
    taken: &BTreeSet<String>,
) -> Vec<String> {
    let mut taken = taken.clone();
    let mut give = |server: &str, tool: &str| {
        let plain: String = format!("mcp_{server}_{tool}").chars().map(legal).collect();
        let name = if plain.len() <= MAX_NAME_LENGTH && !taken.contains(&plain) {
            plain
        } else {
            (0..).map(|again| own(&plain, server, tool, again)).find(|name| !taken.contains(name))?
        };
        taken.insert(name.clone());
        Some(name)
    };
    tools.into_iter().filter_map(|(server, tool)| give(server, tool)).collect()
}

fn legal(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') { character } else { '_' }
}

fn own(plain: &str, server: &str, tool: &str, again: u64) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(server.as_bytes()).update(&[0]).update(tool.as_bytes()).update(&again.to_le_bytes());
    let digest = hasher.finalize().to_hex();
    // Every character is ASCII by now, so any place is a place to cut.
    let kept = &plain[..plain.len().min(MAX_NAME_LENGTH - DIGITS - 1)];
    format!("{kept}_{}", &digest[..DIGITS])
}
