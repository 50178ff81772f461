//! Triggers that escalate a result to the supervisor.
use std::sync::Arc;

use crate::supervised::*;
use convoke_core::{BoxFuture, Error, EventKind, ModelError, Runtime, Scope};
use convoke_goals::agentfile::load::NoFiles;
use convoke_goals::agentfile::{Source, read};
use convoke_goals::supervise::{Review, Supervisor, Trigger, Verdict};
use convoke_models::Reply;
use convoke_models::scripted::Replies;
use serde_json::json;

fn unable() -> Reply {
    Reply::error(ModelError::of_status(400, "no such model"))
}

#[tokio::test]
async fn agent_126_high_confidence_and_nothing_reported_is_no_reason_to_look() {
    let model = Script::default().model();
    assert_eq!(Watched::by_model(&model).triggers().await, [Vec::<String>::new()]);
    assert_eq!(count(&model, "judgement"), 0);
}

#[tokio::test]
async fn agentcore_157_a_commitment_that_cannot_be_had_is_a_reason_to_look() {
    for commit in
        [unable().into(), Replies::from("I will write it."), Replies::from("{broken}"), one(json!({}))]
    {
        let model = Script { commit, ..Script::default() }.model();
        let triggers = Watched::by_model(&model).triggers().await.remove(0);
        assert!(triggers[0].starts_with("commitment_unavailable:"), "{triggers:?}");
        assert_eq!((triggers.len(), count(&model, "judgement"), count(&model, "work")), (1, 1, 1));
    }
    // One that says little is one.
    let model = Script { commit: one(json!({"interpretation": "a haiku"})), ..Script::default() }.model();
    let (events, _) = Watched::by_model(&model).events(&Runtime::new()).await;
    assert_eq!(supervision(&events, "commit")[0]["commitment"]["confidence"], "medium");
    assert_eq!(supervision(&events, "reconcile")[0]["triggers"], json!([]));
}

#[tokio::test]
async fn agentcore_158_an_assessment_that_cannot_be_had_is_a_reason_to_look() {
    for post in [unable().into(), Replies::from("All is well."), one(json!({"concerns": []}))] {
        let model = Script { post, ..Script::default() }.model();
        let triggers = Watched::by_model(&model).triggers().await.remove(0);
        assert!(triggers[0].starts_with("assessment_unavailable:"), "{triggers:?}");
        assert_eq!((triggers.len(), count(&model, "judgement")), (1, 1));
    }
}

#[tokio::test]
async fn agent_133_models_that_fail_to_commit_or_assess_do_not_fail_the_goal() {
    let model = Script { commit: unable().into(), post: unable().into(), ..Script::default() }.model();
    let (events, outcome) = Watched::by_model(&model).events(&Runtime::new()).await;
    assert_eq!(outcome.completed().unwrap(), "first");
    let skipped = events.iter().filter(|event| matches!(event.kind, EventKind::StepSkipped { .. }));
    assert_eq!(
        skipped.map(|event| event.path.to_string()).collect::<Vec<_>>(),
        ["haiku/commit", "haiku/post"]
    );
    assert!(supervision(&events, "commit")[0]["unavailable"].as_str().unwrap().contains("no such model"));
    let triggers = supervision(&events, "reconcile")[0]["triggers"].clone();
    let triggers: Vec<String> = serde_json::from_value(triggers).unwrap();
    assert_eq!(triggers.len(), 2);
    for (trigger, kind) in triggers.iter().zip(["assessment_unavailable:", "commitment_unavailable:"]) {
        assert!(trigger.starts_with(kind) && trigger.contains("no such model"), "{triggers:?}");
    }
    assert_eq!(count(&model, "judgement"), 1, "somebody looks at it");
    let told = last(&requests(&model, "judgement")[0]);
    assert!(
        told.contains("THE COMMITMENT COULD NOT BE HAD") && told.contains("THE ASSESSMENT COULD NOT BE HAD")
    );
}

async fn triggers(commit: serde_json::Value, post: serde_json::Value) -> Vec<String> {
    let model = Script { commit: one(commit), post: one(post), ..Script::default() }.model();
    Watched::by_model(&model).triggers().await.remove(0)
}

#[tokio::test]
async fn agentcore_163_164_every_finding_is_a_trigger_of_its_own() {
    assert_eq!(triggers(promise(), broken()).await, ["commitment_not_met"]);
    let found = json!({
        "met_commitment": false, "deviations": ["d1", "", "d2"], "concerns": ["c"], "unexpected": [" ", "u"],
    });
    assert_eq!(
        triggers(promise(), found).await,
        ["commitment_not_met", "deviation:d1", "deviation:d2", "concern:c", "unexpected:u"]
    );
}

/// Takes everything, and says what kinds of reasons there were.
struct Namer(Arc<std::sync::Mutex<Vec<&'static str>>>);

impl Supervisor for Namer {
    fn supervise<'a>(
        &'a self,
        _: &'a Scope,
        review: &'a Review<'a>,
    ) -> BoxFuture<'a, Result<Verdict, Error>> {
        self.0.lock().unwrap().extend(review.triggers.iter().map(|trigger| trigger.name()));
        Box::pin(async { Ok(Verdict::Continue { reason: String::new() }) })
    }
}

