//! `${NAME}` in configured values.

/// Why a value cannot be made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// There is no such variable.
    Missing(String),
    /// A `${` that is never closed.
    Open,
}

/// Puts variables in: `${NAME}` is one, `$$` a dollar, any other `$` itself. What is put in is not looked at again.
pub(crate) fn expand(
    template: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, TemplateError> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(named) = after.strip_prefix('{') {
            let (name, further) = named.split_once('}').ok_or(TemplateError::Open)?;
            text.push_str(&variable(name).ok_or_else(|| TemplateError::Missing(name.to_owned()))?);
            rest = further;
        } else {
            text.push('$');
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once() {
        let variable = |name: &str| (name == "TOKEN").then(|| "${OTHER}$".to_owned());
        assert_eq!(expand("Bearer ${TOKEN}!", &variable), Ok("Bearer ${OTHER}$!".to_owned()));
        assert_eq!(expand("$$5, $HOME, 5$", &variable), Ok("$5, $HOME, 5$".to_owned()));
        assert_eq!(expand("${NONE}", &variable), Err(TemplateError::Missing("NONE".to_owned())));
        assert_eq!(expand("${TOKEN", &variable), Err(TemplateError::Open));
    }
}
