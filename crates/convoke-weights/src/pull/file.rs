//! Reads, hashes and copies files of this machine.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::Stage;
use super::blocking::Reporter;
use super::job::{ProgressLabel, PullJob};
use super::partial::{Partial, PartialNote};
use crate::digest::Hasher;
use crate::{InstalledModel, WeightsError};

/// How much is read at once.
pub(super) const PIECE: usize = 256 * 1024;

/// How a GGUF file begins.
const GGUF: &[u8; 4] = b"GGUF";

impl PullJob<'_> {
    /// Copies a file into the library. A copy and not a link: a file that somebody else can write to is not a checked one.
    pub(super) async fn file(&mut self, path: &Path) -> Result<InstalledModel, WeightsError> {
        check_gguf(path, &format!("`{}`", path.display()))?;
        let total = path.metadata().map_err(WeightsError::files("read", path))?.len();
        let name = format!("{}.gguf", self.name);
        let label = ProgressLabel::whole(&name);
        let from = path.to_owned();
        if let Some(installed) = InstalledModel::load(&self.place)? {
            // Whether it is the same can be told without copying it.
            let sha256 = self.hash(&label, from, total).await?.finish();
            return self.already(installed, |files| files.iter().any(|file| file.sha256 == sha256));
        }
        self.room(total)?;
        let partial = Partial::of(&self.place, &name);
        let origin = path.display().to_string();
        partial.write_note(&PartialNote {
            origin: origin.clone(),
            sha256: None,
            validator: None,
            parts: 0,
            bytes: 0,
        })?;
        let to = partial.clone();
        let copied =
            self.block(&label, Stage::Copying, Some(total), move |reporter| copy(&from, &to, reporter)).await;
        let sha256 = copied.inspect_err(|_| partial.discard())?.finish();
        let file = self.settle(partial, &name, sha256).await?;
        self.keep(origin, file)
    }
}

/// That a file begins as GGUF files do.
pub(super) fn check_gguf(path: &Path, what: &str) -> Result<(), WeightsError> {
    let mut start = [0; 4];
    let mut file = File::open(path).map_err(WeightsError::files("read", path))?;
    match file.read_exact(&mut start) {
        Ok(()) if &start == GGUF => Ok(()),
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Err(WeightsError::files("read", path)(error))
        }
        _ => Err(WeightsError::NotGguf { what: what.to_owned() }),
    }
}

/// The digest of the first so many bytes of a file.
pub(super) fn hash(path: &Path, length: u64, reporter: &Reporter) -> Result<Hasher, WeightsError> {
    let file = File::open(path).map_err(WeightsError::files("read", path))?;
    let mut hasher = Hasher::default();
    pump(&mut file.take(length), path, reporter, &mut |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok(hasher)
}

fn copy(from: &Path, to: &Partial, reporter: &Reporter) -> Result<Hasher, WeightsError> {
    let mut source = File::open(from).map_err(WeightsError::files("read", from))?;
    let mut target = to.open(0)?;
    let mut hasher = Hasher::default();
    pump(&mut source, from, reporter, &mut |bytes| {
        hasher.update(bytes);
        target.write_all(bytes).map_err(WeightsError::files("write", &to.path))
    })?;
    Ok(hasher)
}

/// Reads all there is, piece by piece, and tells how much it was.
pub(super) fn pump(
    source: &mut dyn Read,
    path: &Path,
    reporter: &Reporter,
    take: &mut dyn FnMut(&[u8]) -> Result<(), WeightsError>,
) -> Result<u64, WeightsError> {
    let mut piece = vec![0; PIECE];
    let mut done = 0;
    loop {
        let length = source.read(&mut piece).map_err(WeightsError::files("read", path))?;
        if length == 0 {
            return Ok(done);
        }
        take(&piece[..length])?;
        done += length as u64;
        reporter.done(done)?;
    }
}
