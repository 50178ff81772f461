//! Every Agentfile in `examples/agentfiles` does what its first lines say.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::place::{Place, stderr, stdout};

/// What stands before the command in a file.
const TRY: &str = "# Try it without a model: convoke ";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agentfiles")
}

/// The words of a command, as a shell reads them.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in command.trim().chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// Everything in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn every_example_runs_as_it_says() {
    let place = Place::empty();
    let mut names = Vec::new();
    for path in files(&folder()) {
        let name = path.strip_prefix(folder()).unwrap().to_str().unwrap();
        place.write(name, std::fs::read(&path).unwrap());
        names.extend(name.strip_suffix(".agent").map(str::to_owned));
    }
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let text = place.read(&format!("{name}.agent"));
        let command = text.lines().find_map(|line| line.strip_prefix(TRY)).unwrap_or_else(|| {
            panic!("{name}.agent does not say how to try it: a line `{TRY}run {name}.agent …`")
        });
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let checked = place.convoke(&["validate", words[1]]);
        assert!(checked.status.success() && stderr(&checked).is_empty(), "{name}: {}", stderr(&checked));
        let formatted = place.convoke(&["fmt", "--check", words[1]]);
        assert!(formatted.status.success(), "{name} is not written as `convoke fmt` writes it");
        let mut output = place.convoke(&words);
        let mut asked = false;
        while output.status.code() == Some(5) {
            asked = true;
            output = place.convoke(&["answer", "last", "--approve", "--resume"]);
        }
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        if name == "fix-bug" {
            // The tools were real.
            assert!(asked, "what cannot be undone is asked about");
            assert!(place.read("fix-bug/total.sh").contains("sum + price"));
            assert!(!place.path().join("fix-bug/build").exists());
        }
        assert_snapshot!(format!("example_{}", name.replace('-', "_")), stdout(&output));
    }
}
