//! Tests of packing: what goes in, what is excluded, the manifest.
#![allow(clippy::unwrap_used, reason = "what a test unwraps it asserts")]

mod common;

use std::fs;

use common::{AGENTFILE, folder, key, pack, plan, write};
use convoke_package::{Author, PackOptions, Package, PackageError, TrustStore};
use serde_json::json;

fn failed(files: &[(&str, &str)]) -> String {
    Package::pack(folder(files).path(), &PackOptions::default()).unwrap_err().to_string()
}

#[test]
fn agentcore_227_a_package_says_what_it_is() {
    let mine = key();
    let mut options = PackOptions::default().key(mine.clone());
    options.author = Some(Author { name: "Ada".into(), ..Author::default() });
    options.created_at = Some(1_700_000_000);
    options.version = Some("1.2.0".into());
    let packed = Package::pack(plan().path(), &options).unwrap();
    let package = Package::from_bytes(packed.package.to_bytes()).unwrap();
    let manifest = package.manifest();
    assert_eq!((manifest.format, manifest.name.as_str(), manifest.version.as_str()), (1, "plan", "1.2.0"));
    assert!(manifest.inputs["topic"].required);
    assert_eq!(manifest.inputs["depth"].default, Some(json!(3)));
    assert_eq!(manifest.inputs["depth"].ty, "int");
    assert_eq!(manifest.created_at.as_deref(), Some("2023-11-14T22:13:20Z"));
    let author = manifest.author.as_ref().unwrap();
    assert_eq!(author.name, "Ada");
    assert_eq!(author.key_fingerprint.len(), 16);
    assert!(author.key_fingerprint.chars().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(author.key_fingerprint, mine.public().fingerprint().as_str());
    assert_eq!(manifest.inputs.len(), 2);
    assert_eq!(package.signature().unwrap().len(), 64);
    let trust = TrustStore::default().with("ada", mine.public());
    assert!(package.verify(&trust).is_verified(), "{:?}", package.verify(&trust));
}

#[test]
fn agent_192_the_folders_manifest_is_merged_with_the_agentfile() {
    let plan = plan();
    let manifest = json!({
        "description": "Plans <days> & weeks", "license": "MIT", "dependencies": {"b": ">=1", "a": "^2"},
        "inputs": {"topic": {"required": true, "description": "about what"}},
    });
    write(plan.path(), "manifest.json", manifest.to_string());
    let package = pack(&plan);
    let made = package.manifest();
    assert_eq!((made.name.as_str(), made.version.as_str()), ("plan", "0.0.0"));
    assert_eq!((made.description.as_str(), made.license.as_str()), ("Plans <days> & weeks", "MIT"));
    assert_eq!(made.inputs["topic"].description, "about what");
    assert_eq!(made.inputs.len(), 2);
    assert_eq!(made.dependencies.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(made.requires.as_ref().unwrap().profiles, ["reasoning"], "said twice, needed once");
    assert!(made.author.is_none(), "nobody signed it");
}

#[test]
fn agentcore_230_the_same_folder_gives_the_same_bytes() {
    let (one, other) = (plan(), plan());
    fs::remove_file(other.path().join("agents/critic.md")).unwrap();
    write(other.path(), "agents/critic.md", "You are a critic.");
    write(other.path(), ".hidden/secret.md", "s");
    write(other.path(), "notes/.env", "KEY=1");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let all = fs::Permissions::from_mode(0o666);
        fs::set_permissions(other.path().join("Agentfile"), all).unwrap();
    }
    let package = pack(&one);
    assert_eq!(package.to_bytes(), pack(&other).to_bytes());
    let key = key();
    let signed =
        || Package::pack(one.path(), &PackOptions::default().key(key.clone())).unwrap().package.to_bytes();
    assert_eq!(signed(), signed());
    let files = package.files().unwrap();
    assert_eq!(files.paths().collect::<Vec<_>>(), ["Agentfile", "agents/critic.md", "notes/deep/er.md"]);
    assert_eq!(files.get("./Agentfile"), Some(AGENTFILE.as_bytes()));
    assert_eq!(files.get("notes/deep/er.md"), Some(&b"x"[..]));
    assert_eq!(files.agentfile(), Some(AGENTFILE));
}

#[test]
fn agent_196_secrets_are_left_out_and_modes_kept() {
    let plan = plan();
    for (path, text) in [
        ("credentials.toml", "key = 1"),
        ("deep/server.pem", "x"),
        ("id_ed25519", "x"),
        ("runs.db", "x"),
        ("renamed.txt", "-----BEGIN ED25519 PRIVATE KEY-----\nx\n-----END ED25519 PRIVATE KEY-----\n"),
        ("cache.bin", "SQLite format 3\0rest"),
        ("signature", "x"),
        ("convoke.toml", "[mcp.servers.x.headers]\nauthorization = \"key\"\n"),
        ("deep/policy.toml", "version = 1"),
        ("credentials.yaml", "key: 1"),
        ("id_rsa.bak", "x"),
    ] {
        write(plan.path(), path, text);
    }
    write(plan.path(), "old.agent", pack(&common::plan()).to_bytes());
    write(plan.path(), "scripts/run.sh", "#!/bin/sh\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o750);
        fs::set_permissions(plan.path().join("scripts/run.sh"), mode).unwrap();
    }
    let packed = Package::pack(plan.path(), &PackOptions::default()).unwrap();
    let files = packed.package.list().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["Agentfile", "agents/critic.md", "notes/deep/er.md", "scripts/run.sh"]);
    let left_out: Vec<&str> = packed.excluded.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "cache.bin",
        "convoke.toml",
        "credentials.toml",
        "credentials.yaml",
        "deep/policy.toml",
        "deep/server.pem",
        "id_ed25519",
        "id_rsa.bak",
        "old.agent",
        "renamed.txt",
        "runs.db",
        "signature",
    ];
    assert_eq!(left_out, expected);
    #[cfg(unix)]
    assert_eq!(files.iter().map(|file| file.executable).collect::<Vec<_>>(), [false, false, false, true]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_files_of_the_folder_and_nowhere_else() {
    use std::os::unix::fs::symlink;

    let plan = plan();
    symlink("agents/critic.md", plan.path().join("same.md")).unwrap();
    let packed = pack(&plan);
    assert_eq!(packed.files().unwrap().get("same.md"), Some(&b"You are a critic."[..]));

    let elsewhere = folder(&[("secret.md", "secret")]);
    symlink(elsewhere.path().join("secret.md"), plan.path().join("out.md")).unwrap();
    let error = Package::pack(plan.path(), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`out.md` in it is a link that leads outside"), "{error}");

    fs::remove_file(plan.path().join("out.md")).unwrap();
    symlink("agents", plan.path().join("again")).unwrap();
    let error = Package::pack(plan.path(), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("neither a file nor a folder"), "{error}");

    fs::remove_file(plan.path().join("again")).unwrap();
    write(plan.path(), ".env", "KEY=1");
    symlink(".env", plan.path().join("env.txt")).unwrap();
    let error = Package::pack(plan.path(), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("link to what is not packed"), "{error}");
}

/// Why a workflow with a package as its agent cannot be packed.
fn nested() -> String {
    let text =
        "NAME outer\nINPUT topic\nAGENT x FROM inner.agent\nGOAL g \"Do $topic\" USING x\nRUN main USING g\n";
    let outer = folder(&[("Agentfile", text)]);
    write(outer.path(), "inner.agent", pack(&plan()).to_bytes());
    Package::pack(outer.path(), &PackOptions::default()).unwrap_err().to_string()
}

#[test]
fn agent_193_packages_are_not_packed_into_others() {
    let error = nested();
    assert!(error.contains("line 3") && error.contains(".agent packages"), "{error}");
}

#[test]
fn agentcore_231_packages_are_refused_and_quoted_paths_are_paths() {
    let error = nested();
    assert!(error.contains("line 3") && error.contains(".agent packages"), "{error}");
    let quoted = "NAME q\nAGENT x FROM \"agents/a.md\"\nGOAL g \"Do it\" USING x\nRUN main USING g\n";
    let packed = pack(&folder(&[("Agentfile", quoted), ("agents/a.md", "You are a.")]));
    assert_eq!(packed.files().unwrap().get("agents/a.md"), Some(&b"You are a."[..]));
}

#[test]
fn whatever_the_agentfile_names_must_be_inside() {
    let from = |path: &str| {
        let text = format!("NAME q\nAGENT x FROM {path}\nGOAL g \"Do it\" USING x\nRUN main USING g\n");
        failed(&[("Agentfile", &text), (".hidden.md", "x"), ("here.md", "x")])
    };
    assert!(from("../elsewhere.md").contains("line 2"));
    assert!(from("/etc/hostname").contains("line 2"));
    assert!(from("missing.md").contains("was not found"));
    let hidden = from(".hidden.md");
    assert!(hidden.contains("hidden files stay where they are"), "{hidden}");
}

#[test]
fn agentcore_232_folders_that_cannot_be_packed() {
    assert!(failed(&[("other", "x")]).contains("there is no file Agentfile in it"));
    assert!(failed(&[("Agentfile", "GOAL g \"x\"\nRUN main USING g\n")]).contains("no `NAME`"));
    let valid = ("Agentfile", "NAME v\nGOAL g \"x\"\nRUN main USING g\n");
    assert!(failed(&[valid, ("manifest.json", "{")]).contains("manifest.json is not valid"));
    let unknown = failed(&[valid, ("manifest.json", "{\"licence\": \"MIT\"}")]);
    assert!(unknown.contains("did you mean `license`?"), "{unknown}");
    assert!(failed(&[valid, ("manifest.json", "{\"name\": \"../up\"}")]).contains("cannot be used"));
    assert!(failed(&[valid, ("manifest.json", "{\"version\": \"1/0\"}")]).contains("cannot be used"));
    let nowhere = Package::pack("/nowhere/at/all", &PackOptions::default()).unwrap_err();
    assert!(matches!(nowhere, PackageError::Files { doing: "read", .. }));
}

#[test]
fn a_folder_that_is_too_large_is_not_packed() {
    let plan = plan();
    write(plan.path(), "large.txt", vec![b'x'; 4_000]);
    let mut options = PackOptions::default();
    options.limits.unpacked = 2_000;
    let error = Package::pack(plan.path(), &options).unwrap_err();
    assert!(matches!(error, PackageError::TooLarge { .. }), "{error}");
    options = PackOptions::default();
    options.limits.files = 3;
    let error = Package::pack(plan.path(), &options).unwrap_err();
    assert!(matches!(error, PackageError::TooLarge { .. }), "{error}");
}
