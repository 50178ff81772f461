//! An HTML builder that escapes text.

use crate::text::clean;

/// HTML under construction. What is ours goes in with [`raw`](Self::raw), what comes from a run with
/// [`text`](Self::text) only.
#[derive(Debug, Default)]
pub(super) struct Html {
    html: String,
}

impl Html {
    /// Adds markup of ours.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.html.push_str(markup);
        self
    }

    /// Adds text from anywhere, as text: between tags or between the double quotes of an attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        escape_into(&mut self.html, &clean(text));
        self
    }

    /// Adds `<tag class="…">text</tag>`.
    pub(super) fn tagged(&mut self, tag: &str, class: &str, text: &str) -> &mut Self {
        self.raw("<").raw(tag);
        if !class.is_empty() {
            self.raw(" class=\"").raw(class).raw("\"");
        }
        self.raw(">").text(text).raw("</").raw(tag).raw(">")
    }

    /// Adds a text as it is set, line by line.
    pub(super) fn pre(&mut self, text: &str) -> &mut Self {
        // A browser leaves out a line break right after the tag.
        self.raw("<pre>").raw(if text.starts_with('\n') { "\n" } else { "" }).text(text).raw("</pre>")
    }

    pub(super) fn done(self) -> String {
        self.html
    }
}

/// A text as HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut html = Html::default();
    html.text(text);
    html.done()
}

fn escape_into(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup_leaves_an_attribute_or_turns_the_direction_of_writing() {
        assert_eq!(
            escaped("</script><img src=x onerror='a()'>"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;"
        );
        assert_eq!(escaped("\" onclick=\"x"), "&quot; onclick=&quot;x");
        assert_eq!(escaped("&lt;"), "&amp;lt;");
        assert_eq!(escaped("\u{202e}\0"), "\\u{202e}\\u{0}");
    }
}
