//! Fan-out: several at the same goal.

use std::sync::Arc;
use std::time::Duration;

use crate::common::valid;
use crate::run_support::{Echo, Rig, prompts, systems, text};
use convoke_core::{Event, EventKind, Model, ModelError, ModelErrorKind, ModelRequest};
use convoke_goals::{Agent, Goal, GoalError, ModelChoice, Models, Overrides, Sequence, Type, Workflow, when};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn agent(name: &str) -> Agent {
    Agent::new(name.to_owned(), format!("You are the {name}."))
}

fn is(name: &str) -> Match {
    Match::system_contains(format!("You are the {name}."))
}

fn synthesis() -> Match {
    Match::system_contains("answers of several agents")
}

fn down(why: &str) -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, why))
}

#[tokio::test(start_paused = true)]
async fn agentcore_063_068_answers_are_put_together_in_declared_order() {
    let model = ScriptedModel::builder()
        .when(is("critic"), Reply::text("bad").delay(Duration::from_millis(30)))
        .when(is("optimist"), "good")
        .when(synthesis(), "both")
        .build();
    let goal = Goal::new("g", "Judge it").using(agent("critic")).using(agent("optimist"));
    let ran = Rig::new(&model).run(one(goal)).await;
    assert_eq!(text(&ran.completed(), "g"), "both");
    assert_eq!(model.calls(), 3);
    let together = prompts(&model).pop().unwrap();
    assert!(together.contains("Judge it"), "{together}");
    assert!(together.find("agent=\"critic\"").unwrap() < together.find("agent=\"optimist\"").unwrap());
}

#[tokio::test]
async fn agentcore_064_a_failed_synthesis_says_so() {
    let model = ScriptedModel::builder().when(synthesis(), down("no words")).otherwise("x").build();
    let ran = Rig::new(&model).run(one(Goal::new("g", "J").using(agent("a")).using(agent("b")))).await;
    let error = ran.failed().to_string();
    let places = ["`g`", "`synthesis`", "no words"].map(|part| error.find(part).expect(&error));
    assert!(places.is_sorted(), "{error}");
}

#[tokio::test]
async fn whoever_calls_a_tool_instead_of_putting_answers_together_is_said_to() {
    let model = ScriptedModel::builder()
        .when(synthesis(), Reply::tool("search", json!({"query": "more"})))
        .otherwise("x")
        .build();
    let ran = Rig::new(&model).run(one(Goal::new("g", "J").using(agent("a")).using(agent("b")))).await;
    let error = ran.failed();
    assert!(
        error.to_string().contains("`g` uses could not be put together: the model called a tool"),
        "{error}"
    );
    assert!(
        matches!(error.downcast_ref(), Some(GoalError::Unassembled { name }) if name == "g"),
        "{error:?}"
    );
}

#[tokio::test]
async fn agentcore_065_066_one_agent_is_taken_at_its_word() {
    let model = ScriptedModel::replies(["  [a]: its very words\n"]);
    let state = Rig::new(&model).run(one(Goal::new("g", "J").using(agent("a")))).await.completed();
    assert_eq!(text(&state, "g"), "  [a]: its very words\n");
    assert_eq!(model.calls(), 1);

    let model = ScriptedModel::builder().otherwise(down("model down")).build();
    let ran = Rig::new(&model).run(one(Goal::new("g", "J").using(agent("a")))).await;
    let error = ran.failed().to_string();
    let places = ["`g`", "`a`", "model down"].map(|part| error.find(part).expect(&error));
    assert!(places.is_sorted(), "{error}");
}

#[tokio::test]
async fn agentcore_067_the_first_failure_decides_and_the_others_are_cancelled() {
    let model = ScriptedModel::builder()
        .when(is("b"), down("b is down"))
        .otherwise(Reply::text("never").hangs())
        .build();
    let goal = Goal::new("g", "J").using(agent("a")).using(agent("b")).using(agent("c"));
    let ran = Rig::new(&model).run(one(goal)).await;
    assert!(ran.failed().to_string().contains("b is down"), "{}", ran.failed());
    assert_eq!(ran.outcome.state.get("g"), None);
}

#[tokio::test]
async fn agentcore_076_077_a_goal_below_a_goal_pursues_its_own_words_and_its_values_are_kept_apart() {
    let model = ScriptedModel::builder().when(Match::any(), "{\"verdict\": \"go\"}").build();
    let nested = Goal::new("inner", "Ask yourself").output("verdict");
    let ran = Rig::new(&model).run(one(Goal::new("outer", "Decide this matter").using(nested))).await;
    let state = ran.completed();
    assert_eq!(text(&state, "outer"), "{\"verdict\": \"go\"}");
    assert_eq!(text(&state, "outer.inner.verdict"), "go");
    assert_eq!((state.get("inner"), state.get("verdict")), (None, None), "under no other name");
    assert!(
        prompts(&model)[0].contains("Ask yourself") && !prompts(&model)[0].contains("Decide this matter")
    );
}

