//! Conditions: expressions over the variables of a board, in the expression language of expr-lang.
//!
//! A condition is checked when a graph is compiled: its syntax, the functions it calls, and whether it is true or false at all if
//! nothing of the board is in it. What is not on the board is `nil`. A condition is a function of the board: it knows no clock and
//! no chance, and makes no lists of a size that is nowhere written.

mod work;

use std::collections::BTreeMap;

use expr::{Context, Program, Value as ExprValue};
use serde_json::Value;

use crate::Board;
use crate::board::ITERATIONS;

/// Longer conditions are not read.
const LONGEST: usize = 2_000;
/// What is nested deeper is not read.
const MOST_NESTED: usize = 48;
/// Longer chains of operators are not read; `==` counts twice.
const MOST_OPERATORS: usize = 80;
/// More variables of its own an expression does not have: each may hold the one before many times over.
const MOST_LETS: usize = 2;
/// The ranges of an expression (`1..10`) have so many items at most, those of one for each of another.
const MOST_IN_RANGES: u64 = 10_000;
/// Variables whose names begin like a word of the language, or are no names in it, are known to it under another name.
const ALIAS: &str = "var_";

/// Functions that do something with every item: what they do with it is an expression in which `#` is the item.
const OVER_ITEMS: &[&str] = &[
    "all",
    "any",
    "one",
    "none",
    "map",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "groupBy",
    "sortBy",
    "count",
    "sum",
    "reduce",
];

/// What the parser knows of objects.
const IN_OBJECTS: &str = "an object in it holds only texts, numbers that are not negative, booleans and nil: put what is more \
                          into a variable, in an `assigner` or a `script` node";

/// Functions that other dialects have for what a condition does not know.
const OF_TIME: &[&str] = &["now", "date", "duration", "timezone"];

/// All other functions.
const FUNCTIONS: &[&str] = &[
    "mean",
    "median",
    "min",
    "max",
    "abs",
    "ceil",
    "floor",
    "round",
    "len",
    "first",
    "last",
    "take",
    "reverse",
    "sort",
    "uniq",
    "concat",
    "flatten",
    "join",
    "split",
    "splitAfter",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "upper",
    "lower",
    "replace",
    "indexOf",
    "lastIndexOf",
    "hasPrefix",
    "hasSuffix",
    "keys",
    "values",
    "toPairs",
    "fromPairs",
    "get",
    "type",
    "int",
    "float",
    "string",
    "bitand",
    "bitor",
    "bitxor",
    "bitnand",
    "bitnot",
    "bitshl",
    "bitshr",
    "bitushr",
];

/// An expression that is true or false of a board.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    program: Program,
    /// The variables, by what the program calls them.
    names: BTreeMap<String, String>,
    /// Whether whole numbers may become larger than they are in it, and nothing in it asks for more of them than their value.
    computes: bool,
    /// How many bits the largest whole number takes that is written in it.
    bits: u32,
}

/// The bits of the largest number that is too small to become too large, unless more than four such are multiplied.
const SAFE_BITS: u32 = 15;

/// The reasons why something is not a condition, or is neither true nor false.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// It cannot be understood.
    #[error("invalid condition `{condition}`: {problem}")]
    Invalid {
        /// The condition.
        condition: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It cannot be decided with what is on the board.
    #[error(
        "condition `{condition}` cannot be decided: {problem}. What is not on the board is nil: test for that first, or write `?.` and `??`"
    )]
    Undecided {
        /// The condition.
        condition: String,
        /// Why.
        problem: String,
    },
}

impl From<ConditionError> for convoke_core::Error {
    fn from(error: ConditionError) -> Self {
        Self::permanent(error)
    }
}

