//! Inputs and outputs.

use serde_json::Value;

use super::Name;
use super::setters::setters;
use crate::agentfile::model::Type;

/// A value the workflow is given.
///
/// ```
/// use convoke_goals::{Input, Type};
///
/// let hours = Input::new("hours").typed(Type::Int).default(4);
/// let token = Input::new("token").secret();
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub(crate) name: Name,
    pub(crate) ty: Type,
    pub(crate) default: Option<Value>,
    pub(crate) secret: bool,
}

impl Input {
    /// A text that must be given.
    pub fn new(name: impl Into<Name>) -> Self {
        Self { name: name.into(), ty: Type::String, default: None, secret: false }
    }

    /// Sets the default. An empty text is a default like any other.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Marks it as secret: it is kept out of journals, logs, events and records of prompts.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Returns whether it must be given.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }

    /// Returns whether it is secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

/// A value a goal or an agent is to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub(crate) name: Name,
    pub(crate) ty: Type,
}

impl Output {
    /// A text.
    pub fn new(name: impl Into<Name>) -> Self {
        Self { name: name.into(), ty: Type::String }
    }
}

impl From<&str> for Output {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<(&str, Type)> for Output {
    fn from((name, ty): (&str, Type)) -> Self {
        Self::new(name).typed(ty)
    }
}

setters!(Input { name, ty });
setters!(Output { name, ty });
