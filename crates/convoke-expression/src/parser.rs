//! Reads expressions: what binds more strongly is read further inside, and whatever is wrong is said with its place and what to write.

use convoke_text::nearest;

use crate::function::{self, Function, OverItems};
use crate::lexer::{self, Token};
use crate::operator::{Level, Operator};
use crate::pattern::Pattern;
use crate::syntax::{Access, Block, Expression, Sign};

/// Longer expressions are not read.
const LONGEST: usize = 2_000;
/// Brackets and choices that stand deeper in one another are not read.
const MOST_NESTED: usize = 48;
/// More operators are not read: whoever evaluates them goes a level deeper for each.
const MOST_OPERATORS: usize = 80;
/// Nor are more fields and places, `a.b[0]`.
const MOST_ACCESSES: usize = 200;
/// Its patterns are compiled with as much work together.
const PATTERNS: usize = 2 << 20;

/// Functions that other dialects have for what a condition does not know.
const OF_TIME: &[&str] = &["now", "date", "duration", "timezone"];

/// Words that are no names of variables.
const WORDS: &[&str] = &["true", "false", "nil", "if", "else", "let"];
/// Operators that may have `not` before them.
const AFTER_NOT: &[&str] = &["in", "contains", "startsWith", "endsWith", "matches"];
const OPERATORS: &[&str] = &["and", "or", "not", "in", "contains", "startsWith", "endsWith", "matches"];

type Read<T = Expression> = Result<T, String>;

