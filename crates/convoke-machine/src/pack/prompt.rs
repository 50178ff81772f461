//! A prompt, ready to be used: its template parsed, its fragments in it, its rules compiled.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::eval::merged;
use super::fragment::Fragments;
use super::model::{Eval, Pack, Parameters, Prompt};
use super::template::{Part, Template, Unresolved, rendered};
use super::validator::{Validator, ValidatorError, kinds, regex, settings};
use super::variables::{Bound, CompiledVariable, Violation, Wrong};
use crate::finding::{Finding, child};

/// The names that a state gives to every prompt.
const GIVEN: [&str; 2] = ["artifacts", "workflow_context"];

/// The code of what is found where a validator is left out, because its settings make no sense.
pub const BAD_VALIDATOR: &str = "bad-validator";

/// A prompt, ready to be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompiledPrompt {
    /// What the pack says of it.
    pub declared: Prompt,
    /// What it is given.
    pub variables: Vec<CompiledVariable>,
    /// The rules for what a model says with it. Those that are disabled are not among them; those that make no sense hold in runs that
    /// earlier builds began.
    pub validators: Vec<Validator>,
    /// What is evaluated of it: the pack's evals with its own.
    pub evals: Vec<Eval>,
    template: Template,
    overrides: IndexMap<String, Template>,
    fragment_names: Vec<(Template, bool)>,
    fragments: Arc<Fragments>,
}

/// The values that a state adds to those of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// What has been filled in so far. What has not is empty.
    pub artifacts: BTreeMap<String, String>,
    /// What the state before handed over.
    pub workflow_context: String,
}

/// The reasons why a prompt cannot be written out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// There are places without values.
    #[error("the prompt cannot be written: {0}")]
    Unresolved(#[from] Unresolved),
    /// A fragment that it needs is not there.
    #[error("the prompt cannot be written: there is no fragment `{name}`")]
    MissingFragment {
        /// Its name, with values in it.
        name: String,
    },
}

impl CompiledPrompt {
    pub(super) fn new(
        pack: &Pack,
        declared: &Prompt,
        path: &str,
        fragments: &Arc<Fragments>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let place = child(path, "system_template");
        let template = fragments.expand(&declared.system_template, &place, findings);
        // Where its templates are written, and the names of the values in them.
        let mut written = vec![(place, roots(&template))];
        let mut overrides = IndexMap::new();
        for (model, change) in &declared.model_overrides {
            let place = child(&child(path, "model_overrides"), model);
            let mut part = |name: &str, text: &Option<String>| {
                let place = child(&place, name);
                let template = fragments.expand(text.as_ref()?, &place, findings);
                written.push((place, roots(&template)));
                Some(template)
            };
            let before = part("system_template_prefix", &change.system_template_prefix).unwrap_or_default();
            let instead = part("system_template", &change.system_template);
            let after = part("system_template_suffix", &change.system_template_suffix);
            let middle = instead.unwrap_or_else(|| template.clone());
            overrides.insert(model.clone(), before.followed_by(std::iter::once(middle).chain(after)));
        }
        let prompt = Self {
            variables: variables(declared, path, findings),
            validators: validators(declared, path, findings),
            evals: merged(&pack.evals, &declared.evals),
            fragment_names: declared
                .fragments
                .iter()
                .map(|used| (Template::parse(&used.name), used.required))
                .collect(),
            fragments: fragments.clone(),
            declared: declared.clone(),
            template,
            overrides,
        };
        prompt.unresolvable(path, &written, findings);
        prompt
    }

    /// The names of values that its templates use and that it does not declare, in order.
    #[must_use]
    pub fn undeclared(&self) -> Vec<&str> {
        let templates = std::iter::once(&self.template).chain(self.overrides.values());
        let roots = templates.flat_map(Template::paths).filter(|path| path.under("fragments").is_none());
        let known: HashSet<&str> =
            self.variables.iter().map(|known| known.declaration.name.as_str()).chain(GIVEN).collect();
        let roots = roots.map(super::template::Path::root).filter(|root| !known.contains(root));
        roots.collect::<IndexSet<_>>().into_iter().collect()
    }

    /// The artifacts that its templates use.
    pub fn artifacts(&self) -> impl Iterator<Item = &str> {
        let templates = std::iter::once(&self.template).chain(self.overrides.values());
        templates.flat_map(Template::paths).filter_map(|path| path.under("artifacts"))
    }

