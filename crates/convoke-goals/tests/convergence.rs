//! Convergence: goals that are improved on.

use crate::run_support::{Echo, Ran, Rig, prompts, text};
use convoke_agent::FunctionTool;
use convoke_core::{Error, EventKind, ModelError, ModelErrorKind, Toolset};
use convoke_goals::supervise::{Review, Supervisor, Verdict};
use convoke_goals::{Agent, Goal, GoalError, Input, Sequence, Type, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn polish(within: u32) -> Workflow {
    one(Goal::converging("polish", "Polish it", within))
}

fn down() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"))
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

#[tokio::test]
async fn agentcore_087_it_ends_when_nothing_is_left_to_improve() {
    let model = ScriptedModel::replies(["A", "B", "CONVERGED"]);
    let ran = Rig::new(&model).run(polish(10)).await;
    let state = ran.completed();
    assert_eq!(text(&state, "polish"), "B");
    assert_eq!(model.calls(), 3);
    assert!(state.unconverged.is_empty());

    let model = ScriptedModel::replies(["draft 1", "draft 2\n\nCONVERGED"]);
    let state = Rig::new(&model).run(polish(10)).await.completed();
    assert_eq!(text(&state, "polish"), "draft 2", "the newest text counts, without the marker");
    assert_eq!(model.calls(), 2);
    assert!(state.unconverged.is_empty());
}

#[tokio::test]
async fn agentcore_088_a_limit_that_is_reached_is_noted_and_no_failure() {
    let model = ScriptedModel::replies(["1", "2"]);
    let ran = Rig::new(&model).run(polish(2)).await;
    let state = ran.completed();
    assert_eq!(text(&state, "polish"), "2", "the last text");
    assert_eq!(state.unconverged.get("polish"), Some(&2));
    assert_eq!(ran.customs("convergence_cap_reached"), [json!({"convergence": "polish", "cap": 2})]);
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agentcore_089_094_failures_in_an_iteration_are_failures() {
    let model = ScriptedModel::builder().replies([Reply::from("draft"), down()]).build();
    let ran = Rig::new(&model).run(polish(3)).await;
    let error = ran.failed().to_string();
    assert!(error.contains("`polish`") && error.contains("model down"), "{error}");
    assert_eq!(text(&ran.outcome.state, "polish"), "draft", "what there was by then is kept");

    let model = ScriptedModel::builder().when(is("b"), down()).otherwise("x").build();
    let goal = || Goal::converging("g", "P", 3).using(agent("a")).using(agent("b"));
    let ran = Rig::new(&model).run(one(goal())).await;
    let error = ran.failed().to_string();
    assert!(error.contains("`g`") && error.contains("`b`") && error.contains("model down"), "{error}");

    let model = ScriptedModel::builder().when(synthesis(), down()).otherwise("x").build();
    let ran = Rig::new(&model).run(one(goal())).await;
    let error = ran.failed().to_string();
    assert!(
        error.contains("`g`") && error.contains("`synthesis`") && error.contains("model down"),
        "{error}"
    );
}

#[tokio::test]
async fn agentcore_089_a_tool_that_ends_everything_ends_an_iteration() {
    let burns = FunctionTool::new("burn", "Burns", |_: serde_json::Map<String, serde_json::Value>| async {
        Err::<String, _>(Error::failed("the tool broke"))
    });
    let model = ScriptedModel::builder().otherwise(Reply::tool("burn", json!({}))).build();
    let tools = Toolset::new().with(burns.fatal()).unwrap();
    let ran = Rig::new(&model).with(|equipment| equipment.tools = tools).run(polish(3)).await;
    let error = ran.failed().to_string();
    assert!(error.contains("`polish`") && error.contains("the tool broke"), "{error}");
}

#[tokio::test]
async fn agentcore_089_tools_may_be_called_in_an_iteration() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("x"), "done\nCONVERGED".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    assert_eq!(text(&rig.run(polish(3)).await.completed(), "polish"), "done");
    assert_eq!((echo.calls(), model.calls()), (vec!["x".to_owned()], 2));
}

#[tokio::test]
async fn agentcore_090_the_first_iteration_may_be_the_last_and_keeps_its_text() {
    let model = ScriptedModel::replies(["perfect\n**CONVERGED**"]);
    let state = Rig::new(&model).run(polish(5)).await.completed();
    assert_eq!(text(&state, "polish"), "perfect");
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn agentcore_091_a_word_in_a_sentence_ends_nothing() {
    let model = ScriptedModel::replies(["this has not CONVERGED yet", "CONVERGED.\n"]);
    let state = Rig::new(&model).run(polish(5)).await.completed();
    assert_eq!(text(&state, "polish"), "this has not CONVERGED yet");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agent_107_nothing_but_the_marker_is_no_result() {
    let model = ScriptedModel::replies(["CONVERGED", "now then", "CONVERGED"]);
    let state = Rig::new(&model).run(polish(5)).await.completed();
    assert_eq!(text(&state, "polish"), "now then");

    let model = ScriptedModel::builder().otherwise("CONVERGED").build();
    let ran = Rig::new(&model).run(polish(2)).await;
    assert!(matches!(ran.failed().downcast_ref(), Some(GoalError::Incomplete { .. })), "{}", ran.failed());
}

#[tokio::test]
async fn agentcore_081_iterations_see_all_before_them_and_not_the_limit() {
    let model = ScriptedModel::replies(["draft one", "draft two", "CONVERGED"]);
    Rig::new(&model).run(polish(987_654)).await.completed();
    let prompts = prompts(&model);
    assert!(!prompts[0].contains("<iteration") && !prompts[0].contains("CONVERGED"), "{}", prompts[0]);
    assert!(prompts[1].contains("<convergence-instruction>") && prompts[1].contains("CONVERGED"));
    assert!(prompts[1].contains("<convergence-history>") && prompts[1].contains("draft one"));
    assert!(prompts[2].contains("<iteration n=\"2\">") && prompts[2].contains("Refine the previous"));
    assert!(!prompts[2].contains("<goal id=\"polish\">"), "its own result is not among the earlier ones");
    assert!(prompts.iter().all(|prompt| !prompt.contains("987654")));
}

#[tokio::test]
async fn agentcore_092_what_several_agents_say_is_put_together_in_every_iteration_until_they_are_content() {
    let model = ScriptedModel::builder()
        .when(synthesis(), "together")
        .when(Match::user_contains("<iteration n=\"1\">"), "CONVERGED")
        .otherwise("<mine> & more")
        .build();
    let goal = Goal::converging("g", "Polish", 5).using(agent("a")).using(agent("b"));
    let ran = Rig::new(&model).run(one(goal)).await;
    let state = ran.completed();
    assert_eq!(text(&state, "g"), "together");
    assert_eq!(model.calls(), 5, "two agents and their synthesis, then two agents who are content");
    assert!(state.unconverged.is_empty());
    let together = &prompts(&model)[2];
    assert_eq!(together.matches("<mine> & more").count(), 2, "both answers, and nothing is escaped");
    assert!(prompts(&model)[3..].iter().all(|prompt| prompt.contains("together")), "they improve on that");
    assert_eq!(ran.customs("subagent_spawned").len(), 4);
}

#[tokio::test]
async fn agentcore_092_whoever_only_puts_answers_together_ends_nothing() {
    let model = ScriptedModel::builder()
        .when(synthesis(), ["first", "second\n\nCONVERGED"].map(Reply::from))
        .otherwise("mine")
        .build();
    let goal = Goal::converging("g", "Polish", 2).using(agent("a")).using(agent("b"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(model.calls(), 6, "the agents and their synthesis, twice");
    assert_eq!(state.unconverged.get("g"), Some(&2));
    assert!(text(&state, "g").starts_with("second"), "{}", text(&state, "g"));
}

#[tokio::test]
async fn as_long_as_one_agent_is_not_content_it_goes_on() {
    let model = ScriptedModel::builder()
        .when(synthesis(), ["one", "CONVERGED and so on"])
        .when(is("a"), Reply::text("CONVERGED"))
        .when(is("b"), ["better", "best"].map(Reply::from))
        .build();
    let goal = Goal::converging("g", "Polish", 2).using(agent("a")).using(agent("b"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(state.unconverged.get("g"), Some(&2));
}

#[tokio::test]
async fn agentcore_093_one_agent_is_taken_at_its_word() {
    let model = ScriptedModel::replies(["first reply", "CONVERGED"]);
    let goal = Goal::converging("g", "Polish", 5).using(agent("a"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(text(&state, "g"), "first reply");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn where_nobody_was_asked_to_say_so_a_judge_decides() {
    let verdict = |improvable: bool| Reply::json(json!({"improvable": improvable}));
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), [verdict(true), verdict(false)])
        .otherwise("a version")
        .build();
    let goal = Goal::converging("g", "Polish", 5).using(Goal::new("inner", "Make one"));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(model.calls(), 4);
    assert!(state.unconverged.is_empty());
}

fn variable() -> Workflow {
    Workflow::new("w")
        .input(Input::new("max").default("5"))
        .sequence(Sequence::new("s").goal(Goal::converging_within("g", "Polish", "max")))
}

#[tokio::test]
async fn agentcore_096_how_often_may_be_a_value() {
    let often = async |inputs: &[(&'static str, &'static str)]| {
        let model = ScriptedModel::builder().otherwise("more").build();
        let ran = match inputs {
            [input] => Rig::new(&model).run_with(variable(), [*input]).await,
            _ => Rig::new(&model).run(variable()).await,
        };
        (ran.completed().unconverged.get("g").copied(), model.calls())
    };
    assert_eq!(often(&[("max", "2")]).await, (Some(2), 2));
    assert_eq!(often(&[("max", " 3 ")]).await, (Some(3), 3));
    assert_eq!(often(&[]).await, (Some(5), 5));

    // Outputs take precedence over inputs.
    let model = ScriptedModel::builder().replies(["{\"max\": \"1\"}", "only one"]).build();
    let tree = made(Type::String).input(Input::new("max"));
    let ran = Rig::new(&model).run_with(tree, [("max", "5")]).await;
    assert_eq!(ran.completed().unconverged.get("g"), Some(&1));
    assert_eq!(model.calls(), 2);
}

fn made(ty: Type) -> Workflow {
    Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("count", "How often?").output(("max", ty)))
            .goal(Goal::converging_within("g", "Polish", "max")),
    )
}

#[tokio::test]
async fn agentcore_097_a_value_that_is_no_number_of_times_is_an_error_of_its_own() {
    for (value, expected) in [
        (json!("lots"), "`g`: WITHIN $max must be > 0, and `lots` is not an integer"),
        (json!("0"), "`g`: 'within' must be > 0, and it is 0"),
        (json!("-2"), "`g`: 'within' must be > 0, and it is -2"),
    ] {
        let model = ScriptedModel::builder().replies([Reply::json(json!({"max": value}))]).build();
        let ran = Rig::new(&model).run(made(Type::String)).await;
        assert!(ran.failed().to_string().contains(expected), "{value}: {}", ran.failed());
        assert_eq!(model.calls(), 1, "{value}: nothing is improved on");
    }
    let model = ScriptedModel::builder().otherwise("no JSON").build();
    let ran = Rig::new(&model).run(made(Type::Int)).await;
    assert!(ran.failed().to_string().contains("unresolved"), "{}", ran.failed());
    let replies = ["{\"max\": \" 3 \"}", "one", "two", "three"];
    let model = ScriptedModel::builder().replies(replies).build();
    let ran = Rig::new(&model).run(made(Type::String)).await;
    assert_eq!(ran.completed().unconverged.get("g"), Some(&3));
    let model = ScriptedModel::builder().replies(["{\"max\": 1}", "only one"]).build();
    let ran = Rig::new(&model).run(made(Type::Int)).await;
    assert_eq!(ran.completed().unconverged.get("g"), Some(&1));
}

#[tokio::test]
async fn agentcore_098_outputs_are_read_at_the_limit_too() {
    let model = ScriptedModel::replies(["{\"verdict\": \"ok\", \"score\": 7}"]);
    let goal = Goal::converging("g", "Judge", 1).output("verdict").output("score");
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!((text(&state, "verdict"), text(&state, "score")), ("ok".to_owned(), "7".to_owned()));
    assert_eq!((model.calls(), state.unconverged.get("g")), (1, Some(&1)));
}

#[tokio::test]
async fn agentcore_098_outputs_are_those_of_the_last_version_and_a_field_says_that_it_is() {
    let model = ScriptedModel::replies([
        "{\"verdict\": \"so-so\", \"score\": 3, \"converged\": false}",
        "{\"verdict\": \"ok\", \"score\": 7, \"converged\": true}",
    ]);
    let goal = Goal::converging("g", "Judge", 5).output("verdict").output(("score", Type::Int));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(text(&state, "verdict"), "ok");
    assert_eq!(state.get("score"), Some(&json!(7)));
    assert_eq!(model.calls(), 2);
    assert_eq!(state.get("converged"), None);
    assert!(!text(&state, "g").contains("converged"), "{}", text(&state, "g"));
    let schema = model.requests()[0].output.clone().unwrap().schema;
    assert!(schema["required"].as_array().unwrap().contains(&json!("converged")), "{schema}");
    assert!(!prompts(&model)[0].contains("`converged` to true"), "there is nothing yet that could be");
    assert!(prompts(&model)[1].contains("Set the field `converged` to true"));
}

#[tokio::test]
async fn agentcore_099_each_version_is_in_the_state_as_soon_as_it_is_there() {
    let model = ScriptedModel::replies(["one", "two", "CONVERGED"]);
    let ran = Rig::new(&model).run(polish(5)).await;
    assert_eq!(text(&ran.completed(), "polish"), "two", "the marker is no version");
    let told: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::LoopIteration { iteration } => Some(format!("iteration {iteration}")),
            EventKind::StateDelta { patch } => {
                let versions = ["one", "two"].into_iter();
                let operations = patch.as_array().unwrap();
                let is_put = |operation: &Value, version: &str| {
                    operation["path"] == "/outputs/polish" && operation["value"] == version
                };
                let is_in = |version: &&str| operations.iter().any(|operation| is_put(operation, version));
                Some(format!("the state has {:?}", versions.filter(is_in).collect::<Vec<_>>()))
            }
            _ => None,
        })
        .collect();
    let expected =
        ["iteration 1", "the state has [\"one\"]", "iteration 2", "the state has [\"two\"]", "iteration 3"];
    assert_eq!(told[..5], expected, "{told:?}");
}

/// Sends everything back once.
struct Strict;

impl Supervisor for Strict {
    fn supervise<'a>(
        &'a self,
        _: &'a convoke_core::Scope,
        review: &'a Review<'a>,
    ) -> convoke_core::BoxFuture<'a, Result<Verdict, convoke_core::Error>> {
        let verdict = if review.corrections.is_empty() {
            Verdict::Reorient { correction: "Make it rhyme".into(), reason: String::new() }
        } else {
            Verdict::Continue { reason: String::new() }
        };
        Box::pin(async move { Ok(verdict) })
    }
}

fn supervised(model: &ScriptedModel) -> Rig {
    Rig::new(model).with(|equipment| equipment.supervisor = Some(std::sync::Arc::new(Strict)))
}

#[tokio::test]
async fn agentcore_100_a_correction_is_one_iteration_more_that_knows_it() {
    // Neither commitment nor assessment can be read: that is a trigger.
    let model = ScriptedModel::builder()
        .when(
            Match::user_contains("Make it rhyme").and(Match::user_contains("<convergence-instruction>")),
            "rhymed",
        )
        .when(Match::user_contains("<iteration n=\"1\">"), "CONVERGED")
        .when(Match::user_contains("<current-goal"), "prose")
        .otherwise("?")
        .build();
    let goal = Goal::converging("g", "Polish", 5).supervised();
    let ran = supervised(&model).run(one(goal)).await;
    assert_eq!(text(&ran.completed(), "g"), "rhymed");
    let iterations: Vec<String> =
        prompts(&model).into_iter().filter(|prompt| prompt.contains("<convergence-instruction>")).collect();
    assert_eq!(iterations.len(), 2, "after the first, which has nothing to improve on");
    assert!(!iterations[0].contains("Make it rhyme") && iterations[1].contains("Make it rhyme"));
    assert!(iterations[1].contains("<iteration n=\"1\">"), "it improves on what there was");
}

#[tokio::test]
async fn agent_106_who_watches_commits_once_before_and_compares_once_after() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("<iteration n=\"2\">"), "CONVERGED")
        .when(Match::user_contains("<convergence-instruction>"), ["one", "two"].map(Reply::from))
        .otherwise("?")
        .build();
    let ran = supervised(&model).run(one(Goal::converging("g", "Polish", 5).supervised())).await;
    ran.completed();
    let said = "three iterations, compared; one more with the correction, compared again";
    assert_eq!(
        order(&ran),
        ["commit", "iteration", "iteration", "iteration", "reconcile", "iteration", "reconcile"],
        "{said}"
    );
    let corrected: Vec<bool> = prompts(&model)
        .iter()
        .filter(|prompt| prompt.starts_with("<workflow"))
        .map(|prompt| prompt.contains("Make it rhyme"))
        .collect();
    assert_eq!(corrected, [false, false, false, true]);
}

