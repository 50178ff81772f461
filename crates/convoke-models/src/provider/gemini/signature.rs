//! Carries Gemini's signatures within our thoughts.
//!
//! The signature of a [`Part::Reasoning`](convoke_core::Part::Reasoning) that came from Gemini is a row of marks, each
//! `gemini:ORIGIN:PLACE:SIGNATURE;`, in the order they came. `ORIGIN` is a fingerprint of the address and model that gave
//! it: no other gets it back. `PLACE` says which part of the wire the signature was on:
//!
//! * `thought`: on the thought itself;
//! * `next`: on the part that follows in the message, a text or a call;
//! * `alone`: on an empty text of its own;
//! * `apart` (with no signature): on nothing; what follows must not be joined to what came before.
//!
//! Rows can be joined end to end and stay rows, which is what happens when one thought gets several. Signatures are
//! base64 and have neither `:` nor `;` in them. A signature of another provider or model has no such marks, and is so known.

const PREFIX: &str = "gemini:";

/// A mark in a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    /// The thought's own signature.
    Thought(&'a str),
    /// The signature of the part that follows.
    Next(&'a str),
    /// A signature on nothing but an empty text.
    Alone(&'a str),
    /// A new part begins here.
    Apart,
}

impl Mark<'_> {
    /// The marks in a thought's signature that came from here: none if it is another provider's or model's.
    pub(super) fn read<'a>(row: &'a str, origin: &str) -> impl Iterator<Item = Mark<'a>> {
        row.split(';').filter_map(move |mark| {
            let rest = mark.strip_prefix(PREFIX)?.strip_prefix(origin)?.strip_prefix(':')?;
            let (place, signature) = rest.split_once(':')?;
            match place {
                "thought" => Some(Mark::Thought(signature)),
                "next" => Some(Mark::Next(signature)),
                "alone" => Some(Mark::Alone(signature)),
                "apart" => Some(Mark::Apart),
                _ => None,
            }
        })
    }

    /// The mark as it is written.
    pub(super) fn written(self, origin: &str) -> String {
        let (place, signature) = match self {
            Self::Thought(signature) => ("thought", signature),
            Self::Next(signature) => ("next", signature),
            Self::Alone(signature) => ("alone", signature),
            Self::Apart => ("apart", ""),
        };
        format!("{PREFIX}{origin}:{place}:{signature};")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_marks_can_be_joined_and_read_again() {
        let marks = [Mark::Thought("YQ=="), Mark::Next("b+/c"), Mark::Apart, Mark::Alone("ZA")];
        let row: String = marks.iter().map(|mark| mark.written("ab")).collect();
        assert_eq!(Mark::read(&row, "ab").collect::<Vec<_>>(), marks);
    }

    #[test]
    fn what_was_signed_elsewhere_has_no_marks() {
        for foreign in [
            "",
            "EqQBCgIYAhIM",
            "openai:ab:next:YQ==;",
            "rs_1;enc",
            "gemini:ab:elsewhere:YQ==;",
            "gemini:next:YQ==;",
            "gemini:cd:next:YQ==;",
            "gemini:abc:next:YQ==;",
        ] {
            assert_eq!(Mark::read(foreign, "ab").count(), 0, "{foreign}");
        }
    }
}
