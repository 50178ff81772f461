//! The size limit of prompts: what is too long is summed up by a model, and what cannot be is cut, and it is said.

use std::sync::Arc;

use crate::run_support::{Echo, Rig, prompts as all_prompts, systems as all_systems, text};
use crate::supervised::{Script, broken, one};
use convoke_core::{EffectKind, Fork, Runtime, Store};
use convoke_goals::{Agent, Goal, Input, Sequence, Spawning, Workflow};
use convoke_models::scripted::ScriptedModelBuilder;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

const BUDGET: usize = 2_000;

/// As much as the budget allows, and as much again for what is around it.
const ROOM: usize = 2 * BUDGET;

fn rig(model: &ScriptedModel) -> Rig {
    Rig::new(model).with(|equipment| equipment.context_budget.bytes = BUDGET)
}

/// A model that sums nothing up.
fn unable() -> ScriptedModelBuilder {
    ScriptedModel::builder().when(Match::user_contains(SUM_UP), Reply::text(""))
}

const SUM_UP: &str = "Sum up `";

/// The prompts that are not about summaries.
fn prompts(model: &ScriptedModel) -> Vec<String> {
    all_prompts(model).into_iter().filter(|prompt| !prompt.starts_with(SUM_UP)).collect()
}

fn systems(model: &ScriptedModel) -> Vec<String> {
    all_systems(model).into_iter().filter(|system| !system.is_empty()).collect()
}

fn long() -> String {
    format!("BEGIN{}END", "x".repeat(10_000))
}

#[tokio::test]
async fn a_long_value_in_the_text_of_a_goal_is_cut_and_it_is_said() {
    let model =
        unable().when(Match::user_contains("<current-goal id=\"read\">"), long()).otherwise("short").build();
    let tree = Workflow::new("w")
        .input(Input::new("given"))
        .sequence(Sequence::new("s").goal(Goal::new("read", "Read")).goal(Goal::new("use", "Use $read!")))
        .sequence(Sequence::new("t").goal(Goal::new("weigh", "Weigh $given.")));
    let ran = rig(&model).run_with(tree, [("given", &long())]).await;
    ran.completed();

    let made = &prompts(&model)[1];
    assert!(made.len() < ROOM, "{}", made.len());
    let goal = &made[made.find("<current-goal").unwrap()..];
    assert!(goal.contains("\nBEGINx") && goal.contains("xEND\n[end "), "{goal}");
    assert!(goal.contains("8008 of 10008 bytes left out here"), "{goal}");
    let given = &prompts(&model)[2];
    assert!(given.len() < ROOM && given.contains("Weigh BEGINx") && given.contains("xEND."), "{given}");

    let cut = |goal: &str, part: &str, kept: usize| json!({"goal": goal, "parts": [{"name": part, "bytes": 10_008, "kept": kept}]});
    let told = ran.customs("context_cut");
    assert_eq!(told[0], cut("use", "read", BUDGET), "the value in its text");
    assert_eq!(told[1], cut("weigh", "given", BUDGET));
    assert!(
        !made.contains("<goal id=\"read\">"),
        "what stands in its text does not stand among earlier results too"
    );
}

#[tokio::test]
async fn what_fits_is_not_cut_and_leaves_the_rest_to_earlier_results() {
    let (half, model) = ("y".repeat(900), ScriptedModel::builder().otherwise("z".repeat(900)).build());
    let tree = Workflow::new("w")
        .input(Input::new("given"))
        .sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B: $given")));
    let ran = rig(&model).run_with(tree, [("given", &half)]).await;
    ran.completed();
    let prompt = &prompts(&model)[1];
    assert!(prompt.contains(&half) && prompt.contains(&"z".repeat(900)), "{prompt}");
    assert!(ran.customs("context_cut").is_empty());
}

