//! Records of runs of real workflows, and of large ones.

use std::collections::HashSet;

use convoke_core::{
    BoxFuture, Error, Message, ModelError, Money, Price, Question, RunStatus, Runtime, Scope, Step, Usage,
    Workflow,
};
use convoke_models::{Match, Reply as Says, ScriptedModel};
use convoke_steps::{Chain, Join, Parallel, Retry, RetryPolicy, prompt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::journal::{Reply, Run};
use crate::place::{Place, stdout, wait};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Letter {
    left: String,
    right: String,
    whole: String,
}

fn workflow() -> Workflow<Letter> {
    let both = Parallel::builder("both", Join::all().cancel_rest())
        .branch(prompt("left", |_: &Letter| "Write the left half.").text(|l| &mut l.left), |l, done| {
            l.left = done.left
        })
        .branch(prompt("right", |_: &Letter| "Write the right half.").text(|l| &mut l.right), |l, done| {
            l.right = done.right;
        })
        .build()
        .unwrap();
    let join =
        prompt("join", |l: &Letter| format!("Join {} and {}.", l.left, l.right)).text(|l| &mut l.whole);
    let policy = RetryPolicy::attempts(3).unwrap();
    Workflow::new(Chain::new("letter").then(both).then(Retry::new(join, policy).named("again")))
}

/// A run with branches side by side and a step that needs two attempts.
fn place_with_a_real_run() -> Place {
    let place = Place::empty();
    let busy = Says::error(ModelError::of_status(429, "slow down"));
    let model = ScriptedModel::builder()
        .when(Match::last_contains("left"), Says::text("warp"))
        .when(Match::last_contains("right"), Says::text("weft"))
        .replies([busy, Says::text("warp and weft")])
        .build();
    let runtime = Runtime::builder().shared_store(place.store()).model(model).build();
    let start = runtime.start(&workflow(), Letter::default()).id("real".parse().unwrap());
    assert_eq!(wait(start.into_future()).unwrap().status, RunStatus::Completed);
    drop(runtime);
    place
}

#[test]
fn branches_and_retries_of_a_real_run_are_told_where_they_belong() {
    let place = place_with_a_real_run();
    let record: Value = serde_json::from_str(&stdout(&place.convoke(&["replay", "real", "--json"]))).unwrap();
    let events = record["events"].as_array().unwrap();
    let told: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["event"] == "entry")
        .map(|event| (event["path"].as_str().unwrap(), event["kind"].as_str().unwrap()))
        .collect();
    for branch in ["letter/both/left", "letter/both/right", "letter/again/join", "letter/again/join#2"] {
        assert!(told.contains(&(branch, "model")), "{branch} in {told:?}");
    }
    assert!(told.contains(&("letter/again", "sleep")), "{told:?}");
    assert!(
        events
            .iter()
            .filter(|event| event["kind"] == "model")
            .all(|event| event["duration_seconds"].is_f64())
    );
    let about = |path: &str| events.iter().find(|event| event["path"] == path).unwrap()["about"].clone();
    assert_eq!(about("letter/again/join"), json!(["model", "failure"]));
    assert_eq!(about("letter/again/join#2"), json!(["model", "retry"]));
    assert_eq!(about("letter/again"), json!(["sleep", "retry"]));

    let shown = stdout(&place.convoke(&["replay", "real", "--kind", "retry"]));
    assert!(shown.contains("before it is tried again") && shown.contains("attempt 2"), "{shown}");
    let page = stdout(&place.convoke(&["replay", "real", "--html", "-"]));
    for kind in ["parallel", "retry", "prompt", "chain"] {
        assert!(page.contains(&format!("<span class=\"of\">{kind}</span>")), "{kind}");
    }
}

#[test]
fn agent_152_a_million_tokens_each_way_at_three_and_fifteen_dollars_cost_eighteen() {
    let place = Place::empty();
    let price = Price::new(Money::from_dollars(3), Money::from_dollars(15));
    let reply = Says::text("warp").usage(Usage::tokens(1_000_000, 1_000_000));
    let model = ScriptedModel::builder().price(price).otherwise(reply).build();
    let step = prompt("left", |_: &Letter| "Write the left half.").text(|l| &mut l.left);
    let runtime = Runtime::builder().shared_store(place.store()).model(model).build();
    let start = runtime.start(&Workflow::new(step), Letter::default()).id("dear".parse().unwrap());
    assert_eq!(wait(start.into_future()).unwrap().status, RunStatus::Completed);
    drop(runtime);
    let told = stdout(&place.convoke(&["replay", "dear"]));
    assert!(told.contains("1.0M in, 1.0M out · $18.00 · so far 2.0M tokens, $18.00"), "{told}");
    let stats: Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--stats", "--json"]))).unwrap();
    assert_eq!(stats["models"].as_object().unwrap().values().next().unwrap()["cost_usd"], 18.0);
}

