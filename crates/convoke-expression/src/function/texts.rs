//! Functions of texts. Places in them are counted in characters.

use super::{Evaluated, Fault, Function, Given, Work, function};
use crate::operator::{TEXTS as TWO, ends};
use crate::value::{Text, Value};

const ONE: &str = "a text";
const TRIM: &str = "a text, and perhaps the letters to take away";
const AFFIX: &str = "a text, and perhaps what to take away";
const SPLIT: &str = "a text, what it is split at, and perhaps how many parts there are at most";

pub(crate) const FUNCTIONS: &[Function] = &[
    function("trim", 1, 2, TRIM, |given, work| {
        let text = given.text(0)?;
        if !given.has(1) {
            return piece(text, work, str::trim);
        }
        let letters = given.text(1)?;
        let (mut start, mut end) = (0, text.len());
        // However many there are to take away, each is looked for.
        let mut goes = |letter: Option<char>| -> Evaluated<'_, Option<usize>> {
            work.touch(1)?;
            work.read(letters.len())?;
            Ok(letter.filter(|letter| letters.contains(*letter)).map(char::len_utf8))
        };
        while let Some(length) = goes(text[start..end].chars().next())? {
            start += length;
        }
        while let Some(length) = goes(text[start..end].chars().next_back())? {
            end -= length;
        }
        piece(text, work, |text| &text[start..end])
    }),
    function("trimPrefix", 1, 2, AFFIX, |given, work| {
        let affix = if given.has(1) { given.text(1)? } else { &Text::Kept("") };
        piece(given.text(0)?, work, |text| text.strip_prefix(&**affix).unwrap_or(text))
    }),
    function("trimSuffix", 1, 2, AFFIX, |given, work| {
        let affix = if given.has(1) { given.text(1)? } else { &Text::Kept("") };
        piece(given.text(0)?, work, |text| text.strip_suffix(&**affix).unwrap_or(text))
    }),
    function("upper", 1, 1, ONE, |given, work| {
        // Some letters become three.
        work.make(given.text(0)?.len() * 3)?;
        Ok(Value::text(given.text(0)?.to_uppercase()))
    }),
    function("lower", 1, 1, ONE, |given, work| {
        work.make(given.text(0)?.len() * 3)?;
        Ok(Value::text(given.text(0)?.to_lowercase()))
    }),
    function("split", 2, 3, SPLIT, |given, work| {
        let (text, at) = parts(given, work)?;
        let most = if given.has(2) { given.whole(2)? } else { -1 };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if at.is_empty() {
            return Value::list(text.pieces(work, |text| letters(text, most))?);
        }
        Value::list(text.pieces(work, |text| text.splitn(most, &**at).collect())?)
    }),
    function("splitAfter", 2, 3, SPLIT, |given, work| {
        let (text, at) = parts(given, work)?;
        let most = if given.has(2) { given.whole(2)? } else { -1 };
        if at.is_empty() {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            return Value::list(text.pieces(work, |text| letters(text, most))?);
        }
        let Some(before) = usize::try_from(most).ok().map(|most| most.checked_sub(1)) else {
            return Value::list(text.pieces(work, |text| text.split_inclusive(&**at).collect())?);
        };
        let Some(before) = before else { return Value::list(Vec::new()) };
        Value::list(text.pieces(work, |text| {
            let mut pieces: Vec<&str> = text.split_inclusive(&**at).take(before).collect();
            let taken = pieces.iter().map(|piece| piece.len()).sum();
            pieces.push(&text[taken..]);
            pieces
        })?)
    }),
    function("replace", 3, 4, "a text, what is replaced, what by, and perhaps how often", |given, work| {
        let (text, from, to) = (given.text(0)?, given.text(1)?, given.text(2)?);
        let most = if given.has(3) { given.whole(3)? } else { -1 };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        work.read(text.len())?;
        let count = text.matches(&**from).take(most).count();
        work.touch(count)?;
        work.make(text.len() + count.saturating_mul(to.len()))?;
        Ok(Value::text(text.replacen(&**from, to, count)))
    }),
    function("repeat", 2, 2, "a text, and how often, which is not less than 0", |given, work| {
        let (text, times) = (given.text(0)?, usize::try_from(given.whole(1)?).map_err(|_| Fault::Unfit)?);
        work.make(text.len().saturating_mul(times))?;
        Ok(Value::text(text.repeat(times)))
    }),
    function("join", 1, 2, "a list of texts, and perhaps what stands between them", |given, work| {
        let between = if given.has(1) { given.text(1)? } else { &Text::Kept("") };
        let mut joined = String::new();
        for (place, item) in given.list(0)?.iter().enumerate() {
            let Value::Text(item) = &item else {
                let takes = "a list that holds texts only";
                return Err(Fault::unfit("join", takes, &[item]));
            };
            work.touch(1)?;
            work.make(item.len() + between.len())?;
            if place > 0 {
                joined.push_str(between);
            }
            joined.push_str(item);
        }
        Ok(Value::text(joined))
    }),
    function("indexOf", 2, 2, TWO, |given, work| {
        let (text, part) = (given.text(0)?, given.text(1)?);
        work.read(text.len())?;
        Ok(place(text, text.find(&**part)))
    }),
    function("lastIndexOf", 2, 2, TWO, |given, work| {
        let (text, part) = (given.text(0)?, given.text(1)?);
        work.read(text.len())?;
        Ok(place(text, text.rfind(&**part)))
    }),
    function("hasPrefix", 2, 2, TWO, |given, work| {
        ends(given.value(0)?, given.value(1)?, work, |one, other| one.starts_with(other))
    }),
    function("hasSuffix", 2, 2, TWO, |given, work| {
        ends(given.value(0)?, given.value(1)?, work, |one, other| one.ends_with(other))
    }),
];

/// Where in a text the character is that begins at a byte; -1 if there is none.
fn place<'a>(text: &str, byte: Option<usize>) -> Value<'a> {
    Value::Whole(byte.map_or(-1, |byte| text[..byte].chars().count() as i64))
}

/// The characters of a text; of several parts at most, the last has all that is left.
fn letters(text: &str, most: usize) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while parts.len() < most && !rest.is_empty() {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        let (part, others) = if parts.len() + 1 == most { (rest, "") } else { rest.split_at(length) };
        parts.push(part);
        rest = others;
    }
    parts
}

/// A piece of a text.
fn piece<'a>(
    text: &Text<'a>,
    work: &mut Work,
    cut: impl for<'t> FnOnce(&'t str) -> &'t str,
) -> Evaluated<'a> {
    let mut pieces = text.pieces(work, |text| vec![cut(text)])?;
    pieces.pop().ok_or(Fault::Unfit)
}

/// What is split, and at what; the parts are counted before they are made.
fn parts<'v, 'a>(given: Given<'v, 'a>, work: &mut Work) -> Evaluated<'a, (&'v Text<'a>, &'v Text<'a>)> {
    let (text, at) = (given.text(0)?, given.text(1)?);
    work.read(text.len())?;
    work.touch(text.matches(&**at).count() + 1)?;
    Ok((text, at))
}
