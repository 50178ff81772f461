//! Agentfiles, run: what is written in the language is what happens.
#![allow(clippy::unwrap_used, reason = "what a test unwraps it asserts")]

use std::time::Duration;

use crate::common::valid;
use crate::run_support::{Echo, Rig, prompts, systems, text};
use convoke_core::{EventKind, ModelError, ModelErrorKind, RunStatus};
use convoke_goals::Workflow;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn tree(file: &str) -> Workflow {
    Workflow::from(&valid(file))
}

fn down() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"))
}

const THREE: &str = "NAME three\nGOAL a \"Do a\"\nGOAL b \"Do b\"\nGOAL c \"Do c\"\nRUN one USING a\nRUN two USING b\nRUN three USING c\n";

#[tokio::test]
async fn agent_054_056_inputs_are_bound_and_defaults_reach_the_prompt() {
    let file = "NAME f\nINPUT name\nINPUT count DEFAULT 3\nGOAL g \"Hello $name, you have $count items\"\nRUN r USING g\n";
    let model = ScriptedModel::replies(["hi"]);
    let rig = Rig::new(&model);
    rig.run_with(tree(file), [("name", "Ann")]).await.completed();
    assert!(prompts(&model)[0].contains("Hello Ann, you have 3 items"), "{}", prompts(&model)[0]);
    let problems = rig.prepare(tree(file)).bind(convoke_goals::Values::new()).unwrap_err().to_string();
    assert!(problems.contains("required input missing: `name`"), "{problems}");
}

#[tokio::test]
async fn agent_055_inputs_that_are_not_declared_are_ignored_and_it_is_said() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let prepared = Rig::new(&model).prepare(tree(THREE));
    let bound = prepared.bind([("stray", "x")].into_iter().collect()).unwrap();
    assert_eq!(bound.ignored, ["stray"]);
    assert!(bound.state.inputs.is_empty());
}

#[tokio::test]
async fn agent_060_a_longer_name_is_never_taken_for_a_shorter_one() {
    let file = "NAME f\nINPUT topic\nINPUT topic_name\nGOAL g \"$topic_name and $topic\"\nRUN r USING g\n";
    let model = ScriptedModel::replies(["x"]);
    Rig::new(&model)
        .run_with(tree(file), [("topic", "T $topic_name"), ("topic_name", "N")])
        .await
        .completed();
    assert!(prompts(&model)[0].contains("N and T $topic_name"), "{}", prompts(&model)[0]);
}

#[tokio::test]
async fn agent_062_after_a_failure_nothing_more_is_asked_and_what_was_done_is_kept() {
    let model = ScriptedModel::builder().replies([Reply::from("first"), down()]).build();
    let ran = Rig::new(&model).run(tree(THREE)).await;
    assert_eq!(ran.outcome.status, RunStatus::Failed);
    assert_eq!(model.calls(), 2);
    assert_eq!(text(&ran.outcome.state, "a"), "first");
}

const ONE: &str = "NAME one\nGOAL g \"Do it\"\nRUN r USING g\n";

#[tokio::test]
async fn agent_066_two_turns_with_tools_and_one_with_text_are_three_calls() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("1"), echo.call("2"), "done".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    assert_eq!(text(&rig.run(tree(ONE)).await.completed(), "g"), "done");
    assert_eq!(model.calls(), 3);
}

#[tokio::test]
async fn agent_067_070_what_is_wrong_with_a_call_goes_back_to_the_model() {
    let echo = Echo::default();
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("eco", json!({"text": "x"})))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    rig.run(tree(ONE)).await.completed();
    let requests = model.requests();
    let result = requests[1].messages.iter().flat_map(|message| message.results()).next().unwrap();
    assert!(result.is_error && result.content.contains("echo"), "{}", result.content);
}

