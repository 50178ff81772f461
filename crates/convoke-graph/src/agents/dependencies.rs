//! Dependencies of strategies, by name and type.

use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The dependencies of strategies, by name and type.
///
/// ```
/// use convoke_graph::agents::{Dependencies, DependencyError};
///
/// let given = Dependencies::default().with("limit", 7_u32);
/// assert_eq!(*given.get::<u32>("limit").unwrap(), 7);
/// assert!(matches!(given.get::<String>("limit"), Err(DependencyError::WrongType { .. })));
/// assert!(matches!(given.get::<u32>("other"), Err(DependencyError::Missing { .. })));
/// ```
#[derive(Clone, Default)]
pub struct Dependencies(BTreeMap<String, Arc<dyn Any + Send + Sync>>);

/// The reasons why a dependency cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DependencyError {
    /// Nobody has given it.
    #[error("dependency `{key}` is not there; give it with `Dependencies::with(\"{key}\", …)`")]
    Missing {
        /// Its name.
        key: String,
    },
    /// It is something else.
    #[error("dependency `{key}` is not a `{wanted}`")]
    WrongType {
        /// Its name.
        key: String,
        /// What was asked for.
        wanted: &'static str,
    },
}

impl Dependencies {
    /// Adds one, instead of another of that name.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, key: impl Into<String>, value: T) -> Self {
        self.0.insert(key.into(), Arc::new(value));
        self
    }

    /// The one of a name.
    ///
    /// # Errors
    /// If there is none, or it is of another type.
    pub fn get<T: Any + Send + Sync>(&self, key: &str) -> Result<Arc<T>, DependencyError> {
        let found = self.0.get(key).ok_or_else(|| DependencyError::Missing { key: key.to_owned() })?;
        let typed = Arc::clone(found).downcast::<T>();
        typed.map_err(|_| DependencyError::WrongType { key: key.to_owned(), wanted: type_name::<T>() })
    }
}

impl fmt::Debug for Dependencies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
