//! Quoting of names in the attributes of tags.

/// A value in double quotes that cannot end the attribute, the tag or the line it stands in.
pub(crate) fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for character in value.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            control if control.is_control() => text.push(' '),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn agent_113_a_name_cannot_become_an_attribute() {
        assert_eq!(quoted("g\" attr=\"x"), r#""g&quot; attr=&quot;x""#);
        assert_eq!(quoted("a\n<b>&"), r#""a &lt;b&gt;&amp;""#);
    }
}
