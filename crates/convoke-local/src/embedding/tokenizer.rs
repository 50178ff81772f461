//! The WordPiece tokenizer of BERT networks.
//!
//! Reads the `tokenizer.json` of models whose vocabulary is made of pieces of words: a text is cleaned, cut into words and
//! punctuation, and every word into the longest pieces the vocabulary has. It gives what the Hugging Face library gives,
//! but for two things: the name of a control token in a text is text, and characters have the categories of a newer Unicode.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::LocalError;

/// A token, in the type the network takes.
pub(super) type Token = i32;

/// What stands before and after every text.
const FIRST: &str = "[CLS]";
const LAST: &str = "[SEP]";

/// Turns texts into tokens.
#[derive(Debug)]
pub(super) struct Tokenizer {
    cleaning: Cleaning,
    pieces: WordPieces,
    first: Token,
    last: Token,
    unknown: Token,
}

/// The part of a `tokenizer.json` that matters. Its limits do not: the network's own are longer.
#[derive(Deserialize)]
struct Description {
    normalizer: Normalizer,
    /// Only checked: there is just the one kind.
    #[serde(rename = "pre_tokenizer")]
    _splitting: Splitting,
    model: Vocabulary,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Normalizer {
    BertNormalizer(Cleaning),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Splitting {
    BertPreTokenizer,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Vocabulary {
    WordPiece(WordPieces),
}

#[derive(Debug, Deserialize)]
struct Cleaning {
    clean_text: bool,
    handle_chinese_chars: bool,
    /// By default if letters are made small.
    strip_accents: Option<bool>,
    lowercase: bool,
}

#[derive(Debug, Deserialize)]
struct WordPieces {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, Token>,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub(super) fn open(path: &Path) -> Result<Self, LocalError> {
        let json =
            fs::read(path).map_err(|source| LocalError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&json).map_err(|reason| LocalError::Tokenizer { path: path.to_owned(), reason })
    }

    fn parse(json: &[u8]) -> Result<Self, String> {
        let description: Description = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let Normalizer::BertNormalizer(cleaning) = description.normalizer;
        let Vocabulary::WordPiece(pieces) = description.model;
        if let Some((piece, token)) = pieces.vocab.iter().find(|(_, token)| **token < 0) {
            return Err(format!("`{piece}` has the number {token}"));
        }
        let control = |name: &str| {
            let token = pieces.vocab.get(name).copied();
            token.ok_or_else(|| format!("its vocabulary lacks {name}"))
        };
        let (first, last) = (control(FIRST)?, control(LAST)?);
        Ok(Self { first, last, unknown: control(&pieces.unk_token)?, cleaning, pieces })
    }

    /// The tokens of a text, with those that frame it. One without a word gives only these two.
    pub(super) fn tokens(&self, text: &str) -> Vec<Token> {
        let text = self.cleaning.apply(text);
        let mut tokens = vec![self.first];
        for word in words(&text) {
            self.add_word(word, &mut tokens);
        }
        tokens.push(self.last);
        tokens
    }

    /// The largest token there is.
    pub(super) fn largest(&self) -> Token {
        self.pieces.vocab.values().copied().max().unwrap_or(self.unknown)
    }

    /// Adds a word's pieces: the longest one it begins with, and so on. A word that leaves a rest is unknown as a whole.
    fn add_word(&self, word: &str, tokens: &mut Vec<Token>) {
        if word.chars().count() > self.pieces.max_input_chars_per_word {
            return tokens.push(self.unknown);
        }
        let before = tokens.len();
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { "" } else { &self.pieces.continuing_subword_prefix };
            piece.clear();
            piece.push_str(prefix);
            piece.push_str(rest);
            let token = loop {
                if piece.len() == prefix.len() {
                    tokens.truncate(before);
                    return tokens.push(self.unknown);
                }
                if let Some(token) = self.pieces.vocab.get(&piece) {
                    break *token;
                }
                piece.pop();
            };
            tokens.push(token);
            rest = &rest[piece.len() - prefix.len()..];
        }
    }
}

impl Cleaning {
    fn apply(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for letter in text.chars() {
            if self.clean_text && is_noise(letter) {
                continue;
            }
            if self.handle_chinese_chars && is_ideograph(letter) {
                clean.extend([' ', letter, ' ']);
            } else {
                clean.push(letter);
            }
        }
        if self.strip_accents.unwrap_or(self.lowercase) {
            clean = clean.nfd().filter(|letter| !is_accent(*letter)).collect();
        }
        if self.lowercase {
            // Letter by letter: the end of a word must not change a letter, as it does for `str::to_lowercase`.
            clean = clean.chars().flat_map(char::to_lowercase).collect();
        }
        clean
    }
}

/// Words, and punctuation marks one by one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |letter: char| letter.is_ascii_punctuation() || is_punctuation(letter);
    let parts = text.split_whitespace().flat_map(move |run| run.split_inclusive(is_mark));
    parts.flat_map(move |part| {
        // Every part is a word and the mark that ends it, or only one of them.
        let (word, mark) = part.split_at(part.trim_end_matches(is_mark).len());
        [word, mark].into_iter().filter(|part| !part.is_empty())
    })
}

/// Whether a character is an accent by itself.
fn is_accent(letter: char) -> bool {
    get_general_category(letter) == GeneralCategory::NonspacingMark
}

fn is_punctuation(letter: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation,
        OpenPunctuation, OtherPunctuation,
    };
    matches!(
        get_general_category(letter),
        ClosePunctuation
            | ConnectorPunctuation
            | DashPunctuation
            | FinalPunctuation
            | InitialPunctuation
            | OpenPunctuation
            | OtherPunctuation
    )
}

