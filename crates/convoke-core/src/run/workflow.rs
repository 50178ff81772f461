//! Workflows: a step with a name and a version, ready to be run.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::carryover::Carryover;
use super::prepare::seed_of;
use super::reshape::{Change, Names};
use crate::json_source;
use crate::step::{Outline, SharedStep, Step};
use crate::store::{Batch, Launch, NewRun, RunRecord};
use crate::{Error, Path, RunId};

/// The state of a workflow: plain data that can be stored and read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a workflow",
    label = "not plain data that can be stored and read back",
    note = "derive serde's Serialize and Deserialize: `#[derive(serde::Serialize, serde::Deserialize)]`",
    note = "a state owns what it has (`'static`) and may be sent to another thread (`Send`)"
)]
pub trait State: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> State for T {}

type Migration = Arc<dyn Fn(Value) -> Result<Value, Error> + Send + Sync>;

/// A step that can be run by itself.
///
/// The version belongs to the code: raise it when a change would make old journals diverge, and say how a state of the
/// version before becomes one of the new. A run begun by another version is migrated, or refused; never guessed at.
pub struct Workflow<S> {
    name: Arc<str>,
    version: u32,
    root: SharedStep<S>,
    migrations: BTreeMap<u32, Migration>,
    /// By the version they were made to.
    changes: BTreeMap<u32, Vec<Change>>,
    stored_outline: Arc<OnceLock<Bytes>>,
}

impl<S> Clone for Workflow<S> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            version: self.version,
            root: Arc::clone(&self.root),
            migrations: self.migrations.clone(),
            changes: self.changes.clone(),
            stored_outline: Arc::clone(&self.stored_outline),
        }
    }
}

impl<S: State> Workflow<S> {
    /// Version 1 of a workflow named like its step.
    pub fn new(step: impl Step<S> + 'static) -> Self {
        let name = step.name().into();
        Self {
            name,
            version: 1,
            root: Arc::new(step),
            migrations: BTreeMap::new(),
            changes: BTreeMap::new(),
            stored_outline: Arc::default(),
        }
    }

    /// Gives it another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Says how the initial state of a run begun by version `from` becomes one of version `from + 1`.
    #[must_use]
    pub fn migrate<F>(mut self, from: u32, migration: F) -> Self
    where
        F: Fn(Value) -> Result<Value, Error> + Send + Sync + 'static,
    {
        self.migrations.insert(from, Arc::new(migration));
        self
    }

    /// Says that the step at a path had this name up to version `from`, and is called `now` in the next. Runs that were begun before
    /// go on under the name they know.
    ///
    /// ```
    /// # use convoke_core::{BoxFuture, Error, Scope, Step, Workflow};
    /// # struct Charge;
    /// # impl Step<u64> for Charge {
    /// #     fn name(&self) -> &str { "charge card" }
    /// #     fn run<'a>(&'a self, _: &'a Scope, _: &'a mut u64) -> BoxFuture<'a, Result<(), Error>> { Box::pin(async { Ok(()) }) }
    /// # }
    /// let workflow = Workflow::new(Charge).named("payment").version(2).migrate(1, Ok).renamed(1, "charge", "charge card");
    /// # assert_eq!(workflow.version_number(), 2);
    /// ```
    #[must_use]
    pub fn renamed(mut self, from: u32, step: &str, now: impl Into<Arc<str>>) -> Self {
        let change = Change::Renamed { step: Path::from(step), now: now.into() };
        self.changes.entry(from).or_default().push(change);
        self
    }

    /// Says that the step at a path, which version `from` has, is not in the next: what it did in runs that were begun before stays
    /// done, and is not looked for.
    #[must_use]
    pub fn dropped(mut self, from: u32, step: &str) -> Self {
        self.changes.entry(from).or_default().push(Change::Dropped { step: Path::from(step) });
        self
    }

    /// The names that steps have in the journal of a run that version `begun` has begun.
    pub(crate) fn names_since(&self, begun: u32) -> Names {
        Names::after(self.changes.range(begun..self.version.max(begun)).flat_map(|(_, changes)| changes))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the structure of its steps.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.root.outline()
    }

    /// The outline as it is kept with runs. Made once: a workflow does not change, and may be large.
    pub(crate) fn stored_outline(&self) -> Bytes {
        let made = || serde_json::to_vec(&self.outline()).unwrap_or_default().into();
        // Names and lists of names always serialise.
        self.stored_outline.get_or_init(made).clone()
    }

    /// A run of it that begins with this state, as JSON, for [`Store::create`](crate::Store::create).
    pub fn new_run(&self, id: RunId, input: impl Into<Bytes>) -> NewRun {
        NewRun {
            seed: seed_of(&id),
            id,
            workflow: self.name().to_owned(),
            version: self.version,
            input: input.into(),
            outline: Some(self.stored_outline()),
            launch: Launch::default(),
            forked_from: None,
            past: Batch::default(),
        }
    }

    pub(crate) fn root(&self) -> &SharedStep<S> {
        &self.root
    }

    /// Its version.
    #[must_use]
    pub fn version_number(&self) -> u32 {
        self.version
    }

    /// The initial state of a stored run, migrated to this version.
    pub(crate) fn restore(&self, record: &RunRecord) -> Result<S, Error> {
        if record.workflow != *self.name {
            return Err(Error::Refused(
                format!(
                    "run `{}` belongs to workflow `{}`, not to `{}`: resume it with that one",
                    record.id, record.workflow, self.name
                )
                .into(),
            ));
        }
        if record.latest > self.version {
            return Err(Error::Refused(
                format!(
                    "version {} of `{}` has gone on with run `{}`, and this is version {}: go on with that one or a later one",
                    record.latest, self.name, record.id, self.version
                )
                .into(),
            ));
        }
        if record.version == self.version {
            // What is not to be migrated need not be taken apart first: it may be a long conversation.
            let long = Carryover::of(record)?.long_texts;
            return json_source::read_knowing(&record.input, &long)
                .map_err(|error| Self::unlike(record, &error));
        }
        let mut state: Value = serde_json::from_slice(&record.input)?;
        for version in record.version..self.version {
            let migration = self.migrations.get(&version).ok_or_else(|| self.unknown_version(record))?;
            state = migration(state)?;
        }
        serde_json::from_value(state).map_err(|error| Self::unlike(record, &error))
    }

    fn unlike(record: &RunRecord, error: &serde_json::Error) -> Error {
        Error::Refused(
            format!(
                "the state of run `{}` is not one of `{}`: {error}. If the type has changed, raise the workflow's \
                 version and add a migration",
                record.id,
                std::any::type_name::<S>()
            )
            .into(),
        )
    }

    fn unknown_version(&self, record: &RunRecord) -> Error {
        Error::Refused(
            format!(
                "run `{}` was begun by version {} of `{}`, this is version {}, and no migration leads from one to the \
                 other: run it with that version, or add `Workflow::migrate({}, …)`",
                record.id, record.version, self.name, self.version, record.version
            )
            .into(),
        )
    }
}

impl<S> std::fmt::Debug for Workflow<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Workflow").field("name", &self.name).field("version", &self.version).finish()
    }
}
