//! Runs that are interrupted, and go on as if nothing had happened.

use std::sync::{Arc, Mutex};

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, add, millis};
use convoke_core::{
    Answer, BoxFuture, Error, Invocation, RunStatus, Tool, ToolEffect, ToolSpec, Toolset, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{Chain, Classifier, Join, Loop, Map, Parallel, ToolStep};
use convoke_store::SqliteStore;
use serde_json::{Value, json};

/// What a branch starts from.
fn nothing(_: &Trail) -> Trail {
    Trail::default()
}

fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

fn all() -> Join {
    Join::all().finish_rest()
}

#[tokio::test]
async fn siblings_of_a_suspended_branch_finish_first() {
    let parallel = Parallel::builder("fan", all())
        .project(asks("left?"), nothing, take)
        .project(says("right"), nothing, take)
        .build()
        .unwrap();
    let (home, workflow) = (Home::new(echo()), Workflow::new(parallel));
    let suspended = home.start(&workflow, Trail::default()).await;
    assert_eq!((suspended.status, suspended.questions().len()), (RunStatus::Suspended, 1));
    assert_eq!(home.model.calls(), 1);
    assert_eq!(suspended.state, Trail::default(), "nothing is joined yet");
    home.answer(&suspended.run, "left?", Answer::text("left")).await;
    let done = home.resume(&workflow, &suspended.run).await.completed().unwrap();
    assert_eq!(done.steps, ["left", "right!"]);
    assert_eq!(home.model.calls(), 1);
}

/// Two fan-outs, one in the other, with a question in each, and model calls everywhere.
fn nested() -> Workflow<Trail> {
    let inner = Parallel::builder("inner", all())
        .project(Chain::new("x").then(says("before x")).then(asks("x?")).then(says("after x")), nothing, take)
        .project(says("y"), nothing, take)
        .build()
        .unwrap();
    let outer = Parallel::builder("outer", all())
        .project(Chain::new("left").then(says("before left")).then(asks("left?")), nothing, take)
        .project(inner, nothing, take)
        .build()
        .unwrap();
    Workflow::new(Chain::new("main").then(says("first")).then(outer).then(says("last")))
}

#[tokio::test]
async fn a_run_with_questions_in_nested_fan_outs_repeats_nothing() {
    repeats_nothing(Home::new(echo())).await;
}

#[tokio::test]
async fn a_run_in_a_file_repeats_nothing_either() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
    repeats_nothing(Home::in_store(store, echo())).await;
}

async fn repeats_nothing(home: Home) {
    let workflow = nested();
    let run = home.start(&workflow, Trail::default()).await;
    let mut titles: Vec<&str> = run.questions().iter().map(|q| q.question.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["left?", "x?"]);
    assert_eq!(home.model.calls(), 4);
    let run = run.run;

    home.answer(&run, "x?", Answer::text("x")).await;
    let still = home.resume(&workflow, &run).await;
    assert_eq!((still.status, home.asked(&run).await), (RunStatus::Suspended, vec!["left?".to_owned()]));
    assert_eq!(home.model.calls(), 5);

    home.answer(&run, "left?", Answer::text("left")).await;
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["first!", "before left!", "left", "before x!", "x", "after x!", "y!", "last!"]);
    assert_eq!(home.model.calls(), 6);
    let mut keys: Vec<String> = home.model.call_keys().iter().map(ToString::to_string).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 6, "each call was made once");

    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert!(replay.error.is_none());
    assert_eq!((replay.state, replay.unused), (done, 0));
}

#[tokio::test]
async fn a_loop_is_resumed_in_the_round_it_was_in() {
    let body = Chain::new("round").then(says("draft")).then(asks("good?"));
    let polish =
        Loop::until("polish", body, |trail: &Trail| trail.steps.last().is_some_and(|last| last == "yes"));
    let (home, workflow) = (Home::new(echo()), Workflow::new(polish));
    let run = home.start(&workflow, Trail::default()).await.run;
    for round in 1..=2 {
        assert_eq!(home.model.calls(), round);
        home.answer(&run, "good?", Answer::text("no")).await;
        assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
    }
    home.answer(&run, "good?", Answer::text("yes")).await;
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["draft!", "no", "draft!", "no", "draft!", "yes"]);
    assert_eq!(home.model.calls(), 3);
}

