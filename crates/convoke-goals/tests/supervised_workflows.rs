//! Supervision in whole workflows.
use std::sync::Arc;

use crate::common::valid;
use crate::run_support::{Rig, text};
use crate::supervised::{broken, count, kept, last, promise, requests, run_id, verdict};
use convoke_core::{Answer, EffectKind, Fork, ModelError, Phase, RunStatus, Runtime, Store};
use convoke_goals::supervise::ModelSupervisor;
use convoke_goals::{Goal, Sequence, Supervision, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

fn tree(text: &str) -> Workflow {
    Workflow::from(&valid(text))
}

/// Judges by the conversation alone: what was not corrected is not good enough.
fn strict() -> ScriptedModel {
    let corrected = || Match::any_contains("use fewer words").or(Match::any_contains("add a frog"));
    ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(Match::output("assessment").and(corrected()), Reply::json(kept()))
        .when(Match::output("assessment"), Reply::json(broken()))
        .when(Match::output("judgement"), Reply::json(verdict("reorient")))
        .when(corrected(), "better")
        .otherwise("poor")
        .build()
}

#[tokio::test]
async fn agent_135_a_goal_that_is_excepted_makes_no_commitment() {
    let model = strict();
    let file = "NAME x\nSUPERVISED\nGOAL a \"Do a\" UNSUPERVISED\nGOAL b \"Do b\"\nRUN main USING a, b\n";
    let ran = Rig::new(&model).run(tree(file)).await;
    let state = ran.completed();
    assert_eq!((text(&state, "a").as_str(), text(&state, "b").as_str()), ("poor", "better"));
    assert_eq!(count(&model, "commitment"), 1);
    assert!(last(&requests(&model, "commitment")[0]).contains("Do b"));

    let model = strict();
    let file = "NAME x\nSUPERVISED\nGOAL a \"Do a\" UNSUPERVISED\nRUN main USING a\n";
    Rig::new(&model).run(tree(file)).await.completed();
    assert_eq!(model.calls(), 1, "it is pursued, and that is all");
}

#[tokio::test]
async fn agent_134_a_supervisor_that_fails_fails_goals_of_one_and_of_several() {
    for using in ["", " USING ann", " USING ann, bob"] {
        let model = ScriptedModel::builder()
            .when(Match::output("commitment"), Reply::json(promise()))
            .when(Match::output("assessment"), Reply::json(broken()))
            .when(Match::output("judgement"), Reply::error(ModelError::of_status(400, "no such model")))
            .otherwise("poor")
            .build();
        let file = format!(
            "NAME x\nAGENT ann \"You are Ann.\"\nAGENT bob \"You are Bob.\"\nGOAL a \"Do a\"{using} SUPERVISED\n\
             RUN main USING a\n"
        );
        let ran = Rig::new(&model).run(tree(&file)).await;
        assert_eq!(ran.outcome.status, RunStatus::Failed, "{using}");
        let error = ran.failed().to_string();
        assert!(error.contains("supervision of goal `a` failed"), "{using}: {error}");
        assert!(error.contains("no such model"), "{using}: {error}");
    }
}

#[tokio::test]
async fn agent_138_a_supervised_goal_under_a_person_still_needs_the_person() {
    let file = "NAME x\nSUPERVISED HUMAN\nGOAL a \"Do a\" SUPERVISED\nRUN main USING a\n";
    let model = strict();
    assert_eq!(Rig::new(&model).prepare(tree(file)).needs_human(), ["a"]);
    let ran = Rig::new(&model).run(tree(file)).await;
    assert_eq!(ran.outcome.status, RunStatus::Suspended);
    assert_eq!(ran.outcome.questions()[0].question.subject["step"], "a");
    assert_eq!(count(&model, "judgement"), 0, "no model decides in their place");
}

#[tokio::test]
async fn agent_137_a_correction_reaches_everybody_a_goal_uses_and_steps_pass_supervision_on() {
    let model = strict();
    let file = "NAME x\nAGENT ann \"You are Ann.\"\nAGENT bob \"You are Bob.\"\n\
                GOAL a \"Do a\" USING ann, bob\nRUN main USING a SUPERVISED\n";
    let ran = Rig::new(&model).run(tree(file)).await;
    assert_eq!(text(&ran.completed(), "a"), "better");
    assert_eq!(
        (count(&model, "commitment"), count(&model, "judgement"), count(&model, "assessment")),
        (1, 1, 2)
    );
    // Two agents and whoever puts their answers together, twice; the second time all of them know what is wanted.
    let told = requests(&model, "work").into_iter().map(|request| last(&request).contains("use fewer words"));
    assert_eq!(told.collect::<Vec<_>>(), [false, false, false, true, true, true]);
}

#[tokio::test]
async fn a_convergence_is_sent_back_with_the_correction() {
    let model = strict();
    let file = "NAME x\nCONVERGE a \"Improve a\" WITHIN 2 SUPERVISED\nRUN main USING a\n";
    let ran = Rig::new(&model).run(tree(file)).await;
    assert_eq!(text(&ran.completed(), "a"), "better");
    let told = ran.customs("supervision");
    assert!(told.iter().all(|told| told["kind"] == "convergence" && told["step"] == "a"), "{told:?}");
    let triggers = told.iter().find(|told| told["phase"] == "reconcile").unwrap()["triggers"].clone();
    assert_eq!(triggers, json!(["commitment_not_met", "unconverged:2"]));
}

#[tokio::test]
async fn agentcore_160_what_a_person_watches_is_asked_about_whatever_a_goal_says() {
    for (whole, part) in [
        (Supervision::Human, Supervision::Inherit),
        (Supervision::Human, Supervision::Llm),
        (Supervision::Llm, Supervision::Human),
    ] {
        let goal = Goal::new("a", "Do a").supervision(part);
        let tree = Workflow::new("x").supervision(whole).sequence(Sequence::new("main").goal(goal));
        let ran = Rig::new(&strict()).run(tree).await;
        assert_eq!(ran.outcome.status, RunStatus::Suspended, "{part:?} in {whole:?}");
        assert_eq!(ran.outcome.questions()[0].question.subject["step"], "a");
    }
}

#[tokio::test]
async fn a_person_sees_the_outputs_and_what_counts_is_what_they_approved() {
    let script = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(Match::output("assessment"), Reply::json(kept()))
        .when(Match::any_contains("add a frog"), r#"{"title": "Frog", "lines": 3}"#)
        .when(Match::any_contains("Do a"), r#"{"title": "Pond", "lines": 4}"#)
        .otherwise("done")
        .build();
    let file = "NAME x\nGOAL a \"Do a\" -> title, lines:int SUPERVISED HUMAN\nGOAL b \"Print $title\"\n\
                RUN main USING a, b\n";
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let rig = Rig::new(&script);
    let prepared = rig.prepare(tree(file));
    let workflow = prepared.workflow();
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let bound = prepared.bind(Default::default()).unwrap();
    let mut outcome = runtime.start(&workflow, bound.state).id(run_id()).await.unwrap();
    let mut shown = Vec::new();
    for answer in [Answer::revise("add a frog"), Answer::approve()] {
        let pending = store.questions(Some(&run_id())).await.unwrap().remove(0);
        shown.push(pending.question.subject["fields"].clone());
        store.answer(&run_id(), &pending.id, answer).await.unwrap();
        outcome = runtime.resume(&workflow, run_id()).await.unwrap();
    }
    assert_eq!(shown, [json!({"title": "Pond", "lines": 4}), json!({"title": "Frog", "lines": 3})]);
    let state = outcome.completed().unwrap();
    assert_eq!(state.get("title"), Some(&json!("Frog")));
    assert_eq!(count(&script, "commitment"), 1);
    assert!(last(&script.last_request().unwrap()).contains("Frog"));
}

#[tokio::test]
async fn goals_at_the_same_time_ask_at_the_same_time() {
    let model = strict();
    let main = Sequence::parallel("main").goal(Goal::new("a", "Do a")).goal(Goal::new("b", "Do b"));
    let tree = Workflow::new("x").supervision(Supervision::Human).sequence(main);
    let ran = Rig::new(&model).run(tree).await;
    let mut about: Vec<_> =
        ran.outcome.questions().iter().map(|asked| asked.question.subject["step"].to_string()).collect();
    // Questions stand in the order they were asked in, and either may be first.
    about.sort();
    assert_eq!(about, [r#""a""#, r#""b""#]);
    assert_ne!(ran.outcome.questions()[0].id, ran.outcome.questions()[1].id);
}

#[tokio::test]
async fn nobody_is_asked_where_nobody_may_be() {
    let model = strict();
    let file = "NAME x\nGOAL a \"Do a\" SUPERVISED HUMAN\nRUN main USING a\n";
    let rig = Rig::new(&model).with(|equipment| equipment.human.unattended = true);
    let ran = rig.run(tree(file)).await;
    assert_eq!(ran.outcome.status, RunStatus::Halted);
    assert!(ran.failed().to_string().contains("goal `a`"), "{}", ran.failed());
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn a_goal_is_sent_back_twice_unless_something_else_is_said() {
    let file = "NAME x\nGOAL a \"Do a\" SUPERVISED\nRUN main USING a\n";
    for (most, pursued) in [(None, 3), (Some(0), 1), (Some(1), 2)] {
        let model = ScriptedModel::builder()
            .when(Match::output("commitment"), Reply::json(promise()))
            .when(Match::output("assessment"), Reply::json(broken()))
            .when(Match::output("judgement"), Reply::json(verdict("reorient")))
            .otherwise("poor")
            .build();
        let rig = Rig::new(&model).with(|equipment| equipment.max_reorients = most);
        assert_eq!(rig.run(tree(file)).await.outcome.status, RunStatus::Suspended);
        assert_eq!(count(&model, "work"), pursued);
    }
}

#[tokio::test]
async fn nothing_is_done_twice_wherever_a_whole_workflow_is_cut() {
    let file = "NAME x\nAGENT ann \"You are Ann.\"\nAGENT bob \"You are Bob.\"\n\
                GOAL a \"Do a\" USING ann, bob SUPERVISED\nCONVERGE b \"Improve $a\" WITHIN 2 SUPERVISED\n\
                RUN main USING a, b\n";
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let model = strict();
    let prepared = Rig::new(&model).prepare(tree(file));
    let bound = prepared.bind(Default::default()).unwrap();
    let whole = runtime.start(&prepared.workflow(), bound.state).id(run_id()).await.unwrap();
    let state = whole.completed().unwrap();
    let entries = store.entries(&run_id(), 1, usize::MAX).await.unwrap();
    let answered = |entries: &[convoke_core::Entry]| {
        entries
            .iter()
            .filter(|entry| entry.effect == EffectKind::Model && entry.phase == Phase::Finished)
            .count()
    };
    assert_eq!(answered(&entries), model.calls());
    for at in 0..entries.len() {
        let cut = Fork::new(run_id(), entries[at].seq).create(&store).await.unwrap();
        let again = strict();
        let resumed = runtime.resume(&Rig::new(&again).prepare(tree(file)).workflow(), cut).await.unwrap();
        assert_eq!(resumed.completed().unwrap(), state, "cut before {at}");
        assert_eq!(again.calls(), model.calls() - answered(&entries[..at]), "cut before {at}");
    }
}

#[tokio::test]
async fn neither_a_judge_of_its_own_nor_a_person_sees_a_secret() {
    const SECRET: &str = "hunter2-hunter2";
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(
            Match::output("assessment"),
            Reply::json(json!({"met_commitment": false, "concerns": [format!("it says {SECRET}")]})),
        )
        .otherwise(format!("I used {SECRET}"))
        .build();
    let judge = ScriptedModel::builder().otherwise(Reply::json(verdict("ask_human"))).build();
    let file = "NAME x\nINPUT key SECRET\nGOAL a \"Log in with $key\" SUPERVISED\nRUN main USING a\n";
    let given = [("key", SECRET)].into_iter().collect();
    let (secrets, values) = tree(file).separate_secrets(given);
    let rig = Rig::new(&model).with(|equipment| {
        equipment.secrets = secrets;
        equipment.supervisor = Some(Arc::new(ModelSupervisor::with_model(Arc::new(judge.clone()))));
    });
    let prepared = rig.prepare(tree(file));
    let state = prepared.bind(values).unwrap().state;
    let (events, outcome) = Runtime::new().start(&prepared.workflow(), state).stream().collect().await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert!(last(&requests(&model, "commitment")[0]).contains(SECRET), "the goal's own model is to use it");
    assert!(!last(&judge.last_request().unwrap()).contains(SECRET));
    let told = format!("{:?} {}", outcome.questions(), serde_json::to_string(&events).unwrap());
    assert!(!told.contains(SECRET), "{told}");
}

#[tokio::test]
async fn whoever_judges_sees_values_that_do_not_stand_in_the_output() {
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(Match::output("assessment"), Reply::json(broken()))
        .when(Match::output("judgement"), Reply::json(verdict("continue")))
        .when(
            Match::last_contains("cannot be used as it is"),
            Reply::json(json!({"city": "Atlantis", "n": 3})),
        )
        .otherwise("There are 3 of them in Lisbon.")
        .build();
    let tree = tree("NAME x\nGOAL g \"Where?\" -> city, n:int SUPERVISED\nRUN main USING g");
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(text(&state, "city"), "Atlantis");
    for phase in ["assessment", "judgement"] {
        let shown = last(&requests(&model, phase)[0]);
        assert!(shown.contains("city: Atlantis"), "{phase}: {shown}");
        assert!(!shown.contains("n: 3"), "what stands in the output is not said twice: {shown}");
    }
}
