//! What a sandbox costs: a command that does nothing, bare and confined, in folders of all sizes; what comes out of a view.
//!
//! `cargo bench -p convoke-tools --bench sandbox`
#![allow(clippy::unwrap_used, reason = "benchmarks")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use convoke_tools::sandbox::{CommandEnd, Confinement, Sandbox, SandboxCommand};
use convoke_tools::workspace::Workspace;
use criterion::{Criterion, criterion_group, criterion_main};

const CONFINEMENTS: [(&str, Confinement); 3] = [
    ("limits only", Confinement::Off),
    ("Landlock and seccomp", Confinement::Landlock),
    ("a view", Confinement::View),
];

fn no_op(criterion: &mut Criterion) {
    commands(criterion, "a command that does nothing", ":", 40, |_| {});
    commands(criterion, "the same beside a secret", ":", 40, |folder| {
        std::fs::write(folder.join(".env"), "KEY=1").unwrap();
    });
    commands(criterion, "the same among 100,000 files in 1,000 folders", ":", 20, |folder| {
        if folder.join("0").exists() {
            return;
        }
        for number in 0..1_000 {
            let inner = folder.join(format!("{}/{number}", number % 30));
            std::fs::create_dir_all(&inner).unwrap();
            for file in 0..100 {
                std::fs::write(inner.join(file.to_string()), "").unwrap();
            }
        }
    });
}

fn new_files(criterion: &mut Criterion) {
    let make = "perl -e 'mkdir \"made\"; for $d (1..100) { mkdir \"made/$d\"; for (1..100) { open(F, \">\", \"made/$d/$_\") } }'";
    commands(criterion, "10,000 new files", make, 10, |folder| {
        let _ = std::fs::remove_dir_all(folder.join("made"));
    });
    let again = format!("rm -rf made; {make}");
    commands(criterion, "10,000 new files, with those of the last time removed", &again, 10, |_| {});
}

fn build(criterion: &mut Criterion) {
    let test = "touch src/lib.rs; cargo test --offline --quiet";
    commands(criterion, "cargo test of a small crate", test, 10, |folder| {
        if folder.join("src").exists() {
            return;
        }
        std::fs::create_dir(folder.join("src")).unwrap();
        std::fs::write(
            folder.join("Cargo.toml"),
            "[package]\nname = \"small\"\nedition = \"2024\"\n[workspace]\n",
        )
        .unwrap();
        let content = "pub fn two() -> u32 { 2 }\n#[test]\nfn it_is() { assert_eq!(two(), 2); }\n";
        std::fs::write(folder.join("src/lib.rs"), content).unwrap();
    });
}

/// Measures a script, bare and confined. Before each time, the folder is made ready, which is not measured.
fn commands(criterion: &mut Criterion, name: &str, script: &str, samples: usize, ready: impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let timed = |times: u64, run: &dyn Fn()| -> Duration {
        let once = |_| {
            ready(folder.path());
            let started = Instant::now();
            run();
            started.elapsed()
        };
        (0..times).map(once).sum()
    };
    ready(folder.path());
    let workspace = Workspace::open(folder.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(samples);
    group.bench_function("bare, std::process", |bencher| {
        let run = || {
            let mut command = Command::new("bash");
            let done = command.args(["-c", script]).stdin(Stdio::null()).current_dir(folder.path()).output();
            assert!(done.unwrap().status.success());
        };
        bencher.iter_custom(|times| timed(times, &run));
    });
    for (name, confinement) in CONFINEMENTS {
        let sandbox = chains(Sandbox::new(&workspace).unwrap().confinement(confinement), &workspace);
        let run = || runtime.block_on(sandbox.run(SandboxCommand::new("bash", ["-c", script])));
        // Where this machine has it.
        if run().is_err() {
            continue;
        }
        group.bench_function(name, |bencher| {
            let run = || assert_eq!(run().unwrap().end, CommandEnd::Exited(0));
            bencher.iter_custom(|times| timed(times, &run));
        });
    }
    group.finish();
}

/// With this user's tool chains, as commands of `convoke` have them.
fn chains(sandbox: Sandbox, workspace: &Workspace) -> Sandbox {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let openings = convoke_tools::sandbox::Openings::new(workspace, home.as_deref(), []).unwrap();
    sandbox.chains(&convoke_tools::sandbox::Toolchains::find(&openings, |name| std::env::var_os(name)))
}

criterion_group!(benches, no_op, new_files, build);
criterion_main!(benches);
