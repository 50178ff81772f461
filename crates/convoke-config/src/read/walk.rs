//! Walks the tables of a file along the schema.

use std::collections::HashSet;
use std::ops::Range;

use convoke_models::choose::Service;
use convoke_text::keyed::{self, called, joined, listed};
use convoke_text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use url::Url;

use super::text::Base;
use super::toml_value::value;
use crate::Value;
use crate::schema::{KEYS, KNOWN_ELSEWHERE, Key, ValueKind};

/// A setting as it was parsed, before its origin is known.
pub(super) struct ParsedSetting {
    pub(super) name: String,
    pub(super) key: &'static Key,
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

/// A problem in a file, before there is a text to point into.
pub(super) struct FileProblem {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) label: String,
    pub(super) advice: Vec<String>,
    /// What to write at the place.
    pub(super) replacement: Option<String>,
}

/// The walk through a file: the settings and problems found so far.
pub(super) struct Walk<'a> {
    base: Base<'a>,
    pub(super) found: Vec<ParsedSetting>,
    pub(super) problems: Vec<FileProblem>,
    /// Texts that may be shown.
    pub(super) harmless: Vec<Range<usize>>,
    /// Services that were met.
    services: HashSet<&'static str>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(base: Base<'a>) -> Self {
        Self { base, found: Vec::new(), problems: Vec::new(), harmless: Vec::new(), services: HashSet::new() }
    }

    /// Goes through a table. `pattern` is what the schema calls the place, `name` what the file does.
    pub(super) fn table(&mut self, table: &DeTable<'_>, pattern: &str, name: &str) {
        for (key, written) in keyed::in_order(table) {
            self.entry(key, written, pattern, name);
        }
    }

    fn entry(
        &mut self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        written: &Spanned<DeValue<'_>>,
        pattern: &str,
        name: &str,
    ) {
        let own = key.get_ref().as_ref();
        let children = children(pattern);
        let is_any = children == ["*"];
        if !is_any && !children.contains(&own) {
            self.problems.push(unknown(key.span(), own, name, &children));
            return;
        }
        let own = match (pattern, Service::named(own)) {
            ("services", None) => return self.problems.push(unknown_service(key.span(), own)),
            ("services", Some(service)) if !self.services.insert(service.name) => {
                let message = format!("there are two sections for the service `{}`", service.name);
                return self.problems.push(FileProblem::new(key.span(), message));
            }
            ("services", Some(service)) => service.name,
            _ => own,
        };
        if is_any && (own.is_empty() || own.contains(['.', ' ']) || own.contains(char::is_control)) {
            self.problems.push(FileProblem::new(key.span(), "a name has no dots and no spaces in it"));
            return;
        }
        let pattern = joined(pattern, if is_any { "*" } else { own });
        let name = joined(name, own);
        match (KEYS.iter().find(|key| key.path == pattern), written.get_ref()) {
            (Some(key), _) => self.leaf(key, name, written),
            (None, DeValue::Table(inner))
                if inner.is_empty() && ["profiles.*", "mcp.servers.*"].contains(&&*pattern) =>
            {
                let mut problem = FileProblem::new(key.span(), format!("there is nothing in `{name}`"));
                let advice = match &*pattern {
                    "profiles.*" => "say which model it is: model = \"service/model\"",
                    _ => "say how to reach it: command = \"…\", or url = \"https://…\"",
                };
                problem.advice.push(advice.to_owned());
                self.problems.push(problem);
            }
            (None, DeValue::Table(inner)) => self.table(inner, &pattern, &name),
            (None, other) => {
                let message = format!("`{name}` is a section, not {}", called(other));
                let mut problem = FileProblem::new(key.span(), message);
                let keys: Vec<_> = self::children(&pattern);
                problem.advice.push(format!("write [{name}] and below it {}", listed(&keys)));
                self.problems.push(problem);
            }
        }
    }

    fn leaf(&mut self, key: &'static Key, name: String, written: &Spanned<DeValue<'_>>) {
        let may_show = match key.kind {
            ValueKind::Address => written.get_ref().as_str().is_some_and(is_harmless),
            kind => !kind.is_secret(),
        };
        if may_show {
            strings(written, &mut self.harmless);
        }
        match value(key.kind, written, self.base) {
            Ok(value) => self.found.push(ParsedSetting { name, key, value, span: written.span() }),
            Err(wrong) => self.problems.extend(wrong.into_iter().map(|wrong| FileProblem {
                span: wrong.span,
                message: format!("`{name}`: {}", wrong.problem.message),
                label: String::new(),
                advice: wrong.advice.into_iter().collect(),
                replacement: wrong.problem.meant.map(|meant| format!("\"{meant}\"")),
            })),
        }
    }
}

