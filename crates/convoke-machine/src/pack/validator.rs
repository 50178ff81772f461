//! Rules for what a model says (banned words, lengths, patterns, personal data, JSON), checked on every reply; and for what it is told, where a rule says so.
//!
//! A rule of an unknown type is a mistake of the pack. One whose settings make no sense is left out, with a warning: the others
//! still hold.

use std::sync::Arc;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::model::ValidatorSpec;
use crate::whole::whole;

/// What is said instead of what must not be said.
const REFUSAL: &str = "I can't say that here. Is there something else I can help with?";

/// A rule, ready to be applied.
#[derive(Debug, Clone)]
pub struct Validator {
    kind: String,
    direction: Direction,
    rule: Rule,
    least: Option<f64>,
    most: Option<f64>,
    message: Option<String>,
    fails: bool,
    makes_sense: bool,
}

/// The side whose words a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Direction {
    /// The person's.
    Input,
    /// The model's.
    Output,
    /// Both.
    Both,
}

#[derive(Debug, Clone)]
enum Rule {
    /// None of these occurs.
    Excludes(Vec<Regex>),
    /// All of these occur.
    Contains(Vec<Regex>),
    Length {
        least: usize,
        most: Option<usize>,
    },
    Sentences {
        most: usize,
    },
    /// A JSON object with these fields, or a text in which these words occur.
    Fields(Vec<String>),
    Matches {
        pattern: Regex,
        wanted: bool,
    },
    Json(Option<Arc<jsonschema::Validator>>),
}

/// The reasons why a rule cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorError {
    /// Nobody knows such rules.
    #[error("there is no validator `{kind}`")]
    Unknown {
        /// What it is called.
        kind: String,
    },
    /// Its settings make no sense.
    #[error("{0}")]
    Settings(String),
}

/// Reads the settings of a rule.
type ReadRule = fn(Settings<'_>) -> Result<Rule, ValidatorError>;

const WORDS: &[&str] = &["patterns", "words"];
const MOST: &[&str] = &["max", "max_characters", "max_chars", "max_length"];
const LEAST: &[&str] = &["min", "min_characters", "min_chars", "min_length"];
const SENTENCES: &[&str] = &["max", "max_sentences"];
const FIELDS: &[&str] = &["fields", "required_fields"];
/// The settings of all rules.
const ALL: &[&str] = &["direction", "message", "min_score", "max_score"];

/// A kind of rules: all the names it has, its settings, and what reads them.
type Kind = (&'static [&'static str], &'static [&'static [&'static str]], ReadRule);

/// The rules that are known.
const KINDS: [Kind; 9] = [
    (&["banned_words", "content_excludes"], &[WORDS], |settings| Ok(Rule::Excludes(settings.words()?))),
    (&["contains", "content_includes", "required_words"], &[WORDS], |settings| {
        Ok(Rule::Contains(settings.words()?))
    }),
    (&["length", "max_length", "min_length"], &[MOST, LEAST], |settings| settings.length()),
    (&["max_sentences", "sentence_count"], &[SENTENCES], |settings| settings.sentences()),
    (&["field_presence", "required_fields"], &[FIELDS], |settings| settings.fields()),
    (&["regex", "regex_match"], &[&["pattern", "expect_match"]], |settings| settings.pattern()),
    (&["is_valid_json", "json_valid"], &[], |_| Ok(Rule::Json(None))),
    (&["json_schema"], &[&["schema"]], |settings| settings.schema()),
    (&["pii", "pii_detection", "pii_leakage"], &[], |_| Ok(Rule::Excludes(personal()))),
];

fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|(names, ..)| names.contains(&name))
}

/// The settings of a kind of rules.
pub(super) fn settings(name: &str) -> impl Iterator<Item = &'static str> + Clone {
    let own = kind(name).into_iter().flat_map(|(_, settings, _)| settings.iter().copied());
    own.chain([ALL]).flatten().copied()
}

/// The names of all rules.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|(names, ..)| names.iter().copied())
}

impl Validator {
    /// Reads a rule.
    ///
    /// # Errors
    /// If nobody knows such rules, or its settings make no sense.
    pub fn new(spec: &ValidatorSpec) -> Result<Self, ValidatorError> {
        let validator = Self::of_earlier_builds(spec)?;
        let nonsense = validator.nonsense(&spec.params).map(ValidatorError::Settings);
        nonsense.map_or(Ok(Self { makes_sense: true, ..validator }), Err)
    }

