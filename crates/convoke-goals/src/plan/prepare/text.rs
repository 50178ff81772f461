//! Resolves the variables of texts, conditions and limits.

use super::Preparer;
use super::location::NodeLocation;
use crate::agentfile::Template;
use crate::agentfile::model::{Condition, Test, TestKind, Type, Within};
use crate::agentfile::template::{TemplatePart, candidates, parts};
use crate::plan::problem::ProblemKind;
use crate::tree::{Name, Text};

impl Preparer<'_> {
    /// A text, read. What is missing in it is reported.
    pub(super) fn text(&mut self, text: &Text, place: &NodeLocation, which: &'static str) -> Template<Name> {
        if text.is_blank() {
            self.problems.add(place, ProblemKind::NoText { text: which });
        }
        match text {
            Text::Written(written) => self.written(written, place),
            Text::Read(template) => {
                for variable in template.variables() {
                    self.must_be_value(variable, place);
                }
                template.clone()
            }
        }
    }

    fn written(&mut self, text: &str, place: &NodeLocation) -> Template<Name> {
        let mut template = Template::default();
        for part in parts(text) {
            match part {
                TemplatePart::Text(piece) => template.push_text(piece),
                TemplatePart::Dollar => template.push_text("$"),
                TemplatePart::Closed { name, .. } => match self.symbols.name(name) {
                    Some(name) => template.push_variable(name.clone()),
                    None => self.must_be_value(name, place),
                },
                TemplatePart::Open { longest, .. } => {
                    match candidates(longest).find_map(|name| self.symbols.name(name)) {
                        Some(name) => {
                            template.push_variable(name.clone());
                            template.push_text(&longest[name.len()..]);
                        }
                        // Without a hyphen, if there is none that makes a name of it.
                        None => self.must_be_value(candidates(longest).last().unwrap_or(longest), place),
                    }
                }
            }
        }
        template
    }

    fn must_be_value(&mut self, name: &str, place: &NodeLocation) {
        if self.symbols.get(name).is_none() {
            self.problems.add(place, self.symbols.unknown(name));
        }
    }

    /// A condition; tests that make no sense are reported and taken to hold.
    pub(super) fn condition(
        &mut self,
        condition: Option<&Condition<Name>>,
        place: &NodeLocation,
    ) -> Option<Condition<Name>> {
        let sensible = condition?.replace(&mut |test| match self.why_not(test) {
            None => Condition::Test(test.clone()),
            Some(problem) => {
                self.problems.add(place, problem);
                Condition::all([])
            }
        });
        Some(sensible)
    }

    fn why_not(&self, test: &Test<Name>) -> Option<ProblemKind> {
        let variable = &test.variable;
        let Some(symbol) = self.symbols.get(variable) else { return Some(self.symbols.unknown(variable)) };
        if symbol.secret {
            let why =
                "is in a condition, and whether something was done would tell of it; decide by another input";
            return Some(ProblemKind::SecretShown { input: variable.clone(), why });
        }
        let never = |values: &[serde_json::Value], ty: &Type| {
            let strange = values.iter().find(|value| !ty.admits(value))?;
            Some(format!("is never `{strange}`"))
        };
        let why = match (&test.kind, &symbol.ty) {
            (TestKind::In(values) | TestKind::NotIn(values), ty) => never(values, ty),
            (TestKind::Contains(part), Type::List(inner)) => never(std::slice::from_ref(part), inner),
            (TestKind::Contains(part), Type::String) if part.is_string() => None,
            (TestKind::Contains(_), Type::String) => Some("has only text in it".to_owned()),
            (TestKind::Contains(_), _) => {
                Some("has nothing in it to look for; that needs a list or a text".to_owned())
            }
            (TestKind::Compare(..), Type::Int | Type::Number) => None,
            (TestKind::Compare(..), _) => {
                Some("cannot be compared with a number; give it the type `int`".to_owned())
            }
        };
        let bad = |why| ProblemKind::BadTest { variable: variable.clone(), ty: symbol.ty.clone(), why };
        why.map(bad)
    }

    /// How often at most.
    pub(super) fn within(&mut self, within: &Within<Name>, place: &NodeLocation) -> Within<Name> {
        let bad = |why: String| ProblemKind::BadLimit { why };
        let problem = match within {
            Within::Times(0) => Some(bad("'within' must be > 0: how often it may be improved on".into())),
            Within::Times(_) => None,
            Within::Variable(name) => match self.symbols.get(name) {
                None => Some(self.symbols.unknown(name)),
                Some(symbol) if symbol.secret => Some(ProblemKind::SecretShown {
                    input: name.clone(),
                    why: "cannot be a limit: everybody sees how often something is done",
                }),
                Some(symbol) if !matches!(symbol.ty, Type::Int | Type::String) => Some(bad(format!(
                    "${name} is {}, and 'within' needs a whole number",
                    symbol.ty.in_words()
                ))),
                Some(_) => {
                    let input = self.inputs.iter().find(|input| input.name == *name);
                    let default = input.and_then(|input| input.default.as_ref());
                    default.filter(|value| times(value).is_none()).map(|value| {
                        bad(format!(
                            "the default of ${name}, `{value}`, cannot be a number of times; it must be {}",
                            times_in_words()
                        ))
                    })
                }
            },
        };
        if let Some(problem) = problem {
            self.problems.add(place, problem);
        }
        within.clone()
    }
}

/// What a number of times must be.
pub(crate) fn times_in_words() -> String {
    format!("a whole number above 0 and at most {}", u32::MAX)
}

/// The number of times that a value stands for: a whole number above 0, perhaps written as text.
pub(crate) fn times(value: &serde_json::Value) -> Option<u32> {
    let times = match value {
        serde_json::Value::String(text) => text.trim().parse().ok()?,
        other => u32::try_from(other.as_u64()?).ok()?,
    };
    (times > 0).then_some(times)
}
