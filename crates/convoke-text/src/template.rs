//! Expands `${NAME}` in configured values.

/// A value that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no such variable.
    #[error("the environment variable {0} is not set")]
    Missing(String),
    /// A `${` that is never closed.
    #[error("a `${{` is never closed; write `${{NAME}}`, or `$${{` for the characters themselves")]
    Open,
}

/// Puts variables in: `${NAME}` is one, `$$` a dollar, any other `$` itself. What is put in is not looked at again.
///
/// ```
/// use convoke_text::template::{TemplateError, expand};
///
/// let look = |name: &str| (name == "TOKEN").then(|| "t-1".to_owned());
/// assert_eq!(expand("Bearer ${TOKEN}", look), Ok("Bearer t-1".to_owned()));
/// assert_eq!(expand("Bearer ${TOKEN", look), Err(TemplateError::Open));
/// ```
///
/// # Errors
/// If there is no such variable, or a `${` is never closed.
pub fn expand(
    template: &str,
    mut variable: impl FnMut(&str) -> Option<String>,
) -> Result<String, TemplateError> {
    let mut text = String::new();
    for part in parts(template) {
        match part? {
            Part::Text(part) => text.push_str(part),
            Part::Variable(name) => {
                text.push_str(&variable(name).ok_or_else(|| TemplateError::Missing(name.to_owned()))?);
            }
        }
    }
    Ok(text)
}

/// The variables that go into a value, as far as it makes sense.
#[must_use]
pub fn variables(template: &str) -> Vec<&str> {
    let variable = |part| if let Ok(Part::Variable(name)) = part { Some(name) } else { None };
    parts(template).filter_map(variable).collect()
}

enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// The parts of a template, up to the first that makes no sense.
fn parts(template: &str) -> impl Iterator<Item = Result<Part<'_>, TemplateError>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if let Some(named) = rest.strip_prefix("${") {
            let Some((name, further)) = named.split_once('}') else {
                rest = "";
                return Some(Err(TemplateError::Open));
            };
            rest = further;
            return Some(Ok(Part::Variable(name)));
        }
        if rest.is_empty() {
            return None;
        }
        // A dollar that begins no variable is itself, and swallows one that follows it.
        let is_dollar = rest.starts_with('$');
        let length = if is_dollar { 1 } else { rest.find('$').unwrap_or(rest.len()) };
        let (text, further) = rest.split_at(length);
        rest = further.strip_prefix('$').filter(|_| is_dollar).unwrap_or(further);
        Some(Ok(Part::Text(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once() {
        let variable = |name: &str| (name == "TOKEN").then(|| "${OTHER}$".to_owned());
        assert_eq!(expand("Bearer ${TOKEN}!", variable), Ok("Bearer ${OTHER}$!".to_owned()));
        assert_eq!(expand("$$5, $HOME, 5$", variable), Ok("$5, $HOME, 5$".to_owned()));
        assert_eq!(expand("$${TOKEN}", variable), Ok("${TOKEN}".to_owned()));
        assert_eq!(expand("${NONE}", variable), Err(TemplateError::Missing("NONE".to_owned())));
        assert_eq!(expand("${TOKEN", variable), Err(TemplateError::Open));
        assert_eq!(expand("", variable), Ok(String::new()));
    }

    #[test]
    fn the_variables_are_those_that_would_be_put_in() {
        assert_eq!(variables("a ${ONE}$$${TWO} $${THREE} $$ ${FOUR"), ["ONE", "TWO"]);
    }
}
