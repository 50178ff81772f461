//! Contract: launch parameters of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use convoke_core::store::{Batch, Launch, NewRun, RunChange, RunQuery, RunRecord};
use convoke_core::{Limits, RunStatus, Store, Timestamp};

use super::Backend;
use super::samples::{change, finish, fresh, id, make, new_run};

fn launch() -> Launch {
    Launch::default()
        .limits(Limits::default().tokens(9).calls_of("bake", 2))
        .timeout(Duration::from_micros(7))
        .deadline(Timestamp::from_micros(1_700_000_000_000_001))
        .label("customer", "Ann \u{1f956}")
        .label("", "no name")
        .parent(id("parent"))
        .thread("kitchen")
        .started_by("ann")
        .host(serde_json::json!({"file": "NAME x", "tools": [1, null, {"a": 2.5}]}))
}

async fn record(store: &dyn Store, run: &str) -> RunRecord {
    store.run(&id(run)).await.expect("readable").expect("the run is there")
}

/// A run has what it was started with, until it is told otherwise; and how long it was at work.
pub async fn what_a_run_was_started_with_is_kept<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let plain = make(&*store, "plain").await;
    let lease = store.create(NewRun { launch: launch(), ..new_run("run") }).await.expect("fresh id");
    let began = record(&*store, "run").await;
    assert_eq!((began.launch, began.worked), (launch(), Duration::ZERO));
    assert_eq!(record(&*store, "plain").await.launch, Launch::default());
    let worked = Duration::from_micros(1_234_567);
    let Batch { change: Some(changed), .. } = change(RunStatus::Suspended) else { unreachable!() };
    let changed = Batch { change: Some(RunChange { worked, ..changed }), ..Batch::default() };
    store.append(&lease, changed).await.expect("writable");
    let other = Launch::default().label("customer", "Ben");
    let changed = Batch { launch: Some(other.clone()), version: Some(7), ..Batch::default() };
    store.append(&plain, changed).await.expect("writable");
    drop(store);
    let store = backend.open(&place).await;
    let read = record(&*store, "run").await;
    assert_eq!((read.launch, read.worked), (launch(), worked), "nothing said changes nothing");
    let plain = record(&*store, "plain").await;
    assert_eq!((plain.launch, plain.version, plain.latest), (other, 3, 7));
    assert_eq!(
        (read.version, read.latest),
        (3, 3),
        "the version that began it is the latest until there is another"
    );
}

/// Runs are found by all of the labels that are asked for, by who started them, and by their conversation.
pub async fn runs_are_found_by_what_they_were_started_with<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let runs = [
        ("a", Launch::default().label("color", "red").label("size", "big")),
        ("b", Launch::default().label("color", "red").thread("t")),
        ("c", Launch::default().label("color", "blue").parent(id("a")).thread("t")),
        ("d", Launch::default()),
    ];
    for (name, launch) in runs {
        store.create(NewRun { launch, ..new_run(name) }).await.expect("fresh id");
    }
    let found = async |query: RunQuery| -> Vec<String> {
        let runs = store.runs(&query).await.expect("readable");
        runs.iter().map(|run| run.id.to_string()).collect()
    };
    let labels = |labels: &[(&str, &str)]| RunQuery {
        labels: labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        ..RunQuery::default()
    };
    assert_eq!(found(labels(&[("color", "red")])).await, ["b", "a"]);
    assert_eq!(found(labels(&[("color", "red"), ("size", "big")])).await, ["a"]);
    assert_eq!(found(labels(&[("color", "big")])).await, [""; 0]);
    assert_eq!(found(RunQuery { parent: Some(id("a")), ..RunQuery::default() }).await, ["c"]);
    assert_eq!(found(RunQuery { thread: Some("t".to_owned()), ..RunQuery::default() }).await, ["c", "b"]);
    assert_eq!(found(RunQuery { thread: Some("t".to_owned()), ..labels(&[("color", "red")]) }).await, ["b"]);
    // What is told anew takes the place of what was, and what is deleted is found by nothing.
    let lease = store.claim(&id("a"), convoke_core::store::OnBusy::TakeOver).await.expect("there");
    let other = Launch::default().label("color", "blue");
    store.append(&lease, Batch { launch: Some(other), ..Batch::default() }).await.expect("writable");
    assert_eq!(found(labels(&[("color", "blue")])).await, ["c", "a"]);
    assert_eq!(found(labels(&[("size", "big")])).await, [""; 0]);
    finish(&*store, &lease, RunStatus::Completed).await;
    assert_eq!(store.delete(&id("a")).await, Ok(true));
    assert_eq!(found(labels(&[("color", "blue")])).await, ["c"]);
}
