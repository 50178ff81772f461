//! Texts with places for values: `{{name}}`, `{{user.profile.name}}`, `{{items[0].title}}`.
//!
//! A template is parsed once. What is put in is never looked at again, so no value can ask for another one.

use std::fmt;

use convoke_core::json_text;
use serde_json::Value;

/// A text with places for values.
///
/// ```
/// use convoke_machine::pack::template::{Template, rendered};
/// use serde_json::json;
///
/// let template = Template::parse("Hello, {{user.names[0]}}!");
/// let values = json!({"user": {"names": ["Ada"]}});
/// let text = template.render(&mut |path| path.find(&values).map(rendered));
/// assert_eq!(text.as_deref(), Ok("Hello, Ada!"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Itself.
    Text(String),
    /// A value.
    Value(Path),
    /// Something between braces that names no value, such as `{{ name }}` or `{{#if x}}`.
    Unknown(String),
}

/// The name of a value, and the way to a part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    written: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Name(String),
    Index(usize),
}

/// A template has places for which there are no values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no value for {}", .0.join(", "))]
pub struct Unresolved(pub Vec<String>);

impl Template {
    /// Takes a text apart. Every text is a template: braces that are never closed are text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::delimited(text, "{{", "}}", Path::parse)
    }

    /// Takes a text apart whose places are between these.
    pub(super) fn delimited(
        text: &str,
        open: &str,
        close: &str,
        parse: impl Fn(&str) -> Option<Path>,
    ) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(open)
            && let Some((inside, after)) = after.split_once(close)
        {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(parse(inside).map_or_else(|| Part::Unknown(inside.to_owned()), Part::Value));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Self { parts }
    }

    /// Its parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The values it has places for.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().filter_map(|part| if let Part::Value(path) = part { Some(path) } else { None })
    }

    /// Puts values in.
    ///
    /// # Errors
    /// If there is no value for some of the places: all of them.
    pub fn render(&self, look: &mut dyn FnMut(&Path) -> Option<String>) -> Result<String, Unresolved> {
        let mut text = String::new();
        let mut missing = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Value(path) => match look(path) {
                    Some(value) => text.push_str(&value),
                    None => missing.push(format!("{{{{{path}}}}}")),
                },
                Part::Unknown(inside) => missing.push(format!("{{{{{inside}}}}}")),
            }
        }
        missing.dedup();
        if missing.is_empty() { Ok(text) } else { Err(Unresolved(missing)) }
    }

    /// This template with another one in the place of some values.
    pub(super) fn expanded(&self, look: &mut dyn FnMut(&Path) -> Option<Template>) -> Self {
        let expanded = |part: &Part| {
            let template = if let Part::Value(path) = part { look(path) } else { None };
            template.map_or_else(|| vec![part.clone()], |template| template.parts)
        };
        Self { parts: self.parts.iter().flat_map(expanded).collect() }
    }

    /// This template and others after it.
    pub(super) fn followed_by(mut self, others: impl IntoIterator<Item = Template>) -> Self {
        self.parts.extend(others.into_iter().flat_map(|other| other.parts));
        self
    }
}

impl Path {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
            if !is_name(name) {
                return None;
            }
            steps.push(Step::Name(name.to_owned()));
            while let Some(inside) = indices.strip_prefix('[') {
                let (index, rest) = inside.split_once(']')?;
                steps.push(Step::Index(index.parse().ok()?));
                indices = rest;
            }
            if !indices.is_empty() {
                return None;
            }
        }
        Some(Self { written: text.to_owned(), steps })
    }

    /// Returns it as it stands between the braces.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Its first name: `user` of `user.profile.name`.
    #[must_use]
    pub fn root(&self) -> &str {
        if let Some(Step::Name(name)) = self.steps.first() { name } else { "" }
    }

    /// Returns what follows a first name: `sha` of `artifacts.sha`.
    #[must_use]
    pub fn under(&self, root: &str) -> Option<&str> {
        self.written.strip_prefix(root)?.strip_prefix('.')
    }

    /// The value at the end of the way; one that is called by the whole path takes precedence.
    #[must_use]
    pub fn find<'a>(&self, values: &'a Value) -> Option<&'a Value> {
        values.get(&self.written).or_else(|| self.walk(0, values))
    }

    /// The part of a value that is left after the first so many steps of the way.
    pub(crate) fn walk<'a>(&self, done: usize, value: &'a Value) -> Option<&'a Value> {
        self.steps.get(done..)?.iter().try_fold(value, |value, step| match step {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.get(index),
        })
    }

    /// Whether its second name is this.
    pub(crate) fn continues_with(&self, second: &str) -> bool {
        matches!(self.steps.get(1), Some(Step::Name(name)) if name == second)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

/// A value as it stands in a text: texts as they are, numbers without exponents, nothing for null, JSON for anything larger.
#[must_use]
pub fn rendered(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        other => json_text(other),
    }
}
