//! Inputs of a workflow as people give them: texts by name, files, a JSON object.
//!
//! Whatever is wrong is said all at once. The value of a secret is never shown.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use convoke_goals::Values;
use convoke_goals::agentfile::model::Input;
use convoke_history::text;
use convoke_text::{nearest, read_bounded};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::definition::Definition;

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Files that are standard input by another name.
const ITS_FILES: &[&str] = &["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// No input is larger: it goes into prompts.
const LARGEST: u64 = 8 * 1024 * 1024;

/// How much of a value is shown.
const SHOWN: usize = 40;

/// A value as somebody gave it.
#[derive(Debug, Clone, PartialEq)]
enum Supplied {
    Text(String),
    Json(Value),
    /// It cannot be had, and why.
    Missing(String),
}

/// The inputs that were given, not yet compared with those that are wanted.
///
/// ```
/// use convoke_host::GivenInputs;
///
/// let given = GivenInputs::read(&["topic=looms".to_owned(), "=7".to_owned()], None, None);
/// let wrong = given.values(&[]).unwrap_err();
/// assert_eq!(wrong.problems, ["`=7` has no name: write name=value", "`topic` is not an input: the file has none"]);
/// ```
#[derive(Debug, Default)]
pub struct GivenInputs {
    values: Vec<(String, Supplied)>,
    problems: Vec<String>,
}

impl GivenInputs {
    /// Reads texts of the form `name=value`, the files they name (`name=@file`), and a file with a JSON object, over which they take
    /// precedence. `read_before` has been read before, perhaps from standard input, which can be read once.
    #[must_use]
    pub fn read(pairs: &[String], object_file: Option<&Path>, read_before: Option<&Path>) -> Self {
        let mut given = Self::default();
        let mut standard_input = read_before.filter(|file| is_standard_input(file)).map(drop);
        if let Some(file) = object_file {
            match object(file, &mut standard_input) {
                Ok(Members(members)) => members.into_iter().for_each(|(name, value)| {
                    if given.values.iter().any(|(other, _)| *other == name) {
                        given.twice(&name);
                    }
                    given.set(name, Supplied::Json(value));
                }),
                Err(problem) => given.problems.push(problem),
            }
        }
        let mut named = HashSet::new();
        for input in pairs {
            match one(input, &mut standard_input) {
                Ok((name, _)) if named.contains(&name) => given.twice(&name),
                Ok((name, value)) => {
                    named.insert(name.clone());
                    given.set(name, value);
                }
                Err(problem) => given.problems.push(problem),
            }
        }
        given
    }

    /// Values that are there as JSON.
    #[must_use]
    pub fn of_json(values: &serde_json::Map<String, Value>) -> Self {
        let supplied = values.iter().map(|(name, value)| (name.clone(), Supplied::Json(value.clone())));
        Self { values: supplied.collect(), problems: Vec::new() }
    }

    fn twice(&mut self, name: &str) {
        self.problems.push(format!("{} is given twice: give it once", text::one_line(name)));
    }

    fn set(&mut self, name: String, value: Supplied) {
        self.values.retain(|(own, _)| *own != name);
        self.values.push((name, value));
    }

    /// Adds the text of an input, or replaces it.
    pub fn set_text(&mut self, name: &str, text: String) {
        self.set(name.to_owned(), Supplied::Text(text));
    }

    /// The inputs that must be given and are not.
    #[must_use]
    pub fn missing<'a>(&self, wanted: &'a [Input]) -> Vec<&'a Input> {
        let is_missing = |input: &&Input| {
            input.default.is_none() && !self.values.iter().any(|(name, _)| *name == input.name)
        };
        wanted.iter().filter(is_missing).collect()
    }

    /// Takes names that nobody asked for down as mistakes, with those that were perhaps meant.
    fn refuse_unknown(&mut self, wanted: &[Input]) {
        let names: Vec<&str> = wanted.iter().map(|input| input.name.as_str()).collect();
        let unknown = self.values.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        let problems = unknown.map(|(name, _)| {
            let shown = text::one_line(name);
            match (nearest(name, names.iter().copied()), &*names) {
                (Some(meant), _) => format!("`{shown}` is not an input: did you mean `{meant}`?"),
                (None, []) => format!("`{shown}` is not an input: the file has none"),
                (None, names) => {
                    format!("`{shown}` is not an input: the file's inputs are {}", names.join(", "))
                }
            }
        });
        let problems: Vec<String> = problems.collect();
        self.problems.extend(problems);
    }

    /// The secrets of a run that goes on: of its inputs only these are given again.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn secrets(mut self, all: &[Input]) -> Result<Values, InvalidInputs> {
        let kept = |name: &str| all.iter().any(|input| input.name == name && !input.secret);
        let kept: Vec<String> =
            self.values.iter().filter(|(name, _)| kept(name)).map(|(name, _)| name.clone()).collect();
        for name in kept {
            self.problems.push(format!(
                "{name} is kept with the run, and cannot be another one now: only secrets are given again"
            ));
            self.values.retain(|(own, _)| *own != name);
        }
        let secrets: Vec<Input> = all.iter().filter(|input| input.secret).cloned().collect();
        self.values(&secrets)
    }

    /// The values of a file's inputs, each of its type and as the file wants it.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn values_for(self, definition: &dyn Definition) -> Result<Values, InvalidInputs> {
        let (values, mut problems) = self.read_values(definition.inputs());
        problems.extend(definition.misfits(&values));
        if problems.is_empty() { Ok(values) } else { Err(InvalidInputs { problems }) }
    }

    /// The values of the inputs, each of its type.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn values(self, wanted: &[Input]) -> Result<Values, InvalidInputs> {
        let (values, problems) = self.read_values(wanted);
        if problems.is_empty() { Ok(values) } else { Err(InvalidInputs { problems }) }
    }

    fn read_values(mut self, wanted: &[Input]) -> (Values, Vec<String>) {
        self.refuse_unknown(wanted);
        let mut values = Values::new();
        for input in wanted {
            let given = self.values.iter().find(|(name, _)| *name == input.name).map(|(_, value)| value);
            match given.map(|given| read(input, given)) {
                Some(Ok(value)) => values.set(&*input.name, value),
                Some(Err(problem)) => self.problems.push(format!("{}: {problem}", input.name)),
                None if input.default.is_none() => {
                    self.problems.push(format!("{} is missing; it is {}", input.name, input.ty.in_words()));
                }
                None => {}
            }
        }
        (values, self.problems)
    }
}

