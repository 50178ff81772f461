//! Packages: whatever an archive has in it, unpacking writes nothing outside of its folder, makes no links, and leaves nothing
//! behind when it refuses.
#![no_main]

use std::fs;
use std::io::Write;
use std::path::Path;

use arbitrary::Arbitrary;
use convoke::packages::Package;
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use rawzip::ZipArchiveWriter;
use tar::{EntryType, Header};

#[derive(Debug, Arbitrary)]
enum Input {
    /// Any bytes as the package.
    Package(Vec<u8>),
    /// Any bytes as what is compressed in it.
    Content { manifest: Option<Vec<u8>>, content: Vec<u8> },
    /// Entries of any name and kind.
    Entries(Vec<Entry>),
}

#[derive(Debug, Arbitrary)]
struct Entry {
    /// From where the name is: nothing, the parent, a folder deeper, or the folder beside the one that is written.
    from: u8,
    name: Vec<u8>,
    kind: u8,
    link: Vec<u8>,
    mode: u16,
    bytes: Vec<u8>,
}

fn archive(entries: &[Entry], outside: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        let outside = outside.join("x");
        let from: &[u8] = match entry.from % 5 {
            0 | 1 => b"",
            2 => b"../",
            3 => b"a/../../",
            _ => outside.as_os_str().as_encoded_bytes(),
        };
        let mut header = Header::new_gnu();
        let fields = header.as_gnu_mut().expect("it is one");
        // Written as they are: the library would not write such names.
        fill(&mut fields.name, &[from, &entry.name].concat());
        fill(&mut fields.linkname, &entry.link);
        header.set_entry_type(EntryType::new(entry.kind));
        header.set_mode(u32::from(entry.mode));
        header.set_size(entry.bytes.len() as u64);
        header.set_mtime(0);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&entry.bytes);
        bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn fill(field: &mut [u8], bytes: &[u8]) {
    let length = bytes.len().min(field.len());
    field[..length].copy_from_slice(&bytes[..length]);
}

fn package(manifest: &[u8], content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("a vector takes it");
    let content = encoder.finish().expect("a vector takes it");
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in [("manifest.json", manifest), ("content.tar.gz", &content)] {
        let (mut entry, config) = archive.new_file(name).start().expect("a short name");
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).expect("a vector takes it");
        let (_, descriptor) = writer.finish().expect("a vector takes it");
        entry.finish(descriptor).expect("a vector takes it");
    }
    archive.finish().expect("a vector takes it")
}

/// Fails if there is anything but files and folders below.
fn no_links(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let kind = entry.file_type().expect("it can be read");
        assert!(kind.is_file() || kind.is_dir(), "{:?}", entry.path());
        if kind.is_dir() {
            no_links(&entry.path());
        }
    }
}

fuzz_target!(|input: Input| {
    const MANIFEST: &[u8] = br#"{"format": 1, "name": "evil", "version": "1.0.0"}"#;
    let place = tempfile::tempdir().expect("a folder");
    let bytes = match input {
        Input::Package(bytes) => bytes,
        Input::Content { manifest, content } => package(manifest.as_deref().unwrap_or(MANIFEST), &content),
        Input::Entries(entries) => package(MANIFEST, &archive(&entries, place.path())),
    };
    let Ok(read) = Package::from_bytes(&bytes) else { return };
    let listed = read.list();
    let unpacked = read.extract(place.path().join("inside"));
    assert!(unpacked.is_err() || listed.is_ok(), "what cannot be listed was unpacked");
    let found: Vec<_> = fs::read_dir(place.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    match unpacked {
        Ok(()) => assert_eq!(found, ["inside"]),
        Err(_) => assert!(found.is_empty(), "{found:?} was left behind"),
    }
    no_links(place.path());
});