#[tokio::test]
async fn agent_106_a_convergence_that_nobody_corrects_is_compared_once() {
    let model = ScriptedModel::builder()
        .when(
            Match::output("commitment"),
            Reply::json(json!({"interpretation": "polish", "confidence": "high"})),
        )
        .when(Match::output("assessment"), Reply::json(json!({"met_commitment": true})))
        .when(Match::user_contains("<iteration n=\"1\">"), "CONVERGED")
        .otherwise("one")
        .build();
    let ran = supervised(&model).run(one(Goal::converging("g", "Polish", 5).supervised())).await;
    assert_eq!(text(&ran.completed(), "g"), "one");
    assert_eq!(order(&ran), ["commit", "iteration", "iteration", "reconcile"]);
}

/// Commitments, iterations and comparisons, in the order they came.
fn order(ran: &Ran) -> Vec<String> {
    let told = ran.events.iter().filter_map(|event| match &event.kind {
        EventKind::LoopIteration { .. } => Some("iteration"),
        EventKind::Custom { name, value } if name == "supervision" => value["phase"].as_str(),
        _ => None,
    });
    told.filter(|told| ["commit", "iteration", "reconcile"].contains(told)).map(str::to_owned).collect()
}

#[tokio::test]
async fn agent_137_a_correction_runs_those_a_goal_uses_again() {
    let model = ScriptedModel::builder()
        .when(is("a").and(Match::user_contains("Make it rhyme")), "rhymed")
        .when(is("a"), "prose")
        .otherwise("?")
        .build();
    let ran = supervised(&model).run(one(Goal::new("g", "Do").using(agent("a")).supervised())).await;
    assert_eq!(text(&ran.completed(), "g"), "rhymed");
}
