//! Tests of signatures, keys and trust.
#![allow(clippy::unwrap_used, reason = "what a test unwraps it asserts")]

mod common;

use std::fs;

use common::{MANIFEST, file, key, message, pack, plan, tar_gz, zip};
use convoke_package::{
    InstallOptions, KeyError, PackOptions, Package, PublicKey, SigningKey, TrustStore, Verification,
};

fn signed(key: &SigningKey) -> Package {
    Package::pack(plan().path(), &PackOptions::default().key(key.clone())).unwrap().package
}

fn trusting(name: &str, key: &SigningKey) -> TrustStore {
    TrustStore::default().with(name, key.public())
}

/// The three parts of a package.
fn parts(package: &Package) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let bytes = package.to_bytes();
    let archive = rawzip::ZipArchive::from_slice(&bytes).unwrap();
    let mut entries = archive.entries();
    let mut next = || {
        let header = entries.next_entry().unwrap().unwrap();
        archive.get_entry(header.wayfinder()).unwrap().data().to_vec()
    };
    (next(), next(), next())
}

fn assembled(manifest: &[u8], content: &[u8], signature: &[u8]) -> Package {
    let bytes = zip(&[("manifest.json", manifest), ("content.tar.gz", content), ("signature", signature)]);
    Package::from_bytes(bytes).unwrap()
}

#[test]
fn agentcore_228_only_a_trusted_signature_verifies() {
    let (mine, other) = (key(), key());
    let package = signed(&mine);
    let trust = trusting("ada", &mine);
    let verified = Verification::Verified { key: mine.public().fingerprint(), name: "ada".into() };
    assert_eq!(package.verify(&trust), verified);
    let unknown = Verification::UnknownKey { fingerprint: Some(mine.public().fingerprint()) };
    assert_eq!(package.verify(&trusting("bob", &other)), unknown);
    assert_eq!(package.verify(&TrustStore::default()), unknown);

    let unsigned = pack(&plan());
    for trust in [&trust, &TrustStore::default()] {
        assert_eq!(unsigned.verify(trust), Verification::Unsigned);
        assert!(!unsigned.verify(trust).is_verified(), "nobody vouches for it");
    }
}

#[test]
fn agentcore_228_whatever_is_changed_afterwards_shows() {
    whatever_is_changed_afterwards_shows();
}

#[test]
fn agent_189_a_package_says_what_it_is_and_verifies_with_the_key_that_signed_it() {
    let (mine, other) = (key(), key());
    let package = Package::from_bytes(signed(&mine).to_bytes()).unwrap();
    let manifest = package.manifest();
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("plan", "0.0.0"));
    let (topic, depth) = (&manifest.inputs["topic"], &manifest.inputs["depth"]);
    assert_eq!((topic.required, &topic.default), (true, &None));
    assert_eq!((depth.required, &depth.default), (false, &Some(3.into())));
    assert_eq!(package.signature().unwrap().len(), 64);
    assert!(package.verify(&trusting("ada", &mine)).is_verified());
    assert!(!package.verify(&trusting("bob", &other)).is_verified());

    let unsigned = pack(&plan());
    assert_eq!(unsigned.signature(), None);
    let home = tempfile::tempdir().unwrap();
    let mut options = InstallOptions::default();
    options.trust = trusting("ada", &mine);
    let refused = unsigned.install(home.path(), &options).unwrap_err().to_string();
    assert!(refused.contains("not signed"), "{refused}");
}

#[test]
fn agent_189_whatever_is_changed_afterwards_shows() {
    whatever_is_changed_afterwards_shows();
}

fn whatever_is_changed_afterwards_shows() {
    let mine = key();
    let (manifest, content, signature) = parts(&signed(&mine));
    let trust = trusting("ada", &mine);
    assert!(assembled(&manifest, &content, &signature).verify(&trust).is_verified());
    let other_content = tar_gz(&[file("Agentfile", b"NAME evil")]);
    let renamed = String::from_utf8(manifest.clone()).unwrap().replace("\"plan\"", "\"plot\"");
    let mut other_signature = signature.clone();
    other_signature[5] ^= 1;
    for changed in [
        assembled(&manifest, &other_content, &signature),
        assembled(renamed.as_bytes(), &content, &signature),
        assembled(&manifest, &content, &other_signature),
        assembled(&manifest, &content, &signature[..63]),
        assembled(&manifest, &content, b""),
    ] {
        assert!(
            matches!(changed.verify(&trust), Verification::Invalid { .. }),
            "{:?}",
            changed.verify(&trust)
        );
    }
}

#[test]
fn agent_197_the_manifest_is_signed_as_it_is_stored() {
    let mine = key();
    let (manifest, content, signature) = parts(&signed(&mine));
    let trust = trusting("ada", &mine);
    // The same to whoever parses it.
    let mut spaced = manifest.clone();
    spaced.push(b'\n');
    assert!(!assembled(&spaced, &content, &signature).verify(&trust).is_verified());
    let text = String::from_utf8(manifest).unwrap();
    let with_more = text.replacen('{', "{\n  \"unknown\": \"field\",", 1);
    assert!(!assembled(with_more.as_bytes(), &content, &signature).verify(&trust).is_verified());
}

