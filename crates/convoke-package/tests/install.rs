//! Tests of installing, also of malicious archives.
#![allow(clippy::unwrap_used, reason = "what a test unwraps it asserts")]

mod common;

use std::fs;

use common::{
    AGENTFILE, MANIFEST, Raw, below, file, folder, gz, key, pack, package_of, plan, tar_gz, write, zip,
};
use convoke_package::{InstallOptions, Limits, PackOptions, Package, PackageError, TrustStore, Verification};
use tar::EntryType;

fn unsigned() -> InstallOptions {
    let mut options = InstallOptions::default();
    options.allow_unsigned = true;
    options
}

#[test]
fn agentcore_229_a_dry_run_writes_nothing_and_lists_what_is_wanted_beside_it() {
    a_dry_run_writes_nothing_and_lists_what_is_wanted_beside_it();
}

#[test]
fn agent_191_files_go_below_name_and_version_and_a_dry_run_only_says_so() {
    a_dry_run_writes_nothing_and_lists_what_is_wanted_beside_it();
}

fn a_dry_run_writes_nothing_and_lists_what_is_wanted_beside_it() {
    let plan = plan();
    write(plan.path(), "manifest.json", r#"{"version": "1.0.0", "dependencies": {"b": "^1", "a": "*"}}"#);
    let home = tempfile::tempdir().unwrap();
    let mut options = unsigned();
    options.dry_run = true;
    let would = pack(&plan).install(home.path(), &options).unwrap();
    assert_eq!(below(home.path()), [""; 0], "nothing is written");
    let names: Vec<&str> = would.dependencies.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(would.path, home.path().join("plan/1.0.0"));

    let installed = pack(&plan).install(home.path(), &unsigned()).unwrap();
    assert_eq!(installed.path, would.path);
    let there = below(home.path());
    for path in ["Agentfile", "agents/critic.md", "notes/deep/er.md"] {
        assert!(there.contains(&format!("plan/1.0.0/{path}")), "{there:?}");
    }
}

#[test]
fn agentcore_229_files_are_installed_under_name_and_version() {
    let plan = plan();
    write(plan.path(), "manifest.json", r#"{"version": "1.0.0"}"#);
    write(plan.path(), "scripts/run.sh", "#!/bin/sh\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(plan.path().join("scripts/run.sh"), mode).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let installed = pack(&plan).install(home.path(), &unsigned()).unwrap();
    assert_eq!(installed.path, home.path().join("plan/1.0.0"));
    assert_eq!(installed.verification, Verification::Unsigned);
    assert_eq!(installed.dependencies, [], "it wants none beside it");
    let expected = [
        // What is to be said of a package that nobody vouches for.
        ".concern",
        "Agentfile",
        "agents",
        "agents/critic.md",
        "manifest.json",
        "notes",
        "notes/deep",
        "notes/deep/er.md",
        "scripts",
        "scripts/run.sh",
    ];
    assert_eq!(below(&installed.path), expected);
    assert_eq!(below(&home.path().join("plan")).len(), expected.len() + 1, "nothing else is left there");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let executable =
            |path: &str| fs::metadata(installed.path.join(path)).unwrap().permissions().mode() & 0o100 != 0;
        assert!(executable("scripts/run.sh") && !executable("Agentfile"));
    }
}

#[test]
fn agentcore_229_only_what_is_vouched_for_is_installed() {
    let (mine, other) = (key(), key());
    let signed = Package::pack(plan().path(), &PackOptions::default().key(mine.clone())).unwrap().package;
    let home = tempfile::tempdir().unwrap();
    let mut trusting = InstallOptions::default();
    trusting.trust = TrustStore::default().with("bob", other.public());
    for package in [&pack(&plan()), &signed] {
        let refused = package.install(home.path(), &trusting).unwrap_err();
        assert!(matches!(refused, PackageError::Refused { .. }), "{refused}");
    }
    assert_eq!(below(home.path()), [""; 0]);
    trusting.trust = TrustStore::default().with("ada", mine.public());
    assert!(signed.install(home.path(), &trusting).unwrap().verification.is_verified());
}

#[test]
fn agent_197_without_a_trusted_key_it_takes_a_word_to_install() {
    let signed = Package::pack(plan().path(), &PackOptions::default().key(key())).unwrap().package;
    for package in [&pack(&plan()), &signed] {
        let home = tempfile::tempdir().unwrap();
        let refused = package.install(home.path(), &InstallOptions::default()).unwrap_err();
        assert!(matches!(refused, PackageError::Refused { .. }), "{refused}");
        assert_eq!(below(home.path()), [""; 0]);
        package.install(home.path(), &unsigned()).unwrap();
        assert!(home.path().join("plan/0.0.0/Agentfile").exists());
    }
}

#[test]
fn a_wrong_signature_is_never_installed() {
    let mine = key();
    let signed = Package::pack(plan().path(), &PackOptions::default().key(mine.clone())).unwrap().package;
    let content = tar_gz(&[file("Agentfile", b"NAME evil")]);
    let manifest = serde_json::to_vec(signed.manifest()).unwrap();
    let bytes = zip(&[
        ("manifest.json", &manifest),
        ("content.tar.gz", &content),
        ("signature", signed.signature().unwrap()),
    ]);
    let changed = Package::from_bytes(bytes).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut options = unsigned();
    options.trust = TrustStore::default().with("ada", mine.public());
    let error = changed.install(home.path(), &options).unwrap_err().to_string();
    assert!(error.contains("signature verification failed"), "{error}");
    assert_eq!(below(home.path()), [""; 0]);
}

#[test]
fn a_version_that_is_there_is_replaced_only_if_asked() {
    let home = tempfile::tempdir().unwrap();
    let installed = pack(&plan()).install(home.path(), &unsigned()).unwrap();
    write(&installed.path, "mine.txt", "x");
    let again = pack(&plan()).install(home.path(), &unsigned());
    assert!(matches!(again, Err(PackageError::Exists { .. })));
    assert!(installed.path.join("mine.txt").exists());
    let mut options = unsigned();
    options.replace = true;
    pack(&plan()).install(home.path(), &options).unwrap();
    assert!(!installed.path.join("mine.txt").exists());
    assert_eq!(fs::read_dir(home.path().join("plan")).unwrap().count(), 1, "the old one is gone");
    // One that cannot be unpacked leaves the old one alone.
    let manifest = MANIFEST.replace("evil", "plan").replace("1.0.0", "0.0.0");
    let content = tar_gz(&[file("a", b"1"), file("../b", b"2")]);
    let bad =
        Package::from_bytes(zip(&[("manifest.json", manifest.as_bytes()), ("content.tar.gz", &content)]));
    assert!(bad.unwrap().install(home.path(), &options).is_err());
    assert!(installed.path.join("Agentfile").exists());
    assert_eq!(fs::read_dir(home.path().join("plan")).unwrap().count(), 1);
}

#[test]
fn agentcore_233_nothing_is_written_outside() {
    nothing_is_written_outside();
}

#[test]
fn agent_196_nothing_is_written_outside() {
    nothing_is_written_outside();
}

fn nothing_is_written_outside() {
    let outer = tempfile::tempdir().unwrap();
    let home = outer.path().join("home");
    fs::create_dir(&home).unwrap();
    for name in [
        "../escape.txt",
        "../1.0.0-evil/x",
        "/tmp/convoke-escape.txt",
        "a/../../escape.txt",
        "..",
        "a\\..\\b",
        ".env",
        "a/./b",
        "a//b",
    ] {
        let error =
            package_of(&[file("fine.txt", b"x"), file(name, b"x")]).install(&home, &unsigned()).unwrap_err();
        assert!(error.to_string().contains("invalid path"), "{name}: {error}");
        assert_eq!(below(outer.path()), ["home", "home/evil"], "{name}");
    }
}

#[test]
fn agent_196_no_name_or_version_leads_elsewhere() {
    let content = tar_gz(&[file("Agentfile", b"NAME x")]);
    for (name, version) in
        [("../x", "1"), ("a/b", "1"), ("..", "1"), ("a", ".."), ("a", "1/2"), ("a", "../1")]
    {
        let manifest = format!("{{\"format\": 1, \"name\": {name:?}, \"version\": {version:?}}}");
        let bytes = zip(&[("manifest.json", manifest.as_bytes()), ("content.tar.gz", &content)]);
        let error = Package::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains("cannot be used"), "{name} {version}: {error}");
    }
}

#[test]
fn agent_196_links_and_devices_are_refused() {
    let home = tempfile::tempdir().unwrap();
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Continuous,
        EntryType::GNUSparse,
    ] {
        let link = Raw { name: "out", kind, link: "/etc", mode: 0o777, bytes: b"" };
        // What a link is for: a file through it.
        let error =
            package_of(&[link, file("out/passwd", b"x")]).install(home.path(), &unsigned()).unwrap_err();
        assert!(matches!(error, PackageError::Content { .. }), "{kind:?}: {error}");
    }
    assert_eq!(below(home.path()), ["evil"]);
}