impl FileProblem {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        let (message, label) = (message.into(), String::new());
        Self { span, message, label, advice: Vec::new(), replacement: None }
    }
}

/// Whether an address has no password in it, nor anything that may have been meant to be one.
fn is_harmless(address: &str) -> bool {
    match Url::parse(address) {
        Ok(url) => url.username().is_empty() && url.password().is_none() && url.query().is_none(),
        Err(_) => !address.contains([':', '@', '?']),
    }
}

/// What the schema has directly below a place, in its order.
fn children(pattern: &str) -> Vec<&'static str> {
    keyed::children(KEYS.iter().map(|key| key.path), pattern)
}

fn unknown(span: Range<usize>, own: &str, place: &str, children: &[&str]) -> FileProblem {
    let mut problem = FileProblem::new(span, format!("there is no key `{}`", joined(place, own)));
    problem.label = "unknown".to_owned();
    let elsewhere = KNOWN_ELSEWHERE.iter().find(|(theirs, ours)| *theirs == own && children.contains(ours));
    let secret =
        ["key", "token", "secret", "password"].iter().any(|word| own.to_ascii_lowercase().contains(word));
    if let Some(near) = nearest(own, children.iter().copied()) {
        problem.replacement = Some(near.to_owned());
    } else if let Some((_, ours)) = elsewhere {
        problem.advice.push(format!("it is called `{}` here", joined(place, ours)));
    } else if secret {
        problem.advice.push(
            "keys belong into the environment or into credentials.toml, which only its owner can read"
                .to_owned(),
        );
    } else if let Some(section) = elsewhere_in_file(own, place) {
        problem.advice.push(format!("there is `{section}`"));
    } else {
        problem.advice.push(format!("there {}", are(children)));
    }
    problem
}

/// A key of this name in another section.
fn elsewhere_in_file(own: &str, place: &str) -> Option<&'static str> {
    let is_it = |key: &&Key| key.path.rsplit('.').next() == Some(own) && key.section() != place;
    KEYS.iter().find(is_it).map(|key| key.path)
}

fn unknown_service(span: Range<usize>, own: &str) -> FileProblem {
    let known: Vec<_> = Service::ALL.iter().map(|service| service.name).collect();
    let mut problem = FileProblem::new(span, format!("there is no service `{own}`"));
    problem.label = "unknown".to_owned();
    match nearest(own, known.iter().copied()) {
        Some(near) => problem.replacement = Some(near.to_owned()),
        None => problem.advice.push(format!("there {}", are(&known))),
    }
    problem
}

fn are(names: &[&str]) -> String {
    format!("{} {}", if names.len() == 1 { "is" } else { "are" }, listed(names))
}

/// The places of all texts in a value.
pub(super) fn strings(value: &Spanned<DeValue<'_>>, places: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::String(_) => places.push(value.span()),
        DeValue::Array(items) => items.iter().for_each(|item| strings(item, places)),
        DeValue::Table(table) => table.values().for_each(|item| strings(item, places)),
        _ => {}
    }
}
