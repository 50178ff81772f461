//! Corrections reach everybody they concern, and stand whatever becomes of the try that was to heed them.
use std::sync::Arc;

use crate::run_support::{Rig, text};
use crate::supervised::{Person, Script, broken, kept, last, one, requests, turns, verdict};
use convoke_core::store::Store;
use convoke_core::{Answer, ModelError, ModelErrorKind, RunStatus, Runtime};
use convoke_goals::{
    Agent, Equipment, Goal, Input, Overrides, Retry, Sequence, Supervision, Values, Workflow,
};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;

fn main(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

/// A goal that nobody watches over by itself.
fn unwatched(name: &str, text: &str) -> Goal {
    Goal::new(name, text).supervision(Supervision::Off)
}

/// A model that is sent back once.
fn sent_back_once() -> ScriptedModel {
    Script {
        work: Replies::in_turn(["one", "two", "three", "four", "five", "six", "seven", "eight"]),
        post: turns([broken(), kept()]),
        judge: one(verdict("reorient")),
        ..Script::default()
    }
    .model()
}

/// What was asked for with the correction, of all that was asked for.
fn corrected(model: &ScriptedModel) -> Vec<bool> {
    requests(model, "work").iter().map(|request| last(request).contains("use fewer words")).collect()
}

#[tokio::test]
async fn goals_below_a_goal_know_how_it_was_corrected() {
    let model = sent_back_once();
    let inner = || unwatched("inner", "Do the half of it");
    Rig::new(&model).run(main(Goal::new("outer", "Do it").using(inner()).supervised())).await.completed();
    assert_eq!(corrected(&model), [false, true], "one goal, taken at its word");

    let model = sent_back_once();
    let both =
        Goal::new("outer", "Do it").using(inner()).using(unwatched("other", "Do the rest")).supervised();
    Rig::new(&model).run(main(both)).await.completed();
    assert_eq!(
        corrected(&model),
        [false, false, false, true, true, true],
        "both, and whoever puts them together"
    );
}

#[tokio::test]
async fn a_goal_two_levels_down_knows_it_too() {
    let model = sent_back_once();
    let inmost = unwatched("inmost", "Dig").using(Agent::new("digger", "You dig."));
    let outer = Goal::new("outer", "Do it").using(unwatched("inner", "Half").using(inmost)).supervised();
    Rig::new(&model).run(main(outer)).await.completed();
    assert_eq!(corrected(&model), [false, true]);
}

#[tokio::test]
async fn a_workflow_that_is_an_agent_is_told_to_follow_corrections() {
    let model = sent_back_once();
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig into this: $task")));
    let outer = Goal::new("outer", "Do it").using(Agent::workflow("digger", inner, "task")).supervised();
    Rig::new(&model).run(main(outer)).await.completed();
    let asked = requests(&model, "work");
    assert_eq!(asked.len(), 2);
    let second = last(&asked[1]);
    let (before, _) = second.split_once("use fewer words").unwrap();
    let open = before.matches("[data ").count() - before.matches("[end ").count();
    assert_eq!(
        open, 0,
        "what stands in a fence must not be followed, so corrections stand in none: {second}"
    );
    assert!(before.trim_end().ends_with("<correction source=\"supervisor\">"), "{second}");
}

fn overloaded() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::Overloaded, "too much"))
}

/// A person sends it back, and the second attempt fails for a reason that passes.
fn overloaded_after_revision() -> ScriptedModel {
    Script {
        work: Replies::in_turn(["long".into(), overloaded(), Reply::text("short")]),
        ..Script::default()
    }
    .model()
}

fn retried(goal: Goal) -> Workflow {
    main(goal.supervised_by_human().customize(Overrides::new().retry(Retry::times(1))))
}

#[tokio::test(start_paused = true)]
async fn what_a_person_said_stands_when_a_goal_is_tried_again() {
    for goal in [
        Goal::new("g", "Do it"),
        Goal::new("g", "Do it").using(Agent::new("a", "You do things.")),
        Goal::converging("g", "Do it", 1),
    ] {
        let model = overloaded_after_revision();
        let person = Person::saying([Answer::revise("shorter, please"), Answer::approve()]);
        let mut rig = Rig::new(&model);
        rig.runtime = person.runtime();
        let state = rig.run(retried(goal)).await.completed();
        assert_eq!(text(&state, "g"), "short");
        let asked: Vec<bool> = requests(&model, "work")
            .iter()
            .map(|request| last(request).contains("shorter, please"))
            .collect();
        assert_eq!(asked, [false, true, true], "the try after the failure knows it");
        assert_eq!(person.asked().len(), 2, "once about each version");
        assert_eq!(person.asked()[1].question.subject["attempt"], 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_said_stands_in_another_process_too() {
    let store = Arc::new(MemoryStore::new());
    let shared: Arc<dyn Store> = store.clone();
    let runtime = Runtime::builder().shared_store(shared).build();
    let model = overloaded_after_revision();
    let prepared = || {
        let equipment = Equipment::default().with_model(model.clone());
        retried(Goal::new("g", "Do it")).prepare(&equipment).unwrap()
    };
    let run = crate::supervised::run_id();
    let bound = prepared().bind(Values::new()).unwrap();
    let mut outcome = runtime.start(&prepared().workflow(), bound.state).id(run.clone()).await.unwrap();
    for answer in [Answer::revise("shorter, please"), Answer::approve()] {
        assert_eq!(outcome.status, RunStatus::Suspended);
        let pending = store.questions(Some(&run)).await.unwrap().remove(0);
        store.answer(&run, &pending.id, answer).await.unwrap();
        outcome = runtime.resume(&prepared().workflow(), run.clone()).await.unwrap();
    }
    assert_eq!(text(&outcome.completed().unwrap(), "g"), "short");
    assert_eq!(requests(&model, "work").len(), 3);
}

#[tokio::test]
async fn a_correction_of_the_whole_does_not_use_up_those_of_a_part() {
    // The goal is sent back once; its agent, which is watched by itself, twice after that, as often as it may be.
    let about = |kind: &str| Match::last_contains(format!("({kind} "));
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(crate::supervised::promise()))
        .when(Match::output("assessment").and(about("goal")), turns([broken(), kept()]))
        .when(Match::output("assessment"), turns([kept(), broken(), broken(), kept()]))
        .when(Match::output("judgement"), Reply::json(verdict("reorient")))
        .otherwise(Reply::text("done"))
        .build();
    let agent = Agent::new("a", "You do things.").supervision(Supervision::Llm);
    let tree = main(Goal::new("g", "Do it").using(agent).supervised());
    let ran = Rig::new(&model).run(tree).await;
    ran.completed();
    assert_eq!(requests(&model, "work").len(), 4);
}
