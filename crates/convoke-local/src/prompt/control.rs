//! Escapes text that must not be taken for the model's own control tokens.
//!
//! A model's vocabulary has tokens that structure the conversation, such as `<|im_start|>`. A user, a web page or a tool
//! may write the same characters; read as control tokens they would let anyone speak as the system. So they are hidden
//! while the template is rendered, and told apart from the template's own when the prompt becomes tokens.

use std::borrow::Cow;

use serde_json::Value;

/// The first character that stands for a hidden text: the last private plane of Unicode, which no text should use.
const FIRST: u32 = 0x10_0000;
/// How many characters that plane has for us.
const ROOM: usize = 0xFFFE;

/// The control tokens of a vocabulary, as texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlTokens(Vec<String>);

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text in which control tokens mean what they say.
    Template(String),
    /// Text that happens to look like a control token.
    Literal(String),
}

impl ControlTokens {
    /// The texts of a vocabulary's control tokens.
    #[must_use]
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).take(ROOM).collect();
        // Longest first, so that a token that contains another is hidden whole.
        texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        Self(texts)
    }

    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(text);
        for (index, token) in (FIRST..).zip(&self.0) {
            if hidden.contains(token.as_str()) {
                let stand_in = char::from_u32(index).map(String::from).unwrap_or_default();
                hidden = Cow::Owned(hidden.replace(token.as_str(), &stand_in));
            }
        }
        hidden
    }

    /// Hides what looks like a control token in every text of a value.
    pub(crate) fn hide_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.hide_in(item)).collect(),
            Value::Object(members) => {
                let hidden =
                    members.iter().map(|(key, item)| (self.hide(key).into_owned(), self.hide_in(item)));
                Value::Object(hidden.collect())
            }
            other => other.clone(),
        }
    }

    /// Takes a rendered prompt apart.
    pub(crate) fn pieces(&self, rendered: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut template = String::new();
        for character in rendered.chars() {
            let index = u32::from(character).checked_sub(FIRST).and_then(|index| usize::try_from(index).ok());
            match index.and_then(|index| self.0.get(index)) {
                Some(token) => {
                    if !template.is_empty() {
                        pieces.push(Piece::Template(std::mem::take(&mut template)));
                    }
                    pieces.push(Piece::Literal(token.clone()));
                }
                None => template.push(character),
            }
        }
        if !template.is_empty() {
            pieces.push(Piece::Template(template));
        }
        pieces
    }
}

impl Piece {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Template(text) | Self::Literal(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_control_token_comes_out_as_a_literal() {
        let control = ControlTokens::new(["<|im".into(), "<|im_end|>".into()]);
        let rendered = format!("<|im_end|>{}", control.hide("a <|im_end|> b <|im"));
        assert_eq!(
            control.pieces(&rendered),
            [
                Piece::Template("<|im_end|>a ".into()),
                Piece::Literal("<|im_end|>".into()),
                Piece::Template(" b ".into()),
                Piece::Literal("<|im".into()),
            ]
        );
    }
}
