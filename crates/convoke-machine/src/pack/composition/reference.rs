//! References to what steps are given and give: `${input.text}`, `${classify.output.labels[0]}`.

/// A reference in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// `input`, or the name of a step.
    pub root: String,
    /// What follows it: `.output.label`.
    pub rest: String,
}

/// Something in a text that looks like a reference and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`${{{0}}}` is not a reference: write names with dots and indices, as in `${{classify.output.labels[0]}}`"
)]
pub struct ReferenceError(pub String);

/// Everything in a text that is, or looks like, a reference.
///
/// ```
/// use convoke_machine::pack::composition::references;
///
/// let found: Vec<_> = references("about ${classify.output.label} and ${a b}").collect();
/// assert_eq!(found[0].as_ref().unwrap().root, "classify");
/// assert!(found[1].is_err());
/// ```
pub fn references(text: &str) -> impl Iterator<Item = Result<Reference, ReferenceError>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let open = rest.find("${")?;
        let inside = &rest[open + 2..];
        let length = inside.find('}')?;
        rest = &inside[length + 1..];
        let path = inside[..length].trim();
        Some(parse(path).ok_or_else(|| ReferenceError(path.to_owned())))
    })
}

fn parse(path: &str) -> Option<Reference> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (root, rest) = path.split_at(end);
    if !is_name(root) {
        return None;
    }
    for part in rest.strip_prefix('.').map_or_else(Vec::new, |rest| rest.split('.').collect()) {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !is_name(name) || !are_indices(indices) {
            return None;
        }
    }
    let is_rest_understood = rest.is_empty() || rest.starts_with('.') || are_indices(rest);
    is_rest_understood.then(|| Reference { root: root.to_owned(), rest: rest.to_owned() })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn are_indices(mut text: &str) -> bool {
    while let Some((index, rest)) = text.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        text = rest;
    }
    text.is_empty()
}
