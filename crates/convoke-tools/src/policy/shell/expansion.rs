//! Parses words: quotes and expansions.

use super::arithmetic::{self, PARAMETERS};
use super::parser::{ListEnd, Parser};
use super::word::Word;
use super::{UnclearPart, read_within};

impl<'t> Parser<'t, '_> {
    pub(super) fn at_process_substitution(&self) -> bool {
        self.rest().starts_with("<(") || self.rest().starts_with(">(")
    }

    /// The word that begins here.
    pub(super) fn word(&mut self) -> Result<Word, UnclearPart> {
        let start = self.at;
        let mut word = Word::default();
        let mut braces = false;
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if !self.at_process_substitution() => break,
                '<' | '>' => {
                    self.at += 2;
                    word.dynamic = true;
                    self.nested("<(…)", |parser| parser.list(ListEnd::Parenthesis))?;
                    self.at += 1;
                }
                '\'' => {
                    self.at += 1;
                    let text = self.up_to('\'')?;
                    word.text.push_str(text);
                    word.quoted = true;
                }
                '"' => self.double_quoted(&mut word)?,
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        None => return Err(UnclearPart::because("it ends with a `\\`")),
                        Some('\n') => self.at += 1,
                        Some(next) => {
                            word.text.push(next);
                            word.quoted = true;
                            self.at += next.len_utf8();
                        }
                    }
                }
                '$' if self.rest().starts_with("$'") => self.with_escapes(&mut word)?,
                '$' if self.rest().starts_with("$\"") => {
                    self.at += 1;
                    self.double_quoted(&mut word)?;
                }
                '$' | '`' => self.substituted(&mut word)?,
                '*' | '?' | '[' => {
                    word.pattern = true;
                    self.take(letter, &mut word);
                }
                '{' => {
                    braces = true;
                    self.take(letter, &mut word);
                }
                _ => self.take(letter, &mut word),
            }
        }
        self.text[start..self.at].clone_into(&mut word.source);
        // Joined lines are one before anything else: `th\\⏎en` is `then`.
        if !word.quoted {
            word.source = word.source.replace("\\\n", "");
        }
        // `{a,b}` becomes two words. `[` alone is a program.
        if braces && (word.source.contains(',') || word.source.contains("..")) {
            word.dynamic = true;
        }
        if word.source == "[" {
            word.pattern = false;
        }
        if self.at == start {
            return Err(UnclearPart::because("there is something in it that is not a word"));
        }
        Ok(word)
    }

    fn take(&mut self, letter: char, word: &mut Word) {
        word.text.push(letter);
        self.at += letter.len_utf8();
    }

    /// The text up to this character, which is skipped.
    fn up_to(&mut self, end: char) -> Result<&str, UnclearPart> {
        let rest = self.rest();
        let Some(length) = rest.find(end) else {
            return Err(UnclearPart::because(format!("a {end} is not closed")));
        };
        self.at += length + end.len_utf8();
        Ok(&rest[..length])
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        self.at += 1;
        word.quoted = true;
        loop {
            match self.peek() {
                None => return Err(UnclearPart::because("a \" is not closed")),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.peek() {
                        None => return Err(UnclearPart::because("a \" is not closed")),
                        Some('\n') => self.at += 1,
                        Some(next) => {
                            if !matches!(next, '$' | '`' | '"' | '\\') {
                                word.text.push('\\');
                            }
                            self.take(next, word);
                        }
                    }
                }
                Some('$' | '`') => self.substituted(word)?,
                Some(letter) => self.take(letter, word),
            }
        }
    }

    /// What `$` or a backtick puts in.
    fn substituted(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        let rest = self.rest();
        if rest.starts_with("$\\\n") {
            return Err(UnclearPart::because("a line ends between a `$` and what it is about"));
        }
        let before = self.reading.commands.len();
        if rest.starts_with('`') {
            word.dynamic = true;
            self.backticks()?;
            word.output |= arithmetic::writes_text(&self.reading.commands[before..]);
            return Ok(());
        }
        if rest.starts_with("$((") {
            word.dynamic = true;
            return self.arithmetic(3);
        }
        if rest.starts_with("$(") {
            word.dynamic = true;
            self.at += 2;
            self.nested("$(…)", |parser| parser.list(ListEnd::Parenthesis))?;
            self.at += 1;
            word.output |= arithmetic::writes_text(&self.reading.commands[before..]);
            return Ok(());
        }
        if rest.starts_with("${") {
            word.dynamic = true;
            self.at += 2;
            return self.nested("${…}", |parser| parser.parameter(word));
        }
        if rest.starts_with("$[") {
            return Err(UnclearPart::because("`$[…]` is an old form of arithmetic"));
        }
        self.at += 1;
        match self.peek() {
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                word.dynamic = true;
                let start = self.at;
                while self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
                    self.at += 1;
                }
                word.names.push(self.text[start..self.at].to_owned());
            }
            Some('@' | '*' | '1'..='9') => {
                word.dynamic = true;
                word.names.push(PARAMETERS.to_owned());
                self.at += 1;
            }
            Some('#' | '?' | '-' | '$' | '!' | '0') => {
                word.dynamic = true;
                self.at += 1;
            }
            _ => word.text.push('$'),
        }
        Ok(())
    }

    /// What is between `${` and `}`.
    fn parameter(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        let start = self.at;
        // Its parts are in what is put in, but no part of what is known.
        let mut within = Word::default();
        self.up_to_brace(&mut within)?;
        word.names.append(&mut within.names);
        word.output |= within.output;
        let (name, rest) = self.named(start);
        let is_length = name.starts_with('#') && name.len() > 1;
        let bare = name.trim_start_matches(['!', '#']).to_owned();
        // Other names, or the places of an array, are only listed.
        let lists = rest.starts_with(['*', '@']) || rest.starts_with("[@]") || rest.starts_with("[*]");
        if name.starts_with('!') && !lists {
            self.reading.values.compute(&format!("${bare}"));
            self.reading.values.compute(&bare);
        }
        let index =
            rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(index, _)| index);
        let from = rest.strip_prefix(':').filter(|from| !from.starts_with(['-', '=', '?', '+']));
        for computed in [index, from.unwrap_or_default()] {
            if within.output && computed.contains(['(', '`']) {
                self.reading.unclear.push(arithmetic::computes_output());
            }
            self.reading.values.compute(computed);
        }
        if !is_length {
            let is_parameter =
                bare.starts_with(|letter: char| letter.is_ascii_digit()) || lists && bare.is_empty();
            word.names.push(if is_parameter { PARAMETERS.to_owned() } else { bare });
        }
        Ok(())
    }

    /// The name after a `${` that was here, with its `!` or `#`, and what comes after it before the `}`.
    fn named(&self, start: usize) -> (&'t str, &'t str) {
        let inside = self.text[start..self.at].strip_suffix('}').unwrap_or_default();
        let marks = usize::from(inside.starts_with(['!', '#']));
        let end = inside[marks..].find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        inside.split_at(end.map_or(inside.len(), |end| marks + end))
    }

    fn up_to_brace(&mut self, within: &mut Word) -> Result<(), UnclearPart> {
        loop {
            match self.peek() {
                None => return Err(UnclearPart::because("a `${` is not closed")),
                Some('}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\'') => {
                    // Within double quotes it is a letter like any other, outside it quotes: then it is not told apart.
                    return Err(UnclearPart::because("there are quotes in a `${…}`"));
                }
                Some('"') => self.double_quoted(within)?,
                Some('\\') => {
                    self.at += 1;
                    self.at += self.peek().map_or(0, char::len_utf8);
                }
                Some('@') if self.rest().starts_with("@P}") => {
                    return Err(UnclearPart::because("`${…@P}` runs what is in a variable"));
                }
                Some('$' | '`') => self.substituted(within)?,
                Some('<' | '>') if self.at_process_substitution() => {
                    return Err(UnclearPart::because("there is a process in a `${…}`"));
                }
                Some(letter) => self.at += letter.len_utf8(),
            }
        }
    }

    /// One letter of arithmetic or of a here-document, or what is put in its place.
    pub(super) fn inside(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        match self.peek() {
            Some('$' | '`') => self.substituted(word),
            Some(letter) => {
                self.at += letter.len_utf8();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn backticks(&mut self) -> Result<(), UnclearPart> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.peek() {
                None => return Err(UnclearPart::because("a ` is not closed")),
                Some('`') => break,
                Some('\\') => {
                    self.at += 1;
                    let Some(next) = self.peek() else {
                        return Err(UnclearPart::because("a ` is not closed"));
                    };
                    // What is escaped here means something else within double quotes: told apart by nobody.
                    if next == '"' {
                        return Err(UnclearPart::because("there is a `\\\"` in backticks"));
                    }
                    if !matches!(next, '$' | '`' | '\\') {
                        inner.push('\\');
                    }
                    inner.push(next);
                    self.at += next.len_utf8();
                }
                Some(letter) => {
                    inner.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
        self.at += 1;
        self.nested("`…`", |parser| {
            read_within(&inner, &parser.within, parser.reading);
            Ok(())
        })
    }

    /// `$'…'`
    fn with_escapes(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        self.at += 2;
        word.quoted = true;
        loop {
            match self.peek() {
                None => return Err(UnclearPart::because("a $' is not closed")),
                Some('\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    let Some(next) = self.peek() else {
                        return Err(UnclearPart::because("a $' is not closed"));
                    };
                    self.at += next.len_utf8();
                    match next {
                        'n' => word.text.push('\n'),
                        't' => word.text.push('\t'),
                        'r' => word.text.push('\r'),
                        '\\' | '\'' | '"' | '?' => word.text.push(next),
                        // Letters by their numbers are written to hide something.
                        _ => {
                            return Err(UnclearPart::because("there are letters by their numbers in a $'…'"));
                        }
                    }
                }
                Some(letter) => self.take(letter, word),
            }
        }
    }
}

/// Whether there is something in a text that the shell would run, if it computed the text as a number.
pub(super) fn hides_a_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}