#[test]
fn nothing_is_there_twice() {
    let home = tempfile::tempdir().unwrap();
    for (one, other) in [("a", "a"), ("a", "./a"), ("Agentfile", "agentfile"), ("a", "a/b"), ("a/b", "a")] {
        let error =
            package_of(&[file(one, b"1"), file(other, b"2")]).install(home.path(), &unsigned()).unwrap_err();
        assert!(matches!(error, PackageError::Path { .. }), "{one} {other}: {error}");
    }
}

/// Convoke would go by what it finds there: the list that packing leaves out is the list that installing refuses.
#[test]
fn what_is_never_packed_is_never_installed() {
    let names = [
        "convoke.toml",
        "sub/policy.toml",
        "POLICY.TOML",
        "agent.toml",
        "credentials.toml",
        "credentials",
        "convoke.db",
        "convoke.db-journal",
        "convoke.db-wal",
        "convoke.db-scratchpad",
        "runs.sqlite3",
        "server.pem",
        "deploy/id_rsa",
        "putty.ppk",
    ];
    for name in names {
        let home = tempfile::tempdir().unwrap();
        let package = package_of(&[file("Agentfile", AGENTFILE.as_bytes()), file(name, b"x")]);
        let refused = package.install(home.path(), &unsigned()).unwrap_err();
        assert!(matches!(&refused, PackageError::Path { .. }), "{name}: {refused}");
        assert!(!home.path().join("evil/1.0.0").exists(), "{name}");
    }
}

