//! Downloads a model from an address.

use convoke_http::address::shown;
use url::Url;

use super::fetch::Fetch;
use super::file::check_gguf;
use super::job::{ProgressLabel, PullJob};
use super::partial::Partial;
use super::source::file_name;
use crate::{Digest, InstalledModel, WeightsError};

impl PullJob<'_> {
    /// Downloads the GGUF file at this address.
    pub(super) async fn address(
        &mut self,
        url: &Url,
        sha256: Option<Digest>,
    ) -> Result<InstalledModel, WeightsError> {
        let name = format!("{}.gguf", self.name);
        if let Some(installed) = InstalledModel::load(&self.place)? {
            let is_from_there = installed.origin == shown(url);
            return self.already(installed, |files| match sha256 {
                Some(sha256) => files.iter().any(|file| file.sha256 == sha256),
                None => is_from_there,
            });
        }
        let partial = Partial::of(&self.place, &name);
        let label = ProgressLabel::whole(file_name(url));
        let fetch = Fetch { url, sha256, partial: &partial, label: &label };
        let found = self.fetch(&fetch).await?;
        check_gguf(&partial.path, &shown(url)).inspect_err(|_| partial.discard())?;
        let file = self.settle(partial, &name, found).await?;
        self.keep(shown(url), file)
    }
}