#[tokio::test]
async fn of_several_values_the_largest_is_cut() {
    let model = unable().otherwise("x").build();
    let tree = Workflow::new("w")
        .input(Input::new("file"))
        .input(Input::new("question"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Look at $file and say: $question")));
    let ran = rig(&model).run_with(tree, [("file", &long()), ("question", "Who wrote this?")]).await;
    ran.completed();
    assert!(prompts(&model)[0].contains("say: Who wrote this?"), "{}", prompts(&model)[0]);
    assert_eq!(ran.customs("context_cut")[0]["parts"][0]["name"], "file");
}

#[tokio::test]
async fn values_in_personas_and_in_tasks_of_agents_have_a_size_too() {
    let model = unable().otherwise("x").build();
    let sage = Agent::new("sage", "You know this: $given").task("Tell about $given");
    let tree = Workflow::new("w").input(Input::new("given")).sequence(Sequence::new("s").agent(sage));
    let ran = rig(&model).run_with(tree, [("given", &long())]).await;
    ran.completed();
    assert!(prompts(&model)[0].len() < ROOM && prompts(&model)[0].contains("left out here"));
    assert!(systems(&model)[0].len() < ROOM && systems(&model)[0].contains("left out here"));
    assert_eq!(ran.custom("context_cut", "goal"), ["sage", "sage"]);
}

#[tokio::test]
async fn a_workflow_that_is_an_agent_is_told_within_the_size_and_no_mark_is_cut_off() {
    let model = unable()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .otherwise(long())
        .build();
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig: $task")));
    let goal = Goal::converging("g", "Go deep", 2).using(Agent::workflow("digger", inner, "task"));
    let ran = rig(&model).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    ran.completed();
    let all = prompts(&model);
    let second = all.iter().rfind(|prompt| prompt.contains("<current-goal id=\"dig\">")).unwrap();
    assert!(second.len() < ROOM && second.contains("Improve on this:"), "{second}");
    assert_eq!(second.matches("[data ").count(), second.matches("[end ").count(), "{second}");
    let told = ran.customs("context_cut");
    assert!(told.iter().any(|cut| cut["parts"][0]["name"] == "iteration 1"), "{told:?}");
}

#[tokio::test]
async fn what_those_who_assess_and_judge_do_not_see_is_said() {
    let output = "x".repeat(100_000);
    let script = Script { work: output.into(), post: one(broken()), ..Script::default() };
    let goal = Goal::new("g", "Write a lot").supervised();
    let ran = Rig::new(&script.model()).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    ran.completed();
    let cut =
        |kept: usize| json!({"goal": "g", "parts": [{"name": "output", "bytes": 100_000, "kept": kept}]});
    assert_eq!(ran.customs("context_cut"), [cut(64 * 1024), cut(24 * 1024)]);
}

/// Sums up; everything else it does at length.
fn summing_up() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::user_contains(SUM_UP), "THE GIST")
        .when(Match::user_contains("<current-goal id=\"last\">"), "done")
        .otherwise(long())
        .build()
}

fn three_goals() -> Workflow {
    let goals = Sequence::new("s").goal(Goal::new("read", "Read")).goal(Goal::new("think", "Think"));
    Workflow::new("w").sequence(goals).sequence(Sequence::new("t").goal(Goal::new("last", "Use $read!")))
}

#[tokio::test]
async fn what_is_too_long_is_summed_up_in_texts_and_among_earlier_results() {
    let model = summing_up();
    let ran = rig(&model).run(three_goals()).await;
    assert_eq!(text(&ran.completed(), "last"), "done");
    let told = prompts(&model);
    assert!(
        told[1].contains("<goal id=\"read\">") && told[1].contains("[summary of 10008 bytes]\nTHE GIST"),
        "{}",
        told[1]
    );
    let last = &told[2][told[2].find("<current-goal").unwrap()..];
    assert!(last.contains("[data ") && last.contains("[summary of 10008 bytes]\nTHE GIST"), "fenced: {last}");
    assert!(
        !told.iter().any(|prompt| prompt.contains("left out here")) && ran.customs("context_cut").is_empty()
    );
    // What it read at once fits the size too, and all of it was read.
    let read: Vec<String> =
        all_prompts(&model).into_iter().filter(|prompt| prompt.starts_with(SUM_UP)).collect();
    assert!(
        read.iter().all(|prompt| prompt.len() < 6_000),
        "{:?}",
        read.iter().map(String::len).collect::<Vec<_>>()
    );
    assert!(read[0].starts_with("Sum up `read`, part 1 of 3,") && read[2].contains("xEND"), "{}", read[0]);
}

#[tokio::test]
async fn answers_that_are_put_together_are_summed_up() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains(SUM_UP), "THE GIST")
        .when(Match::system_contains("You put the answers"), "both")
        .otherwise(long())
        .build();
    let goal = Goal::new("g", "Go")
        .using(Agent::new("ann", "You are Ann."))
        .using(Agent::new("bob", "You are Bob."));
    let ran = rig(&model).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    assert_eq!(text(&ran.completed(), "g"), "both");
    let told = prompts(&model).pop().unwrap();
    assert_eq!(told.matches("[summary of 10008 bytes]").count(), 2, "{told}");
}

#[tokio::test]
async fn personas_and_what_a_workflow_improves_on_are_summed_up() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains(SUM_UP), "THE GIST")
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .otherwise(long())
        .build();
    let sage = Agent::new("sage", "You know this: $given").task("Tell about it");
    let tree = Workflow::new("w").input(Input::new("given")).sequence(Sequence::new("s").agent(sage));
    rig(&model).run_with(tree, [("given", &long())]).await.completed();
    let system = &systems(&model)[0];
    assert!(system.contains("You know this: \n[data ") && system.contains("THE GIST"), "{system}");
    assert!(!system.contains("left out here"), "{system}");

    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig: $task")));
    let goal = Goal::converging("g", "Go deep", 2).using(Agent::workflow("digger", inner, "task"));
    let ran = rig(&model).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    ran.completed();
    let all = prompts(&model);
    let second = all.iter().rfind(|prompt| prompt.contains("<current-goal id=\"dig\">")).unwrap();
    assert!(second.contains("Improve on this:") && second.contains("THE GIST"), "{second}");
    let judged = all.iter().find(|prompt| prompt.starts_with("<loop ")).unwrap();
    assert!(judged.contains("THE GIST") && !judged.contains("left out here"), "{judged}");
    assert!(ran.customs("context_cut").is_empty());
}

