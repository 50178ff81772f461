//! Rules that texts of a pack keep: names, versions, lengths.

/// A rule that a text breaks.
pub(super) struct Rule {
    /// What is wrong; `{}` stands for the text.
    pub(super) message: &'static str,
    /// What to write.
    pub(super) help: &'static str,
}

type Checked = Result<(), Rule>;

fn rule(holds: bool, message: &'static str, help: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(Rule { message, help }) }
}

/// Whether a text begins as `first` says and goes on as `rest` says.
fn is_made_of(text: &str, first: fn(u8) -> bool, rest: fn(u8) -> bool) -> bool {
    text.bytes().next().is_some_and(first) && text.bytes().all(rest)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn filled(text: &str) -> Checked {
    rule(!text.is_empty(), "this must not be empty", "write something, or leave the whole field out")
}

pub(super) fn title(text: &str) -> Checked {
    filled(text)?;
    rule(text.chars().count() <= 200, "a name has at most 200 characters", "write a shorter one")
}

pub(super) fn description(text: &str) -> Checked {
    let fits = text.chars().count() <= 5000;
    rule(fits, "a description has at most 5000 characters", "write a shorter one")
}

pub(super) fn pack_id(text: &str) -> Checked {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let help =
        "write lowercase letters, digits and `-`, a letter first, at most 100 of them: customer-support";
    let fits = is_made_of(text, |byte| byte.is_ascii_lowercase(), rest) && text.len() <= 100;
    rule(fits, "`{}` cannot be the id of a pack", help)
}

pub(super) fn prompt_id(text: &str) -> Checked {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let help = "write lowercase letters, digits, `_` and `-`, a letter first: first_reply";
    let fits = is_made_of(text, |byte| byte.is_ascii_lowercase(), rest);
    rule(fits, "`{}` cannot be the id of a prompt", help)
}

pub(super) fn identifier(text: &str) -> Checked {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let help = "write letters, digits and `_`, no digit first: look_up_order";
    rule(is_made_of(text, first, is_word), "`{}` cannot be a name here", help)
}

pub(super) fn metric_name(text: &str) -> Checked {
    let first = |byte: u8| byte.is_ascii_alphabetic() || b"_:".contains(&byte);
    let help = "write letters, digits, `_` and `:`, no digit first: reply_tone_score";
    rule(is_made_of(text, first, |byte| is_word(byte) || byte == b':'), "`{}` cannot name a metric", help)
}

pub(super) fn language(text: &str) -> Checked {
    let fits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    rule(fits, "`{}` is not the code of a language", "write two lowercase letters: en")
}

pub(super) fn media_type(text: &str) -> Checked {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    rule(is_made_of(text, rest, rest), "`{}` cannot be a type of media", "write lowercase letters: image")
}

pub(super) fn version(text: &str) -> Checked {
    let help = "write three numbers: 1.0.0, v2.1.3, 1.0.0-alpha";
    rule(is_semantic_version(text), "`{}` is not a semantic version", help)
}

/// SemVer 2.0.0 with all three numbers; a `v` before it is allowed.
fn is_semantic_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, early) = text.split_once('-').map_or((text, None), |(core, early)| (core, Some(early)));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_label = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_early =
        |part: &str| is_label(part) && (is_number(part) || part.bytes().any(|byte| !byte.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && early.is_none_or(|early| early.split('.').all(is_early))
        && build.is_none_or(|build| build.split('.').all(is_label))
}
