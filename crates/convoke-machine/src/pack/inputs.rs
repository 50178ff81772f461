//! The inputs of a pack: what the prompts that are used declare and use, a name's declarations taken together.
//!
//! A run checks a value against every prompt that is used. So a name must be given if one of them must have it, and has the type that all
//! of them can do with.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::CompiledPack;
use super::model::Variable;
use super::variables::{CompiledVariable, TYPES};
use crate::finding::{Finding, child};

/// The type of what is used and not declared, until somebody declares it.
const UNDECLARED: &str = "";

/// Something that a pack is given.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackInput<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type, as packs call it.
    pub ty: &'a str,
    /// What holds where it is not given; `None` if it must be.
    pub default: Option<Value>,
}

impl Serialize for PackInput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut input = json!({"name": self.name, "type": self.ty, "required": self.default.is_none()});
        if let Some(default) = &self.default {
            input["default"] = default.clone();
        }
        input.serialize(serializer)
    }
}

impl CompiledPack {
    /// Returns what it is given, in the order in which its prompts declare it: those that are used and not declared as well.
    #[must_use]
    pub fn inputs(&self) -> Vec<PackInput<'_>> {
        let (mut inputs, used): (Vec<PackInput<'_>>, _) = (Vec::new(), self.tasks_in_use());
        for (_, prompt) in self.prompts().iter().filter(|(task, _)| used.contains(task.as_str())) {
            let undeclared = prompt.undeclared().into_iter();
            let undeclared = undeclared.map(|name| PackInput { name, ty: UNDECLARED, default: None });
            for own in prompt.variables.iter().map(declared).chain(undeclared) {
                let Some(known) = inputs.iter_mut().find(|known| known.name == own.name) else {
                    inputs.push(own);
                    continue;
                };
                // Where only one of several prompts is talked with, a text stands for what each of them wants.
                known.ty = common(known.ty, own.ty).unwrap_or("string");
                known.default = match (known.default.take(), own.default) {
                    (Some(Value::Null), other) => other,
                    (known, other) => known.filter(|_| other.is_some()),
                };
            }
        }
        for input in inputs.iter_mut().filter(|input| input.ty == UNDECLARED) {
            input.ty = "string";
        }
        inputs
    }

    /// Whether only one of several prompts is talked with, and whoever begins says which.
    #[must_use]
    pub fn chooses_prompt(&self) -> bool {
        self.workflow().is_none() && self.entry().is_none() && self.only_composition().is_none()
    }

    /// Finds variables of several prompts that no value is right for, and those whose defaults differ.
    pub(super) fn check_inputs(&self, findings: &mut Vec<Finding>) {
        if self.chooses_prompt() {
            return;
        }
        let used = self.tasks_in_use();
        // Of declarations that are alike the first is enough: many prompts have the same variables.
        let mut known: HashMap<&str, Vec<(String, &Variable)>> = HashMap::new();
        for (task, prompt) in self.prompts().iter().filter(|(task, _)| used.contains(task.as_str())) {
            for (number, own) in prompt.variables.iter().map(|own| &own.declaration).enumerate() {
                let (name, place) = (&own.name, format!("{}/variables/{number}", child("/prompts", task)));
                let others = known.entry(name).or_default();
                let differs = |(_, other): &&(String, &Variable)| {
                    other.default.is_some() && own.default.is_some() && other.default != own.default
                };
                if let Some((other, declared)) =
                    others.iter().find(|(_, other)| common(&other.ty, &own.ty).is_none())
                {
                    let message = format!(
                        "`{name}` is of type {} here and of type {} at {other}: no value is both, and both prompts are given the same",
                        own.ty, declared.ty
                    );
                    let finding = Finding::error("conflicting-types", child(&place, "type"), message);
                    let finding = finding.help("write the same type, or give one of them another name");
                    findings.push(finding.needs(child(other, "type")));
                } else if let Some((other, declared)) = others.iter().find(differs) {
                    let [mine, theirs] = [own, declared].map(|it| it.default.clone().unwrap_or_default());
                    let message = format!(
                        "`{name}` is {mine} here and {theirs} at {other}: each prompt takes its own if nothing is given"
                    );
                    findings.push(Finding::warning(
                        "conflicting-defaults",
                        child(&place, "default"),
                        message,
                    ));
                }
                if !others.iter().any(|(_, other)| (&other.ty, &other.default) == (&own.ty, &own.default)) {
                    others.push((place, own));
                }
            }
        }
    }
}

/// A variable as an input.
fn declared(variable: &CompiledVariable) -> PackInput<'_> {
    let declared = &variable.declaration;
    let default = declared.default.clone().or_else(|| (!declared.required).then_some(Value::Null));
    PackInput { name: &declared.name, ty: &declared.ty, default }
}

/// The type of what is of both types. Types that nobody knows are not checked.
fn common<'t>(one: &'t str, other: &'t str) -> Option<&'t str> {
    let is_known = |ty: &str| TYPES.contains(&ty);
    match (one, other) {
        _ if one == other || !is_known(other) => Some(one),
        _ if !is_known(one) => Some(other),
        ("integer", "number") | ("number", "integer") => Some("integer"),
        _ => None,
    }
}
