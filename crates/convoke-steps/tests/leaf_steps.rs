//! Functions and tasks.

use crate::common::events::{end, failures, told, told_of_steps};
use crate::common::{Oops, Trail, add, fails, run, watch};
use convoke_core::{Error, EventKind, Runtime, Scope, Workflow};
use convoke_steps::{func, task};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn gains_001_a_function_changes_the_state() {
    let step = func("test", |trail: &mut Trail| {
        trail.text = "done".into();
        Ok::<_, Error>(())
    });
    assert_eq!(run(step).await.completed().unwrap().text, "done");
}

#[tokio::test]
async fn gains_002_a_function_s_error_is_returned_as_it_is() {
    let error = run(fails("test")).await.error.unwrap();
    assert!(matches!(error, Error::Failed(_)));
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("test".into())));
}

#[tokio::test]
async fn gains_003_a_function_is_told_of_when_it_starts_and_when_it_ends() {
    let (events, _) = watch(add("test")).await;
    // The run itself starts and ends once, whatever its root is.
    assert_eq!(told(&events), ["run started", "test started", "test completed", "run completed"]);
}

#[tokio::test]
async fn gains_004_a_failed_function_ends_too() {
    let (events, outcome) = watch(fails("test")).await;
    // gains leaves the step open and says that the run failed; here a step failed, and then the run did.
    assert_eq!(told(&events), ["run started", "test started", "test failed", "run failed"]);
    assert_eq!(failures(&events), [("test", "oops from test")]);
    assert_eq!(end(&events).error.as_deref(), Some("oops from test"));
    assert_eq!(outcome.error.unwrap().downcast_ref::<Oops>(), Some(&Oops("test".into())));
}

#[tokio::test]
async fn gains_005_a_panic_is_an_error_that_names_the_step() {
    let panics = || func("test", |_: &mut Trail| -> Result<(), Error> { panic!("a bug") });
    let (events, heard) = watch(panics()).await;
    for error in [run(panics()).await.error.unwrap(), heard.error.unwrap()] {
        assert!(
            matches!(&error, Error::Panicked { path, message } if path.as_str() == "test" && **message == *"a bug")
        );
        assert!(error.to_string().starts_with("step `test` panicked: a bug"), "{error}");
        assert_eq!(end(&events).error, Some(error.to_string()));
    }
    assert_eq!(told(&events), ["run started", "test started", "test failed", "run failed"]);
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Report {
    progress: u32,
    note: String,
}

async fn report_twice(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    scope.publish(report).await?;
    report.progress = 1;
    scope.publish(report).await?;
    report.note = "half".into();
    scope.publish(report).await
}

#[tokio::test]
async fn gains_006_the_state_is_published_whole_and_then_as_changes() {
    let (events, _) = watch(task("work", report_twice)).await;
    let expected = [
        "work started",
        r#"work state {"note":"","progress":0}"#,
        r#"work change [{"op":"replace","path":"/progress","value":1}]"#,
        r#"work change [{"op":"replace","path":"/note","value":"half"}]"#,
        "work completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test]
async fn gains_007_without_a_listener_publishing_does_nothing() {
    let report: Report = run(task("work", report_twice)).await.completed().unwrap();
    assert_eq!((report.progress, report.note.as_str()), (1, "half"));
}

async fn count_to_10_000(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    for progress in 0..=10_000 {
        report.progress = progress;
        scope.publish(report).await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn gains_008_a_slow_reader_gets_all_changes_in_order() {
    let workflow = Workflow::new(task("work", count_to_10_000)).named("patient");
    let mut stream = Runtime::new().start(&workflow, Report::default()).stream();
    let mut heard = Vec::new();
    while let Some(event) = stream.next().await {
        tokio::time::sleep(crate::common::millis(50)).await;
        if let EventKind::StateDelta { patch } = event.kind {
            heard.push(patch[0]["value"].as_u64().unwrap());
        }
    }
    assert!(heard.into_iter().eq(1..=10_000));
}

async fn publish_the_same_twice(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    scope.publish(report).await?;
    scope.publish(report).await
}

#[tokio::test]
async fn gains_009_nothing_changed_is_nothing_told() {
    let (events, _) = watch(task("work", publish_the_same_twice)).await;
    assert_eq!(
        told_of_steps(&events),
        ["work started", r#"work state {"note":"","progress":0}"#, "work completed"]
    );
}

async fn publish_and_fail(scope: &Scope, report: &mut Report) -> Result<(), Oops> {
    scope.publish(report).await.map_err(|_| Oops("publish".into()))?;
    report.progress = 1;
    scope.publish(report).await.map_err(|_| Oops("publish".into()))?;
    Err(Oops("work".into()))
}

#[tokio::test]
async fn gains_010_what_was_published_before_a_failure_stays_told() {
    let (events, _) = watch(task("work", publish_and_fail)).await;
    let expected = [
        "run started",
        "work started",
        r#"work state {"note":"","progress":0}"#,
        r#"work change [{"op":"replace","path":"/progress","value":1}]"#,
        "work failed",
        "run failed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).error.as_deref(), Some("oops from work"));
}