impl Condition {
    /// Understands a condition.
    ///
    /// ```
    /// use convoke_graph::{Board, Condition};
    ///
    /// let enough = Condition::new("len(items) > 2 and name startsWith 'x'")?;
    /// let mut board = Board::new();
    /// board.set("items", vec![1, 2, 3])?;
    /// board.set("name", "xylophone")?;
    /// assert!(enough.holds(&board, 0)?);
    /// assert!(Condition::new("1 + 2").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Self, ConditionError> {
        let condition = Self::expression(text)?;
        if condition.names.is_empty() {
            condition.holds(&Board::new(), 0).map_err(|error| match error {
                ConditionError::Undecided { problem, .. } => invalid(text, problem),
                other => other,
            })?;
        }
        Ok(condition)
    }

    /// Understands an expression that may have any value.
    pub(crate) fn expression(text: &str) -> Result<Self, ConditionError> {
        let scanned = scan(text, false).map_err(|problem| invalid(text, problem))?;
        // The parser panics at objects that hold more than what is written in them: should one be overlooked, this is no end.
        let mut program = std::panic::catch_unwind(|| expr::compile(&scanned.text))
            .map_err(|_| invalid(text, IN_OBJECTS))?
            .map_err(|error| invalid(text, unread(&scanned.text, &error.to_string())))?;
        // What does something with every item of a list may do it for long, and make much of it.
        if OVER_ITEMS.iter().any(|name| text.contains(name)) {
            let counted = scan(text, true).map_err(|problem| invalid(text, problem))?;
            program =
                expr::compile(&counted.text).map_err(|error| invalid(text, one_line(&error.to_string())))?;
        }
        let Scanned { names, computes, bits, .. } = scanned;
        Ok(Self { text: text.to_owned(), program, names, computes, bits })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables that it asks about.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    /// Returns whether it is true of a board. `iterations` is what it knows as `__iterations`: how many nodes ran before.
    ///
    /// # Errors
    /// If that cannot be said.
    pub fn holds(&self, board: &Board, iterations: u64) -> Result<bool, ConditionError> {
        match self.run(board, iterations)? {
            ExprValue::Bool(value) => Ok(value),
            ExprValue::Nil => Ok(false),
            other => Err(self.undecided(format!("it is {}, neither true nor false", kind(&other)))),
        }
    }

    /// What it comes to.
    pub(crate) fn value(&self, board: &Board, iterations: u64) -> Result<Value, ConditionError> {
        Ok(to_json(self.run(board, iterations)?))
    }

    fn run(&self, board: &Board, iterations: u64) -> Result<ExprValue, ConditionError> {
        let (mut context, mut inexact, mut bits) = (Context::default(), Context::default(), self.bits);
        for (known_as, name) in &self.names {
            let value = match name.as_str() {
                ITERATIONS => ExprValue::Integer(i64::try_from(iterations).unwrap_or(i64::MAX)),
                name => board.get(name).map_or(ExprValue::Nil, to_expr),
            };
            if self.computes {
                bits = bits.max(bits_of(&value));
                inexact.insert(known_as.clone(), with_floats(&value));
            }
            context.insert(known_as.clone(), value);
        }
        let value = work::run(&self.program, &context)
            .map_err(|error| self.undecided(one_line(&error.to_string())))?;
        // Whole numbers that become too large begin anew at the other end: numbers with a point do not, and so come to something else.
        if self.computes
            && bits >= SAFE_BITS
            && work::run(&self.program, &inexact).is_ok_and(|other| differ(&value, &other))
        {
            let problem = "whole numbers in it become larger than 9,223,372,036,854,775,807; begin with a number that has a \
                           point, `1.0 * x`"
                .to_owned();
            return Err(self.undecided(problem));
        }
        Ok(value)
    }

    fn undecided(&self, problem: String) -> ConditionError {
        ConditionError::Undecided { condition: self.text.clone(), problem }
    }
}

fn invalid(text: &str, problem: impl Into<String>) -> ConditionError {
    ConditionError::Invalid { condition: text.to_owned(), problem: problem.into() }
}

/// From where on the parser cannot read an expression: it names the place, and otherwise rules of its grammar.
fn unread(text: &str, error: &str) -> String {
    let place = error.split_once("--> ").and_then(|(_, rest)| rest.lines().next()?.trim().split_once(':'));
    let place =
        place.and_then(|(line, column)| Some((line.parse::<usize>().ok()?, column.parse::<usize>().ok()?)));
    let Some((line, column)) = place else { return one_line(error) };
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column.saturating_sub(1)).collect();
    match rest.replace(ALIAS, "").trim() {
        "" => "it ends too early".to_owned(),
        rest if rest.starts_with('=') && !rest.starts_with("==") => {
            format!("it cannot be read from `{rest}` on; to compare, write `==`")
        }
        rest => format!("it cannot be read from `{rest}` on"),
    }
}

fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.last().map_or_else(String::new, |line| line.trim_start_matches("= ").to_owned())
}

/// What is known of an expression before it is parsed.
struct Scanned {
    text: String,
    names: BTreeMap<String, String>,
    computes: bool,
    bits: u32,
}

/// Finds the variables of an expression. The parser takes `notes` for `not es`, and knows no `$env["odd name"]`: such are replaced.
/// Where `is_counted`, whatever a value comes from says to [`work`] that it is used.
fn scan(text: &str, is_counted: bool) -> Result<Scanned, String> {
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let (mut written, mut names, mut nested) = (String::new(), BTreeMap::new(), 0);
    let (mut operators, mut lets, mut in_ranges) = (0, 0, 1);
    let (mut brackets, mut last_token): (Vec<Bracket>, &str) = (Vec::new(), "");
    let (mut computes, mut is_exact, mut bits) = (false, false, 0);
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '"' | '\'' | '`' => quoted(rest, letter),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '#' => 1 + rest[1..].find(|c: char| !is_name(c)).unwrap_or(rest.len() - 1),
            _ if is_name(letter) => rest.find(|c: char| !is_name(c)).unwrap_or(rest.len()),
            _ => letter.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if letter == '.' && after.starts_with('.') {
            in_ranges *=
                range(&written, &after[1..]).filter(|items| *items <= MOST_IN_RANGES).unwrap_or(u64::MAX / 2);
            if in_ranges > MOST_IN_RANGES {
                return Err(format!(
                    "a range is written as two whole numbers, `1..10`, and has at most {MOST_IN_RANGES} items, all \
                     ranges of an expression multiplied; otherwise compare with `<` and `>`"
                ));
            }
            written.push_str("..");
            (before, rest) = (' ', &after[1..]);
            continue;
        }
        if "([{?".contains(letter) {
            nested += 1;
            if nested > MOST_NESTED {
                return Err(format!("it has more than {MOST_NESTED} brackets and choices"));
            }
        }
        // Whoever reads and evaluates it goes a level deeper for every operator.
        operators += usize::from("+-*/%^=<>!&|".contains(letter) || OPERATORS.contains(&token));
        lets += usize::from(token == "let");
        computes |= "+-*".contains(letter) || ["sum", "abs"].contains(&token);
        is_exact |= ["type", "string", "join", "groupBy"].contains(&token);
        bits = bits.max(token.parse().map_or(0, |number: u64| u64::BITS - number.leading_zeros()));
        if operators > MOST_OPERATORS || lets > MOST_LETS {
            return Err(format!(
                "it has more than {MOST_OPERATORS} operators, or more than {MOST_LETS} `let`"
            ));
        }
        let next = after.trim_start();
        let mut known_as = token.to_owned();
        let mut is_value = letter == '#';
        let is_key = matches!(before, '{' | ',') && next.starts_with(':');
        if is_name(letter) && !letter.is_ascii_digit() && !matches!(before, '.' | '#') && !is_key {
            if token == "$env" {
                let wrong =
                    || "write `$env[\"odd name\"]` for a variable whose name is not a word".to_owned();
                let (name, after) = env_name(after).ok_or_else(wrong)?;
                let known_as = format!("{ALIAS}{}_env", names.len());
                written.push_str(&work::counted(&known_as, is_counted));
                names.insert(known_as, name);
                (before, rest) = (']', after);
                continue;
            }
            if next.starts_with('(') && !WORDS.contains(&token) {
                if OF_TIME.contains(&token) {
                    return Err(format!(
                        "there is no `{token}`, for a condition knows no clock: it would decide differently when a run is resumed. \
                         Give the time as an input, or have a `tool` node write it to a variable"
                    ));
                }
                let known = || OVER_ITEMS.iter().chain(FUNCTIONS).copied();
                if !known().any(|name| name == token) {
                    let meant = convoke_text::nearest(token, known());
                    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                    return Err(format!("there is no function `{token}`{meant}"));
                }
            } else if !WORDS.contains(&token) {
                is_value = last_token != "let";
                let alias = if is_shadowed(token) { ALIAS } else { "" };
                names.insert(format!("{alias}{token}"), token.to_owned());
                known_as = format!("{alias}{token}");
            }
        }
        // `any(items, any(tags, # > 1))`: the parser sees only of what is in braces that it is for every item.
        if let Some(open) = brackets.last_mut().filter(|open| open.is_braced && matches!(letter, ')' | ',')) {
            open.is_braced = false;
            written.push('}');
        }
        written.push_str(&work::counted(&known_as, is_counted && is_value));
        match letter {
            '(' | '[' | '{' => {
                let is_over_items = letter == '(' && OVER_ITEMS.contains(&last_token);
                let is_object = letter == '{' && is_key_before(next);
                brackets.push(Bracket { is_over_items, is_braced: false, is_object });
            }
            ')' | ']' | '}' => drop(brackets.pop()),
            ':' if brackets.last().is_some_and(|open| open.is_object) && !is_literal(argument(next)) => {
                return Err(IN_OBJECTS.to_owned());
            }
            ',' => {
                if let Some(open) = brackets.last_mut().filter(|open| open.is_over_items)
                    && !next.starts_with(['{', '.'])
                    && argument(next).contains('#')
                {
                    (open.is_braced, open.is_over_items) = (true, false);
                    written.push('{');
                }
            }
            _ => {}
        }
        if !letter.is_whitespace() {
            last_token = token;
            before = token.chars().next_back().unwrap_or(' ');
        }
        rest = after;
    }
    Ok(Scanned { text: written, names, computes: computes && !is_exact, bits })
}

