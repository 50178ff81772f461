//! Unpacks one member of a ZIP archive as a stream.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::blocking::Reporter;
use super::file::pump;
use crate::WeightsError;

/// Errors of unpacking a member.
pub(super) enum UnpackError {
    /// Something is wrong with the archive.
    Archive(String),
    Other(WeightsError),
}

impl From<rawzip::Error> for UnpackError {
    fn from(error: rawzip::Error) -> Self {
        Self::Archive(error.to_string())
    }
}

/// Gives `take` the member of this name, checked against the archive's own sum, and tells its length. More than `most`
/// bytes are not unpacked, whatever the archive says.
pub(super) fn member(
    archive: &Path,
    name: &str,
    most: u64,
    reporter: &Reporter,
    take: &mut dyn FnMut(&[u8]) -> Result<(), WeightsError>,
) -> Result<u64, UnpackError> {
    let file = File::open(archive)
        .map_err(|error| UnpackError::Other(WeightsError::files("read", archive)(error)))?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let zip = ZipArchive::from_file(file, &mut buffer)?;
    let mut entries = zip.entries(&mut buffer);
    let found = loop {
        let Some(entry) = entries.next_entry()? else {
            return Err(UnpackError::Archive(format!("there is no `{name}` in it")));
        };
        if entry.file_path().as_ref() == name.as_bytes() {
            break (entry.wayfinder(), entry.compression_method());
        }
    };
    let (wayfinder, method) = found;
    let entry = zip.get_entry(wayfinder)?;
    let stored = entry.reader();
    let mut plain: Box<dyn Read + '_> = match method {
        CompressionMethod::STORE => Box::new(entry.verifying_reader(stored)),
        CompressionMethod::DEFLATE => Box::new(entry.verifying_reader(DeflateDecoder::new(stored))),
        other => {
            return Err(UnpackError::Archive(format!(
                "`{name}` is compressed in an unsupported way: {other:?}"
            )));
        }
    };
    // One more, to see that there is more.
    let mut limited = (&mut plain).take(most.saturating_add(1));
    let length = pump(&mut limited, archive, reporter, take).map_err(|error| match error {
        // Reading fails if the bytes cannot be unpacked or their sum is wrong.
        WeightsError::Files { action: "read", source, .. } => UnpackError::Archive(source.to_string()),
        other => UnpackError::Other(other),
    })?;
    if length > most {
        return Err(UnpackError::Archive(format!("`{name}` is longer than it can be")));
    }
    Ok(length)
}