#[tokio::test]
async fn a_classifier_is_not_asked_twice() {
    let model = ScriptedModel::builder().when(Match::output("classification"), ["yes", "no"]).build();
    let classifier = Classifier::builder("sort", |_: &Trail| "yes or no?")
        .route("yes", asks("sure?"))
        .route("no", add("no"))
        .build()
        .unwrap();
    let (home, workflow) = (Home::new(model), Workflow::new(classifier));
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "sure?", Answer::text("sure")).await;
    assert_eq!(home.resume(&workflow, &run).await.completed().unwrap().steps, ["sure"]);
    assert_eq!(home.model.calls(), 1);
}

#[tokio::test]
async fn items_of_a_map_are_suspended_and_resumed_one_by_one() {
    let body = Chain::new("item").then(says("hello")).then(asks("name?"));
    let items = |trail: &Trail| (0..trail.count).map(|_| Trail::default()).collect();
    let map = Map::new("each", all(), items, body, |trail: &mut Trail, mapped| {
        for item in mapped {
            trail.steps.extend(item.result.unwrap().steps);
        }
    });
    let (home, workflow) = (Home::new(echo()), Workflow::new(map));
    let run = home.start(&workflow, Trail { count: 3, ..Trail::default() }).await.run;
    for left in (0..3).rev() {
        home.answer(&run, "name?", Answer::text(format!("answer {left}"))).await;
        let outcome = home.resume(&workflow, &run).await;
        assert_eq!(home.asked(&run).await.len(), left);
        assert_eq!(outcome.status.is_final(), left == 0);
    }
    assert_eq!(home.model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_killed_in_a_fan_out_repeats_only_what_had_not_finished() {
    let model = ScriptedModel::builder()
        .when(Match::last_equals("stuck"), [Reply::text("never").hangs(), Reply::text("now")])
        .otherwise("fine")
        .build();
    let fan = Parallel::builder("fan", all())
        .project(says("quick"), nothing, take)
        .project(says("stuck"), nothing, take)
        .build()
        .unwrap();
    let (home, workflow) = (Home::new(model), Workflow::new(fan));
    let id: convoke_core::RunId = "killed".parse().unwrap();
    let start = home.runtime().start(&workflow, Trail::default()).id(id.clone());
    tokio::time::timeout(millis(50), start.into_future()).await.unwrap_err();
    let done = home.resume(&workflow, &id).await.completed().unwrap();
    assert_eq!(done.steps, ["fine", "now"]);
    assert_eq!(home.model.calls(), 3, "quick once, stuck twice");
}

/// A tool that leaves a note, and hears it when the call has counted.
struct Noting {
    spec: ToolSpec,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Tool for Noting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            call.scope.leave_note(json!({"called with": call.arguments}));
            match call.arguments["fail"] == true {
                true => Err("no".into()),
                false => Ok("yes".to_owned()),
            }
        })
    }

    fn noted(&self, note: &Value) {
        self.heard.lock().unwrap().push(note.clone());
    }
}

#[tokio::test]
async fn a_note_of_a_call_is_heard_again_when_the_call_is_not_made_again() {
    for (fails, status) in [(false, RunStatus::Suspended), (true, RunStatus::Failed)] {
        let arguments = json!({"fail": fails});
        let heard = Arc::new(Mutex::new(Vec::new()));
        let workflow = || {
            let spec = ToolSpec::new("noting", "", ToolEffect::Reads.into());
            let tools = Toolset::new().with(Noting { spec, heard: Arc::clone(&heard) }).unwrap();
            let arguments = arguments.clone();
            let call =
                ToolStep::new("call", &tools, "noting", move |_: &Trail| Ok::<_, Error>(arguments.clone()));
            Workflow::new(Chain::new("main").then(call.discard()).then(asks("well?")))
        };
        let home = Home::new(echo());
        let begun = home.start(&workflow(), Trail::default()).await;
        let note = json!({"called with": arguments});
        assert_eq!((begun.status, heard.lock().unwrap().as_slice()), (status, [note.clone()].as_slice()));
        if !fails {
            home.answer(&begun.run, "well?", Answer::text("yes")).await;
            home.resume(&workflow(), &begun.run).await.completed().unwrap();
            assert_eq!(*heard.lock().unwrap(), [note.clone(), note]);
        }
    }
}
