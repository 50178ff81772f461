//! Rules that texts of a pack keep: names, versions.

use std::sync::OnceLock;

use regex::Regex;

/// A rule for texts.
pub(super) struct Rule {
    /// What the whole text looks like.
    pattern: &'static str,
    /// What is wrong with one that does not; `{}` stands for it.
    pub(super) message: &'static str,
    /// What to write.
    pub(super) help: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(pattern: &'static str, message: &'static str, help: &'static str) -> Self {
        Self { pattern, message, help, compiled: OnceLock::new() }
    }

    /// Whether a text keeps it. Every pattern is used by a test.
    pub(super) fn holds(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&format!(r"\A(?:{})\z", self.pattern)).ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

pub(super) static PACK_ID: Rule = Rule::new(
    "[a-z][a-z0-9-]{0,99}",
    "`{}` cannot be the id of a pack",
    "write lowercase letters, digits and `-`, a letter first, at most 100 of them: customer-support",
);

pub(super) static PROMPT_ID: Rule = Rule::new(
    "[a-z][a-z0-9_-]*",
    "`{}` cannot be the id of a prompt",
    "write lowercase letters, digits, `_` and `-`, a letter first: first_reply",
);

pub(super) static IDENTIFIER: Rule = Rule::new(
    "[A-Za-z_][A-Za-z0-9_]*",
    "`{}` cannot be a name here",
    "write letters, digits and `_`, no digit first: look_up_order",
);

pub(super) static METRIC_NAME: Rule = Rule::new(
    "[A-Za-z_:][A-Za-z0-9_:]*",
    "`{}` cannot name a metric",
    "write letters, digits, `_` and `:`, no digit first: reply_tone_score",
);

pub(super) static LANGUAGE: Rule =
    Rule::new("[a-z]{2}", "`{}` is not the code of a language", "write two lowercase letters: en");

pub(super) static MEDIA_TYPE: Rule =
    Rule::new("[a-z0-9_]+", "`{}` cannot be a type of media", "write lowercase letters: image");

/// SemVer 2.0.0 with all three numbers; a `v` before it is allowed.
pub(super) static VERSION: Rule = Rule::new(
    concat!(
        r"v?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}",
        r"(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?",
        r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
    ),
    "`{}` is not a semantic version",
    "write three numbers: 1.0.0, v2.1.3, 1.0.0-alpha",
);
