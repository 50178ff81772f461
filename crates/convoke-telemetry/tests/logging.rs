//! Tests of log lines: filters, formats, content.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::path::Path;

use common::work::{ARGUMENT, PROMPT, REPLY, RESULT, model, notes, researcher};
use convoke_core::{Error, Runtime, Workflow};
use convoke_steps::func;
use convoke_telemetry::logging::{self, LogConfig, LogError, LogFormat, LogOutput, RunLog};
use serde_json::Value;
use tracing::instrument::WithSubscriber;

/// What is written to the log while two runs go on, one of which fails.
async fn logged(filter: &str, format: LogFormat, file: &Path) -> String {
    let config = LogConfig { format, output: LogOutput::File(file.to_owned()), ..LogConfig::at(filter) };
    let subscriber = logging::subscriber(&config).unwrap();
    async {
        let runtime = Runtime::builder().observer(RunLog).model(model()).build();
        let _ = runtime
            .start(&Workflow::new(researcher("left")), notes())
            .id("good".parse().unwrap())
            .await
            .unwrap();
        let broken = Workflow::new(func("broken", |_: &mut u8| Err::<(), _>(Error::failed("it broke"))));
        let _ = runtime.start(&broken, 0).id("bad".parse().unwrap()).await.unwrap();
        tracing::info!(target: "somebody::else", "of no interest");
    }
    .with_subscriber(subscriber)
    .await;
    std::fs::read_to_string(file).unwrap()
}

#[tokio::test]
async fn agent_150_json_lines_carry_run_and_path_and_nothing_that_was_said() {
    let directory = tempfile::tempdir().unwrap();
    let text = logged("trace", LogFormat::Json, &directory.path().join("log")).await;
    for said in [PROMPT, REPLY, ARGUMENT, RESULT] {
        assert!(!text.contains(said), "{said}");
    }
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["run"] == "good" || line["run"] == "bad"), "{text}");
    let find = |message: &str| lines.iter().find(|line| line["message"] == message).expect(message);
    assert_eq!(find("run started")["workflow"], "left");
    assert_eq!(
        (&find("run completed")["level"], &find("run completed")["tool_calls"]),
        (&"INFO".into(), &2.into())
    );
    assert_eq!(
        (&find("run failed")["level"], &find("run failed")["error"]),
        (&"ERROR".into(), &"it broke".into())
    );
    assert_eq!(
        (&find("step failed")["level"], &find("step failed")["path"]),
        (&"WARN".into(), &"broken".into())
    );
    assert_eq!(find("model called")["model"], "anthropic/claude-test");
    assert!(find("model replied")["tokens"].as_u64().unwrap() > 0);
    assert!(find("tool answered")["path"].as_str().unwrap().contains("/turn/search"));
}

#[tokio::test]
async fn a_level_is_ours_and_a_filter_is_taken_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let info = logged("info", LogFormat::Text, &directory.path().join("info")).await;
    assert!(info.contains("run completed") && info.contains("run=good") && !info.contains("step started"));
    assert!(!info.contains("of no interest") && !info.contains('\u{1b}'), "{info}");
    let errors = logged("ERROR", LogFormat::Text, &directory.path().join("error")).await;
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(logged("off", LogFormat::Text, &directory.path().join("off")).await.is_empty());
    let other = logged("somebody=info", LogFormat::Text, &directory.path().join("other")).await;
    assert!(other.contains("of no interest") && other.lines().count() == 1, "{other}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let filter = logging::subscriber(&LogConfig::at("convoke=loud")).err().unwrap();
    assert!(matches!(filter, LogError::Filter { .. }) && filter.to_string().contains("convoke=loud"));
    let output = LogOutput::File("/nowhere/at/all/log".into());
    let file = logging::subscriber(&LogConfig { output, ..LogConfig::default() }).err().unwrap();
    assert!(file.to_string().contains("/nowhere/at/all/log"), "{file}");
    assert_eq!("json".parse::<LogFormat>().unwrap(), LogFormat::Json);
    assert!("yaml".parse::<LogFormat>().unwrap_err().to_string().contains("text and json"));
}
