//! The ZIP archive around a package's manifest, content and signature.

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
        let mut spans = Vec::new();
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
            if entry.local_header().file_path().as_ref() != path.as_ref() {
                return Err(broken(format!("`{name}` has another name where it is stored")));
            }
            let (_, end) = entry.compressed_data_range();
            spans.push(Span {
                start: header.local_header_offset(),
                end,
                listed: header.central_directory_offset(),
                crc: header.crc32(),
            });
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
        let ends = Ends {
            directory: archive.directory_offset(),
            record: archive.eocd_offset(),
            comment: archive.comment().as_bytes().len(),
        };
        if !is_all_of_it(bytes, spans, &ends) {
            // The signature does not cover it, and other programs may read it.
            return Err(broken("there is something before, between or after its entries".to_owned()));
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

/// Where an entry is.
struct Span {
    /// Where its header begins.
    start: u64,
    /// Where its data ends.
    end: u64,
    /// Where the directory has it.
    listed: u64,
    crc: u32,
}

/// Where the rest of an archive is.
struct Ends {
    directory: u64,
    record: u64,
    /// The length of the comment at its end.
    comment: usize,
}

/// Whether entries, directory and the record at the end are all there is, one after the other.
fn is_all_of_it(bytes: &[u8], mut spans: Vec<Span>, ends: &Ends) -> bool {
    const RECORD: u64 = 22;
    spans.sort_by_key(|span| span.start);
    let mut at = 0;
    for (index, span) in spans.iter().enumerate() {
        let next = spans.get(index + 1).map_or(ends.directory, |next| next.start);
        if span.start != at || !is_descriptor(bytes, span.end, next, span.crc) {
            return false;
        }
        at = next;
    }
    let mut listed: Vec<u64> = spans.iter().map(|span| span.listed).collect();
    listed.sort_unstable();
    at = ends.directory;
    for place in listed {
        let Some(length) = listing(bytes, place).filter(|_| place == at) else { return false };
        at += length;
    }
    at == ends.record && ends.comment == 0 && ends.record + RECORD == bytes.len() as u64
}

/// Whether between the data of an entry and what comes next there is nothing, or its checksum and sizes.
fn is_descriptor(bytes: &[u8], from: u64, to: u64, crc: u32) -> bool {
    let part =
        usize::try_from(from).ok().zip(usize::try_from(to).ok()).and_then(|(from, to)| bytes.get(from..to));
    let Some(part) = part else { return false };
    let part = part.strip_prefix(b"PK\x07\x08").unwrap_or(part);
    part.is_empty() || (matches!(part.len(), 12 | 20) && part.starts_with(&crc.to_le_bytes()))
}

/// How long an entry of the directory is. One that has a comment is none of a package.
fn listing(bytes: &[u8], at: u64) -> Option<u64> {
    const FIXED: u64 = 46;
    let fixed = bytes.get(usize::try_from(at).ok()?..)?.get(..46)?;
    let length = |from: usize| u64::from(u16::from_le_bytes([fixed[from], fixed[from + 1]]));
    (length(32) == 0).then(|| FIXED + length(28) + length(30))
}

fn append(archive: &mut ZipArchiveWriter<Vec<u8>>, name: &str, bytes: &[u8]) -> Result<(), rawzip::Error> {
    let time = UtcDateTime::from_unix(EPOCH as i64);
    let (mut entry, config) = archive.new_file(name).last_modified(time).unix_permissions(0o644).start()?;
    let mut writer = config.wrap(&mut entry);
    writer.write_all(bytes)?;
    let (_, descriptor) = writer.finish()?;
    entry.finish(descriptor).map(drop)
}
