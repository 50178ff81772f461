//! Tests of loading Agentfiles out of packages.
#![allow(clippy::unwrap_used, reason = "what a test unwraps it asserts")]

mod common;

use common::{file, folder, key, pack, package_of, plan, tar_gz, write, zip};
use convoke_goals::agentfile::load::{FileLoader, LoadError, Loader, PathContent};
use convoke_goals::agentfile::model::Persona;
use convoke_goals::agentfile::{Source, read};
use convoke_package::{PackOptions, Package, PackageLoader, TrustStore};

const OUTER: &str =
    "NAME outer\nAGENT helper FROM lib/plan.agent\nGOAL g \"Do it\" USING helper\nRUN main USING g\n";

fn problems(folder: &tempfile::TempDir, trust: TrustStore) -> Vec<String> {
    let loader = PackageLoader::new(FileLoader::new(folder.path()).unwrap(), trust);
    let (_, diagnostics) = read(&Source::new("Agentfile", OUTER), &loader);
    diagnostics.iter().map(|problem| format!("{} {:?}", problem.message, problem.notes)).collect()
}

#[test]
fn a_package_is_an_agent() {
    let outer = folder(&[("Agentfile", OUTER)]);
    write(outer.path(), "lib/plan.agent", pack(&plan()).to_bytes());
    let loader = PackageLoader::new(FileLoader::new(outer.path()).unwrap(), TrustStore::default());
    let (file, diagnostics) = read(&Source::new("Agentfile", OUTER), &loader);
    let file = file.unwrap_or_else(|| panic!("{:?}", diagnostics.iter().collect::<Vec<_>>()));
    let Persona::Workflow { file: inner, task, .. } = &file.agents[0].persona else {
        panic!("not a workflow")
    };
    assert_eq!((inner.name.as_str(), task.as_str()), ("plan", "topic"));
    let Persona::Prompt(_) = &inner.agents[0].persona else { panic!("its own file was read") };
}

#[test]
fn what_is_in_a_package_sees_nothing_else() {
    let outer = folder(&[("Agentfile", OUTER), ("secret.md", "secret"), ("lib/near.md", "near")]);
    let absolute = outer.path().canonicalize().unwrap().join("secret.md");
    for from in
        ["../secret.md", "../near.md", "../../secret.md", "x/../../near.md", absolute.to_str().unwrap()]
    {
        let text = format!(
            "NAME in\nINPUT task\nAGENT a FROM {from}\nGOAL g \"Do $task\" USING a\nRUN main USING g\n"
        );
        let package = package_of(&[file("Agentfile", text.as_bytes())]);
        write(outer.path(), "lib/plan.agent", package.to_bytes());
        let problems = problems(&outer, TrustStore::default()).join("\n");
        assert!(problems.contains("is not in the folder of the file"), "{from}: {problems}");
    }
}

#[test]
fn a_package_with_a_wrong_signature_is_not_read() {
    let mine = key();
    let signed = Package::pack(plan().path(), &PackOptions::default().key(mine.clone())).unwrap().package;
    let manifest = serde_json::to_vec(signed.manifest()).unwrap();
    let content =
        tar_gz(&[file("Agentfile", b"NAME x\nINPUT task\nGOAL g \"Do $task\"\nRUN main USING g\n")]);
    let changed = zip(&[
        ("manifest.json", &manifest),
        ("content.tar.gz", &content),
        ("signature", signed.signature().unwrap()),
    ]);
    let outer = folder(&[("Agentfile", OUTER)]);
    write(outer.path(), "lib/plan.agent", changed);
    let problems = problems(&outer, TrustStore::default().with("ada", mine.public()));
    assert!(problems[0].contains("signature verification failed"), "{problems:?}");
}

#[test]
fn the_files_of_a_package_are_files() {
    let files = pack(&plan()).files().unwrap();
    assert_eq!(files.find("agents"), Ok(PathContent::Folder));
    assert_eq!(files.find("agents/../agents/critic.md"), Ok(PathContent::Text("You are a critic.".into())));
    assert_eq!(files.find("none"), Ok(PathContent::Nothing));
    assert_eq!(files.names("agents"), Ok(vec!["critic.md".to_owned()]));
    assert_eq!(files.names(""), Ok(vec!["Agentfile".to_owned()]));
    assert!(matches!(files.find("../x"), Err(LoadError::Outside { .. })));
    assert!(matches!(files.find("/Agentfile"), Err(LoadError::Outside { .. })));
    let (file, _) = read(&Source::new("Agentfile", files.agentfile().unwrap()), &files);
    assert!(file.is_some());
}