#[tokio::test]
async fn a_goal_below_a_goal_that_is_skipped_has_no_answer() {
    let model = ScriptedModel::replies(["only one"]);
    let tree = Workflow::new("w").input(convoke_goals::Input::new("mode")).sequence(
        Sequence::new("s").goal(
            Goal::new("g", "Do")
                .using(Goal::new("x", "X").when(when("mode").is("x")))
                .using(Goal::new("y", "Y").when(when("mode").is("y"))),
        ),
    );
    let ran = Rig::new(&model).run_with(tree.clone(), [("mode", "y")]).await;
    assert_eq!(text(&ran.completed(), "g"), "only one");
    assert_eq!(ran.completed().skipped, ["x"]);
    let ran = Rig::new(&model).run_with(tree, [("mode", "z")]).await;
    assert!(ran.failed().to_string().contains("conditions of all those it uses"), "{}", ran.failed());
}

#[tokio::test]
async fn agentcore_112_events_tell_who_was_called_in_and_what_came_of_it() {
    let model = ScriptedModel::builder().when(synthesis(), "both").otherwise("four").build();
    let goal = Goal::new("g", "J").using(agent("a")).using(agent("b"));
    let ran = Rig::new(&model).run(one(goal)).await;
    let names = ran.custom_names();
    assert_eq!(
        (names.first().unwrap().as_str(), names.last().unwrap().as_str()),
        ("goal_started", "goal_ended")
    );
    let mut between = names[1..names.len() - 1].to_vec();
    between.sort();
    assert_eq!(between, ["subagent_completed", "subagent_completed", "subagent_spawned", "subagent_spawned"]);
    for name in ["a", "b"] {
        let place = |event: &str| {
            let is_it = |told: &Event| match &told.kind {
                EventKind::Custom { name: own, value } => own == event && value["agent"] == name,
                _ => false,
            };
            ran.events.iter().position(is_it).unwrap()
        };
        assert!(place("subagent_spawned") < place("subagent_completed"), "{name}");
    }
    let completed = ran.customs("subagent_completed");
    assert!(completed.contains(&json!({"goal": "g", "agent": "a", "output_bytes": 4})), "{completed:?}");
    assert!(ran.events.iter().any(|event| event.path.as_str() == "w/s/g/a"));
}

struct Fast(ScriptedModel);

impl Models for Fast {
    fn named(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        Err(format!("there is no model `{name}`"))
    }

    fn profile(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        match name {
            "fast" => Ok(Arc::new(self.0.clone())),
            other => Err(format!("there is no profile `{other}`")),
        }
    }
}

#[tokio::test]
async fn agent_095_an_agent_works_with_the_model_its_profile_stands_for() {
    let (model, fast) = (ScriptedModel::replies(["never"]), ScriptedModel::replies(["quick"]));
    let rig = Rig::new(&model).with(|equipment| equipment.models = Some(Arc::new(Fast(fast.clone()))));
    let with_profile = |profile: &str| {
        one(Goal::new("g", "J")
            .using(agent("a").customize(Overrides::new().model_choice(ModelChoice::Profile(profile.into())))))
    };
    assert_eq!(text(&rig.run(with_profile("fast")).await.completed(), "g"), "quick");
    assert_eq!((model.calls(), fast.calls()), (0, 1));
    let problems = with_profile("deep").prepare(&rig.equipment).unwrap_err().to_string();
    assert!(problems.contains("there is no profile `deep`"), "{problems}");
}

#[tokio::test]
async fn agent_095_what_an_agentfile_requires_is_a_profile() {
    let required = |profile: &str| {
        let text = format!(
            "NAME w\nAGENT a \"You are the a.\" REQUIRES \"{profile}\"\nAGENT b \"You are the b.\"\n\
             GOAL g \"J\" USING a, b\nRUN r USING g"
        );
        Workflow::from(&valid(&text))
    };
    let (model, fast) = (ScriptedModel::replies(["slow", "both"]), ScriptedModel::replies(["quick"]));
    let rig = Rig::new(&model).with(|equipment| equipment.models = Some(Arc::new(Fast(fast.clone()))));
    assert_eq!(text(&rig.run(required("fast")).await.completed(), "g"), "both");
    assert!(systems(&fast)[0].contains("You are the a."), "only who requires it has it");
    assert_eq!((model.calls(), fast.calls()), (2, 1));
    let problems = required("deep").prepare(&rig.equipment).unwrap_err().to_string();
    assert!(problems.contains("there is no profile `deep`"), "{problems}");
}

#[tokio::test]
async fn agentcore_029_030_what_holds_for_a_goal_holds_for_its_agents_and_its_synthesis() {
    let (model, own) = (ScriptedModel::replies(["never"]), ScriptedModel::builder().otherwise("x").build());
    let echo = Echo::default();
    let goal = Goal::new("g", "J")
        .using(agent("a"))
        .using(agent("b"))
        .customize(Overrides::new().model(own.clone()).tools(echo.tools()));
    Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!((model.calls(), own.calls()), (0, 3));
    let offered: Vec<usize> = own.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [1, 1, 0]);
}