#[test]
fn packages_of_the_original_are_read_and_verified() {
    use ed25519_dalek::Signer;

    // As the `agent` program writes them: no fingerprint without an author, streamed entries, a time of its own.
    let raw = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let manifest = b"{\n  \"format\": 1,\n  \"name\": \"old\",\n  \"version\": \"0.1.0\",\n  \"created_at\": \"2025-01-02T03:04:05Z\"\n}";
    let content = tar_gz(&[file("Agentfile", b"NAME old\nGOAL g \"x\"\nRUN main USING g\n")]);
    let signature = raw.sign(&message(manifest, &content)).to_bytes();
    let package = assembled(manifest, &content, &signature);
    assert_eq!(package.manifest().created_at.as_deref(), Some("2025-01-02T03:04:05Z"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.pub");
    let body = "6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=";
    fs::write(
        &path,
        format!("-----BEGIN ED25519 PUBLIC KEY-----\n{body}\n-----END ED25519 PUBLIC KEY-----\n"),
    )
    .unwrap();
    let trust = TrustStore::read(folder.path()).unwrap();
    assert!(package.verify(&trust).is_verified(), "{:?}", package.verify(&trust));
    // It names no key, so all that can be said about a change is that nobody known signed it.
    let changed = assembled(MANIFEST.as_bytes(), &content, &signature);
    assert_eq!(changed.verify(&trust), Verification::UnknownKey { fingerprint: None });
}

#[test]
fn agentcore_234_keys_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signing.key");
    let mine = key();
    let public = mine.save(&path).unwrap();
    assert_eq!(public, folder.path().join("signing.pub"));
    assert_eq!(SigningKey::read(&path).unwrap().public(), mine.public());
    assert_eq!(PublicKey::read(&public).unwrap(), mine.public());
    assert!(fs::read_to_string(&path).unwrap().starts_with("-----BEGIN ED25519 PRIVATE KEY-----\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&public)), (0o600, 0o644));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(SigningKey::read(&path), Err(KeyError::Exposed { mode: 0o640, .. })));
    }
    assert!(!format!("{mine:?}").contains("PRIVATE"));
    assert_eq!(format!("{mine:?}"), format!("SigningKey({})", mine.public().fingerprint()));
}

#[test]
fn agentcore_234_what_is_not_a_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k");
    let pem = |kind: &str, body: &str| format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n");
    for (text, expected) in [
        ("garbage".to_owned(), "not a PEM file"),
        (pem("RSA PUBLIC KEY", "AAAA"), "unsupported key type"),
        (pem("ED25519 PRIVATE KEY", "AAAA"), "unsupported key type"),
        (pem("ED25519 PUBLIC KEY", "!!!!"), "damaged"),
        (pem("ED25519 PUBLIC KEY", "AAAA"), "3 bytes instead of 32"),
        ("-----BEGIN ED25519 PUBLIC KEY-----\nAAAA\n".to_owned(), "has no end"),
    ] {
        fs::write(&path, text).unwrap();
        let error = PublicKey::read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(PublicKey::read(&path).is_err());
    assert!(matches!(PublicKey::read(folder.path().join("none")), Err(KeyError::Files { .. })));
}

#[test]
fn agentcore_234_what_is_not_a_private_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k");
    let public = key().save(&path).unwrap();
    let public = fs::read_to_string(public).unwrap();
    for (text, expected) in [
        ("garbage", "not a PEM file"),
        (public.as_str(), "unsupported key type"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "unsupported key type"),
        (
            "-----BEGIN ED25519 PRIVATE KEY-----\nAAAA\n-----END ED25519 PRIVATE KEY-----\n",
            "3 bytes instead of 64",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let error = SigningKey::read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(matches!(SigningKey::read(folder.path().join("none")), Err(KeyError::Files { .. })));
}

#[test]
fn agent_195_keys_are_never_overwritten() {
    for existing in ["k", "k.pub"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(existing), "precious").unwrap();
        let path = folder.path().join("k");
        assert!(matches!(key().save(&path), Err(KeyError::Exists { .. })));
        assert_eq!(fs::read_to_string(folder.path().join(existing)).unwrap(), "precious");
        assert_eq!(common::below(folder.path()), [existing]);
    }
}

#[test]
fn a_trust_store_is_a_folder_of_public_keys() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted");
    assert_eq!(TrustStore::read(&trusted).unwrap().iter().len(), 0);
    let (ada, bob) = (key(), key());
    TrustStore::add(&trusted, "bob", &bob.public()).unwrap();
    TrustStore::add(&trusted, "ada", &ada.public()).unwrap();
    assert!(matches!(TrustStore::add(&trusted, "ada", &bob.public()), Err(KeyError::Exists { .. })));
    for name in ["../ada", "", "a b"] {
        assert!(matches!(TrustStore::add(&trusted, name, &bob.public()), Err(KeyError::Name { .. })));
    }
    let store = TrustStore::read(&trusted).unwrap();
    assert_eq!(store.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["ada", "bob"]);
    fs::write(trusted.join("broken.pub"), "x").unwrap();
    assert!(TrustStore::read(&trusted).is_err(), "not silently less trusting");
}