#[tokio::test]
async fn those_who_judge_are_told_in_short_what_they_are_not_shown() {
    let script = Script { work: "x".repeat(100_000).into(), post: one(broken()), ..Script::default() };
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), script.commit)
        .when(Match::output("assessment"), script.post)
        .when(Match::output("judgement"), script.judge)
        .when(Match::user_contains(SUM_UP), "THE GIST")
        .otherwise(script.work)
        .build();
    let goal = Goal::new("g", "Write a lot").supervised();
    Rig::new(&model).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await.completed();
    let told: Vec<String> =
        prompts(&model).into_iter().filter(|prompt| prompt.contains("THE ACTUAL OUTPUT")).collect();
    assert_eq!(told.len(), 2, "who assesses and who judges");
    for told in told {
        let (shown, summary) = told.split_once("ALL OF IT, AS A MODEL SUMS IT UP").unwrap();
        assert!(shown.contains("left out here") && summary.contains("THE GIST"), "beside what is shown");
    }
    assert_eq!(all_prompts(&model).iter().filter(|prompt| prompt.starts_with(SUM_UP)).count(), 1);
}

#[tokio::test]
async fn answers_of_spawned_agents_are_summed_up_for_whoever_called_them_in() {
    let echo = Echo::default();
    let scouts = json!([{"role": "north", "task": "Look."}, {"role": "south", "task": "Look."}]);
    let model = ScriptedModel::builder()
        .when(Match::user_contains(SUM_UP), "THE GIST")
        .when(Match::any_contains("<task role=\"north\""), long())
        .when(Match::any_contains("<task role=\"south\""), "sand")
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("spawn_agents", json!({"agents": scouts})))
        .build();
    let rig = rig(&model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.spawning = Spawning::Allowed { depth: 1, at_once: 2 };
    });
    rig.run(Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Go")))).await.completed();
    let last = model.requests().pop().unwrap();
    let answers = last.messages.iter().flat_map(|message| message.results()).next().unwrap().content.clone();
    assert!(
        answers.starts_with("[\"[summary of 10008 bytes]\\nTHE GIST") && !answers.contains("xx"),
        "{answers}"
    );
    assert!(answers.ends_with(",\"sand\"]"), "what is short stays as it is: {answers}");
}

#[tokio::test]
async fn a_run_begun_before_personas_were_summed_up_cuts_them_as_it_did() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let sage = || Agent::new("sage", "You know this: $given").task("Tell about it");
    let tree = || Workflow::new("w").input(Input::new("given")).sequence(Sequence::new("s").agent(sage()));
    let model = summing_up();
    let prepared = rig(&model).prepare(tree());
    let state = prepared.bind([("given", long())].into_iter().collect()).unwrap().state;
    let outcome = runtime.start(&prepared.workflow(), state).await.unwrap();
    assert!(systems(&model)[0].contains("THE GIST"));
    let entries = store.entries(&outcome.run, 1, 1_000).await.unwrap();
    let first = entries.iter().find(|entry| entry.effect == EffectKind::Custom).unwrap();
    let earlier = Fork::new(outcome.run, first.seq).with_outcome(json!({"workspace": "", "rules": 4}));
    let earlier = earlier.create(&store).await.unwrap();
    let again = summing_up();
    let resumed = runtime.resume(&rig(&again).prepare(tree()).workflow(), earlier).await;
    resumed.unwrap().completed().unwrap();
    assert!(systems(&again)[0].contains("left out here") && again.calls() == 1);
}

#[tokio::test]
async fn a_run_cut_anywhere_sums_nothing_up_twice_and_one_begun_before_cuts_as_it_did() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let model = summing_up();
    let prepared = rig(&model).prepare(three_goals());
    let state = prepared.bind(std::iter::empty::<(&str, &str)>().collect()).unwrap().state;
    let outcome = runtime.start(&prepared.workflow(), state).await.unwrap();
    let entries = store.entries(&outcome.run, 1, 1_000).await.unwrap();
    let answered =
        |upto: usize| entries[..upto].iter().filter(|entry| entry.effect == EffectKind::Model).count();
    for (at, entry) in entries.iter().enumerate().skip(1) {
        let cut = Fork::new(outcome.run.clone(), entry.seq).create(&store).await.unwrap();
        let again = summing_up();
        let resumed = runtime.resume(&rig(&again).prepare(three_goals()).workflow(), cut).await.unwrap();
        assert_eq!(text(&resumed.completed().unwrap(), "last"), "done", "cut before {at}");
        assert_eq!(again.calls(), model.calls() - answered(at), "cut before {at}");
    }
    let first = entries.iter().find(|entry| entry.effect == EffectKind::Custom).unwrap();
    let earlier = Fork::new(outcome.run, first.seq).with_outcome(json!({"workspace": "", "rules": 3}));
    let again = summing_up();
    let resumed = runtime
        .resume(&rig(&again).prepare(three_goals()).workflow(), earlier.create(&store).await.unwrap())
        .await;
    resumed.unwrap().completed().unwrap();
    assert!(all_prompts(&again)[1].contains("left out here") && again.calls() == 3);
}
