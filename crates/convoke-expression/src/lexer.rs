//! The words of an expression: names, texts, numbers and signs, each with its place.

use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'t> {
    /// A name or a word of the language, also `#`, `#acc` and `$env`.
    Word(&'t str),
    Text(Cow<'t, str>),
    Whole(i64),
    Float(f64),
    Sign(&'static str),
    End,
}

/// Longer ones before those that they begin with.
const SIGNS: &[&str] = &[
    "..", "**", "==", "!=", "<=", ">=", "&&", "||", "?.", "??", "+", "-", "*", "/", "%", "^", "=", "<", ">",
    "!", "?", ":", ".", ",", ";", "(", ")", "[", "]", "{", "}", "|",
];

/// Reads all of a text; at its end comes [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, String> {
    let mut tokens = Vec::new();
    let mut place = 0;
    loop {
        place = skip(text, place)?;
        let rest = &text[place..];
        let Some(letter) = rest.chars().next() else {
            tokens.push((Token::End, place));
            return Ok(tokens);
        };
        let digit_at = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let (token, length) = if letter.is_ascii_digit() || letter == '.' && digit_at(1) {
            number(rest)?
        } else if letter.is_ascii_alphabetic() || matches!(letter, '_' | '$' | '#') {
            let length = 1 + rest[1..].find(|letter| !is_name(letter)).unwrap_or(rest.len() - 1);
            (Token::Word(&rest[..length]), length)
        } else if matches!(letter, '"' | '\'' | '`') {
            quoted(rest, letter)?
        } else {
            // `a ?.5 : 1` chooses a number.
            let is_sign = |sign: &&&str| rest.starts_with(**sign) && (**sign != "?." || !digit_at(2));
            let sign = SIGNS.iter().find(is_sign).ok_or_else(|| meaningless(rest, letter))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push((token, place));
        place += length;
    }
}

/// How an expression goes on at a place, for messages.
pub(crate) fn shown(rest: &str) -> String {
    let line = rest.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}

fn meaningless(rest: &str, letter: char) -> String {
    let hint = match letter {
        '&' => "; write `and`",
        '~' => "; write `matches`, or `bitnot(…)`",
        letter if letter.is_alphabetic() => "; write `$env[\"…\"]` for a variable with such a name",
        _ => "",
    };
    format!("`{letter}` means nothing at {}{hint}", shown(rest))
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Goes over spaces and comments.
fn skip(text: &str, mut place: usize) -> Result<usize, String> {
    loop {
        let rest = &text[place..];
        let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        place += match &rest[space..] {
            rest if rest.starts_with("//") => space + rest.find('\n').unwrap_or(rest.len()),
            rest if rest.starts_with("/*") => {
                let end = rest.find("*/");
                space + end.ok_or_else(|| format!("a comment is not closed with `*/`: {}", shown(rest)))? + 2
            }
            _ => return Ok(place + space),
        };
    }
}

fn number(rest: &str) -> Result<(Token<'_>, usize), String> {
    let too_large = |length: usize| {
        format!(
            "the number `{}` is too large; whole numbers reach to 9,223,372,036,854,775,807",
            &rest[..length]
        )
    };
    let radix = match rest.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    };
    if radix != 10 {
        let inner = rest[2..].strip_prefix('_').unwrap_or(&rest[2..]);
        let length = digits(inner, radix);
        if length > 0 {
            let written = inner[..length].replace('_', "");
            let length = rest.len() - inner.len() + length;
            let number = i64::from_str_radix(&written, radix).map_err(|_| too_large(length))?;
            return Ok((Token::Whole(number), length));
        }
    }
    let mut length = digits(rest, 10);
    let mut is_whole = true;
    if rest[length..].starts_with('.') && !rest[length..].starts_with("..") {
        is_whole = false;
        length += 1;
        length += digits(&rest[length..], 10);
    }
    if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let more = digits(unsigned, 10);
        if more > 0 {
            is_whole = false;
            length = rest.len() - unsigned.len() + more;
        }
    }
    let written = rest[..length].replace('_', "");
    let token = if is_whole {
        written.parse().ok().map(Token::Whole)
    } else {
        written.parse().ok().filter(|number: &f64| number.is_finite()).map(Token::Float)
    };
    Ok((token.ok_or_else(|| too_large(length))?, length))
}

/// How many bytes digits take, with single `_` between them.
fn digits(text: &str, radix: u32) -> usize {
    let mut length = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_between =
            letter == '_' && length > 0 && letters.peek().is_some_and(|next| next.is_digit(radix));
        if !letter.is_digit(radix) && !is_between {
            break;
        }
        length += 1;
    }
    length
}

fn quoted(rest: &str, quote: char) -> Result<(Token<'_>, usize), String> {
    let unclosed = || format!("a text is not closed with {quote}: {}", shown(rest));
    let inner = &rest[1..];
    if quote == '`' {
        let end = inner.find('`').ok_or_else(unclosed)?;
        return Ok((Token::Text(inner[..end].into()), end + 2));
    }
    let (mut read, mut place) = (String::new(), 0);
    while let Some(letter) = inner[place..].chars().next() {
        place += letter.len_utf8();
        match letter {
            letter if letter == quote => return Ok((Token::Text(read.into()), place + 1)),
            '\n' | '\r' => break,
            '\\' => {
                let (letter, length) = escaped(&inner[place..]).ok_or_else(|| {
                    let from = shown(&inner[place - 1..]);
                    format!(
                        "there is no such escape: {from}; write `\\\\` for `\\`, or the text in backticks"
                    )
                })?;
                read.push(letter);
                place += length;
            }
            letter => read.push(letter),
        }
    }
    Err(unclosed())
}

/// The letter that is written after a `\`, and how.
fn escaped(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok();
    let letter = match text.chars().next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        letter @ ('\\' | '/' | '"' | '\'') => letter,
        _ => {
            let first = unit(text)?;
            let second = text.get(5..).and_then(|rest| unit(rest.strip_prefix('\\')?));
            // Letters beyond the first 65,536 are written as two.
            return Some(match (char::from_u32(first.into()), second) {
                (Some(letter), _) => (letter, 5),
                (None, Some(second)) => (char::decode_utf16([first, second]).next()?.ok()?, 11),
                (None, None) => return None,
            });
        }
    };
    Some((letter, 1))
}