/// A bracket that is open.
struct Bracket {
    /// Whether it holds what a function is called with that does something with every item.
    is_over_items: bool,
    /// Whether what is done is in braces of ours.
    is_braced: bool,
    /// Whether it is that of an object.
    is_object: bool,
}

/// Whether the name of an entry comes next.
fn is_key_before(text: &str) -> bool {
    let length = match text.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => quoted(text, quote),
        _ => text.find(|c: char| !is_name(c)).unwrap_or(text.len()),
    };
    length > 0 && text[length..].trim_start().starts_with(':')
}

/// Whether something is one text, number, boolean or nil, and nothing else.
fn is_literal(text: &str) -> bool {
    let text = text.trim();
    match text.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => quoted(text, quote) == text.len(),
        Some(letter) if letter.is_ascii_digit() || letter == '.' => {
            text.chars().all(|letter| is_name(letter) || letter == '.')
        }
        _ => ["true", "false", "nil"].contains(&text),
    }
}

/// What a function is called with from here on, up to the next comma or its end.
fn argument(text: &str) -> &str {
    let (mut depth, mut place) = (0_usize, 0);
    while let Some(letter) = text[place..].chars().next() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => break,
            _ => {}
        }
        let is_text = matches!(letter, '"' | '\'' | '`');
        place += if is_text { quoted(&text[place..], letter) } else { letter.len_utf8() };
    }
    &text[..place]
}

/// How many items a range has, between what is written before it and what comes after; `None` if that are not two whole numbers.
fn range(before: &str, after: &str) -> Option<u64> {
    let before = before.trim_end();
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (before, first) = before.split_at(before.len() - digits);
    let after = after.trim_start();
    let last = &after[..after.find(|c: char| !is_name(c) && c != '.').unwrap_or(after.len())];
    if before.trim_end().ends_with(['-', '.']) || before.ends_with(is_name) {
        return None;
    }
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first).map_or(Some(1), |more| more.checked_add(1))
}

