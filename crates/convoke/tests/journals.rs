//! Journals written by earlier versions must replay.
//!
//! A file in `tests/fixtures` is a run as some version of Convoke wrote it, kept for ever. To add one for the current
//! version: `CONVOKE_WRITE_FIXTURE=name cargo test -p convoke --test journals`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke::core::store::{Batch, NewRun};
use convoke::core::{Blob, Digest, EffectKind, Entry, Path, Phase, Timestamp};
use convoke::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    text: String,
    kind: Kind,
    notes: Vec<String>,
    rounds: u32,
    approved: bool,
    answer: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Kind {
    urgent: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Amount {
    cents: u32,
}

/// A bit of every effect and every step. Must never change: fixtures depend on it. A new shape is a new function.
fn first_shape() -> Workflow<Order> {
    let refund = FunctionTool::new("refund", "Sends money back.", |amount: Amount| async move {
        Ok::<_, Error>(format!("sent {}", amount.cents))
    })
    .effects([ToolEffect::Network, ToolEffect::Irreversible]);
    let tools = Toolset::new().with(refund).expect("one name");
    let agent =
        Agent::builder("agent").system("You help.").tools(tools.clone()).build().expect("a valid agent");
    let note = |name: &'static str| {
        prompt(name, move |_: &String| format!("note on {name}")).text(|note: &mut String| note)
    };
    let gather = Parallel::builder("gather", Join::all().finish_rest())
        .project(note("left"), |_: &Order| String::new(), |order, note| order.notes.push(note))
        .project(note("right"), |_: &Order| String::new(), |order, note| order.notes.push(note))
        .build()
        .expect("two names");
    let route = Router::new("route")
        .route("urgent", |order: &Order| order.kind.urgent, task("ask", ask))
        .otherwise(func("skip", |_: &mut Order| Ok::<_, Error>(())));
    let main = Chain::new("main")
        .then(prompt("classify", |order: &Order| order.text.clone()).json(|order| &mut order.kind))
        .then(task("clock", clock))
        .then(gather)
        .then(Loop::times("rounds", 2, task("round", round)))
        .then(route)
        .then(
            ToolStep::new("pay", &tools, "refund", |_: &Order| Ok::<_, Error>(json!({"cents": 5})))
                .store(|order: &mut Order, _, said| order.notes.push(said)),
        )
        .then(
            AgentStep::new("agent", agent, |order: &Order| order.text.clone())
                .store(|order: &mut Order, result| order.answer = result.text()),
        );
    Workflow::new(main).named("order")
}

async fn clock(scope: &Scope, order: &mut Order) -> Result<(), Error> {
    let time = scope.now().await?;
    scope.sleep(Duration::from_millis(1)).await?;
    order.notes.push(format!("at {time}, lot {}", scope.random()));
    Ok(())
}

async fn round(scope: &Scope, order: &mut Order) -> Result<(), Error> {
    order.rounds +=
        scope.custom("count").request(&order.rounds).perform(|_| async { Ok::<_, Error>(1_u32) }).await?;
    let failed = scope.custom("fail").repeatable().perform(|_| async { Err::<(), _>("as it should") }).await;
    order.notes.push(failed.expect_err("it fails").to_string());
    Ok(())
}

async fn ask(scope: &Scope, order: &mut Order) -> Result<(), Error> {
    order.approved = scope.ask(Question::approval("Refund?")).await?.is_approval();
    Ok(())
}

fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::output("kind"), Reply::json(json!({"urgent": true})))
        .when(Match::has_tool_result(), Reply::text("Done."))
        .when(Match::offers_tools(), Reply::text("One moment.").and_tool("refund", json!({"cents": 7})))
        .otherwise(Reply::text("noted"))
        .build()
}

/// A run as a file keeps it.
#[derive(Serialize, Deserialize)]
struct Fixture {
    run: String,
    workflow: String,
    version: u32,
    seed: u64,
    input: Value,
    state: Value,
    entries: Vec<StoredEntry>,
    content: Vec<(Digest, String)>,
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    seq: u64,
    path: Path,
    ordinal: u32,
    effect: EffectKind,
    phase: Phase,
    digest: Digest,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
}