    /// Returns how a model is set for it.
    #[must_use]
    pub fn parameters(&self, model: &str) -> Parameters {
        let change = of_model(&self.declared.model_overrides, model).map(|change| change.parameters);
        self.declared.parameters.overridden_by(change.unwrap_or_default())
    }

    /// Checks what it is given, and adds what is not given and has a default.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn bind(&self, given: &Map<String, Value>) -> Result<Bound, Vec<Violation>> {
        let (bound, violations) = self.bound(given);
        if violations.is_empty() { Ok(bound) } else { Err(violations) }
    }

    /// Everything that is wrong with what it is given, and the places that would be left without a value for this model.
    #[must_use]
    pub fn violations(&self, given: &Map<String, Value>, model: &str) -> Vec<Violation> {
        let (bound, mut violations) = self.bound(given);
        let missing = self.undeclared().into_iter().filter(|name| !given.contains_key(*name));
        violations.extend(missing.map(|name| Violation::new(name, Wrong::Missing)));
        let unwritten = match self.system(model, &bound, &Moment::default()) {
            Ok(_) => Vec::new(),
            Err(RenderError::Unresolved(Unresolved(places))) => places,
            Err(RenderError::MissingFragment { name }) => vec![format!("{{{{fragments.{name}}}}}")],
        };
        // Whoever gives what is missing or wrong gives these a value as well.
        let is_told = |place: &str| {
            let inside = place.trim_start_matches('{').split(['.', '[', '}']).next();
            violations.iter().any(|violation| Some(&*violation.variable) == inside)
        };
        let unwritten: Vec<_> = unwritten.into_iter().filter(|place| !is_told(place)).collect();
        violations.extend(unwritten.into_iter().map(|place| Violation::new(place, Wrong::NoValue)));
        violations
    }

    fn bound(&self, given: &Map<String, Value>) -> (Bound, Vec<Violation>) {
        let mut violations = Vec::new();
        let mut values = given.clone();
        for variable in &self.variables {
            let name = &variable.declaration.name;
            // One that may be left out and was is nothing.
            let value = variable.bind(given.get(name), &mut violations).unwrap_or_default();
            values.insert(name.clone(), value);
        }
        (Bound(values), violations)
    }

    /// The system message for a model, with values in it.
    ///
    /// # Errors
    /// If there are no values for some places.
    pub fn system(&self, model: &str, bound: &Bound, moment: &Moment) -> Result<String, RenderError> {
        let values = Value::Object(bound.0.clone());
        let mut look = |path: &super::template::Path| match path.root() {
            "artifacts" if path.under("artifacts").is_some() => {
                let name = path.under("artifacts").unwrap_or_default();
                Some(moment.artifacts.get(name).cloned().unwrap_or_default())
            }
            "workflow_context" => Some(moment.workflow_context.clone()),
            _ => path.find(&values).map(rendered),
        };
        for (name, is_required) in &self.fragment_names {
            let name = name.render(&mut look)?;
            if *is_required && !self.fragments.has(&name) {
                return Err(RenderError::MissingFragment { name });
            }
        }
        let template = of_model(&self.overrides, model).unwrap_or(&self.template);
        Ok(template.render(&mut look)?)
    }

    /// Places that no value can be put into, or that nobody declares.
    fn unresolvable(&self, prompt: &str, written: &[(String, HashSet<String>)], findings: &mut Vec<Finding>) {
        let path = &child(prompt, "system_template");
        for part in self.template.parts() {
            if let Part::Unknown(inside) = part {
                let spaces = |has: bool| if has { " " } else { "" };
                let is_space = char::is_whitespace;
                let (before, after) =
                    (spaces(inside.starts_with(is_space)), spaces(inside.ends_with(is_space)));
                let shown = format!("{before}{}{after}", convoke_text::one_line_of(inside, 40));
                let finding = Finding::warning(
                    "bad-placeholder",
                    path,
                    format!("`{{{{{shown}}}}}` names no value, so the prompt cannot be written"),
                );
                let name = inside.trim();
                findings.push(finding.help(
                    if Template::parse(&format!("{{{{{name}}}}}")).paths().count() == 1 {
                        format!("write `{{{{{name}}}}}`, without spaces")
                    } else {
                        "write a name, with dots and indices: `{{user.names[0]}}`".to_owned()
                    },
                ));
            }
        }
        for name in self.undeclared() {
            let uses = |(_, names): &&(String, HashSet<String>)| names.contains(name);
            let path = written.iter().find(uses).map_or(path, |(path, _)| path);
            let message = format!("`{{{{{name}}}}}` is used and not declared");
            let declared = self.variables.iter().map(|variable| variable.declaration.name.as_str());
            let finding = Finding::warning("undeclared-variable", path, message)
                .help("add it to `variables`; until then it must be given");
            let finding = finding.suggest(name, declared);
            findings.push(finding.sought_in(child(prompt, "variables")).sought_in("/fragments"));
        }
    }
}