/// The name in `["odd name"]`, and what comes after it.
fn env_name(text: &str) -> Option<(String, &str)> {
    let inner = text.trim_start().strip_prefix('[')?.trim_start();
    let quote = inner.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`'))?;
    let (token, after) = inner.split_at(quoted(inner, quote));
    let name = token.strip_prefix(quote)?.strip_suffix(quote)?;
    // What is escaped in it is the name of nothing that a graph can write.
    (!name.contains('\\')).then(|| name.to_owned()).zip(after.trim_start().strip_prefix(']'))
}

const WORDS: &[&str] = &[
    "true",
    "false",
    "nil",
    "not",
    "and",
    "or",
    "in",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "if",
    "else",
    "let",
];

const OPERATORS: &[&str] = &["not", "and", "or", "in", "contains", "startsWith", "endsWith", "matches"];

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '$'
}

/// Whether the parser would take the beginning of a name for a word of the language.
fn is_shadowed(name: &str) -> bool {
    ["true", "false", "nil", "not", "if", "else", "let"].iter().any(|word| name.starts_with(word))
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, letter) in rest.char_indices().skip(1) {
        if letter == quote && !escaped {
            return place + 1;
        }
        escaped = letter == '\\' && !escaped && quote != '`';
    }
    rest.len()
}

fn kind(value: &ExprValue) -> &'static str {
    match value {
        ExprValue::Integer(_) | ExprValue::Float(_) => "a number",
        ExprValue::String(_) => "a text",
        ExprValue::Array(_) => "a list",
        _ => "an object",
    }
}

fn to_expr(value: &Value) -> ExprValue {
    match value {
        Value::Null => ExprValue::Nil,
        Value::Bool(value) => ExprValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => ExprValue::Integer(whole),
            None => ExprValue::Float(number.as_f64().unwrap_or(f64::MAX)),
        },
        Value::String(text) => ExprValue::String(text.clone()),
        Value::Array(items) => ExprValue::Array(items.iter().map(to_expr).collect()),
        Value::Object(entries) => {
            ExprValue::Map(entries.iter().map(|(name, value)| (name.clone(), to_expr(value))).collect())
        }
    }
}

/// How many bits the largest whole number of a value takes.
fn bits_of(value: &ExprValue) -> u32 {
    match value {
        ExprValue::Integer(number) => u64::BITS - number.unsigned_abs().leading_zeros(),
        ExprValue::Array(items) => items.iter().map(bits_of).max().unwrap_or(0),
        ExprValue::Map(entries) => entries.values().map(bits_of).max().unwrap_or(0),
        _ => 0,
    }
}

/// A value with a point in all of its numbers.
#[expect(clippy::cast_precision_loss, reason = "that it is not exact is known")]
fn with_floats(value: &ExprValue) -> ExprValue {
    match value {
        ExprValue::Integer(number) => ExprValue::Float(*number as f64),
        ExprValue::Array(items) => ExprValue::Array(items.iter().map(with_floats).collect()),
        ExprValue::Map(entries) => {
            ExprValue::Map(entries.iter().map(|(name, value)| (name.clone(), with_floats(value))).collect())
        }
        other => other.clone(),
    }
}

/// Whether two values differ by more than that one of them is not exact.
#[expect(clippy::cast_precision_loss, reason = "that it is not exact is known")]
fn differ(one: &ExprValue, other: &ExprValue) -> bool {
    match (one, other) {
        (ExprValue::Integer(one), ExprValue::Float(other)) => {
            let one = *one as f64;
            (one - other).abs() > 1.0 + one.abs().max(other.abs()) * 1e-6
        }
        (ExprValue::Bool(one), ExprValue::Bool(other)) => one != other,
        (ExprValue::Array(one), ExprValue::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).any(|(one, other)| differ(one, other))
        }
        (ExprValue::Map(one), ExprValue::Map(other)) => {
            one.iter().any(|(name, value)| other.get(name).is_some_and(|other| differ(value, other)))
        }
        _ => false,
    }
}

fn to_json(value: ExprValue) -> Value {
    match value {
        ExprValue::Bool(value) => Value::Bool(value),
        ExprValue::Integer(value) => value.into(),
        ExprValue::Float(value) => value.into(),
        ExprValue::String(value) => value.into(),
        ExprValue::Array(items) => items.into_iter().map(to_json).collect(),
        ExprValue::Map(entries) => entries.into_iter().map(|(name, value)| (name, to_json(value))).collect(),
        _ => Value::Null,
    }
}
