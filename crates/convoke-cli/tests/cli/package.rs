//! Packages: made, verified, installed, used like Agentfiles.

use std::io::Write;

use insta::assert_snapshot;
use rawzip::{ZipArchive, ZipArchiveWriter};

use crate::place::{Place, stderr, stdout};

const AGENTFILE: &str = "NAME plan\nINPUT topic\nAGENT critic FROM agents/critic.md\nGOAL sort \"Sort $topic\" USING critic\nRUN main USING sort\n";

/// A key for tests and nothing else: its seed is 32 times the byte 7.
const PRIVATE: &str = "-----BEGIN ED25519 PRIVATE KEY-----\nBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwfqSmxj4pxSCr71UHsTLsX5\nlUd2rr6+e5JCHuppFEbSLA==\n-----END ED25519 PRIVATE KEY-----\n";
const PUBLIC: &str = "-----BEGIN ED25519 PUBLIC KEY-----\n6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=\n-----END ED25519 PUBLIC KEY-----\n";

/// The entries of a ZIP archive.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = ZipArchive::from_slice(bytes).unwrap();
    let mut entries = archive.entries();
    let mut all = Vec::new();
    while let Some(header) = entries.next_entry().unwrap() {
        let name = String::from_utf8(header.file_path().as_ref().to_vec()).unwrap();
        all.push((name, archive.get_entry(header.wayfinder()).unwrap().data().to_vec()));
    }
    all
}

