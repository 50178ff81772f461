//! Test fixtures: folders to pack, and malicious archives.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::fs;
use std::io::Write;
use std::path::Path;

use convoke_package::{PackOptions, Package, SigningKey};
use flate2::Compression;
use flate2::write::GzEncoder;
use rawzip::ZipArchiveWriter;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};
use tempfile::TempDir;

pub(crate) const AGENTFILE: &str = "\
NAME plan
INPUT topic
INPUT depth:int DEFAULT 3
AGENT critic FROM agents/critic.md REQUIRES \"reasoning\"
AGENT judge \"You judge.\" REQUIRES \"reasoning\"
GOAL sort \"Sort $topic to $depth levels\" USING critic, judge
RUN main USING sort
";

/// A folder with these files in it.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A small workflow.
pub(crate) fn plan() -> TempDir {
    folder(&[("Agentfile", AGENTFILE), ("agents/critic.md", "You are a critic."), ("notes/deep/er.md", "x")])
}

pub(crate) fn pack(folder: &TempDir) -> Package {
    Package::pack(folder.path(), &PackOptions::default()).unwrap().package
}

pub(crate) fn key() -> SigningKey {
    SigningKey::generate().unwrap()
}

pub(crate) const MANIFEST: &str = r#"{"format": 1, "name": "evil", "version": "1.0.0"}"#;

/// A ZIP archive with these entries, as they are.
pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in entries {
        let (mut entry, config) = archive.new_file(*name).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

/// One entry of a tar archive, whose name and kind may be anything.
pub(crate) struct Raw<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: EntryType,
    pub(crate) link: &'a str,
    pub(crate) mode: u32,
    pub(crate) bytes: &'a [u8],
}

pub(crate) fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Raw<'a> {
    Raw { name, kind: EntryType::Regular, link: "", mode: 0o644, bytes }
}

pub(crate) fn tar_gz(entries: &[Raw<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        let mut header = Header::new_gnu();
        // Written as it is: the library would not write such names.
        header.as_gnu_mut().unwrap().name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        header.as_gnu_mut().unwrap().linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(entry.bytes.len() as u64);
        header.set_mtime(0);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(entry.bytes);
        bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    gz(&bytes)
}

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A package with this content.
pub(crate) fn package_of(entries: &[Raw<'_>]) -> Package {
    let content = tar_gz(entries);
    Package::from_bytes(zip(&[("manifest.json", MANIFEST.as_bytes()), ("content.tar.gz", &content)])).unwrap()
}

/// What is signed.
pub(crate) fn message(manifest: &[u8], content: &[u8]) -> Vec<u8> {
    [Sha256::digest(manifest), Sha256::digest(content)].concat()
}

/// Every path below a folder, in order.
pub(crate) fn below(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, all: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            all.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() {
                walk(&path, root, all);
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, folder, &mut all);
    all.sort();
    all
}
