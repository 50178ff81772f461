//! How fast the pure state machine is, and what opening and resuming conversations over it takes. The aims are a million transitions a
//! second, in memory that does not grow, and no more for a conversation of 1,000 turns than for one of 10.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Answer, RunId, RunStatus, Runtime, Store, Workflow};
use convoke_machine::conversation::{Activation, Machine, MachineState, Situation, TURN};
use convoke_machine::workflow::{Act, Command, Compiled, Known, Spec, advance, step};
use convoke_models::ScriptedModel;
use convoke_store::{MemoryStore, SqliteStore};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use serde_json::json;

/// A loop with everything that is looked at on the way: limits, a budget, artifacts, a redirect.
fn workflow() -> Compiled {
    let spec: Spec = serde_json::from_value(json!({
        "version": 2, "entry": "plan",
        "engine": {"budget": {"max_total_visits": u32::MAX, "max_tool_calls": u32::MAX, "max_wall_time_sec": u32::MAX}},
        "states": {
            "plan": {"prompt_task": "plan", "on_event": {"PlanReady": "implement"}},
            "implement": {"prompt_task": "implement", "on_event": {"CodeReady": "test"},
                "artifacts": {"report": {"type": "text/plain"}}},
            "test": {"prompt_task": "test", "on_event": {"TestsFailed": "draft", "TestsPassed": "done"}},
            "draft": {"prompt_task": "plan", "on_event": {"PlanReady": "implement"}, "max_visits": 1, "on_max_visits": "implement"},
            "done": {"prompt_task": "done", "terminal": true},
        },
    }))
    .expect("it is a workflow");
    Compiled::new(&spec, &Known::anything()).expect("it can be run")
}

/// The memory of this process in kilobytes, where the system says it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn transitions(criterion: &mut Criterion) {
    let machine = workflow();
    let at = Timestamp::UNIX_EPOCH;
    let fire = |event| Command::at(at, Act::Event(event));
    let mut context = machine.start(at);
    for event in ["PlanReady", "CodeReady", "TestsFailed", "PlanReady"] {
        advance(&machine, &mut context, fire(event)).expect("it leads on");
    }
    let report = Act::SetArtifact { name: "report", value: "all tests but one pass" };
    advance(&machine, &mut context, Command::at(at, report)).expect("it is declared");
    let mut group = criterion.benchmark_group("machine");
    group.throughput(Throughput::Elements(2));
    group.bench_function("transition", |bencher| {
        bencher.iter(|| {
            black_box(advance(&machine, &mut context, fire("CodeReady")).expect("it leads on"));
            black_box(advance(&machine, &mut context, fire("TestsFailed")).expect("it leads back"));
        })
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("transition, the context from before kept", |bencher| {
        bencher.iter(|| step(&machine, black_box(&context), fire("CodeReady")))
    });
    group.finish();

    let before = memory();
    let began = std::time::Instant::now();
    for _ in 0..5_000_000 {
        advance(&machine, &mut context, fire("CodeReady")).expect("it leads on");
        advance(&machine, &mut context, fire("TestsFailed")).expect("it leads back");
    }
    let rate = 10_000_000.0 / began.elapsed().as_secs_f64();
    let grown = memory().zip(before).map(|(after, before)| after.saturating_sub(before));
    let grown = grown.map_or("not known".to_owned(), |grown| format!("{grown} kB"));
    #[expect(clippy::print_stderr, reason = "a figure for whoever runs it")]
    {
        eprintln!("machine/10 million transitions: {rate:.0} per second, memory grew by {grown}");
    }
    assert!(memory().zip(before).is_none_or(|(after, before)| after < before + 1024), "memory grows");
}

/// A conversation in a store, and what it is gone on with.
struct Talk {
    store: Arc<dyn Store>,
    workflow: Workflow<MachineState>,
    run: RunId,
}

impl Talk {
    async fn of(turns: usize, store: Arc<dyn Store>) -> Self {
        let model = ScriptedModel::builder().otherwise("The plan is as good as it was.").build();
        let stage =
            |situation: &Situation<'_>| Ok(Activation::new(format!("You are {}.", situation.state.name)));
        let machine = Machine::builder(workflow(), stage).build().expect("a machine");
        let workflow = machine.workflow();
        let runtime = runtime(&store, &model);
        let begun = runtime.start(&workflow, MachineState::saying("What is the plan?")).await.expect("a run");
        let talk = Self { store, workflow, run: begun.run };
        for _ in 1..turns {
            talk.say().await;
            talk.resume(&runtime).await;
        }
        talk
    }

    async fn say(&self) {
        let open = self.store.questions(Some(&self.run)).await.expect("a store");
        let asked = open.iter().rfind(|open| open.question.title == TURN).expect("somebody is asked");
        self.store.answer(&self.run, &asked.id, Answer::text("And now?")).await.expect("an answer");
    }

    async fn resume(&self, runtime: &Runtime) {
        let outcome = runtime.resume(&self.workflow, self.run.clone()).await.expect("a run");
        assert_eq!(outcome.status, RunStatus::Suspended);
    }
}

fn runtime(store: &Arc<dyn Store>, model: &ScriptedModel) -> Runtime {
    Runtime::builder().shared_store(Arc::clone(store)).model(model.clone()).patience(Duration::ZERO).build()
}

/// Both have as many turns in their last generation: what came before must not matter.
fn conversations(criterion: &mut Criterion) {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let model = ScriptedModel::builder().otherwise("The plan is as good as it was.").build();
    let mut group = criterion.benchmark_group("conversation");
    let folder = tempfile::tempdir().expect("a folder");
    let database = |turns| SqliteStore::open(folder.path().join(format!("{turns}.db"))).expect("a store");
    for (turns, is_durable) in [(10, false), (1_010, false), (10, true), (1_010, true)] {
        let store: Arc<dyn Store> = match is_durable {
            true => Arc::new(database(turns)),
            false => Arc::new(MemoryStore::new()),
        };
        let talk = tokio.block_on(Talk::of(turns, store));
        let runtime = runtime(&talk.store, &model);
        let store = if is_durable { ", SQLite" } else { "" };
        group.bench_function(format!("resume after {turns} turns{store}"), |bencher| {
            bencher.iter(|| tokio.block_on(talk.resume(&runtime)));
        });
        group.bench_function(format!("open after {turns} turns in another process{store}"), |bencher| {
            bencher.iter(|| {
                let stage = |situation: &Situation<'_>| {
                    Ok(Activation::new(format!("You are {}.", situation.state.name)))
                };
                let workflow = Machine::builder(workflow(), stage).build().expect("a machine").workflow();
                let again = Talk { store: Arc::clone(&talk.store), workflow, run: talk.run.clone() };
                tokio.block_on(again.resume(&self::runtime(&talk.store, &model)));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, transitions, conversations);
criterion_main!(benches);