#[test]
fn names_that_are_not_seen_as_what_they_are_are_refused() {
    for name in ["a/\u{202e}txt.exe", "read\u{200b}me", "a\u{9b}31m", "x\u{ad}y", "a\0b", "a\0/../../x"] {
        let home = tempfile::tempdir().unwrap();
        let package = package_of(&[file("Agentfile", AGENTFILE.as_bytes()), file(name, b"x")]);
        let refused = package.install(home.path(), &unsigned()).unwrap_err();
        assert!(matches!(&refused, PackageError::Path { .. }), "{name:?}: {refused}");
        assert!(!home.path().join("evil/1.0.0").exists(), "{name:?}");
    }
    let package = package_of(&[
        file("Agentfile", AGENTFILE.as_bytes()),
        file("a..b", b"x"),
        file("👩\u{200d}🔬.md", b"x"),
    ]);
    package.install(tempfile::tempdir().unwrap().path(), &unsigned()).unwrap();
}

#[test]
fn two_spellings_of_one_name_are_one_name() {
    for (one, other) in [
        ("caf\u{e9}.md", "cafe\u{301}.md"),
        ("Stra\u{df}e", "STRASSE"),
        ("\u{212b}", "\u{e5}"),
        ("A/x", "a/x"),
        ("\u{3a3}", "\u{3c2}"),
    ] {
        let package = package_of(&[file(one, b"x"), file(other, b"y")]);
        let refused = package.install(tempfile::tempdir().unwrap().path(), &unsigned()).unwrap_err();
        assert!(refused.to_string().contains("twice"), "{one} {other}: {refused}");
    }
}

