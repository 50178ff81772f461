//! What a sandbox costs: a command that does nothing, bare and confined.
//!
//! `cargo bench -p convoke-tools --bench sandbox`
#![allow(clippy::unwrap_used, reason = "benchmarks")]

use std::process::{Command, Stdio};

use convoke_tools::sandbox::{Confinement, End, Sandbox, Task};
use convoke_tools::workspace::Workspace;
use criterion::{Criterion, criterion_group, criterion_main};

fn no_op(criterion: &mut Criterion) {
    commands(criterion, "a command that does nothing", &[]);
    commands(criterion, "the same beside a secret", &[".env"]);
}

fn commands(criterion: &mut Criterion, name: &str, secrets: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for secret in secrets {
        std::fs::write(folder.path().join(secret), "KEY=1").unwrap();
    }
    let workspace = Workspace::open(folder.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(40);
    group.bench_function("bare, std::process", |bencher| {
        bencher.iter(|| {
            let mut command = Command::new("bash");
            let done = command.args(["-c", ":"]).stdin(Stdio::null()).current_dir(folder.path()).output();
            assert!(done.unwrap().status.success());
        });
    });
    for (name, confinement) in [
        ("limits only", Confinement::Off),
        ("Landlock and seccomp", Confinement::Landlock),
        ("bubblewrap and seccomp", Confinement::Bubblewrap),
    ] {
        let sandbox = Sandbox::new(&workspace).unwrap().confinement(confinement);
        let run = || runtime.block_on(sandbox.run(Task::new("bash", ["-c", ":"])));
        // Where this machine has it.
        if run().is_err() {
            continue;
        }
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(run().unwrap().end, End::Exited(0)));
        });
    }
    group.finish();
}

criterion_group!(benches, no_op);
criterion_main!(benches);
