//! Supervised goals that are interrupted, at any moment, and go on.
use std::sync::Arc;

use crate::supervised::*;
use convoke_core::{Answer, EffectKind, Entry, Fork, Phase, RunStatus, Runtime, Store};
use convoke_goals::supervise::SupervisedBy;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::{MemoryStore, SqliteStore};
use serde_json::json;

/// Answers by what it is told alone, as another process would find it: what was not corrected is not good enough.
fn model() -> ScriptedModel {
    let corrected = || Match::last_contains("use fewer words").or(Match::last_contains("add a frog"));
    ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(Match::output("assessment").and(corrected()), Reply::json(kept()))
        .when(Match::output("assessment"), Reply::json(broken()))
        .when(Match::output("judgement"), Reply::json(verdict("reorient")))
        .when(corrected(), "better")
        .otherwise("poor")
        .build()
}

/// Somebody who sends back what is poor, and takes what is better.
#[derive(Clone)]
struct Editor(Person);

impl convoke_core::Responder for Editor {
    fn respond<'a>(
        &'a self,
        question: &'a convoke_core::PendingQuestion,
    ) -> convoke_core::BoxFuture<'a, Option<Answer>> {
        self.0.asked.lock().unwrap().push(question.clone());
        let poor = question.question.subject["output"] == "poor";
        Box::pin(async move { Some(if poor { Answer::revise("add a frog") } else { Answer::approve() }) })
    }
}

fn editor() -> Editor {
    Editor(Person::saying([Answer::approve()]))
}

fn finished(entries: &[Entry], effect: EffectKind) -> usize {
    entries.iter().filter(|entry| entry.effect == effect && entry.phase == Phase::Finished).count()
}

/// Goes on from every prefix of a run's journal: whatever is in the prefix is not done again.
async fn from_every_prefix(watch: SupervisedBy, calls: usize, questions: usize) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = |editor: &Editor| {
        Runtime::builder().shared_store(Arc::clone(&store)).responder(editor.clone()).build()
    };
    let (whole, first_editor) = (model(), editor());
    let workflow = Watched::by(watch, &whole).workflow();
    let outcome = runtime(&first_editor).start(&workflow, String::new()).id(run_id()).await.unwrap();
    assert_eq!(outcome.completed().unwrap(), "better");
    assert_eq!((whole.calls(), first_editor.0.asked().len()), (calls, questions));

    let entries = store.entries(&run_id(), 1, usize::MAX).await.unwrap();
    assert_eq!(
        (finished(&entries, EffectKind::Model), finished(&entries, EffectKind::Ask)),
        (calls, questions)
    );
    for at in 1..=entries.len() {
        let cut = Fork::new(run_id(), entries[at - 1].seq).create(&store).await.unwrap();
        let (again, editor) = (model(), editor());
        let workflow = Watched::by(watch, &again).workflow();
        let resumed = runtime(&editor).resume(&workflow, cut).await.unwrap();
        assert_eq!(resumed.completed().unwrap(), "better", "cut before entry {at}");
        let known = &entries[..at - 1];
        assert_eq!(again.calls(), calls - finished(known, EffectKind::Model), "cut before entry {at}");
        assert_eq!(
            editor.0.asked().len(),
            questions - finished(known, EffectKind::Ask),
            "cut before entry {at}"
        );
    }
}

#[tokio::test]
async fn a_correction_is_made_once_wherever_the_run_is_cut() {
    // Commitment, work, assessment, verdict, work, assessment.
    from_every_prefix(SupervisedBy::Model, 6, 0).await;
}

#[tokio::test]
async fn a_person_is_asked_once_wherever_the_run_is_cut() {
    // Commitment, and twice work and assessment.
    from_every_prefix(SupervisedBy::Human, 5, 2).await;
}

#[tokio::test]
async fn a_person_answers_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut calls = Vec::new();
    let mut outputs = Vec::new();
    for answer in [None, Some(Answer::revise("add a frog").by("ann")), Some(Answer::approve().by("ann"))] {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
        let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
        let model = model();
        let workflow = Watched::by_human(&model).workflow();
        let outcome = match answer {
            None => runtime.start(&workflow, String::new()).id(run_id()).await.unwrap(),
            Some(answer) => {
                let pending = store.questions(Some(&run_id())).await.unwrap().remove(0);
                outputs.push(pending.question.subject["output"].clone());
                store.answer(&run_id(), &pending.id, answer).await.unwrap();
                runtime.resume(&workflow, run_id()).await.unwrap()
            }
        };
        calls.push(model.calls());
        outputs.push(json!(outcome.status));
        if outcome.status == RunStatus::Completed {
            assert_eq!(outcome.state, "better");
            let replay = runtime.replay(&workflow, &run_id()).await.unwrap();
            assert!(replay.error.is_none(), "{:?}", replay.error);
            assert_eq!((replay.unused, replay.state.as_str()), (0, "better"));
        }
    }
    assert_eq!(calls, [3, 2, 0]);
    assert_eq!(json!(outputs), json!(["suspended", "poor", "suspended", "better", "completed"]));
}

#[tokio::test]
async fn a_rejection_is_remembered() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let model = model();
    let watched = Watched::by_human(&model);
    let person = Person::saying([Answer::reject("no")]);
    let halted =
        person.runtime_with(&store).start(&watched.workflow(), String::new()).id(run_id()).await.unwrap();
    assert_eq!(halted.status, RunStatus::Halted);
    let again = person.runtime_with(&store).resume(&watched.workflow(), run_id()).await.unwrap();
    assert_eq!(again.status, RunStatus::Halted);
    assert_eq!((model.calls(), person.asked().len()), (3, 1));
}