/// Inputs that are wrong or missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", match problems.len() {
    1 => "an input is wrong or missing".to_owned(),
    number => format!("{number} inputs are wrong or missing"),
})]
#[non_exhaustive]
pub struct InvalidInputs {
    /// What is wrong, each in a line.
    pub problems: Vec<String>,
}

/// The beginning of a text, in one line.
fn shown(text: &str) -> String {
    let line = text::one_line(text);
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some(_) => {
            let beginning: String = line.chars().take(SHOWN - 1).collect();
            format!("{}…", beginning.trim_end())
        }
    }
}

/// A value of its input's type.
fn read(input: &Input, given: &Supplied) -> Result<Value, String> {
    let shown = |text: &str| match input.secret {
        true => String::new(),
        false => format!(", not `{}`", self::shown(text)),
    };
    match given {
        Supplied::Text(text) => input.ty.read(text).map_err(|problem| format!("{problem}{}", shown(text))),
        Supplied::Missing(problem) => Err(problem.clone()),
        Supplied::Json(value) if input.ty.admits(value) => Ok(value.clone()),
        Supplied::Json(value) => Err(format!("must be {}{}", input.ty.in_words(), shown(&value.to_string()))),
    }
}

/// `name=value`, with the value as it is, or from where it says.
fn one(input: &str, standard_input: &mut Option<()>) -> Result<(String, Supplied), String> {
    let (name, value) = match input.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value)),
        None => (input.trim(), None),
    };
    if name.is_empty() {
        return Err(format!("`{}` has no name: write name=value", shown(input)));
    }
    let value = match value.map(|value| (value, value.strip_prefix('@'))) {
        None => Supplied::Missing("has no value: write name=value".to_owned()),
        Some((value, None)) => Supplied::Text(value.to_owned()),
        Some((_, Some(escaped))) if escaped.starts_with('@') => Supplied::Text(escaped.to_owned()),
        Some((_, Some(file))) => match contents(Path::new(file), standard_input) {
            Ok(text) => Supplied::Text(text),
            Err(problem) => Supplied::Missing(problem),
        },
    };
    Ok((name.to_owned(), value))
}

/// The members of a JSON object as they stand there, one that is there twice as well: nobody knows which one is meant.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        from.deserialize_map(Object)
    }
}

fn object(file: &Path, standard_input: &mut Option<()>) -> Result<Members, String> {
    let text = contents(file, standard_input)?;
    let is_file = file.as_os_str() != STANDARD_INPUT;
    let name = if is_file { file.display().to_string() } else { "standard input".to_owned() };
    // A parser's message has positions, and nothing of the text: there may be secrets in it.
    serde_json::from_str(&text).map_err(|error| format!("{name} must be a JSON object with inputs: {error}"))
}

/// Whether reading this reads standard input.
fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == STANDARD_INPUT || ITS_FILES.iter().any(|name| file == Path::new(name))
}

/// The text of a file, or of standard input, which can be read once. Both may be without an end, so no more is read than an
/// input may have.
fn contents(file: &Path, standard_input: &mut Option<()>) -> Result<String, String> {
    let is_file = file.as_os_str() != STANDARD_INPUT;
    let name = if is_file { file.display().to_string() } else { "standard input".to_owned() };
    if is_standard_input(file) && standard_input.replace(()).is_some() {
        return Err("standard input can be read only once".to_owned());
    }
    let text = match is_file {
        true => std::fs::File::open(file).and_then(|file| read_bounded(file, LARGEST)),
        false => read_bounded(std::io::stdin(), LARGEST),
    };
    text.map_err(|error| format!("{name} cannot be read: {error}"))
}
