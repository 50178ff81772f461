//! Durability: a run that is cut anywhere goes on as if nothing had been.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::run_support::{prompts, text};
use convoke_agent::FunctionTool;
use convoke_core::store::Store;
use convoke_core::{
    Answer, EffectKind, Error, FinishReason, Fork, ModelRequest, Outcome, Phase, Role, RunId, RunStatus,
    Runtime, Toolset, Workflow as Steps,
};
use convoke_goals::{
    Agent, Equipment, Goal, GoalState, Input, Overrides, Retry, Sequence, Type, Values, Within, Workflow,
    when,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_store::MemoryStore;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Everything there is, in one tree.
fn rich() -> Workflow {
    let critic = Agent::new("critic", "You are a critic of $topic.").output("flaw");
    let fan = Agent::new("fan", "You are a fan of $topic.");
    let inner = Workflow::new("inner").input(Input::new("task")).sequence(
        Sequence::new("only")
            .goal(Goal::new("dig", "Dig into this: $task"))
            .goal(Goal::new("tell", "Tell what came up")),
    );
    Workflow::new("rich")
        .input(Input::new("topic"))
        .sequence(
            Sequence::new("main")
                .goal(Goal::new("plan", "Plan $topic").output(("steps", Type::Int)).output("title"))
                .goal(Goal::new("never", "Never").when(when("title").is("nothing")))
                .goal(Goal::new("team", "Judge $title").output("mark").using(critic).using(fan))
                .goal(Goal::converging("polish", "Polish $mark", 5)),
        )
        .sequence(
            Sequence::parallel("side")
                .goal(Goal::new("left", "Left of $mark"))
                .goal(Goal::new("right", "Right of $title")),
        )
        .sequence(
            Sequence::looping("again", Within::Times(3))
                .goal(Goal::new("build", "Build it"))
                .goal(Goal::new("test", "Test $build")),
        )
        .sequence(
            Sequence::new("end")
                .goal(Goal::new("deep", "Go deep").using(Agent::workflow("digger", inner, "task")))
                .goal(Goal::new("spread", "Spread the work"))
                .goal(
                    Goal::new("council", "Decide")
                        .using(Goal::new("nested", "Ask yourself").output("verdict")),
                ),
        )
}

/// A model whose replies follow from what it is asked.
fn thoughtful() -> ScriptedModel {
    ScriptedModel::builder().otherwise(Reply::with(reply)).build()
}

fn reply(request: &ModelRequest) -> Reply {
    let said = |role| {
        request.messages.iter().filter(move |message| message.role == role).map(|message| message.text())
    };
    let (system, user) = (said(Role::System).collect::<String>(), said(Role::User).collect::<String>());
    let results: usize = request.messages.iter().map(|message| message.results().count()).sum();
    let has = |text: &str| user.contains(text);
    if request.output.as_ref().is_some_and(|output| output.name == "round_verdict") {
        return Reply::json(json!({"improvable": !has("which=\"previous\"")}));
    }
    if system.contains("several agents") {
        return Reply::json(
            json!({"mark": "a rather long mark, put together out of what two agents said about it"}),
        );
    }
    if has("current-goal id=\"plan\"") {
        return match results {
            0 => Reply::tool("look", json!({"text": "plan"})).and_tool("look", json!({"text": "also"})),
            _ => "Here you are: {\"steps\": 3, \"title\": \"Owls\"}".into(),
        };
    }
    if system.contains("critic of") {
        return match results {
            0 => Reply::tool("look", json!({"text": "flaws"})),
            _ => "{\"flaw\": \"too short\"}".into(),
        };
    }
    if has("current-goal id=\"polish\"") {
        return if has("<iteration n=\"2\">") { "best\nCONVERGED".into() } else { "better".into() };
    }
    if has("current-goal id=\"spread\"") {
        let agents =
            json!({"agents": [{"role": "scout", "task": "north"}, {"role": "scout", "task": "south"}]});
        return match results {
            0 => Reply::tool("spawn_agents", agents),
            1 => Reply::tool("spawn_agent", json!({"role": "judge", "task": "who was right?"})),
            _ => "spread".into(),
        };
    }
    if has("role=\"scout\"") && results == 0 {
        return Reply::tool("look", json!({"text": "around"}));
    }
    if has("current-goal id=\"nested\"") {
        return "{\"verdict\": \"go\"}".into();
    }
    // Whatever it is asked, the answer tells that it was.
    let goal = user.rsplit("id=\"").next().and_then(|rest| rest.split('"').next()).unwrap_or_default();
    format!("answer to {goal}").into()
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn equipment(model: &ScriptedModel, looks: &Arc<AtomicUsize>) -> Equipment {
    let looks = Arc::clone(looks);
    let look = FunctionTool::new("look", "Looks", move |args: Text| {
        looks.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, Error>(format!("saw {}", args.text)) }
    });
    let mut equipment = Equipment::default();
    equipment.model = Some(Arc::new(model.clone()));
    equipment.tools = Toolset::new().with(look).unwrap();
    equipment
}

fn prepared(model: &ScriptedModel, looks: &Arc<AtomicUsize>) -> (Steps<GoalState>, GoalState) {
    let prepared = rich().prepare(&equipment(model, looks)).unwrap_or_else(|problems| panic!("{problems}"));
    let bound = prepared.bind([("topic", "owls")].into_iter().collect::<Values>()).unwrap();
    (prepared.workflow(), bound.state)
}

fn completed(outcome: Outcome<GoalState>) -> GoalState {
    outcome.completed().unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test(start_paused = true)]
async fn a_run_cut_anywhere_comes_to_the_same_end_and_asks_no_model_twice() {
    let store = Arc::new(MemoryStore::new());
    let shared: Arc<dyn Store> = store.clone();
    let runtime = Runtime::builder().shared_store(Arc::clone(&shared)).build();
    let (model, looks) = (thoughtful(), Arc::default());
    let (workflow, state) = prepared(&model, &looks);
    let run: RunId = "first".parse().unwrap();
    let end = completed(runtime.start(&workflow, state).id(run.clone()).await.unwrap());
    assert_eq!(text(&end, "polish"), "best");
    assert_eq!(end.get("steps"), Some(&json!(3)));
    assert_eq!(text(&end, "team.critic.flaw"), "too short");
    assert_eq!(text(&end, "council.nested.verdict"), "go");
    assert_eq!(end.skipped, ["never"]);
    assert!(end.unconverged.is_empty(), "{:?}", end.unconverged);
    assert_eq!(text(&end, "spread"), "spread");

    let entries = store.entries(&run, 1, 10_000).await.unwrap();
    let all_calls = model.calls();
    assert!(all_calls > 20, "{all_calls}");
    for at in 1..=entries.len() as u64 + 1 {
        let fork = Fork::new(run.clone(), at).create(&shared).await.unwrap();
        let (model, again) = (thoughtful(), Arc::default());
        let (workflow, _) = prepared(&model, &again);
        let outcome = runtime.resume(&workflow, fork).await.unwrap();
        assert_eq!(completed(outcome), end, "cut before entry {at}");
        let kept = entries.iter().filter(|entry| entry.seq < at);
        let asked =
            kept.filter(|entry| entry.effect == EffectKind::Model && entry.phase == Phase::Finished).count();
        assert_eq!(model.calls() + asked, all_calls, "cut before entry {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_person_goes_on_with_the_answer_wherever_it_was_cut() {
    let store = Arc::new(MemoryStore::new());
    let shared: Arc<dyn Store> = store.clone();
    let runtime = Runtime::builder().shared_store(Arc::clone(&shared)).build();
    let watched = |model: &ScriptedModel| {
        let critic = Agent::new("critic", "You are a critic.");
        let fan = Agent::new("fan", "You are a fan.");
        let tree = Workflow::new("watched").sequence(
            Sequence::parallel("both")
                .goal(Goal::new("team", "Judge").using(critic).using(fan).supervised_by_human())
                .goal(Goal::converging("polish", "Polish", 3).supervised_by_human()),
        );
        tree.prepare(&equipment(model, &Arc::default())).unwrap().workflow()
    };
    let to_the_end = async |workflow: &Steps<GoalState>, run: &RunId| {
        let mut revised = false;
        loop {
            for pending in store.questions(Some(run)).await.unwrap() {
                // The first time it is sent back.
                let first = pending.question.subject["attempt"] == json!(1);
                revised |= first;
                let answer = if first { Answer::revise("Make it shorter") } else { Answer::approve() };
                store.answer(run, &pending.id, answer).await.unwrap();
            }
            let outcome = runtime.resume(workflow, run.clone()).await.unwrap();
            if outcome.status != RunStatus::Suspended {
                return (completed(outcome), revised);
            }
        }
    };
    let model = thoughtful();
    let run: RunId = "first".parse().unwrap();
    let workflow = watched(&model);
    let begun = runtime.start(&workflow, GoalState::default()).id(run.clone()).await.unwrap();
    assert_eq!(begun.status, RunStatus::Suspended);
    assert_eq!(begun.questions().len(), 2, "both goals wait, side by side");
    let (end, revised) = to_the_end(&workflow, &run).await;
    assert!(revised);
    assert!(prompts(&model).iter().filter(|prompt| prompt.contains("Make it shorter")).count() >= 4);

    let entries = store.entries(&run, 1, 10_000).await.unwrap().len() as u64;
    for at in 1..=entries + 1 {
        let fork = Fork::new(run.clone(), at).create(&shared).await.unwrap();
        let (again, _) = to_the_end(&watched(&thoughtful()), &fork).await;
        assert_eq!(again, end, "cut before entry {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn agent_118_two_runs_ask_for_the_same_byte_for_byte_but_for_the_marks() {
    let ask = async || {
        let (model, looks) = (thoughtful(), Arc::default());
        let (workflow, state) = prepared(&model, &looks);
        completed(Runtime::new().start(&workflow, state).await.unwrap());
        let mut requests: Vec<String> = model.requests().iter().map(without_marks).collect();
        // Branches take turns as they like.
        requests.sort();
        requests
    };
    let (one, other) = (ask().await, ask().await);
    assert_eq!(one, other);
}

fn without_marks(request: &ModelRequest) -> String {
    let all = format!("{:?} {:?} {:?}", request.messages, request.tools, request.output);
    let nonce =
        all.split("[data ").nth(1).and_then(|rest| rest.get(..16)).expect("there is a mark").to_owned();
    all.replace(&nonce, "mark")
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_a_reason_that_passes_is_tried_again_and_its_traces_are_gone() {
    use convoke_core::{ModelError, ModelErrorKind};
    let overloaded = || Reply::error(ModelError::new(ModelErrorKind::Overloaded, "too much"));
    let model = ScriptedModel::builder().replies([overloaded(), overloaded(), "done".into()]).build();
    let mut equipment = Equipment::default();
    equipment.model = Some(Arc::new(model.clone()));
    let goal = Goal::new("g", "Do it");
    let tree = |times| {
        let overrides = convoke_goals::Overrides::new().retry(Retry::times(times));
        Workflow::new("w").sequence(Sequence::new("s").goal(goal.clone().customize(overrides)))
    };
    let prepared = tree(2).prepare(&equipment).unwrap();
    let state = completed(Runtime::new().start(&prepared.workflow(), GoalState::default()).await.unwrap());
    assert_eq!(text(&state, "g"), "done");
    assert_eq!(model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_added_do_not_have_finished_work_done_again() {
    use convoke_core::{ModelError, ModelErrorKind};
    let overloaded = || Reply::error(ModelError::new(ModelErrorKind::Overloaded, "too much"));
    let runtime = Runtime::builder().shared_store(Arc::new(MemoryStore::new())).build();
    let model = ScriptedModel::builder().replies(["one".into(), overloaded(), "two".into()]).build();
    let prepared = |retries| {
        let tree = Workflow::new("w")
            .sequence(Sequence::new("s").goal(Goal::new("a", "First")).goal(Goal::new("b", "Second")))
            .customize(convoke_goals::Overrides::new().retry(Retry::times(retries)));
        tree.prepare(&Equipment::default().with_model(model.clone())).unwrap().workflow()
    };
    let run: RunId = "first".parse().unwrap();
    let failed = runtime.start(&prepared(0), GoalState::default()).id(run.clone()).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
    let state = completed(runtime.resume(&prepared(3), run).await.unwrap());
    assert_eq!((text(&state, "a"), text(&state, "b")), ("one".to_owned(), "two".to_owned()));
    assert_eq!(model.calls(), 3, "the first goal was done, and is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_that_of_all_tries_together() {
    use convoke_core::{Limits, ModelError, ModelErrorKind};
    let overloaded = || Reply::error(ModelError::new(ModelErrorKind::Overloaded, "too much"));
    let model = ScriptedModel::builder().otherwise(overloaded()).build();
    let overrides =
        convoke_goals::Overrides::new().retry(Retry::times(9)).budget(Limits::default().model_calls(3));
    let tree =
        Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Do it").customize(overrides)));
    let prepared = tree.prepare(&Equipment::default().with_model(model.clone())).unwrap();
    let outcome = Runtime::new().start(&prepared.workflow(), GoalState::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::BudgetExhausted, "{:?}", outcome.error);
    assert_eq!(model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_of_the_folder_as_it_was_when_it_began() {
    let runtime = Runtime::builder().shared_store(Arc::new(MemoryStore::new())).build();
    for (before, after) in [("<workspace>\nempty", "<workspace>\na file more"), ("", "now there is one")] {
        let model = ScriptedModel::builder().otherwise(Reply::text("done")).build();
        let prepared = |workspace: &str| {
            let inner = Workflow::new("inner")
                .input(Input::new("task"))
                .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig into $task")));
            let tree = Workflow::new("w").sequence(
                Sequence::new("s")
                    .goal(Goal::new("a", "First").supervised_by_human())
                    .goal(Goal::new("b", "Second").using(Agent::workflow("digger", inner, "task"))),
            );
            let mut equipment = Equipment::default().with_model(model.clone());
            equipment.workspace = workspace.to_owned();
            tree.prepare(&equipment).unwrap().workflow()
        };
        let outcome = runtime.start(&prepared(before), GoalState::default()).await.unwrap();
        assert_eq!(outcome.status, RunStatus::Suspended);
        let store = runtime.store().unwrap();
        let question = store.questions(Some(&outcome.run)).await.unwrap().remove(0);
        store.answer(&outcome.run, &question.id, Answer::approve()).await.unwrap();
        completed(runtime.resume(&prepared(after), outcome.run.clone()).await.unwrap());
        for system in crate::run_support::systems(&model) {
            assert!(!system.contains(after), "{system}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_resume_asks_anew_for_all_goals_that_failed_side_by_side() {
    let late = ["late", "later"]
        .map(|name| Goal::new(name, "L").customize(Overrides::new().timeout(Duration::from_secs(1))));
    let judges = [Agent::new("judge", "You judge."), Agent::new("critic", "You are a critic.")];
    let used = judges.into_iter().fold(Goal::new("used", "U"), Goal::using);
    let side = |goals: Vec<Goal>| goals.into_iter().fold(Sequence::parallel("side"), Sequence::goal);
    let goals = ["a", "b", "c", "d"].map(|name| Goal::new(name, name.to_uppercase()));
    for (goals, useless, calls) in [
        (goals.to_vec(), Reply::text("cut").finish(FinishReason::Length), 4),
        (goals.to_vec(), Reply::text("no").finish(FinishReason::ContentFilter), 4),
        (late.to_vec(), Reply::text("").hangs(), 2),
        (vec![used], Reply::text("cut").finish(FinishReason::Length), 2),
    ] {
        let runtime = Runtime::builder().shared_store(Arc::new(MemoryStore::new())).build();
        let workflow = |model: &ScriptedModel| {
            let tree = Workflow::new("w").sequence(side(goals.clone()));
            tree.prepare(&equipment(model, &Arc::default())).unwrap().workflow()
        };
        let (bad, good) = (ScriptedModel::builder().otherwise(useless).build(), caller(0));
        let failed = runtime.start(&workflow(&bad), GoalState::default()).await.unwrap();
        assert_eq!(bad.calls(), calls, "{:?}", failed.error);
        completed(runtime.resume(&workflow(&good), failed.run).await.unwrap());
        assert!(good.calls() >= calls, "all of them");
    }
}

/// A goal with tools and this many turns, for each of these models in turn: the first is started with, the others resume.
async fn with_limits(turns: &[(Option<u32>, &ScriptedModel)]) -> Vec<Outcome<GoalState>> {
    let looks = Arc::default();
    let run: RunId = "limited".parse().unwrap();
    let runtime = Runtime::builder().shared_store(Arc::new(MemoryStore::new())).build();
    let mut outcomes = Vec::new();
    for (number, (max_turns, model)) in turns.iter().enumerate() {
        let mut equipment = equipment(model, &looks);
        equipment.max_turns = *max_turns;
        let tree = Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Do")));
        let workflow = tree.prepare(&equipment).unwrap().workflow();
        outcomes.push(match number {
            0 => runtime.start(&workflow, GoalState::default()).id(run.clone()).await.unwrap(),
            _ => runtime.resume(&workflow, run.clone()).await.unwrap(),
        });
    }
    outcomes
}

/// A model that calls a tool so often, the call another each time, whether it may or not, and then answers.
fn caller(calls: usize) -> ScriptedModel {
    ScriptedModel::builder()
        .otherwise(Reply::with(move |request| {
            let made: usize = request.messages.iter().map(|message| message.results().count()).sum();
            match made < calls {
                true => Reply::tool("look", json!({"text": made.to_string()})),
                false => "answer".into(),
            }
        }))
        .build()
}

#[tokio::test(start_paused = true)]
async fn a_goal_without_an_answer_at_its_turn_limit_is_asked_for_its_last_turn_anew() {
    let (stubborn, other) = (caller(99), caller(0));
    let outcomes = with_limits(&[(Some(3), &stubborn), (Some(3), &stubborn), (Some(3), &other)]).await;
    let [failed, again, done] = outcomes.try_into().unwrap();
    for failed in [failed, again] {
        assert_eq!(failed.status, RunStatus::Failed);
        let error = failed.error.unwrap().to_string();
        assert!(error.contains("it reached its limit of 3 turns"), "{error}");
    }
    assert_eq!((stubborn.calls(), other.calls()), (4, 1), "the last turn only");
    assert_eq!(text(&completed(done), "g"), "answer");
}

#[tokio::test(start_paused = true)]
async fn a_turn_limit_that_is_raised_when_a_failed_run_is_resumed_holds_from_then_on() {
    let model = caller(99);
    let finishes = caller(9);
    // Raised twice; what was raised stays raised, whatever is said later.
    let outcomes =
        with_limits(&[(Some(3), &model), (Some(5), &model), (Some(3), &model), (Some(20), &finishes)]).await;
    let said: Vec<String> = outcomes
        .iter()
        .map(|outcome| outcome.error.as_ref().map(ToString::to_string).unwrap_or_default())
        .collect();
    for (said, turns) in said.iter().zip([3, 5, 5]) {
        assert!(said.contains(&format!("it reached its limit of {turns} turns")), "{said}");
    }
    assert_eq!((model.calls(), finishes.calls()), (3 + 3 + 1, 6));
    assert_eq!(text(&completed(outcomes.into_iter().last().unwrap()), "g"), "answer");
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_that_was_made_before_the_limit_was_raised_stays_the_last() {
    use convoke_core::{ModelError, ModelErrorKind};
    let overloaded = || Reply::error(ModelError::new(ModelErrorKind::Overloaded, "too much"));
    let look = |text: &str| Reply::tool("look", json!({"text": text}));
    let model =
        ScriptedModel::builder().replies([look("a"), "first".into(), overloaded(), "second".into()]).build();
    let looks = Arc::default();
    let runtime = Runtime::builder().shared_store(Arc::new(MemoryStore::new())).build();
    let prepared = |turns| {
        let mut equipment = equipment(&model, &looks);
        equipment.max_turns = Some(turns);
        let goals = Sequence::new("s").goal(Goal::new("a", "First")).goal(Goal::new("b", "Second"));
        Workflow::new("w").sequence(goals).prepare(&equipment).unwrap().workflow()
    };
    let run: RunId = "kept".parse().unwrap();
    let failed = runtime.start(&prepared(2), GoalState::default()).id(run.clone()).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
    let state = completed(runtime.resume(&prepared(9), run).await.unwrap());
    assert_eq!((text(&state, "a"), text(&state, "b")), ("first".to_owned(), "second".to_owned()));
}
