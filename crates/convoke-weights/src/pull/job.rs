//! A pull under way.

use std::path::PathBuf;

use super::blocking::{self, Reporter};
use super::client::Client;
use super::partial::Partial;
use super::{Progress, PullOptions, Stage};
use crate::library::Lock;
use crate::{Digest, InstalledFile, InstalledModel, Library, ModelKind, PackageIndex, WeightsError};

/// The state of a pull.
pub(super) struct PullJob<'a> {
    pub(super) name: String,
    /// The model's folder.
    pub(super) place: PathBuf,
    /// Held as long as anything is written there.
    pub(super) lock: Lock,
    pub(super) client: Client,
    index: Option<PackageIndex>,
    progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// The label of the file in progress reports.
#[derive(Debug, Clone)]
pub(super) struct ProgressLabel {
    pub(super) file: String,
    pub(super) part: usize,
    pub(super) parts: usize,
}

impl ProgressLabel {
    pub(super) fn whole(file: &str) -> Self {
        Self { file: file.to_owned(), part: 1, parts: 1 }
    }
}

impl<'a> PullJob<'a> {
    pub(super) async fn begin(
        library: &Library,
        name: String,
        options: &PullOptions,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, WeightsError> {
        let lock = Lock::get(&library.folder, &name).await?;
        let place = library.folder.join(&name);
        std::fs::create_dir_all(&place).map_err(WeightsError::files("make the folder", &place))?;
        let client = Client::new(library.transport.clone(), options);
        Ok(Self { name, place, lock, client, index: library.index.clone(), progress })
    }

    /// What is here under this name already, if it is what is wanted. Something else with the name is an error.
    pub(super) fn already(
        &self,
        installed: InstalledModel,
        is_wanted: impl FnOnce(&[InstalledFile]) -> bool,
    ) -> Result<InstalledModel, WeightsError> {
        if is_wanted(&installed.files) {
            return Ok(installed);
        }
        Err(WeightsError::NameTaken { name: self.name.clone() })
    }

    /// The index to ask.
    pub(super) fn index(&self) -> Result<PackageIndex, WeightsError> {
        self.index.clone().map_or_else(PackageIndex::from_environment, Ok)
    }

    pub(super) fn report(&mut self, label: &ProgressLabel, stage: Stage, bytes: u64, total: Option<u64>) {
        let ProgressLabel { file, part, parts } = label.clone();
        (self.progress)(Progress { file, stage, part, parts, bytes, total });
    }

    /// Does work that blocks, and tells how far it is.
    pub(super) async fn block<T: Send + 'static>(
        &mut self,
        label: &ProgressLabel,
        stage: Stage,
        total: Option<u64>,
        work: impl FnOnce(&Reporter) -> Result<T, WeightsError> + Send + 'static,
    ) -> Result<T, WeightsError> {
        self.report(label, stage, 0, total);
        let lock = self.lock.clone();
        blocking::run_blocking(&self.place, lock, work, |bytes| {
            let ProgressLabel { file, part, parts } = label.clone();
            (self.progress)(Progress { file, stage, part, parts, bytes, total });
        })
        .await
    }

    /// Checks that there is enough disk space.
    pub(super) fn room(&self, needed: u64) -> Result<(), WeightsError> {
        let free = rustix::fs::statvfs(&self.place).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        match free {
            Ok(free) if free < needed => {
                Err(WeightsError::NoSpace { place: self.place.clone(), needed, free })
            }
            // Where the system does not tell, writing will.
            _ => Ok(()),
        }
    }

    /// Gives a file that is whole and checked its name.
    pub(super) async fn settle(
        &mut self,
        partial: Partial,
        name: &str,
        sha256: Digest,
    ) -> Result<InstalledFile, WeightsError> {
        let path = self.place.join(name);
        let settling =
            blocking::run_blocking(&self.place, self.lock.clone(), move |_| partial.settle(&path), |_| {});
        let bytes = settling.await?;
        Ok(InstalledFile::new(name.to_owned(), bytes, sha256))
    }

    /// Writes down that a model of one file is here, of which no more is known.
    pub(super) fn keep(&self, origin: String, file: InstalledFile) -> Result<InstalledModel, WeightsError> {
        let (place, name) = (self.place.clone(), self.name.clone());
        let installed = InstalledModel::new(place, name.clone(), name, ModelKind::Chat, origin, vec![file]);
        installed.save()?;
        Ok(installed)
    }
}
