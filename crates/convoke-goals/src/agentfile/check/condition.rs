//! Checks conditions: resolves their variables and types their values.

use serde_json::Value;

use super::Checker;
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::{Condition, Test, TestKind, Type, VariableId};
use crate::agentfile::syntax::{self, Operator, Spanned};

impl Checker<'_> {
    /// The condition, and where its tests are. Tests with mistakes are left out.
    pub(super) fn condition(
        &mut self,
        condition: Option<&Spanned<syntax::Condition>>,
    ) -> (Option<Condition>, Vec<Span>) {
        let Some(condition) = condition else { return (None, Vec::new()) };
        let mut places = Vec::new();
        let any = condition.value.any.iter().map(|all| {
            let tests = all.iter().filter_map(|test| {
                let checked = self.test(&test.value)?;
                places.push(test.value.variable.span);
                Some(Condition::Test(checked))
            });
            Condition::all(tests)
        });
        let condition = Condition::any(any);
        (Some(condition), places)
    }

    fn test(&mut self, test: &syntax::Test) -> Option<Test> {
        let name = &test.variable.value;
        let span = test.variable.span;
        let variable = self.looked_up(name, span)?;
        if self.names.variables[variable.0].secret {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::SecretShown,
                    span,
                    format!("`${name}` is a secret and cannot be in a condition"),
                )
                .label("whether the goal was run would tell something of it")
                .help("use another input for the decision")
            });
            return None;
        }
        let ty = self.names.variables[variable.0].ty.clone();
        let kind = match test.operator {
            Operator::True | Operator::False => {
                if ty != Type::Bool {
                    self.not_a_bool(name, span, &ty);
                    return None;
                }
                TestKind::In(vec![Value::Bool(test.operator == Operator::True)])
            }
            Operator::Is | Operator::In => TestKind::In(self.values(name, &ty, &test.values)?),
            Operator::IsNot | Operator::NotIn => TestKind::NotIn(self.values(name, &ty, &test.values)?),
            Operator::Contains => {
                let part = match &ty {
                    Type::List(inner) => inner.as_ref().clone(),
                    Type::String => Type::String,
                    _ => {
                        self.wrong_test(name, span, &ty, "a list or a text", "`CONTAINS`");
                        return None;
                    }
                };
                TestKind::Contains(self.values(name, &part, &test.values)?.pop()?)
            }
            Operator::Compare(comparison) => {
                if !matches!(ty, Type::Int | Type::Number) {
                    self.wrong_test(name, span, &ty, "a number", &format!("`{}`", comparison.sign()));
                    return None;
                }
                let bound = self.values(name, &Type::Number, &test.values)?.pop()?;
                TestKind::Compare(comparison, bound.as_f64()?)
            }
        };
        Some(Test { variable, kind })
    }

    /// A variable that is used outside of a text. If there is none, that is reported.
    pub(super) fn looked_up(&mut self, name: &str, span: Span) -> Option<VariableId> {
        let variable = self.names.variable(name);
        match variable {
            Some(variable) => self.used[variable.0] = true,
            None => self.diagnostics.error(|| self.names.no_variable(name, span, name.contains('-'))),
        }
        variable
    }

    /// The values a variable is compared with, if all of them are values it can have.
    fn values(&mut self, name: &str, ty: &Type, written: &[Spanned<String>]) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        for value in written {
            match ty.read(&value.value) {
                Ok(value) => values.push(value),
                Err(why) => self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::BadValue,
                        value.span,
                        format!("`${name}` is never `{}`", value.value),
                    )
                    .label(why)
                    .suggest(ty.nearest(&value.value), crate::agentfile::model::written)
                    .help(format!("its type is `{ty}`"))
                }),
            }
        }
        (values.len() == written.len()).then_some(values)
    }

    fn not_a_bool(&mut self, name: &str, span: Span, ty: &Type) {
        let (define, defined) = (self.how_to_type(name, "bool"), self.defined(name));
        self.diagnostics.error(|| {
            Diagnostic::new(
                Code::BadValue,
                span,
                format!("`${name}` is not `true` or `false`, but {}", ty.in_words()),
            )
            .label("cannot be a condition by itself")
            .related(defined, "defined here")
            .help(format!("compare it, for instance `WHEN ${name} IS yes`, or make it a `bool`: {define}"))
        });
    }

    fn wrong_test(&mut self, name: &str, span: Span, ty: &Type, needed: &str, sign: &str) {
        let wanted = if needed == "a number" { "int" } else { "[string]" };
        let (define, defined) = (self.how_to_type(name, wanted), self.defined(name));
        self.diagnostics.error(|| {
            Diagnostic::new(
                Code::BadValue,
                span,
                format!("{sign} needs {needed}, and `${name}` is {}", ty.in_words()),
            )
            .label("cannot be compared like this")
            .related(defined, "defined here")
            .help(format!("give it a type: {define}"))
        });
    }

    /// How a variable gets a type.
    fn how_to_type(&self, name: &str, ty: &str) -> String {
        let input = self.names.variable(name).is_some_and(|id| self.names.variables[id.0].input);
        if input { format!("`INPUT {name}:{ty}`") } else { format!("`-> {name}:{ty}`") }
    }

    fn defined(&self, name: &str) -> Span {
        self.names.variable(name).map_or(Span::default(), |id| self.names.defined[id.0])
    }
}