/// Whether a character controls others, or means what somebody agreed on. Those that are not assigned may be letters one day.
fn is_other(letter: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    matches!(get_general_category(letter), Control | Format | PrivateUse)
}

/// Whether a character says nothing and shows nothing.
fn is_noise(letter: char) -> bool {
    letter == '\u{FFFD}' || (is_other(letter) && !matches!(letter, '\t' | '\n' | '\r'))
}

/// Whether a character is a word by itself, as those that Chinese is written with are.
fn is_ideograph(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0x2_F800..=0x2_FA1F
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn description() -> Value {
        let words = [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "naive", "!", "[", "]", "sep",
            "\u{4e2d}", "\u{56fd}", "##!", "\u{3c3}",
        ];
        let vocab: HashMap<_, _> = words.into_iter().zip(0..).collect();
        json!({
            "truncation": {"max_length": 4},
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 12, "vocab": vocab},
        })
    }

    fn parse(description: &Value) -> Result<Tokenizer, String> {
        Tokenizer::parse(description.to_string().as_bytes())
    }

    #[test]
    fn texts_become_the_longest_pieces_of_their_words() {
        let tokenizer = parse(&description()).expect("a tokenizer");
        for (text, tokens) in [
            ("UNAFFABLE un!", &[4, 5, 6, 4, 8][..]),
            ("Naïve\u{200b}\u{0}\t\u{fffd}un", &[7, 4]),
            // What is known of a word does not count if another part of it is unknown.
            ("unaffabl un", &[1, 4]),
            ("ununununununun", &[1]),
            // Not "##!": a mark is never a part of a word.
            ("un!!un", &[4, 8, 8, 4]),
            ("\u{4e2d}\u{56fd}un", &[12, 13, 4]),
            ("\u{3a3}", &[15]),
            // A control token that is written out is text.
            ("[SEP]", &[9, 11, 10]),
            (" \u{200b} ", &[]),
        ] {
            let expected = [&[2], tokens, &[3]].concat();
            assert_eq!(tokenizer.tokens(text), expected, "{text:?}");
        }
        assert_eq!(tokenizer.largest(), 15);
    }

    #[test]
    fn other_kinds_of_tokenizers_are_refused() {
        for (place, value, complaint) in [
            ("/model/type", json!("BPE"), "unknown variant `BPE`"),
            ("/normalizer/type", json!("NFC"), "unknown variant `NFC`"),
            ("/pre_tokenizer/type", json!("ByteLevel"), "unknown variant `ByteLevel`"),
            ("/model/vocab", json!({"[UNK]": 0, "[CLS]": 1}), "lacks [SEP]"),
            ("/model/unk_token", json!("<unk>"), "lacks <unk>"),
            ("/model/vocab/un", json!(-7), "`un` has the number -7"),
            ("/model/vocab/un", json!(3_000_000_000_u32), "invalid value"),
        ] {
            let mut changed = description();
            *changed.pointer_mut(place).expect("a part of the description") = value;
            let error = parse(&changed).expect_err("another kind");
            assert!(error.contains(complaint), "{error}");
        }
        assert!(Tokenizer::parse(b"{}").is_err());
        assert!(Tokenizer::parse(b"GGUF").is_err());
    }
}
