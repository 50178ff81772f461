//! The ZIP archive around everything.

use std::io::{Read, Write};

use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveWriter};

use crate::content::EPOCH;
use crate::error::PackageError;
use crate::limits::Limits;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const CONTENT: &str = "content.tar.gz";
pub(crate) const SIGNATURE: &str = "signature";

/// What a ZIP archive begins with.
pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";

/// The three entries, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) manifest: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) signature: Option<Vec<u8>>,
}

impl Container {
    pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Self, PackageError> {
        let broken = |reason: String| PackageError::NotAPackage { reason };
        let damaged = |error: rawzip::Error| broken(error.to_string());
        if bytes.len() as u64 > limits.package {
            let what = format!("it has {} bytes, and {} are allowed", bytes.len(), limits.package);
            return Err(PackageError::TooLarge { what });
        }
        if !bytes.starts_with(MAGIC) {
            return Err(broken("it does not begin like a ZIP archive".to_owned()));
        }
        let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
        let (mut manifest, mut content, mut signature) = (None, None, None);
        let mut entries = archive.entries();
        while let Some(header) = entries.next_entry().map_err(damaged)? {
            let path = header.file_path();
            let name = String::from_utf8_lossy(path.as_ref()).into_owned();
            let slot = match name.as_str() {
                MANIFEST => &mut manifest,
                CONTENT => &mut content,
                SIGNATURE => &mut signature,
                // The signature does not cover it, so nothing may be made of it.
                other => {
                    return Err(broken(format!("it has an entry {other:?}, which packages do not have")));
                }
            };
            if header.compression_method() != CompressionMethod::STORE {
                return Err(broken(format!("`{name}` is compressed; in a package it is stored as it is")));
            }
            let entry = archive.get_entry(header.wayfinder()).map_err(damaged)?;
            let mut stored = Vec::new();
            // It cannot be longer than what it is stored in.
            entry
                .verifying_reader(entry.data())
                .read_to_end(&mut stored)
                .map_err(|error| broken(format!("`{name}` is damaged: {error}")))?;
            // Others may take the first or the last of two: what one has verified another would not run.
            if slot.replace(stored).is_some() {
                return Err(broken(format!("it has two entries `{name}`")));
            }
        }
        Ok(Self {
            manifest: manifest.ok_or(PackageError::Missing { part: MANIFEST })?,
            content: content.ok_or(PackageError::Missing { part: CONTENT })?,
            signature,
        })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let parts = [(MANIFEST, &self.manifest), (CONTENT, &self.content)];
        let parts = parts.into_iter().chain(self.signature.as_ref().map(|bytes| (SIGNATURE, bytes)));
        let mut archive = ZipArchiveWriter::new(Vec::new());
        for (name, bytes) in parts {
            append(&mut archive, name, bytes)
                .expect("a vector takes what it is given, and the names are short");
        }
        archive.finish().expect("a vector takes what it is given")
    }
}

fn append(archive: &mut ZipArchiveWriter<Vec<u8>>, name: &str, bytes: &[u8]) -> Result<(), rawzip::Error> {
    let time = UtcDateTime::from_unix(EPOCH as i64);
    let (mut entry, config) = archive.new_file(name).last_modified(time).unix_permissions(0o644).start()?;
    let mut writer = config.wrap(&mut entry);
    writer.write_all(bytes)?;
    let (_, descriptor) = writer.finish()?;
    entry.finish(descriptor).map(drop)
}
