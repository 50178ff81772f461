//! JSON, with the place of every value. What a number or an escape means is left to `serde_json`.

use std::ops::Range;

use serde_json::Number;

use super::{Content, DEEPEST, Entry, Node, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut parser = Parser { text, at: text.len() - text.trim_start_matches('\u{feff}').len() };
    let node = parser.value(0)?;
    match parser.next_byte() {
        None => Ok(node),
        Some(_) => Err(parser.expected("nothing after the last brace")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        if depth > DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} values in each other")));
        }
        let first = self.next_byte();
        let start = self.at;
        let content = match first {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Content::Text(self.string()?.0),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { content, place: start..self.at })
    }

    fn map(&mut self, depth: usize) -> Result<Content, SyntaxError> {
        let mut entries: Vec<Entry> = Vec::new();
        self.at += 1;
        if self.takes(b'}') {
            return Ok(Content::Map(entries));
        }
        loop {
            if self.next_byte() != Some(b'"') {
                return Err(self.expected("a name in double quotes"));
            }
            let (name, place) = self.string()?;
            if !self.takes(b':') {
                return Err(self.expected("`:` after a name"));
            }
            let node = self.value(depth + 1)?;
            entries.push(Entry { name, place, node });
            if self.takes(b'}') {
                return Ok(Content::Map(entries));
            }
            if !self.takes(b',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Content, SyntaxError> {
        let mut items = Vec::new();
        self.at += 1;
        if self.takes(b']') {
            return Ok(Content::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes(b']') {
                return Ok(Content::List(items));
            }
            if !self.takes(b',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<(String, Range<usize>), SyntaxError> {
        let start = self.at;
        let mut escaped = false;
        let rest = self.text.as_bytes()[start + 1..].iter();
        let closing = rest.copied().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(closing) = closing else {
            return Err(self.expected("a text that ends with a double quote"));
        };
        let place = start..start + closing + 2;
        match serde_json::from_str(&self.text[place.clone()]) {
            Ok(string) => {
                self.at = place.end;
                Ok((string, place))
            }
            Err(_) => {
                let message = "this text has a line break or an escape that JSON does not know".to_owned();
                Err(SyntaxError { message, help: None, place })
            }
        }
    }

    fn number(&mut self) -> Result<Content, SyntaxError> {
        let place = self.token();
        match serde_json::from_str::<Number>(&self.text[place.clone()]) {
            Ok(number) => {
                self.at = place.end;
                Ok(Content::Number(number))
            }
            Err(_) => {
                Err(SyntaxError { message: "not a number that JSON knows".to_owned(), help: None, place })
            }
        }
    }

    fn word(&mut self) -> Result<Content, SyntaxError> {
        let place = self.token();
        let content = match &self.text[place.clone()] {
            "null" => Content::Null,
            "true" => Content::Bool(true),
            "false" => Content::Bool(false),
            _ => return Err(self.expected("a value")),
        };
        self.at = place.end;
        Ok(content)
    }

    /// The letters, digits and signs from here on.
    fn token(&self) -> Range<usize> {
        let rest = self.text.as_bytes()[self.at..].iter();
        let length = rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        self.at..self.at + length
    }

    /// The next byte that is no white space, without taking it.
    fn next_byte(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, wanted: u8) -> bool {
        let is_there = self.next_byte() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        SyntaxError { message: format!("expected {what}"), help: None, place: self.at..self.at + length }
    }
}