    /// Reads a rule as earlier builds did, which took settings that make no sense as something else: runs that they began go on so.
    pub(super) fn of_earlier_builds(spec: &ValidatorSpec) -> Result<Self, ValidatorError> {
        let unknown = || ValidatorError::Unknown { kind: spec.kind.clone() };
        let (.., read) = kind(&spec.kind).ok_or_else(unknown)?;
        let rule = read(Settings(&spec.params))?;
        let direction = spec.params.get("direction").filter(|given| given.is_string());
        let direction = direction.map_or(Ok(Direction::Output), |given| {
            let message = format!("`direction` is {given}; it can be input, output or both");
            Direction::deserialize(given).map_err(|_| ValidatorError::Settings(message))
        })?;
        let said = spec.params.get("message").and_then(Value::as_str).map(str::to_owned);
        let score = |name: &str| spec.params.get(name).and_then(Value::as_f64);
        Ok(Self {
            kind: spec.kind.clone(),
            direction,
            rule,
            least: score("min_score"),
            most: score("max_score"),
            message: said.or_else(|| spec.message.clone()),
            fails: spec.fail_on_violation,
            makes_sense: false,
        })
    }

    /// What makes no sense in its settings.
    fn nonsense(&self, params: &Map<String, Value>) -> Option<String> {
        let given = settings(&self.kind).filter_map(|name| Some((name, params.get(name)?)));
        let misfit = |(name, value): (&str, &Value)| {
            let (fits, wanted) = match name {
                "expect_match" => (value.is_boolean(), "true or false"),
                "message" | "direction" => (value.is_string(), "a text"),
                "min_score" | "max_score" => {
                    (value.as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "a number from 0 to 1")
                }
                "schema" => (*value != Value::Bool(false), "a JSON Schema that something fits"),
                _ if WORDS.contains(&name) || FIELDS.contains(&name) => {
                    let is_word = |word: &Value| word.as_str().is_some_and(|word| !word.is_empty());
                    let words = value.as_array().filter(|words| !words.is_empty());
                    let fits = words.is_some_and(|words| words.iter().all(is_word));
                    (fits, "a list of texts, none of them empty")
                }
                "pattern" => return None,
                _ => (count(value).is_some(), "a whole number from 0 on"),
            };
            (!fits).then(|| format!("`{name}` is {value}; write {wanted}"))
        };
        given.filter_map(misfit).next().or_else(|| match self.rule {
            Rule::Length { least, most: Some(most) } if least > most => {
                Some(format!("no text has at least {least} and at most {most} characters"))
            }
            _ if self.least.zip(self.most).is_some_and(|(least, most)| least > most) => {
                Some("`min_score` is above `max_score`".to_owned())
            }
            _ => None,
        })
    }

    /// Whether it holds: one whose settings make no sense does so only in runs of earlier builds.
    #[must_use]
    pub fn makes_sense(&self) -> bool {
        self.makes_sense
    }

    /// Returns what kind of rule it is.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns whether it is about what this side says.
    #[must_use]
    pub fn is_about(&self, side: Direction) -> bool {
        [side, Direction::Both].contains(&self.direction)
    }

    /// Returns what is to be said instead of a text; nothing if it may be said.
    #[must_use]
    pub fn instead_of(&self, text: &str) -> Option<String> {
        let score = self.score(text);
        let breaks = match (self.least, self.most) {
            (None, None) => score < 1.0,
            (least, most) => {
                least.is_some_and(|least| score < least) || most.is_some_and(|most| score > most)
            }
        };
        if !breaks {
            return None;
        }
        if self.fails {
            let said = self.message.as_deref().unwrap_or("the reply breaks a rule of the pack");
            return Some(format!("{said} ({})", self.kind));
        }
        Some(match self.rule {
            Rule::Length { most: Some(most), .. } if text.chars().count() > most => {
                text.chars().take(most).collect()
            }
            _ => self.message.clone().unwrap_or_else(|| REFUSAL.to_owned()),
        })
    }

    /// Returns how well a text keeps the rule, from 0 to 1.
    #[must_use]
    pub fn score(&self, text: &str) -> f64 {
        let share = |kept: usize, of: usize| {
            let (kept, of) = (u32::try_from(kept).unwrap_or(u32::MAX), u32::try_from(of).unwrap_or(u32::MAX));
            if of == 0 { 1.0 } else { f64::from(kept) / f64::from(of) }
        };
        let whether = |holds: bool| f64::from(u8::from(holds));
        match &self.rule {
            Rule::Excludes(patterns) => whether(!patterns.iter().any(|pattern| pattern.is_match(text))),
            Rule::Contains(patterns) => {
                share(patterns.iter().filter(|pattern| pattern.is_match(text)).count(), patterns.len())
            }
            Rule::Length { least, most } => {
                let length = text.chars().count();
                whether(length >= *least && most.is_none_or(|most| length <= most))
            }
            Rule::Sentences { most } => whether(sentences(text) <= *most),
            Rule::Fields(fields) => {
                let object = serde_json::from_str::<Map<String, Value>>(text).ok();
                let has = |field: &&String| match &object {
                    Some(object) => object.contains_key(*field),
                    None => text.contains(field.as_str()),
                };
                share(fields.iter().filter(has).count(), fields.len())
            }
            Rule::Matches { pattern, wanted } => whether(pattern.is_match(text) == *wanted),
            Rule::Json(schema) => whether(
                serde_json::from_str::<Value>(text)
                    .is_ok_and(|value| schema.as_ref().is_none_or(|schema| schema.is_valid(&value))),
            ),
        }
    }
}

