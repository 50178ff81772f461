//! How long a decision takes. The aim is 10 µs, which is nothing beside a call of a tool.

use std::hint::black_box;

use convoke_core::{ToolEffect, ToolSpec};
use convoke_tools::policy::{Policy, PolicyGate, shell};
use convoke_tools::workspace::Workspace;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

const POLICY: &str = r#"
version = 1
[tools.web_fetch.domains]
allow = ["docs.rs", "*.rust-lang.org", "example.com"]
[tools.write.paths]
allow = ["src/**", "docs/**", "tests/**"]
deny = ["**/*.lock"]
[paths]
deny = ["secrets/**", "**/*.sqlite"]
[commands]
allow = ["git push origin", "make"]
ask = ["make deploy"]
deny = ["terraform destroy"]
[mcp]
allow = ["files:read", "issues:*"]
"#;

fn decisions(criterion: &mut Criterion) {
    let policy = Policy::parse(POLICY, "policy.toml").expect("it is a policy");
    let folder = std::env::temp_dir();
    let workspace = Workspace::open(&folder).expect("there is a folder for temporary files");
    let plain = PolicyGate::new(policy.clone());
    let linked = PolicyGate::new(policy).workspace(&workspace);
    let spec = |name: &str, effect: ToolEffect| ToolSpec::new(name, "", effect.into());
    let mut group = criterion.benchmark_group("policy");
    for (name, spec, arguments) in [
        ("path", spec("write", ToolEffect::Writes), json!({"path": "src/policy/mod.rs", "content": ""})),
        ("url", spec("web_fetch", ToolEffect::Network), json!({"url": "https://doc.rust-lang.org/std/"})),
        ("command", spec("bash", ToolEffect::Spawns), json!({"command": "cargo test --workspace"})),
        (
            "pipeline",
            spec("bash", ToolEffect::Spawns),
            json!({"command": "cd src && grep -rn 'fn main' . | head -20 > out.txt; git status --short"}),
        ),
        ("other tool", spec("lookup", ToolEffect::Reads), json!({})),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| plain.decide(black_box(&spec), black_box(&arguments)))
        });
    }
    let write = spec("write", ToolEffect::Writes);
    let arguments = json!({"path": "src/policy/mod.rs", "content": ""});
    group.bench_function("path, links followed", |bencher| {
        bencher.iter(|| linked.decide(&write, black_box(&arguments)))
    });
    let nested = "bash -c 'for f in $(find . -name \"*.rs\"); do if grep -q x \"$f\"; then timeout 5 wc -l < \"$f\"; fi; done'";
    group.bench_function("reading a nested command", |bencher| {
        bencher.iter(|| shell::read(black_box(nested)))
    });
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