/// The names of the values in a template.
fn roots(template: &Template) -> HashSet<String> {
    template.paths().map(|path| path.root().to_owned()).collect()
}

/// What holds for a model, by its name with or without its provider's.
fn of_model<'a, T>(by_model: &'a IndexMap<String, T>, model: &str) -> Option<&'a T> {
    let short = model.rsplit_once('/').map_or(model, |(_, short)| short);
    by_model.get(model).or_else(|| by_model.get(short))
}

fn variables(declared: &Prompt, path: &str, findings: &mut Vec<Finding>) -> Vec<CompiledVariable> {
    let mut compiled: Vec<CompiledVariable> = Vec::new();
    for (index, variable) in declared.variables.iter().enumerate() {
        let place = format!("{path}/variables/{index}");
        if compiled.iter().any(|other| other.declaration.name == variable.name) {
            let message = format!("`{}` is declared twice", variable.name);
            findings.push(Finding::error("duplicate-name", child(&place, "name"), message));
        }
        if variable.required && variable.default.is_some() {
            let message = format!("`{}` has a default, so it need not be given", variable.name);
            let finding = Finding::warning("required-default", child(&place, "default"), message);
            findings.push(finding.help("write \"required\": false, or remove the default"));
        }
        if !super::variables::TYPES.contains(&variable.ty.as_str()) {
            let finding = Finding::warning(
                "unknown-type",
                child(&place, "type"),
                format!("there is no type `{}`, so values are not checked", variable.ty),
            );
            findings.push(finding.suggest(&variable.ty, super::variables::TYPES));
        }
        if !super::variables::fits(variable) {
            let message = format!("the default of `{}` is not of type {}", variable.name, variable.ty);
            let finding = Finding::error("bad-default", child(&place, "default"), message);
            findings.push(finding.needs(child(&place, "type")));
        }
        let pattern = variable.validation.pattern.as_deref().and_then(|pattern| {
            let compiled = regex(pattern);
            if let Err(message) = &compiled {
                findings.push(Finding::error("bad-pattern", format!("{place}/validation/pattern"), message));
            }
            compiled.ok()
        });
        let variable = CompiledVariable { declaration: variable.clone(), pattern };
        for broken in variable.declaration.default.iter().flat_map(|default| variable.broken_rules(default)) {
            let message =
                format!("the default of `{}` breaks its own rule: it {broken}", variable.declaration.name);
            let finding = Finding::warning("bad-default", child(&place, "default"), message);
            findings.push(finding.help("change one of them; until then the variable must be given"));
        }
        compiled.push(variable);
    }
    compiled
}

fn validators(declared: &Prompt, path: &str, findings: &mut Vec<Finding>) -> Vec<Validator> {
    let mut compiled = Vec::new();
    for (index, spec) in declared.validators.iter().enumerate().filter(|(_, spec)| spec.enabled) {
        let place = format!("{path}/validators/{index}");
        let known = settings(&spec.kind);
        let is_known = kinds().any(|kind| kind == spec.kind);
        let is_setting = |name: &&String| known.clone().any(|known| known == *name);
        for name in spec.params.keys().filter(|name| is_known && !is_setting(name)) {
            let message = format!("`{name}` is not a setting of a `{}`", spec.kind);
            let finding = Finding::warning("unknown-field", format!("{place}/params/{name}"), message);
            findings.push(finding.help("it is kept, and has no effect").suggest(name, known.clone()));
        }
        match Validator::new(spec) {
            Ok(validator) => compiled.push(validator),
            Err(ValidatorError::Unknown { kind }) => {
                let message = format!("there is no validator `{kind}`");
                let finding = Finding::error("unknown-validator", child(&place, "type"), message);
                let mut known: Vec<&str> = kinds().collect();
                known.sort_unstable();
                let finding = finding.help(format!("there are {}", known.join(", ")));
                findings.push(finding.suggest(&kind, known));
            }
            Err(ValidatorError::Settings(message)) => {
                let finding = Finding::warning(BAD_VALIDATOR, &place, message).needs(child(&place, "params"));
                findings.push(finding.help("until this is right, the validator is left out"));
                compiled.extend(Validator::of_earlier_builds(spec));
            }
        }
    }
    compiled
}