/// Reads all of a text. The names are those of the variables that it asks about.
pub(crate) fn parse(text: &str) -> Read<(Block, Vec<String>)> {
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut parser = Parser {
        text,
        tokens: lexer::tokens(text)?,
        place: 0,
        names: Vec::new(),
        known: Vec::new(),
        nested: 0,
        operators: 0,
        accesses: 0,
        patterns: 0,
        pattern_work: 0,
    };
    let block = parser.block()?;
    match parser.token() {
        Token::End => Ok((block, parser.names)),
        _ => Err(parser.no_operator()),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token<'t>, usize)>,
    place: usize,
    names: Vec<String>,
    /// What `let` and functions over items named, in the order in which it is there when the expression is evaluated.
    known: Vec<&'t str>,
    nested: usize,
    operators: usize,
    accesses: usize,
    patterns: usize,
    pattern_work: usize,
}

impl<'t> Parser<'t> {
    fn token(&self) -> &Token<'t> {
        &self.tokens[self.place.min(self.tokens.len() - 1)].0
    }

    fn after(&self, more: usize) -> &Token<'t> {
        &self.tokens[(self.place + more).min(self.tokens.len() - 1)].0
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    fn eats(&mut self, sign: &str) -> bool {
        let is_there = self.is(sign);
        self.place += usize::from(is_there);
        is_there
    }

    fn eats_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.token(), Token::Word(found) if *found == word);
        self.place += usize::from(is_there);
        is_there
    }

    fn wants(&mut self, sign: &str) -> Read<()> {
        if self.eats(sign) { Ok(()) } else { Err(self.wrong(&format!("`{sign}` is missing"))) }
    }

    /// What is wrong where the next word stands.
    fn wrong(&self, problem: &str) -> String {
        match &self.tokens[self.place.min(self.tokens.len() - 1)] {
            (Token::End, _) => format!("it ends too early: {problem}"),
            (_, start) => format!("{problem} before {}", lexer::shown(&self.text[*start..])),
        }
    }

    fn no_operator(&self) -> String {
        let hint = match self.token() {
            Token::Sign("=") => "; to compare, write `==`".to_owned(),
            Token::Sign(")" | "]" | "}") => "; there is a bracket too many".to_owned(),
            Token::Sign(":") => "; a choice is written `a ? b : c`".to_owned(),
            Token::Word("else") => "; a choice is written `if a { b } else { c }`".to_owned(),
            Token::Word(word) => nearest(word, OPERATORS.iter().copied())
                .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?")),
            _ => String::new(),
        };
        self.wrong("an operator is missing") + &hint
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            return Err(format!("it has more than {MOST_NESTED} brackets and choices in one another"));
        }
        let read = inner(self)?;
        self.nested -= 1;
        Ok(read)
    }

    fn operator(&mut self) -> Read<()> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(format!("it has more than {MOST_OPERATORS} operators"));
        }
        Ok(())
    }

    /// `let a = 1; let b = a; a + b`
    fn block(&mut self) -> Read<Block> {
        let (outer, mut lets) = (self.known.len(), Vec::new());
        while self.eats_word("let") {
            let name = match self.token() {
                Token::Word(name) if !is_word(name) && !name.starts_with(['#', '$']) => *name,
                _ => {
                    return Err(
                        self.wrong("`let` names a value, `let half = x / 2; half > 1`: a name is missing")
                    );
                }
            };
            self.place += 1;
            self.wants("=")?;
            lets.push(self.expression(Level::Choice)?);
            self.wants(";")?;
            self.known.push(name);
        }
        let value = self.expression(Level::Choice)?;
        self.known.truncate(outer);
        Ok(Block { lets, value })
    }

    fn braced(&mut self) -> Read<Block> {
        self.wants("{")?;
        let block = self.nested(Self::block)?;
        self.wants("}")?;
        Ok(block)
    }

    /// What binds at least so strongly.
    fn expression(&mut self, least: Level) -> Read {
        let mut left = self.prefixed()?;
        while let Some((sign, level, words)) = self.infix().filter(|(_, level, _)| *level >= least) {
            self.place += words;
            self.operator()?;
            left = self.joined(left, sign, level)?;
            // `not in`, `not contains`
            if words > 1 {
                left = Expression::Not(Box::new(left));
            }
        }
        Ok(left)
    }

    /// How the operator is written that stands here, how strongly it binds, and how many words it has.
    fn infix(&self) -> Option<(&'static str, Level, usize)> {
        let (sign, words) = match *self.token() {
            Token::Sign(sign) => (sign, 1),
            Token::Word("not") => match self.after(1) {
                Token::Word(word) => (*AFTER_NOT.iter().find(|known| *known == word)?, 2),
                _ => return None,
            },
            Token::Word(word) => (*OPERATORS.iter().find(|known| **known == word)?, 1),
            _ => return None,
        };
        let level = match sign {
            "?" => Level::Choice,
            "|" => Level::Pipe,
            "||" | "or" => Level::Or,
            "&&" | "and" => Level::And,
            "matches" => Level::Comparison,
            "??" => Level::Default,
            _ => Operator::written(sign)?.level,
        };
        Some((sign, level, words))
    }

    /// What stands left of an operator, and what comes after it.
    fn joined(&mut self, left: Expression, sign: &'static str, level: Level) -> Read {
        match level {
            Level::Choice => {
                let first = self.nested(|parser| parser.expression(Level::Choice))?;
                self.wants(":")?;
                let second = self.nested(|parser| parser.expression(Level::Choice))?;
                let plain = |value| Block { lets: Vec::new(), value };
                return Ok(Expression::Choice(Box::new(left), Box::new((plain(first), plain(second)))));
            }
            Level::Pipe => {
                return match (self.token().clone(), self.after(1)) {
                    (Token::Word(name), Token::Sign("(")) => self.call(name, Some(left)),
                    _ => Err(self.wrong("after `|` comes a function, `x | len()`; it is missing")),
                };
            }
            // Everything that comes after it is what stands for nil.
            Level::Default => {
                let right = self.nested(|parser| parser.expression(Level::Choice))?;
                return Ok(Expression::Default(Box::new((left, right))));
            }
            _ => {}
        }
        let right = self.expression(match level {
            Level::Or => Level::And,
            Level::And => Level::Comparison,
            Level::Comparison => Level::Range,
            Level::Range => Level::Sum,
            Level::Sum => Level::Not,
            Level::Product => Level::Sign,
            other => other,
        })?;
        if let ("matches", Expression::Text(pattern)) = (sign, &right) {
            let pattern = Pattern::new(pattern)?;
            self.pattern_work += pattern.work;
            if self.pattern_work > PATTERNS {
                return Err("its regular expressions are too large together: repeat less in them".to_owned());
            }
            self.patterns += 1;
            let pattern = Box::new(pattern.made_whole());
            return Ok(Expression::Matches(Box::new(left), pattern, self.patterns - 1));
        }
        let both = Box::new((left, right));
        Ok(match (sign, Operator::written(sign)) {
            ("and" | "&&", _) => Expression::Both(both),
            ("or" | "||", _) => Expression::Either(both),
            (_, Some(operator)) => Expression::Binary(operator, both),
            (_, None) => Expression::MatchesMade(both),
        })
    }

    fn prefixed(&mut self) -> Read {
        let (level, sign) = match self.token() {
            Token::Sign("!") | Token::Word("not") => (Level::Not, None),
            Token::Sign("-") => (Level::Sign, Some(Sign::Minus)),
            Token::Sign("+") => (Level::Sign, Some(Sign::Plus)),
            _ => {
                let value = self.primary()?;
                return self.accesses(value);
            }
        };
        self.place += 1;
        self.operator()?;
        let value = Box::new(self.expression(level)?);
        Ok(match sign {
            Some(sign) => Expression::Signed(sign, value),
            None => Expression::Not(value),
        })
    }

    fn primary(&mut self) -> Read {
        let token = self.token().clone();
        // Fields of items may stand without the item.
        if token == Token::Sign(".") && self.known.contains(&"#") {
            return self.local("#");
        }
        let start = self.place;
        self.place += 1;
        match token {
            Token::Text(text) => Ok(Expression::Text(text.into_owned())),
            Token::Whole(number) => Ok(Expression::Whole(number)),
            Token::Float(number) => Ok(Expression::Float(number)),
            Token::Word("true") => Ok(Expression::Bool(true)),
            Token::Word("false") => Ok(Expression::Bool(false)),
            Token::Word("nil") => Ok(Expression::Nil),
            Token::Word("if") => self.choice(),
            Token::Word("$env") => self.odd_name(),
            Token::Word(name) if !is_word(name) => match (self.token(), name.starts_with('#')) {
                (Token::Sign("("), false) => {
                    self.place = start;
                    self.call(name, None)
                }
                (_, true) => self.local(name),
                _ => Ok(self.variable(name)),
            },
            Token::Sign("(") => {
                let value = self.nested(|parser| parser.expression(Level::Choice))?;
                self.wants(")")?;
                Ok(value)
            }
            Token::Sign("[") => {
                Ok(Expression::List(self.many("]", |parser| parser.expression(Level::Choice))?))
            }
            Token::Sign("{") => Ok(Expression::Object(self.many("}", Self::entry)?)),
            _ => {
                self.place = start;
                Err(self.wrong("a value is missing"))
            }
        }
    }

    /// Things with commas between them, up to a bracket.
    fn many<T>(&mut self, end: &str, one: impl Fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.nested(|parser| {
            let mut read = Vec::new();
            while !parser.eats(end) {
                read.push(one(parser)?);
                if !parser.is(end) {
                    parser.wants(",")?;
                }
            }
            Ok(read)
        })
    }

    fn entry(&mut self) -> Read<(String, Expression)> {
        let key = match self.token() {
            Token::Word(name) if !name.starts_with('#') => (*name).to_owned(),
            Token::Text(name) => name.clone().into_owned(),
            _ => return Err(self.wrong("an object is written `{name: value}`: a name is missing")),
        };
        self.place += 1;
        self.wants(":")?;
        Ok((key, self.expression(Level::Choice)?))
    }

    /// `if a { b } else { c }`
    fn choice(&mut self) -> Read {
        let condition = self.nested(|parser| parser.expression(Level::Choice))?;
        let first = self.braced()?;
        if !self.eats_word("else") {
            return Err(self.wrong("a choice is written `if a { b } else { c }`: `else` is missing"));
        }
        let second = if self.eats_word("if") {
            Block { lets: Vec::new(), value: self.nested(Self::choice)? }
        } else {
            self.braced()?
        };
        Ok(Expression::Choice(Box::new(condition), Box::new((first, second))))
    }

    /// `$env["odd name"]`
    fn odd_name(&mut self) -> Read {
        if let (Token::Sign("["), Token::Text(name), Token::Sign("]")) =
            (self.token(), self.after(1), self.after(2))
        {
            let name = name.clone();
            self.place += 3;
            return Ok(self.on_board(&name));
        }
        Err("write `$env[\"odd name\"]` for a variable whose name is not a word".to_owned())
    }

    fn variable(&mut self, name: &str) -> Expression {
        match self.known.iter().rposition(|known| *known == name) {
            Some(place) => Expression::Local(place),
            None => self.on_board(name),
        }
    }

    fn on_board(&mut self, name: &str) -> Expression {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Expression::Variable(place)
    }

    fn local(&self, name: &str) -> Read {
        if let Some(place) = self.known.iter().rposition(|known| *known == name) {
            return Ok(Expression::Local(place));
        }
        Err(match name {
            "#" => "`#` is an item: it is known only in what `filter`, `map` and the like do with every item"
                .to_owned(),
            "#acc" => "`#acc` is known only in what `reduce` does with every item".to_owned(),
            "#index" => "`#index` is known only in what `map` and `reduce` do with every item".to_owned(),
            other => format!("there is no `{other}`; for a field of an item write `#.{}`", &other[1..]),
        })
    }

    /// Fields and places, which bind more strongly than any operator.
    fn accesses(&mut self, mut value: Expression) -> Read {
        loop {
            let access = match self.token() {
                Token::Sign("?.") => Access::Optional,
                Token::Sign("." | "[") => Access::Needed,
                _ => return Ok(value),
            };
            self.accesses += 1;
            if self.accesses > MOST_ACCESSES {
                return Err(format!("it has more than {MOST_ACCESSES} fields and places"));
            }
            if self.eats("[") || (self.eats("?.") && self.eats("[")) {
                value = self.nested(|parser| parser.bracketed(value, access))?;
                continue;
            }
            self.eats(".");
            let Token::Word(name) = self.token().clone() else {
                return Err(self.wrong("the name of a field is missing"));
            };
            self.place += 1;
            if self.is("(") {
                return Err(format!(
                    "`{name}` is called as a method, and there are none; write `{name}(value)`"
                ));
            }
            value = Expression::In(Box::new((value, Expression::Text(name.to_owned()))), access);
        }
    }

    /// `[place]`, `[from:to]`
    fn bracketed(&mut self, value: Expression, access: Access) -> Read {
        let bound = |parser: &mut Self, ends: &[&str]| match ends.iter().any(|end| parser.is(end)) {
            true => Ok(None),
            false => parser.expression(Level::Choice).map(|bound| Some(Box::new(bound))),
        };
        let first = bound(self, &[":"])?;
        let read = match first {
            Some(place) if !self.is(":") => Expression::In(Box::new((value, *place)), access),
            first => {
                self.wants(":")?;
                Expression::Slice(Box::new(value), first, bound(self, &["]"])?)
            }
        };
        self.wants("]")?;
        Ok(read)
    }

    /// A call of a function. What stands before a `|` is its first argument.
    fn call(&mut self, name: &'t str, piped: Option<Expression>) -> Read {
        if OF_TIME.contains(&name) {
            return Err(format!(
                "there is no `{name}`, for a condition knows no clock: it would decide differently when a run is resumed. \
                 Give the time as an input, or have a `tool` node write it to a variable"
            ));
        }
        self.place += 1;
        self.wants("(")?;
        if let Some(over) = OverItems::named(name) {
            return self.nested(|parser| parser.over_items(over, piped));
        }
        let Some(function) = function::named(name) else {
            let meant = nearest(name, function::names());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            return Err(format!("there is no function `{name}`{meant}"));
        };
        let mut arguments: Vec<Expression> = piped.into_iter().collect();
        arguments.extend(self.many(")", |parser| parser.expression(Level::Choice))?);
        let Function { takes, least, most, .. } = function;
        if !(*least..=*most).contains(&arguments.len()) {
            return Err(format!("`{name}` takes {takes}, and is called with {} values", arguments.len()));
        }
        Ok(Expression::Call(function, arguments))
    }

    fn over_items(&mut self, over: OverItems, piped: Option<Expression>) -> Read {
        let predicate_at = self.predicate_place(usize::from(piped.is_none()));
        let mut arguments: Vec<Expression> = piped.into_iter().collect();
        let (mut predicate, mut place) = (None, 0);
        while !self.eats(")") {
            if place > 0 {
                self.wants(",")?;
            }
            if predicate_at == Some(place) {
                let outer = self.known.len();
                self.known.extend(over.items());
                let block = if self.is("{") && !self.is_object() {
                    self.braced()?
                } else {
                    Block { lets: Vec::new(), value: self.expression(Level::Choice)? }
                };
                predicate = Some(Box::new(block));
                self.known.truncate(outer);
            } else {
                arguments.push(self.expression(Level::Choice)?);
            }
            place += 1;
        }
        if !(1..=over.most_values()).contains(&arguments.len()) || predicate.is_none() && !over.may_be_alone()
        {
            return Err(format!("`{}` takes {}", over.name(), over.takes()));
        }
        Ok(Expression::Items(over, arguments, predicate))
    }

    /// Which argument is what is done with every item: the one in braces, or which is a field, or asks about the item; otherwise the
    /// first after the list.
    fn predicate_place(&self, first: usize) -> Option<usize> {
        let (mut depth, mut place, mut starts) = (0_usize, 0, true);
        let (mut about_item, mut is_any) = (None, false);
        for index in self.place..self.tokens.len() {
            let token = &self.tokens[index].0;
            match token {
                Token::Sign(")") if depth == 0 => break,
                Token::Sign(",") if depth == 0 => {
                    (place, starts) = (place + 1, true);
                    continue;
                }
                Token::Sign("{" | ".") if starts && place >= first && !self.is_object_at(index) => {
                    return Some(place);
                }
                Token::Sign("(" | "[" | "{") => depth += 1,
                Token::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                Token::Word(word) if word.starts_with('#') && place >= first => {
                    about_item = about_item.or(Some(place));
                }
                _ => {}
            }
            starts = false;
            is_any |= place >= first;
        }
        about_item.or_else(|| is_any.then_some(first))
    }

    fn is_object(&self) -> bool {
        self.is_object_at(self.place)
    }

    /// Whether what stands in braces is an object: it begins with a name and a colon, or holds nothing.
    fn is_object_at(&self, place: usize) -> bool {
        let token = |place: usize| &self.tokens[place.min(self.tokens.len() - 1)].0;
        *token(place) == Token::Sign("{")
            && match token(place + 1) {
                Token::Sign("}") => true,
                Token::Word(_) | Token::Text(_) => *token(place + 2) == Token::Sign(":"),
                _ => false,
            }
    }
}

fn is_word(name: &str) -> bool {
    WORDS.contains(&name) || OPERATORS.contains(&name)
}
