//! Patterns of model names.

/// A model's name, or the beginning of one with a `*` after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern(String);

impl Pattern {
    /// This pattern.
    ///
    /// # Errors
    /// What to do if it is none.
    pub(super) fn new(text: &str) -> Result<Self, &'static str> {
        let beginning = text.strip_suffix('*').unwrap_or(text);
        if beginning.contains('*') {
            return Err("a `*` can stand at the end only");
        }
        match beginning.split_once('/') {
            None | Some(("", _)) => {
                Err("put the provider and a slash before it, as in \"anthropic/claude-opus-5\"")
            }
            Some((_, "")) if beginning == text => {
                Err("put the model after the slash, or a `*` for all of them")
            }
            Some(_) => Ok(Self(text.to_owned())),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// How exactly it fits this name: the more of the name it spells out, the better. `None` if it does not fit.
    pub(super) fn fit(&self, name: &str) -> Option<usize> {
        if let Some(beginning) = self.0.strip_suffix('*') {
            return name.starts_with(beginning).then_some(beginning.len());
        }
        let rest = name.strip_prefix(&self.0)?;
        // The name itself takes precedence over any prefix that is as long.
        (rest.is_empty() || is_version(rest)).then_some(self.0.len() + 1)
    }
}

/// Whether this only says which version of a model it is: `-20250929`, `-2025-08-07`, `-001`, `-latest`.
fn is_version(rest: &str) -> bool {
    let Some(version) = rest.strip_prefix('-') else { return false };
    let shape: String =
        version.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
    ["00000000", "0000-00-00", "000", "latest"].contains(&shape.as_str())
}
