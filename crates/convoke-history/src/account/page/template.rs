//! Template filling.

/// The template with `{{name}}` replaced by what `value` gives. What was put in is never looked at again.
pub(super) fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut page = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            page.push_str("{{");
            rest = after;
            continue;
        };
        page.push_str(&value(name));
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_not_filled_in_again() {
        assert_eq!(fill("<{{a}}|{{b}}> {{", |name| format!("{name}{{{{b}}}}")), "<a{{b}}|b{{b}}> {{");
    }
}