#[tokio::test]
async fn agentcore_030_whoever_watches_a_goal_asks_the_goals_own_model() {
    let (model, own) = (ScriptedModel::replies(["never"]), ScriptedModel::builder().otherwise("x").build());
    let goal = Goal::new("g", "J")
        .using(agent("a"))
        .using(agent("b"))
        .supervised()
        .customize(Overrides::new().model(own.clone()));
    Rig::new(&model).run(one(goal)).await;
    let asked = |name: &str| {
        let is_it =
            |request: &&ModelRequest| request.output.as_ref().is_some_and(|output| output.name == name);
        own.requests().iter().filter(is_it).count()
    };
    assert!(asked("commitment") > 0 && asked("assessment") > 0);
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn agent_097_whoever_puts_answers_together_is_asked_for_the_goals_fields() {
    let model = ScriptedModel::builder()
        .when(synthesis(), Reply::json(json!({"score": 7, "why": "it is good"})))
        .otherwise("seven, because it is good")
        .build();
    let goal = Goal::new("g", "Judge")
        .output(("score", Type::Int))
        .output("why")
        .using(agent("a"))
        .using(agent("b"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(state.get("score"), Some(&json!(7)));
    assert_eq!(text(&state, "why"), "it is good");
    let requests = model.requests();
    let schema = &requests[2].output.as_ref().unwrap().schema;
    assert_eq!(schema["required"], json!(["score", "why"]));
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["score", "why"]);
    assert_eq!(schema["additionalProperties"], json!(false));
    assert!(prompts(&model)[2].contains("`score` (a whole number)"));
    assert!(!prompts(&model)[0].contains("`score`"));
}

#[tokio::test]
async fn one_agent_gives_the_goals_fields_and_its_own() {
    let model = ScriptedModel::replies(["{\"score\": 7, \"mood\": \"calm\"}"]);
    let goal = Goal::new("g", "Judge").output(("score", Type::Int)).using(agent("a").output("mood"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(state.get("score"), Some(&json!(7)));
    assert_eq!(text(&state, "g.a.mood"), "calm");
    assert!(prompts(&model)[0].contains("`mood`") && prompts(&model)[0].contains("`score`"));
}

#[tokio::test]
async fn agent_096_agents_know_what_came_before() {
    let model = ScriptedModel::builder().otherwise("before").build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s").goal(Goal::new("first", "F")).goal(Goal::new("g", "J").using(agent("a"))),
    );
    Rig::new(&model).run(tree).await.completed();
    let task = &prompts(&model)[1];
    assert!(task.contains("<context>") && task.contains("<objective>\nJ\n</objective>"), "{task}");
    assert!(systems(&model)[1].contains("You are the a."));
}

#[tokio::test]
async fn outputs_of_a_goal_that_uses_one_goal_are_not_forgotten() {
    // What the goal below gives by the same name is taken as it is.
    let model = ScriptedModel::replies([r#"{"title": "Owls"}"#]);
    let inner = Goal::new("inner", "Think").output("title");
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output("title").using(inner))).await;
    assert_eq!(text(&ran.completed(), "title"), "Owls");
    assert_eq!(model.calls(), 1);

    // What it does not give is asked for.
    let model = ScriptedModel::builder()
        .when(synthesis(), r#"{"title": "Owls"}"#)
        .otherwise(Reply::text("Owls are birds."))
        .build();
    let outer = Goal::new("g", "Do").output("title").using(Goal::new("inner", "Think"));
    let ran = Rig::new(&model).run(one(outer)).await;
    assert_eq!(text(&ran.completed(), "title"), "Owls");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn who_watches_sees_which_tools_were_used_by_goals_below() {
    let echo = crate::run_support::Echo::default();
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), "no")
        .when(Match::output("assessment"), "no")
        .otherwise(Replies::in_turn([echo.call("hm"), Reply::text("done")]))
        .build();
    let inner = Goal::new("inner", "Think").supervision(convoke_goals::Supervision::Off);
    let rig = Rig::new(&model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.human.unattended = true;
        equipment.supervisor = Some(Arc::new(Everything));
    });
    let ran = rig.run(one(Goal::new("g", "Do").using(inner).supervised())).await;
    assert!(ran.failed().to_string().contains("it used [\"echo\"]"), "{}", ran.failed());
}

/// Says which tools were used.
struct Everything;

impl convoke_goals::supervise::Supervisor for Everything {
    fn supervise<'a>(
        &'a self,
        _: &'a convoke_core::Scope,
        review: &'a convoke_goals::supervise::Review<'a>,
    ) -> convoke_core::BoxFuture<'a, Result<convoke_goals::supervise::Verdict, convoke_core::Error>> {
        let reason = format!("it used {:?}", review.product.tools);
        Box::pin(async { Ok(convoke_goals::supervise::Verdict::Halt { reason }) })
    }
}