#[test]
fn nothing_surrounds_the_entries_of_a_package() {
    let content = tar_gz(&[file("Agentfile", AGENTFILE.as_bytes())]);
    let whole = zip(&[("manifest.json", MANIFEST.as_bytes()), ("content.tar.gz", &content)]);
    assert!(Package::from_bytes(whole.clone()).is_ok());
    let other = zip(&[("manifest.json", MANIFEST.as_bytes()), ("content.tar.gz", &tar_gz(&[]))]);
    let mut commented = whole.clone();
    let comment = commented.len() - 2;
    commented[comment] = 3;
    commented.extend_from_slice(b"abc");
    let mut renamed = whole.clone();
    let local = renamed.windows(13).position(|window| window == b"manifest.json").unwrap();
    renamed[local] = b'M';
    let cases = [
        ("before", [b"PK\x03\x04 something", &whole[..]].concat()),
        ("after", [&whole[..], b"something"].concat()),
        ("another before", [&other[..], &whole[..]].concat()),
        ("another after", [&whole[..], &other[..]].concat()),
        ("a comment", commented),
        ("another name", renamed),
    ];
    for (what, bytes) in cases {
        let refused = Package::from_bytes(bytes);
        assert!(matches!(refused, Err(PackageError::NotAPackage { .. })), "{what}: {refused:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_package_is_not_installed_through_a_link() {
    let outside = tempfile::tempdir().unwrap();
    let package = package_of(&[file("Agentfile", AGENTFILE.as_bytes())]);
    let mut options = unsigned();
    options.replace = true;
    for place in ["", "evil", "evil/1.0.0"] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let link = if place.is_empty() { home.clone() } else { home.join(place) };
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let refused = package.install(&home, &options);
        assert!(
            matches!(&refused, Err(PackageError::Link { path }) if *path == link),
            "{place}: {refused:?}"
        );
        assert!(below(outside.path()).is_empty(), "{place}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_installed_with_the_rights_of_another() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let program = Raw { mode: 0o6777, ..file("run.sh", b"#!/bin/sh\n") };
    let package = package_of(&[file("Agentfile", AGENTFILE.as_bytes()), program]);
    let installed = package.install(home.path(), &unsigned()).unwrap();
    let mode = installed.path.join("run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
}

#[test]
fn agent_196_oversized_archives_are_refused_while_they_are_unpacked() {
    let home = tempfile::tempdir().unwrap();
    let refused = |package: Result<Package, PackageError>| {
        let error = package.and_then(|package| package.install(home.path(), &unsigned())).unwrap_err();
        assert!(matches!(error, PackageError::TooLarge { .. }), "{error}");
    };
    let with = |content: &[u8], limits: Limits| {
        Package::within(limits, zip(&[("manifest.json", MANIFEST.as_bytes()), ("content.tar.gz", content)]))
    };
    // A bomb: a thousandth of its size, and its header says it is far larger still.
    let zeros = vec![0; 8 << 20];
    refused(with(&tar_gz(&[file("bomb", &zeros)]), Limits::default()));
    // Not a bomb, but more than is allowed.
    let mut limits = Limits::default();
    limits.unpacked = 10_000;
    let noise: Vec<u8> = (0..20_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    refused(with(&tar_gz(&[file("noise", &noise)]), limits));
    // A name that is longer than any name.
    let long = Raw { name: "././@LongLink", kind: EntryType::GNULongName, link: "", mode: 0, bytes: &zeros };
    refused(with(&tar_gz(&[long, file("x", b"")]), Limits::default()));
    let mut limits = Limits::default();
    limits.files = 2;
    refused(with(&tar_gz(&[file("a", b""), file("b", b""), file("c", b"")]), limits));
    let mut limits = Limits::default();
    limits.package = 100;
    refused(with(&tar_gz(&[]), limits));
    assert_eq!(below(home.path()), ["evil"], "nothing half unpacked is left behind");
}

#[test]
fn agentcore_232_what_is_not_a_package() {
    let content = tar_gz(&[file("Agentfile", b"NAME x")]);
    let manifest = MANIFEST.as_bytes();
    let named = |name: &str, version: &str| {
        format!("{{\"format\": 1, \"name\": {name:?}, \"version\": {version:?}}}").into_bytes()
    };
    for (entries, expected) in [
        (vec![("content.tar.gz", content.as_slice())], "no manifest.json"),
        (vec![("manifest.json", manifest)], "no content.tar.gz"),
        (vec![("manifest.json", &b"{"[..]), ("content.tar.gz", &content)], "not valid"),
        (vec![("manifest.json", br#"{"format": 2}"#), ("content.tar.gz", &content)], "format 2"),
        (vec![("manifest.json", &named("../x", "1")), ("content.tar.gz", &content)], "cannot be used"),
        (vec![("manifest.json", &named("a/b", "1")), ("content.tar.gz", &content)], "cannot be used"),
        (vec![("manifest.json", &named("a", "..")), ("content.tar.gz", &content)], "cannot be used"),
        (vec![("manifest.json", &named("", "1")), ("content.tar.gz", &content)], "cannot be used"),
        (
            vec![("manifest.json", manifest), ("content.tar.gz", &content), ("manifest.json", manifest)],
            "two entries `manifest.json`",
        ),
        (
            vec![("manifest.json", manifest), ("content.tar.gz", &content), ("more", b"x")],
            "packages do not have",
        ),
    ] {
        let error = Package::from_bytes(zip(&entries)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for bytes in [&b""[..], b"NAME plan\n", b"PK\x03\x04", &[0; 100]] {
        assert!(matches!(Package::from_bytes(bytes), Err(PackageError::NotAPackage { .. })));
    }
    let mut cut = zip(&[("manifest.json", manifest), ("content.tar.gz", &content)]);
    cut.truncate(cut.len() - 30);
    assert!(Package::from_bytes(cut).is_err());
}

#[test]
fn agentcore_232_damaged_content_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let good = tar_gz(&[file("a", &[b'x'; 2_000]), file("b", b"y")]);
    let mut wrong_sum = good.clone();
    let end = wrong_sum.len() - 6;
    wrong_sum[end] ^= 0xff;
    let trailing = [good.as_slice(), b"more"].concat();
    for content in
        [b"no gzip".to_vec(), good[..good.len() / 2].to_vec(), gz(b"no tar at all"), wrong_sum, trailing]
    {
        let bytes = zip(&[("manifest.json", MANIFEST.as_bytes()), ("content.tar.gz", &content)]);
        let error = Package::from_bytes(bytes).unwrap().install(home.path(), &unsigned()).unwrap_err();
        assert!(matches!(error, PackageError::Content { .. }), "{error}");
        assert_eq!(below(home.path()), ["evil"]);
    }
}

#[test]
fn agent_194_the_first_bytes_tell_a_package_from_an_agentfile() {
    assert!(Package::is_package(&pack(&plan()).to_bytes()));
    assert!(!Package::is_package(b"NAME plan\n"));
    assert!(!Package::is_package(b""));
}

#[cfg(unix)]
#[test]
fn agentcore_232_a_place_that_cannot_be_written_to() {
    let blocked = folder(&[("home", "a file")]);
    let error = pack(&plan()).install(blocked.path().join("home"), &unsigned()).unwrap_err();
    assert!(matches!(error, PackageError::Files { .. }), "{error}");
}

#[test]
fn a_package_is_extracted_into_a_new_folder_only() {
    let home = tempfile::tempdir().unwrap();
    let to = home.path().join("new");
    pack(&plan()).extract(&to).unwrap();
    assert!(to.join("agents/critic.md").exists());
    assert!(matches!(pack(&plan()).extract(&to), Err(PackageError::Exists { .. })));
}