/// A whole number from 0 on.
fn count(value: &Value) -> Option<usize> {
    usize::try_from(whole(value.as_number()?)?).ok()
}

struct Settings<'a>(&'a Map<String, Value>);

impl Settings<'_> {
    fn length(self) -> Result<Rule, ValidatorError> {
        let most = self.number(MOST);
        let least = self.number(LEAST);
        match (least, most) {
            (None, None) => Err(wrong("a length needs `max_characters` or `min_characters`, a whole number")),
            _ => Ok(Rule::Length { least: least.unwrap_or_default(), most }),
        }
    }

    fn sentences(self) -> Result<Rule, ValidatorError> {
        let most = self.number(SENTENCES);
        Ok(Rule::Sentences { most: needed(most, "this needs `max`, a whole number")? })
    }

    fn fields(self) -> Result<Rule, ValidatorError> {
        let fields = self.texts(FIELDS);
        needed(fields, "this needs `fields`, a list of names").map(Rule::Fields)
    }

    fn pattern(self) -> Result<Rule, ValidatorError> {
        let pattern = self.0.get("pattern").and_then(Value::as_str);
        let pattern = regex(needed(pattern, "this needs `pattern`, a regular expression")?);
        let pattern = pattern.map_err(|why| wrong(format!("`pattern` is {why}")))?;
        let wanted = self.0.get("expect_match").and_then(Value::as_bool).unwrap_or(true);
        Ok(Rule::Matches { pattern, wanted })
    }

    fn schema(self) -> Result<Rule, ValidatorError> {
        let schema = needed(self.0.get("schema"), "this needs `schema`, a JSON Schema")?;
        let schema = jsonschema::validator_for(schema);
        let schema = schema.map_err(|error| wrong(format!("`schema` is not a JSON Schema: {error}")))?;
        Ok(Rule::Json(Some(Arc::new(schema))))
    }

    fn number(&self, names: &[&str]) -> Option<usize> {
        count(names.iter().find_map(|name| self.0.get(*name))?)
    }

    fn texts(&self, names: &[&str]) -> Option<Vec<String>> {
        let values = names.iter().find_map(|name| self.0.get(*name))?.as_array()?;
        values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
    }

    /// Whole words, whatever their case.
    fn words(&self) -> Result<Vec<Regex>, ValidatorError> {
        let words = self.texts(WORDS);
        let words = needed(words, "this needs `patterns` or `words`, a list of texts")?;
        let pattern = |word: &String| {
            let edge = |is_word: bool| if is_word { r"\b" } else { "" };
            let is_word =
                |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
            let (first, last) = (word.chars().next(), word.chars().next_back());
            let escaped = regex::escape(word);
            Regex::new(&format!("(?i){}{escaped}{}", edge(is_word(first)), edge(is_word(last))))
        };
        let patterns = words.iter().map(pattern).collect::<Result<_, _>>();
        patterns.map_err(|error| wrong(format!("these words are too long: {error}")))
    }
}

/// A regular expression, or in one line what is wrong with it.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default();
        format!("not a regular expression: {}", last.trim_start_matches("error: "))
    })
}

fn wrong(message: impl Into<String>) -> ValidatorError {
    ValidatorError::Settings(message.into())
}

fn needed<T>(setting: Option<T>, message: &str) -> Result<T, ValidatorError> {
    setting.ok_or_else(|| wrong(message))
}

/// Ends of sentences that are followed by something else, and the end of the text.
fn sentences(text: &str) -> usize {
    let ended = text.split_inclusive(['.', '!', '?', '。', '！', '？']);
    ended.filter(|sentence| sentence.chars().any(char::is_alphanumeric)).count()
}

/// What tells who or where somebody is: addresses of mail, telephone numbers, numbers of cards and of social security.
fn personal() -> Vec<Regex> {
    let patterns = [
        r"(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}\b",
        r"\b\d{3}-\d{2}-\d{4}\b",
        r"\b(?:\d[ -]?){12,18}\d\b",
        r"(?:\+\d{1,3}[ .-]?)?\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b",
        r"\+\d{1,3}(?:[ .-]?\d{2,4}){3,5}\b",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
}