#[tokio::test]
async fn agent_069_without_tools_it_works_all_the_same() {
    let model = ScriptedModel::replies(["fine"]);
    assert_eq!(text(&Rig::new(&model).run(tree(ONE)).await.completed(), "g"), "fine");
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn agent_072_results_come_in_the_order_of_the_calls() {
    let echo = Echo::default();
    let calls = echo.call("a").and_tool("echo", json!({"text": "b"})).and_tool("echo", json!({"text": "c"}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    rig.run(tree(ONE)).await.completed();
    let requests = model.requests();
    let results = requests[1].messages.iter().flat_map(|message| message.results());
    assert_eq!(results.map(|result| result.content.as_str()).collect::<Vec<_>>(), ["[a]", "[b]", "[c]"]);
}

#[tokio::test]
async fn agent_083_a_goal_is_told_from_its_start_over_its_tools_to_its_end() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("x"), "done".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(tree(ONE)).await;
    let told: Vec<&str> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Custom { name, .. } if name == "goal_started" => Some("started"),
            EventKind::Custom { name, .. } if name == "goal_ended" => Some("ended"),
            EventKind::ToolCallEnded { .. } => Some("tool"),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["started", "tool", "ended"]);
}

const TEAM: &str = "NAME team\nAGENT critic \"You find every flaw.\"\nAGENT optimist \"You see the good in it.\"\n\
                    GOAL g \"Judge it\" USING critic, optimist\nRUN r USING g\n";

#[tokio::test(start_paused = true)]
async fn agent_091_098_agents_have_their_personas_and_are_put_together_as_they_are_declared() {
    let model = ScriptedModel::builder()
        .when(Match::system_contains("every flaw"), Reply::text("bad").delay(Duration::from_millis(30)))
        .when(Match::system_contains("see the good"), "good")
        .otherwise("both")
        .build();
    assert_eq!(text(&Rig::new(&model).run(tree(TEAM)).await.completed(), "g"), "both");
    assert_eq!(model.calls(), 3);
    let last = prompts(&model).pop().unwrap();
    assert!(last.find("\nbad\n").unwrap() < last.find("\ngood\n").unwrap(), "{last}");
    assert!(!systems(&model)[2].contains("every flaw"));
}

#[tokio::test]
async fn agent_092_one_agent_is_taken_at_its_word() {
    let file =
        "NAME f\nAGENT critic \"You find every flaw.\"\nGOAL g \"Judge it\" USING critic\nRUN r USING g\n";
    let model = ScriptedModel::replies(["[critic]: its words"]);
    assert_eq!(text(&Rig::new(&model).run(tree(file)).await.completed(), "g"), "[critic]: its words");
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn agent_093_an_agent_that_is_not_there_is_an_error_before_anything_runs() {
    let errors = crate::common::errors("NAME f\nGOAL g \"Judge it\" USING nobody\nRUN r USING g\n");
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[tokio::test]
async fn agent_094_one_failing_agent_fails_the_goal_and_nobody_waits_for_the_others() {
    let model = ScriptedModel::builder()
        .when(Match::system_contains("every flaw"), Reply::text("never").hangs())
        .otherwise(down())
        .build();
    let ran = Rig::new(&model).run(tree(TEAM)).await;
    assert!(ran.failed().to_string().contains("model down"), "{}", ran.failed());
    let completed = ran.custom("subagent_completed", "agent");
    assert!(completed.contains(&"optimist".to_owned()), "{completed:?}");
}

const POLISH: &str = "NAME f\nCONVERGE polish \"Polish it\" WITHIN 987654\nRUN r USING polish\n";

#[tokio::test]
async fn agent_099_102_iterations_go_on_until_one_says_that_it_is_enough() {
    let model = ScriptedModel::replies(["A", "B", "CONVERGED"]);
    let state = Rig::new(&model).run(tree(POLISH)).await.completed();
    assert_eq!(text(&state, "polish"), "B");
    assert_eq!(model.calls(), 3);
    let prompts = prompts(&model);
    assert!(!prompts[0].contains("CONVERGED") && !prompts[0].contains("<iteration"));
    assert!(prompts[1].contains("<convergence-instruction>") && prompts[1].contains("CONVERGED"));
    assert!(prompts[1].contains("<convergence-history>") && prompts[1].contains("<iteration n=\"1\">"));
    assert!(prompts.iter().chain(&systems(&model)).all(|prompt| !prompt.contains("987654")));
}

#[tokio::test]
async fn agent_100_whoever_never_converges_is_on_record_and_the_run_is_complete() {
    let file = "NAME f\nCONVERGE polish \"Polish it\" WITHIN 3\nRUN r USING polish\n";
    let model = ScriptedModel::replies(["1", "2", "3"]);
    let ran = Rig::new(&model).run(tree(file)).await;
    assert_eq!(ran.outcome.status, RunStatus::Completed);
    assert_eq!(text(&ran.completed(), "polish"), "3");
    assert_eq!(ran.completed().unconverged, [("polish".to_owned(), 3)].into());
    assert_eq!(ran.customs("convergence_cap_reached").len(), 1);
}

#[tokio::test]
async fn agent_103_how_often_may_be_an_input() {
    let file = "NAME f\nINPUT max\nCONVERGE polish \"Polish it\" WITHIN $max\nRUN r USING polish\n";
    let model = ScriptedModel::builder().otherwise("more").build();
    let rig = Rig::new(&model);
    assert_eq!(rig.run_with(tree(file), [("max", "5")]).await.completed().unconverged["polish"], 5);
    for wrong in ["0", "lots"] {
        let inputs = [("max", wrong)].into_iter().collect();
        assert!(rig.prepare(tree(file)).bind(inputs).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn agent_105_116_several_agents_can_converge() {
    let file = "NAME f\nAGENT a \"You are a.\"\nAGENT b \"You are b.\"\n\
                CONVERGE g \"Polish it\" WITHIN 9 USING a, b\nRUN r USING g\n";
    let model = ScriptedModel::builder()
        .when(Match::system_contains("several agents"), "put together & <whole>")
        .when(Match::user_contains("<iteration n=\"1\">"), "CONVERGED")
        .otherwise("mine")
        .build();
    let state = Rig::new(&model).run(tree(file)).await.completed();
    assert_eq!(text(&state, "g"), "put together & <whole>");
    assert!(state.unconverged.is_empty());
    assert!(prompts(&model)[3].contains("put together & <whole>"), "{}", prompts(&model)[3]);
}

#[tokio::test]
async fn agent_119_120_122_123_124_fields_are_asked_for_and_read() {
    let file = "NAME f\nGOAL g \"Look\" -> findings, sources:[string], count:int\nRUN r USING g\n";
    let reply = "Here:\n```json\n{\"findings\":\"a } in it\",\"sources\":[\"a\",\"b\"],\"count\":42,\"more\":{\"x\":1}}\n```";
    let model = ScriptedModel::replies([reply]);
    let state = Rig::new(&model).run(tree(file)).await.completed();
    assert_eq!(state.get("findings"), Some(&json!("a } in it")));
    assert_eq!(state.get("sources"), Some(&json!(["a", "b"])));
    assert_eq!(state.get("count"), Some(&json!(42)));
    assert_eq!(state.get("more"), None);
    let prompt = &prompts(&model)[0];
    assert!(
        ["JSON", "`findings`", "`sources`", "`count`"].iter().all(|part| prompt.contains(part)),
        "{prompt}"
    );
}

#[tokio::test]
async fn agent_217_a_fence_is_taken_off_and_backticks_inside_stay() {
    let file = "NAME f\nGOAL g \"Look\" -> findings\nRUN r USING g\n";
    for reply in [
        "```json\n{\"findings\": \"use `a` or\\n```\\nb\\n```\"}\n```",
        "```\n{\"findings\": \"use `a` or\\n```\\nb\\n```\"}\n```\n",
        "{\"findings\": \"use `a` or\\n```\\nb\\n```\"}",
    ] {
        let state = Rig::new(&ScriptedModel::replies([reply])).run(tree(file)).await.completed();
        assert_eq!(state.get("findings"), Some(&json!("use `a` or\n```\nb\n```")), "{reply}");
    }
    for nothing in ["```\n```", "```json\n\n```"] {
        let state = Rig::new(&ScriptedModel::replies([nothing, nothing])).run(tree(file)).await.completed();
        assert_eq!(state.get("findings"), None, "{nothing}");
    }
}

#[tokio::test]
async fn agent_121_plain_text_fills_no_field() {
    // Where one text is all that is asked for, prose is that text.
    let file = "NAME f\nGOAL g \"Look\" -> findings, sources\nRUN r USING g\n";
    let model = ScriptedModel::replies(["just prose", "prose again"]);
    let ran = Rig::new(&model).run(tree(file)).await;
    assert_eq!((ran.completed().get("findings"), ran.completed().get("sources")), (None, None));
    assert_eq!(ran.customs("output_missing")[0]["fields"], json!(["findings", "sources"]));
}

#[tokio::test]
async fn a_loop_over_goals_is_run_until_a_judge_is_content() {
    let file = "NAME f\nGOAL build \"Build\"\nGOAL test \"Test $build\"\nLOOP l USING build, test WITHIN 4\n";
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": false})))
        .otherwise("x")
        .build();
    let state = Rig::new(&model).run(tree(file)).await.completed();
    assert!(state.unconverged.is_empty());
    assert_eq!(model.calls(), 3);
}