impl From<Entry> for StoredEntry {
    fn from(entry: Entry) -> Self {
        let Entry { seq, path, ordinal, effect, phase, digest, at, request, outcome, labels: _ } = entry;
        let text =
            |json: convoke::core::store::Bytes| String::from_utf8(json.to_vec()).expect("JSON is text");
        Self {
            seq,
            path,
            ordinal,
            effect,
            phase,
            digest,
            at,
            request: request.map(text),
            outcome: outcome.map(text),
        }
    }
}

impl From<StoredEntry> for Entry {
    fn from(stored: StoredEntry) -> Self {
        let StoredEntry { seq, path, ordinal, effect, phase, digest, at, request, outcome } = stored;
        Self {
            seq,
            path,
            ordinal,
            effect,
            phase,
            digest,
            at,
            request: request.map(Into::into),
            outcome: outcome.map(Into::into),
            labels: convoke::core::Labels::new(),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("digits")).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

async fn write(name: &str) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).model(model()).build();
    let order = Order { text: "Two looms, one broken.".to_owned(), ..Order::default() };
    let run = runtime.start(&first_shape(), order).await.expect("it starts").run;
    for pending in store.questions(Some(&run)).await.expect("questions") {
        store.answer(&run, &pending.id, Answer::approve().by("ann")).await.expect("it is taken");
    }
    let outcome = runtime.resume(&first_shape(), run.clone()).await.expect("it resumes");
    let record = store.run(&run).await.expect("readable").expect("there");
    let digests = store.blob_digests(&run).await.expect("readable");
    let mut content: Vec<_> = store.blobs(&run, &digests).await.expect("readable").into_iter().collect();
    content.sort_by_key(|(digest, _)| *digest);
    let fixture = Fixture {
        run: run.to_string(),
        workflow: record.workflow,
        version: record.version,
        seed: record.seed,
        input: serde_json::from_slice(&record.input).expect("JSON"),
        state: serde_json::to_value(outcome.completed().expect("it completes")).expect("plain data"),
        entries: store
            .entries(&run, 1, 10_000)
            .await
            .expect("readable")
            .into_iter()
            .map(Into::into)
            .collect(),
        content: content.into_iter().map(|(digest, bytes)| (digest, hexadecimal(&bytes))).collect(),
    };
    let text = serde_json::to_string_pretty(&fixture).expect("plain data");
    std::fs::write(folder().join(format!("{name}.json")), text + "\n").expect("the file can be written");
}

#[tokio::test]
async fn journals_of_earlier_versions_replay_to_the_same_state() {
    if let Ok(name) = std::env::var("CONVOKE_WRITE_FIXTURE") {
        write(&name).await;
    }
    let mut replayed = 0;
    for file in std::fs::read_dir(folder()).expect("fixtures are there") {
        let path = file.expect("readable").path();
        let fixture: Fixture =
            serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("a fixture");
        let id: RunId = fixture.run.parse().expect("an id");
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let blobs = fixture
            .content
            .into_iter()
            .map(|(digest, text)| Blob { digest, content: from_hexadecimal(&text).into() });
        let past = Batch {
            entries: fixture.entries.into_iter().map(Into::into).collect(),
            blobs: blobs.collect(),
            ..Batch::default()
        };
        let run = NewRun {
            id: id.clone(),
            workflow: fixture.workflow,
            version: fixture.version,
            input: fixture.input.to_string().into(),
            outline: None,
            launch: Default::default(),
            seed: fixture.seed,
            forked_from: None,
            past,
        };
        let lease = store.create(run).await.expect("it can be made");
        store.release(&lease);
        let replay = Runtime::builder()
            .shared_store(store)
            .build()
            .replay(&first_shape(), &id)
            .await
            .expect("it replays");
        let what = path.display();
        assert!(replay.error.is_none(), "{what}: {:?}", replay.error);
        assert_eq!(replay.unused, 0, "{what}: effects are no longer asked for");
        assert_eq!(serde_json::to_value(&replay.state).expect("plain data"), fixture.state, "{what}");
        replayed += 1;
    }
    assert!(replayed > 0, "there is at least one journal");
}