#[test]
fn agent_142_a_hundred_runs_have_a_hundred_ids_and_are_on_record_while_they_go_on() {
    let place = Place::empty();
    let workflow = Workflow::new(Ask);
    let runtime = Runtime::builder().shared_store(place.store()).build();
    for _ in 0..100 {
        assert_eq!(wait(runtime.start(&workflow, ()).into_future()).unwrap().status, RunStatus::Suspended);
    }
    drop(runtime);
    let runs: Value =
        serde_json::from_str(&stdout(&place.convoke(&["runs", "--json", "--limit", "0"]))).unwrap();
    let ids: HashSet<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 100);
    for id in ids {
        assert_eq!(id.len(), 26, "{id}");
        assert!(id.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit()), "{id}");
    }
    let log = stdout(&place.convoke(&["replay", "last", "--jsonl"]));
    let footer: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(footer["status"], "running");
}

/// Asks, and waits.
struct Ask;

impl Step<()> for Ask {
    fn name(&self) -> &str {
        "ask"
    }

    fn run<'a>(&'a self, scope: &'a Scope, _: &'a mut ()) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { scope.ask(Question::confirm("Go on?")).await.map(|_| ()) })
    }
}

/// Ten thousand model calls: five hundred conversations of twenty turns, each of which has all turns before it.
fn large() -> Run {
    let mut run = Run::new("large", "many");
    let turn = "Say something well:";
    for number in 0..500 {
        let path = format!("main/talk#{}", number + 1);
        let mut messages = vec![Message::system("Be kind.")];
        for ordinal in 0..20 {
            messages.push(Message::user(format!("{turn} {number}.{ordinal}")));
            let reply = Reply::text("It is said.").used(10, 5).cost(10);
            messages.push(reply.message.clone());
            run = run.after(1).model((&path, ordinal), &messages[..messages.len() - 1], reply);
        }
    }
    run.completes(json!({}))
}

/// One agent with so many turns. Each has a path of its own, and its conversation has all turns before it.
fn long(name: &str, turns: u32) -> Run {
    let mut run = Run::new(name, "long");
    let mut messages = vec![Message::system("Be kind.")];
    for turn in 1..=turns {
        let path = if turn == 1 { "main/turn/model".to_owned() } else { format!("main/turn#{turn}/model") };
        messages.push(Message::user(format!("Say something well, turn {turn:04}.")));
        let reply = Reply::text(&format!("It is said in turn {turn:04}.")).used(10, 5).cost(10);
        let said = reply.message.clone();
        run = run.after(1).model((&path, 0), &messages, reply);
        messages.push(said);
    }
    run.completes(json!({}))
}

#[test]
fn a_long_conversation_of_one_agent_is_told_in_proportion_to_its_turns() {
    let place = Place::with([long("short", 200), long("long", 400)]);
    let forms: [&[&str]; 6] = [
        &["replay", "--full"],
        &["replay", "--json"],
        &["replay", "--jsonl"],
        &["replay", "--html=-"],
        &["show", "--json"],
        &["show", "--full"],
    ];
    for form in forms {
        let told = |run: &str| stdout(&place.convoke(&[form, &[run]].concat()));
        let (short, long) = (told("short"), told("long"));
        assert!(long.contains("Say something well, turn 0400."), "{form:?}");
        assert_eq!(long.matches("Say something well, turn 0001.").count(), 1, "{form:?}");
        assert!(long.len() < short.len() * 21 / 10, "{form:?}: {} and {} bytes", short.len(), long.len());
    }
    let record: Value = serde_json::from_str(&stdout(&place.convoke(&["replay", "long", "--json"]))).unwrap();
    let last = record["events"].as_array().unwrap().iter().rfind(|event| event["kind"] == "model").unwrap();
    assert_eq!((&last["prompt_before"], last["prompt"].as_array().unwrap().len()), (&json!(798), 2));
}

#[test]
fn a_large_run_is_told_in_proportion_to_what_happened() {
    let place = Place::with([large()]);
    for form in [&["--full"][..], &["--json"], &["--jsonl"], &["--html", "-"]] {
        let told = stdout(&place.convoke(&[&["replay", "large"], form].concat()));
        for message in ["well: 0.0", "well: 499.19"] {
            assert_eq!(told.matches(message).count(), 1, "{form:?} tells a message once");
        }
        assert_eq!(told.matches("Say something").count(), 10_000, "{form:?}");
        // Whole conversations told again with every call would take ten times as much.
        assert!(told.len() < 25_000_000, "{form:?} has {} bytes", told.len());
    }
    let stats: Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--stats", "--json"]))).unwrap();
    assert_eq!((&stats["spent"]["model_calls"], &stats["spent"]["cost_usd"]), (&json!(10_000), &json!(0.1)));
}
