//! Shortens what a server said, for errors that quote it.
//!
//! That something is missing is said: people see it, and whoever hides secrets knows that the last one may be cut in two.

/// So many characters of a text, and a sign if there are more.
pub(crate) fn excerpt(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
