//! What `scripts/convoke` says when its build fails.

use std::path::Path;
use std::process::Command;

/// What is said about a build whose output has this at its end.
fn why(last: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("build.log");
    std::fs::write(&log, format!("{}{last}\n", "   Compiling something v1.0.0\n".repeat(1_000))).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/why-it-failed");
    let output = Command::new("bash").arg(script).arg(&log).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.trim_end().ends_with(&*log.to_string_lossy()), "{said}");
    said
}

#[test]
fn a_failed_build_ends_in_three_lines_what_is_missing_and_how_to_get_it() {
    let libclang =
        "Unable to find libclang: \"couldn't find any valid shared libraries matching: ['libclang.so']\"";
    for (last, missing, remedy) in [
        (libclang, "libclang is missing", "apt-get install libclang-dev"),
        ("fatal error: 'stddef.h' file not found", "header files of clang", "apt-get install libclang-dev"),
        ("is `cmake` not installed?", "cmake is missing", "apt-get install cmake"),
        ("error: linker `cc` not found", "no compiler", "apt-get install build-essential"),
        ("No space left on device (os error 28)", "the disk is full", "CARGO_TARGET_DIR"),
        ("error: rustc 1.80.0 is not supported by the following package:", "too old", "rustup update"),
        ("error[E0308]: mismatched types", "mismatched types", "what stands before it"),
    ] {
        let said = why(last);
        assert!(said.contains(missing) && said.contains(remedy), "{last}: {said}");
    }
}