/// A ZIP archive of entries.
fn zip(entries: &[&(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in entries {
        let (mut entry, config) = archive.new_file(name.as_str()).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

/// A folder with a workflow in `plan/`, a home, and a key.
struct Packing {
    place: Place,
    home: String,
}

impl Packing {
    fn new() -> Self {
        let place = Place::empty();
        place.write("plan/Agentfile", AGENTFILE);
        place.write("plan/agents/critic.md", "You are a critic.");
        place.write("plan/.env", "KEY=1");
        place.write("plan/server.pem", "x");
        place.write("ada.key", PRIVATE);
        place.write("ada.pub", PUBLIC);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(place.path().join("ada.key"), mode).unwrap();
        }
        let home = place.path().canonicalize().unwrap().join("home").display().to_string();
        Self { place, home }
    }

    fn seen(&self, arguments: &[&str]) -> String {
        self.place.seen_with(
            arguments,
            &[
                ("COLUMNS", "80"),
                ("HOME", &self.home),
                ("XDG_DATA_HOME", ""),
                ("CONVOKE_STORE_INSIDE_WORKSPACE", "true"),
            ],
        )
    }

    fn convoke(&self, arguments: &[&str]) -> std::process::Output {
        self.place.convoke_with(
            arguments,
            &[
                ("COLUMNS", "80"),
                ("HOME", &self.home),
                ("XDG_DATA_HOME", ""),
                ("CONVOKE_STORE_INSIDE_WORKSPACE", "true"),
            ],
        )
    }

    /// Without a snapshot: it must work.
    fn does(&self, arguments: &[&str]) {
        let output = self.convoke(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_folder_is_packed_signed_verified_and_installed() {
    let here = Packing::new();
    assert_snapshot!("pack", here.seen(&["pack", "plan", "--key", "ada.key", "--version", "1.0.0"]));
    assert_snapshot!("verify_unknown", here.seen(&["verify", "plan.agent"]));
    assert_snapshot!("install_unknown", here.seen(&["install", "plan.agent"]));
    assert_snapshot!("trust", here.seen(&["trust", "ada.pub", "--as", "ada"]));
    assert_snapshot!("verify", here.seen(&["verify", "plan.agent"]));
    assert_snapshot!("verify_json", here.seen(&["--json", "verify", "plan.agent"]));
    assert_snapshot!("install_dry", here.seen(&["install", "plan.agent", "--dry-run"]));
    assert!(!here.place.path().join("home/.local").exists());
    assert_snapshot!("install", here.seen(&["install", "plan.agent"]));
    assert_snapshot!("install_again", here.seen(&["install", "plan.agent"]));
    here.does(&["install", "plan.agent", "--force"]);
    let installed = "home/.local/share/convoke/packages/plan/1.0.0";
    assert_eq!(here.place.read(&format!("{installed}/Agentfile")), AGENTFILE);
    assert!(!here.place.path().join(installed).join(".env").exists());
}

#[test]
fn an_unsigned_package_is_never_called_verified() {
    let here = Packing::new();
    assert_snapshot!("pack_unsigned", here.seen(&["pack", "plan", "-o", "out.agent"]));
    assert_snapshot!("verify_unsigned", here.seen(&["verify", "out.agent"]));
    assert_snapshot!("verify_unsigned_with_key", here.seen(&["verify", "out.agent", "--key", "ada.pub"]));
    assert_snapshot!("install_unsigned", here.seen(&["install", "out.agent", "--target", "to"]));
    assert!(!here.place.path().join("to").exists());
    assert_snapshot!(
        "install_allowed",
        here.seen(&["install", "out.agent", "--target", "to", "--allow-unsigned"])
    );
}

#[test]
fn a_changed_package_is_refused_everywhere() {
    let here = Packing::new();
    here.does(&["pack", "plan", "--key", "ada.key"]);
    here.does(&["trust", "ada.pub", "--as", "ada"]);
    here.place.write("plan/agents/critic.md", "You are somebody else.");
    here.does(&["pack", "plan", "--key", "ada.key", "-o", "other.agent"]);
    let read = |name| entries(&std::fs::read(here.place.path().join(name)).unwrap());
    let (one, other) = (read("plan.agent"), read("other.agent"));
    here.place.write("plan.agent", zip(&[&one[0], &other[1], &one[2]]));
    assert_snapshot!("verify_changed", here.seen(&["verify", "plan.agent"]));
    for command in
        [&["verify"][..], &["install"], &["install", "--allow-unsigned"], &["validate"], &["inspect"]]
    {
        let output = here.convoke(&[command, &["plan.agent"]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}", stdout(&output));
    }
    assert!(!here.place.path().join("home/.local").exists());
}

#[test]
fn a_package_is_used_like_an_agentfile() {
    let here = Packing::new();
    here.does(&["pack", "plan"]);
    assert_snapshot!("validate_package", here.seen(&["validate", "plan.agent"]));
    assert_snapshot!("inspect_package", here.seen(&["inspect", "plan.agent"]));
    let outer =
        "NAME outer\nAGENT planner FROM plan.agent\nGOAL g \"Plan my day\" USING planner\nRUN main USING g\n";
    here.place.write("Agentfile", outer);
    assert_snapshot!("inspect_agent_from_package", here.seen(&["inspect"]));
    here.place.write("broken.agent", b"PK\x03\x04 and nothing");
    assert_snapshot!("validate_broken_package", here.seen(&["validate", "broken.agent"]));
}

#[test]
fn agent_194_the_first_bytes_decide_what_is_inspected_and_not_the_name() {
    let here = Packing::new();
    here.does(&["pack", "plan"]);
    let package = std::fs::read(here.place.path().join("plan.agent")).unwrap();
    here.place.write("without-ending", package);
    here.place.write("text.agent", "NAME text\nGOAL g \"x\"\nRUN main USING g\n");
    here.place.write("empty.agent", "");
    let inspected = here.seen(&["inspect", "without-ending"]);
    assert!(
        inspected.contains("\nplan\n") && inspected.contains("without-ending is not signed"),
        "{inspected}"
    );
    let inspected = here.seen(&["inspect", "text.agent"]);
    assert!(inspected.contains("\ntext\n") && !inspected.contains("signed"), "{inspected}");
    let inspected = here.seen(&["inspect", "empty.agent"]);
    assert!(inspected.contains("the file has no `NAME`") && !inspected.contains("package"), "{inspected}");
}

#[test]
fn packing_says_what_is_missing() {
    let here = Packing::new();
    here.place.write(
        "bad/Agentfile",
        "NAME bad\nAGENT a FROM ../ada.pub\nGOAL g \"x\" USING a\nRUN main USING g\n",
    );
    assert_snapshot!("pack_outside", here.seen(&["pack", "bad"]));
    assert_snapshot!("pack_nothing", here.seen(&["pack", "home"]));
    here.place.write("plan.agent", "NAME precious\n");
    assert_snapshot!("pack_over_a_file", here.seen(&["pack", "plan"]));
    assert_eq!(here.place.read("plan.agent"), "NAME precious\n");
    assert_snapshot!("pack_into_nowhere", here.seen(&["pack", "plan", "-o", "no/where.agent"]));
    assert_snapshot!("pack_with_no_key", here.seen(&["pack", "plan", "--key", "ada.pub"]));
}

#[test]
fn agentcore_232_where_nothing_can_be_written_it_is_said() {
    let here = Packing::new();
    let nowhere = here.convoke(&["pack", "plan", "-o", "no/where.agent"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("failed to write package"), "{}", stderr(&nowhere));
    here.does(&["pack", "plan"]);
    let homeless = here.place.convoke_with(
        &["install", "plan.agent", "--allow-unsigned"],
        &[("COLUMNS", "80"), ("XDG_DATA_HOME", "")],
    );
    assert_eq!(homeless.status.code(), Some(1));
    assert!(stderr(&homeless).contains("home directory unavailable"), "{}", stderr(&homeless));
}

#[test]
fn agent_190_the_same_folder_gives_the_same_file() {
    let here = Packing::new();
    here.does(&["pack", "plan", "-o", "one.agent", "--key", "ada.key"]);
    here.does(&["pack", "plan", "-o", "two.agent", "--key", "ada.key"]);
    let read = |name| std::fs::read(here.place.path().join(name)).unwrap();
    assert_eq!(read("one.agent"), read("two.agent"));
    let dated = [("HOME", here.home.as_str()), ("XDG_DATA_HOME", ""), ("SOURCE_DATE_EPOCH", "1700000000")];
    here.place.convoke_with(&["pack", "plan", "-o", "dated.agent"], &dated);
    let seen = stdout(&here.convoke(&["--json", "verify", "dated.agent"]));
    assert!(seen.contains("\"created_at\": \"2023-11-14T22:13:20Z\""), "{seen}");
}

#[test]
fn agent_195_keygen_overwrites_nothing_and_keeps_the_private_key_private() {
    let here = Packing::new();
    let seen = here.seen(&["keygen", "mine.key"]);
    assert!(seen.contains("mine.key  keep it to yourself") && seen.contains("mine.pub"), "{seen}");
    assert!(!seen.contains("BEGIN"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name| here.place.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("mine.key"), mode("mine.pub")), (0o600, 0o644));
    }
    assert_snapshot!("keygen_again", here.seen(&["keygen", "mine.key"]));
    here.does(&["keygen"]);
    assert!(here.place.path().join("home/.config/convoke/signing.key").exists());
    here.does(&["pack", "plan", "--key", "home/.config/convoke/signing.key"]);
    here.does(&["verify", "plan.agent", "--key", "home/.config/convoke/signing.pub"]);
    assert_snapshot!("keygen_without_a_home", here.place.seen(&["keygen"]));
}

#[test]
fn an_installed_package_is_run_by_its_name_listed_and_removed() {
    let packing = Packing::new();
    for version in ["1.2.0", "1.10.0"] {
        packing.does(&["pack", "plan", "-o", "plan.agent", "--key", "ada.key", "--version", version]);
        packing.does(&["install", "plan.agent", "--key", "ada.pub"]);
    }
    std::fs::remove_file(packing.place.path().join("plan.agent")).unwrap();
    std::fs::rename(packing.place.path().join("plan"), packing.place.path().join("elsewhere")).unwrap();
    let listed: serde_json::Value =
        serde_json::from_str(&stdout(&packing.convoke(&["packages", "--json"]))).unwrap();
    assert_eq!((&listed[0]["version"], &listed[1]["version"]), (&"1.10.0".into(), &"1.2.0".into()));
    assert!(stdout(&packing.convoke(&["packages"])).contains("PACKAGE"));

    let run = ["-i", "topic=looms", "-m", "scripted/rehearsal", "--quiet"];
    packing.does(&[&["run", "plan"][..], &run].concat());
    let shown: serde_json::Value =
        serde_json::from_str(&stdout(&packing.convoke(&["inspect", "plan@1.2.0", "--json"]))).unwrap();
    assert_eq!(shown["name"], "plan");
    let missing = packing.convoke(&["run", "plan@3.0.0"]);
    assert!(stderr(&missing).contains("there is no file plan@3.0.0"), "{}", stderr(&missing));

    let other = packing.convoke(&["uninstall", "plan@3.0.0"]);
    assert_eq!(other.status.code(), Some(3));
    assert!(stderr(&other).contains("of the package plan there is 1.10.0, 1.2.0 here"), "{}", stderr(&other));
    packing.does(&["uninstall", "plan@1.10.0"]);
    let misspelt = packing.convoke(&["uninstall", "paln"]);
    assert!(stderr(&misspelt).contains("did you mean `plan`?"), "{}", stderr(&misspelt));
    assert_eq!(stdout(&packing.convoke(&["uninstall", "plan"])), "removed plan 1.2.0\n");
    assert_eq!(packing.convoke(&["uninstall", "plan"]).status.code(), Some(3));
    assert!(stderr(&packing.convoke(&["packages"])).contains("no package is installed"));
    assert_eq!(packing.convoke(&[&["run", "plan"][..], &run].concat()).status.code(), Some(1));
}

#[test]
fn a_file_of_that_name_goes_before_an_installed_package() {
    let packing = Packing::new();
    packing.does(&["pack", "plan", "-o", "plan.agent"]);
    packing.does(&["install", "plan.agent", "--allow-unsigned"]);
    std::fs::rename(packing.place.path().join("plan"), packing.place.path().join("elsewhere")).unwrap();
    packing.place.write("plan", "NAME other\nGOAL g \"x\"\nRUN r USING g\n");
    assert!(stdout(&packing.convoke(&["inspect", "plan"])).contains("other"));
}

#[test]
fn what_install_says_runs_a_package_does_run_it() {
    let packing = Packing::new();
    let said = |arguments: &[&str]| stderr(&packing.convoke(arguments));
    for (version, command) in
        [("1.10.0", "`convoke run plan` runs it"), ("1.9.0", "`convoke run plan@1.9.0` runs it")]
    {
        packing.does(&["pack", "plan", "-o", "plan.agent", "--key", "ada.key", "--version", version]);
        let told = said(&["install", "plan.agent", "--key", "ada.pub"]);
        assert!(told.contains(command), "{told}");
    }
    // The folder that it was packed from is still there, under the same name.
    packing.does(&["run", "plan", "-i", "topic=looms", "-m", "scripted/rehearsal", "--quiet"]);
    assert!(!said(&["validate", "plan"]).contains("note:"), "somebody vouches for it");
}

#[test]
fn a_package_that_nobody_vouches_for_is_said_to_be_one_whenever_it_is_used() {
    let packing = Packing::new();
    packing.does(&["pack", "plan", "-o", "plan.agent"]);
    packing.does(&["install", "plan.agent", "--allow-unsigned"]);
    for command in [
        &["validate", "plan"][..],
        &["run", "plan", "--dry-run", "-i", "topic=x", "-m", "scripted/rehearsal"],
    ] {
        let told = stderr(&packing.convoke(command));
        assert!(told.contains("the package is not signed"), "{told}");
    }
}

#[test]
fn a_key_that_is_trusted_no_longer_is_noted_of_what_was_installed_with_it() {
    let packing = Packing::new();
    packing.does(&["trust", "ada.pub", "--as", "ada"]);
    packing.does(&["pack", "plan", "-o", "plan.agent", "--key", "ada.key"]);
    packing.does(&["install", "plan.agent"]);
    let told = || stderr(&packing.convoke(&["validate", "plan@0.0.0"]));
    assert_eq!(told(), "");
    std::fs::remove_file(packing.place.path().join("home/.config/convoke/trusted/ada.pub")).unwrap();
    assert!(told().contains("which is not trusted here any more"), "{}", told());
    packing.does(&["install", "plan.agent", "--force", "--allow-unsigned"]);
    packing.does(&["trust", "ada.pub", "--as", "ada"]);
    assert!(told().contains("not trusted here (when it was installed)"), "{}", told());
}

#[test]
fn a_package_that_is_not_installed_is_answered_with_what_is() {
    let packing = Packing::new();
    packing.does(&["pack", "plan", "-o", "plan.agent", "--version", "1.0.0"]);
    packing.does(&["install", "plan.agent", "--allow-unsigned"]);
    for (wanted, told) in
        [("plan@2", "of the package plan there is 1.0.0 here"), ("paln", "did you mean the package `plan`?")]
    {
        let output = packing.convoke(&["run", wanted]);
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
    let output = packing.convoke(&["pack", "plan", "--version", "../x"]);
    assert!(
        stderr(&output).contains("the version \"../x\" cannot be used: it may only have"),
        "{}",
        stderr(&output)
    );
}