async fn names(commit: serde_json::Value, post: serde_json::Value) -> Vec<&'static str> {
    let model = Script { commit: one(commit), post: one(post), ..Script::default() }.model();
    let names = Arc::default();
    Watched::by_model(&model).supervisor(Namer(Arc::clone(&names))).output().await;
    std::mem::take(&mut *names.lock().unwrap())
}

#[tokio::test]
async fn agent_127_what_kinds_of_reasons_there_are() {
    let assessment = |met: bool, of: &[&str]| {
        let mut value = json!({"met_commitment": met});
        of.iter().for_each(|name| value[*name] = json!(["x"]));
        value
    };
    assert_eq!(names(promise(), assessment(true, &["concerns"])).await, ["concerns_raised"]);
    let departed = assessment(false, &["deviations"]);
    assert_eq!(names(promise(), departed).await, ["commitment_not_met", "scope_deviation"]);
    assert_eq!(names(promise_with("confidence", json!("LOW")), kept()).await, ["low_confidence"]);
    let assuming = |count: usize| promise_with("assumptions", json!(vec!["x"; count]));
    assert_eq!(names(assuming(4), kept()).await, ["excess_assumptions"]);
    assert!(names(assuming(3), kept()).await.is_empty());
    let mut everything = assuming(4);
    everything["confidence"] = json!("low");
    assert_eq!(
        names(everything, assessment(false, &["deviations", "concerns", "unexpected"])).await,
        [
            "commitment_not_met",
            "scope_deviation",
            "concerns_raised",
            "unexpected_results",
            "low_confidence",
            "excess_assumptions",
        ]
    );
}

#[tokio::test]
async fn what_anybody_can_see_is_a_reason_whatever_is_said_about_it() {
    let commit = promise_with("tools_planned", json!(["Look ", "count"]));
    let model = Script { commit: one(commit), ..Script::default() }.model();
    let watched = Watched::by_model(&model).shaped(|product| {
        product.text = " \n".to_owned();
        product.missing = vec!["title".to_owned(), "lines".to_owned()];
        product.tools = vec!["look".to_owned(), "shell".to_owned()];
        product.incomplete = Some("no turns left".to_owned());
        product.unconverged = Some(3);
    });
    assert_eq!(
        watched.triggers().await[0],
        [
            "unplanned_tools:shell",
            "empty_output",
            "missing_fields:title, lines",
            "incomplete:no turns left",
            "unconverged:3"
        ]
    );
    // Who planned nothing is not held to it.
    let model = Script::default().model();
    let watched = Watched::by_model(&model).shaped(|product| product.tools = vec!["shell".to_owned()]);
    assert!(watched.triggers().await[0].is_empty());
}

#[test]
fn the_document_has_valid_examples_and_names_every_reason_to_look() {
    let document = include_str!("../../../docs/supervision.md");
    let mut examples = document.split("```agentfile\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    assert!(examples.clone().count() > 0);
    assert!(examples.all(|text| read(&Source::new("Agentfile", text), &NoFiles).0.is_some()));

    let text = || "x".to_owned();
    for trigger in [
        Trigger::CommitmentUnavailable(text()),
        Trigger::AssessmentUnavailable(text()),
        Trigger::CommitmentNotMet,
        Trigger::Deviation(text()),
        Trigger::Concern(text()),
        Trigger::Unexpected(text()),
        Trigger::LowConfidence,
        Trigger::ExcessAssumptions(4),
        Trigger::EmptyOutput,
        Trigger::MissingFields(vec![text()]),
        Trigger::Incomplete(text()),
        Trigger::UnplannedTools(vec![text()]),
        Trigger::Unconverged(5),
    ] {
        let shown = trigger.to_string();
        let prefix = shown.split(':').next().unwrap();
        assert!(document.contains(&format!("| `{}` | `{prefix}", trigger.name())), "{shown}");
    }
}

/// People read words; programs read names, out of which the same can be told again.
#[test]
fn every_reason_has_words_and_can_be_read_back() {
    let text = || "a: b".to_owned();
    let names = || vec!["x".to_owned(), "y".to_owned()];
    for (trigger, words) in [
        (Trigger::CommitmentUnavailable(text()), "there is no commitment to compare with: a: b"),
        (Trigger::AssessmentUnavailable(text()), "there is no assessment: a: b"),
        (Trigger::CommitmentNotMet, "by its own account it does not keep the commitment"),
        (Trigger::Deviation(text()), "it departs from the commitment: a: b"),
        (Trigger::Concern(text()), "there is a concern: a: b"),
        (Trigger::Unexpected(text()), "something was not expected: a: b"),
        (Trigger::LowConfidence, "confidence was low before the work began"),
        (Trigger::ExcessAssumptions(4), "more is taken for granted than is good: 4 assumptions"),
        (Trigger::EmptyOutput, "the result is empty"),
        (Trigger::MissingFields(names()), "outputs are missing: x, y"),
        (Trigger::Incomplete(text()), "the work was cut short: a: b"),
        (Trigger::UnplannedTools(names()), "tools were used that were not planned: x, y"),
        (Trigger::Unconverged(1), "it was still changing at the limit of 1 iteration"),
    ] {
        assert_eq!(trigger.words(), words);
        assert_eq!(Trigger::read(&trigger.to_string()), Some(trigger));
    }
    assert_eq!(Trigger::read("unconverged:soon"), None);
}
