//! The library: the folder of installed models.

mod default_folder;
mod installed;
mod lock;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_http::{HttpTransport, Transport};

use crate::{Catalogue, CatalogueEntry, PackageIndex, WeightsError, name};

pub use default_folder::default_folder;
pub use installed::{InstalledFile, InstalledModel};
pub(crate) use lock::Lock;

/// The models on this machine: a folder with one folder for each of them.
#[derive(Debug, Clone)]
pub struct Library {
    pub(crate) folder: PathBuf,
    pub(crate) catalogue: Catalogue,
    pub(crate) transport: Arc<dyn Transport>,
    /// None: the one this machine's settings name, looked up when it is needed.
    pub(crate) index: Option<PackageIndex>,
}

/// Information about a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// What the catalogue says, if it is in there.
    pub entry: Option<CatalogueEntry>,
    /// What is on this machine, if it is.
    pub installed: Option<InstalledModel>,
}

impl Library {
    /// The library in this folder, which need not be there yet: it is made when something is put into it.
    ///
    /// # Errors
    /// [`WeightsError::Files`] if nobody can say where that is.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, WeightsError> {
        let folder = folder.into();
        let folder = std::path::absolute(&folder).map_err(WeightsError::files("find", &folder))?;
        Ok(Self { folder, catalogue: Catalogue::builtin(), transport: HttpTransport::shared(), index: None })
    }

    /// Takes another catalogue.
    #[must_use]
    pub fn with_catalogue(mut self, catalogue: Catalogue) -> Self {
        self.catalogue = catalogue;
        self
    }

    /// Takes another way to the network.
    #[must_use]
    pub fn with_transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = transport;
        self
    }

    /// Takes another package index than the one this machine's settings name.
    #[must_use]
    pub fn with_index(mut self, index: PackageIndex) -> Self {
        self.index = Some(index);
        self
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the catalogue of models that can be pulled by name.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The models that are here, by name.
    ///
    /// # Errors
    /// [`WeightsError::Files`] and [`WeightsError::Manifest`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<InstalledModel>, WeightsError> {
        let unreadable = || WeightsError::files("read", &self.folder);
        let mut found = Vec::new();
        let items = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            items => items.map_err(unreadable())?,
        };
        for item in items {
            let place = item.map_err(unreadable())?.path();
            let is_model = place
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name::check(name).is_ok());
            if is_model {
                found.extend(InstalledModel::load(&place)?);
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Returns what is known of the model of this name.
    ///
    /// # Errors
    /// [`WeightsError::Unknown`] if it is neither here nor in the catalogue.
    pub fn info(&self, name: &str) -> Result<ModelInfo, WeightsError> {
        let entry = self.catalogue.get(name).cloned();
        let installed = self.find(name)?;
        if entry.is_none() && installed.is_none() {
            return Err(self.unknown(name));
        }
        Ok(ModelInfo { entry, installed })
    }

    /// Returns the path of the model of this name: its first file, which is the model itself.
    ///
    /// # Errors
    /// [`WeightsError::NotInstalled`] if it is not here.
    pub fn path_of(&self, name: &str) -> Result<PathBuf, WeightsError> {
        match self.find(name)? {
            Some(installed) => Ok(installed.path()),
            None if self.catalogue.get(name).is_some() => {
                Err(WeightsError::NotInstalled { name: name.to_owned() })
            }
            None => Err(self.unknown(name)),
        }
    }

    /// Removes a model, or what a broken pull has left of it.
    ///
    /// # Errors
    /// [`WeightsError::NotInstalled`] if nothing is here, [`WeightsError::Busy`] if it is being pulled.
    pub fn remove(&self, name: &str) -> Result<(), WeightsError> {
        let name = self.real_name(name);
        name::check(name)?;
        let place = self.folder.join(name);
        if !place.exists() {
            return Err(WeightsError::NotInstalled { name: name.to_owned() });
        }
        let Some(_lock) = Lock::take(&self.folder, name)? else {
            return Err(WeightsError::Busy { name: name.to_owned() });
        };
        // The note goes first, so that there is never one about files that are gone.
        InstalledModel::forget(&place)?;
        std::fs::remove_dir_all(&place).map_err(WeightsError::files("remove", &place))
    }

    fn find(&self, name: &str) -> Result<Option<InstalledModel>, WeightsError> {
        let name = self.real_name(name);
        name::check(name)?;
        InstalledModel::load(&self.folder.join(name))
    }

    /// The name behind an alias.
    fn real_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.catalogue.get(name).map_or(name, |entry| &entry.name)
    }

    pub(crate) fn unknown(&self, name: &str) -> WeightsError {
        let known = self.catalogue.entries().iter().map(|entry| entry.name.clone()).collect();
        WeightsError::Unknown { name: name.to_owned(), known }
    }
}
