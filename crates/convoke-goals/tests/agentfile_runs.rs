//! Agentfiles, run: what is written in the language is what happens.
use std::sync::Arc;
use std::time::Duration;

use crate::common::valid;
use crate::run_support::{Echo, Rig, prompts, systems, text};
use convoke_agent::FunctionTool;
use convoke_core::{Error, EventKind, ModelError, ModelErrorKind, RunStatus, Toolset};
use convoke_goals::Workflow;
use convoke_goals::agentfile::diagnostic::Severity;
use convoke_goals::agentfile::load::MemoryLoader;
use convoke_goals::agentfile::{Source, read};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Map, Value, json};
use tokio::sync::Barrier;

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
    let ran = Rig::new(&model).run_with(tree(THREE), [("stray", "of no use")]).await;
    assert_eq!(ran.completed().get("stray"), None);
    assert!(prompts(&model).iter().all(|prompt| !prompt.contains("of no use")));
}

#[tokio::test]
async fn agent_059_what_a_file_of_its_own_leaves_open_stays_as_it_is_written_and_it_is_said() {
    let agentfile = "NAME w\nGOAL g FROM goal.md\nRUN main USING g";
    let files = MemoryLoader::default().with("goal.md", "See $nope.");
    let (file, diagnostics) = read(&Source::new("Agentfile", agentfile), &files);
    let warnings: Vec<_> =
        diagnostics.iter().map(|found| (found.severity(), found.message.as_str())).collect();
    assert_eq!(warnings, [(Severity::Warning, "`goal.md` has `$nope` in it, which nothing defines")]);
    let model = ScriptedModel::replies(["seen"]);
    let ran = Rig::new(&model).run(Workflow::from(&file.unwrap())).await;
    assert_eq!(text(&ran.completed(), "g"), "seen");
    assert!(prompts(&model)[0].contains("\nSee $nope.\n"), "{}", prompts(&model)[0]);
    // In the file itself it is a mistake, and nothing is run.
    assert_eq!(
        crate::common::errors("NAME w\nGOAL g \"See $nope.\"\nRUN main USING g"),
        ["undefined-variable 2"]
    );
}

#[tokio::test]
async fn agent_061_the_goals_of_three_steps_start_in_their_order() {
    let model = ScriptedModel::replies(["1", "2", "3"]);
    let ran = Rig::new(&model).run(tree(THREE)).await;
    ran.completed();
    assert_eq!(ran.custom("goal_started", "goal"), ["a", "b", "c"]);
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
    assert!(ran.failed().to_string().contains("model down"), "{}", ran.failed());
    assert_eq!(model.calls(), 2);
    assert_eq!(ran.custom("goal_started", "goal"), ["a", "b"]);
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

/// What the tools gave back before the second reply, in order.
fn given_back(model: &ScriptedModel) -> Vec<(String, bool)> {
    let second = &model.requests()[1];
    let results = second.messages.iter().flat_map(|message| message.results());
    results.map(|result| (result.content.clone(), result.is_error)).collect()
}

#[tokio::test]
async fn agent_067_what_a_tool_fails_with_goes_back_to_the_model_as_an_error() {
    let missing = FunctionTool::new("read", "Reads", |_: Map<String, Value>| async {
        Err::<String, _>(Error::failed("`nowhere.txt` does not exist"))
    });
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("read", json!({})))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = Toolset::new().with(missing).unwrap());
    assert_eq!(text(&rig.run(tree(ONE)).await.completed(), "g"), "done");
    let (said, is_error) = given_back(&model).remove(0);
    assert!(is_error && said.contains("`nowhere.txt` does not exist"), "{said}");
}

#[tokio::test]
async fn agent_070_a_call_of_a_tool_that_is_not_there_is_answered_with_those_that_are() {
    let echo = Echo::default();
    let other =
        FunctionTool::new("weigh", "Weighs", |_: Map<String, Value>| async { Ok::<_, Error>("1 kg") });
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("eco", json!({"text": "x"})))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools().with(other).unwrap());
    assert_eq!(text(&rig.run(tree(ONE)).await.completed(), "g"), "done");
    let expected = "tool `eco` not found; the tools are: echo, weigh".to_owned();
    assert_eq!(given_back(&model), [(expected, true)]);
    assert_eq!(echo.calls(), [""; 0]);
}

#[tokio::test]
async fn agent_069_without_tools_it_works_all_the_same() {
    let model = ScriptedModel::replies(["fine"]);
    assert_eq!(text(&Rig::new(&model).run(tree(ONE)).await.completed(), "g"), "fine");
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn agent_072_calls_are_made_at_once_and_their_results_come_in_the_order_of_the_calls() {
    // Nobody comes past it before all three are there.
    let all_there = Arc::new(Barrier::new(3));
    let meet = FunctionTool::new("meet", "Meets", move |who: Map<String, Value>| {
        let all_there = Arc::clone(&all_there);
        async move {
            all_there.wait().await;
            Ok::<_, Error>(who["name"].as_str().unwrap_or_default().to_owned())
        }
    });
    let calls = Reply::tool("meet", json!({"name": "a"}))
        .and_tool("meet", json!({"name": "b"}))
        .and_tool("meet", json!({"name": "c"}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = Toolset::new().with(meet).unwrap());
    let file = "NAME one\nGOAL g \"Do it\" TIMEOUT 1m\nRUN r USING g\n";
    assert_eq!(text(&rig.run(tree(file)).await.completed(), "g"), "done");
    let said: Vec<String> = given_back(&model).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["a", "b", "c"]);
}

#[tokio::test]
async fn agent_083_a_goal_is_told_from_its_start_over_its_tools_to_its_end() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("x"), echo.call("y"), "done".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(tree(ONE)).await;
    let told: Vec<&str> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Custom { name, .. } if name == "goal_started" => Some("started"),
            EventKind::Custom { name, .. } if name == "goal_ended" => Some("ended"),
            EventKind::ToolCallStarted { .. } => Some("tool called"),
            EventKind::ToolCallEnded { .. } => Some("tool answered"),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["started", "tool called", "tool answered", "tool called", "tool answered", "ended"]);
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
    let personas = ["You find every flaw.", "You see the good in it."];
    for persona in personas {
        assert_eq!(systems(&model).iter().filter(|system| system.contains(persona)).count(), 1, "{persona}");
    }
    assert!(personas.iter().all(|persona| !systems(&model)[2].contains(persona)));
    let last = prompts(&model).pop().unwrap();
    assert!(last.find("\nbad\n").unwrap() < last.find("\ngood\n").unwrap(), "{last}");
}

#[tokio::test]
async fn agent_092_one_agent_is_taken_at_its_word() {
    let file =
        "NAME f\nAGENT critic \"You find every flaw.\"\nGOAL g \"Judge it\" USING critic\nRUN r USING g\n";
    let model = ScriptedModel::replies(["[critic]: its words"]);
    assert_eq!(text(&Rig::new(&model).run(tree(file)).await.completed(), "g"), "[critic]: its words");
    assert_eq!(model.calls(), 1);
}

#[test]
fn agent_093_an_agent_that_is_not_there_is_an_error_before_anything_runs() {
    let error = crate::common::only_error("NAME f\nGOAL g \"Judge it\" USING nobody\nRUN r USING g\n");
    assert_eq!(error.code.name(), "undefined-agent");
    assert_eq!(error.message, "there is no agent `nobody`");
}

#[tokio::test]
async fn agent_094_one_failing_agent_fails_the_goal_and_nobody_waits_for_the_others() {
    let model = ScriptedModel::builder()
        .when(Match::system_contains("every flaw"), Reply::text("never").hangs())
        .otherwise(down())
        .build();
    let ran = Rig::new(&model).run(tree(TEAM)).await;
    assert!(ran.failed().to_string().contains("model down"), "{}", ran.failed());
    assert_eq!(ran.outcome.state.get("g"), None);
    assert!(
        systems(&model).iter().all(|system| !system.contains("several agents")),
        "nothing is put together"
    );
}

#[tokio::test(start_paused = true)]
async fn agent_094_of_several_that_fail_the_one_that_failed_first_decides() {
    for (critic, optimist, decides, other) in
        [(10, 20, "no flaws", "no good"), (20, 10, "no good", "no flaws")]
    {
        let fails = |why: &str, after: u64| {
            let error = ModelError::new(ModelErrorKind::InvalidRequest, why);
            Reply::error(error).delay(Duration::from_millis(after))
        };
        let model = ScriptedModel::builder()
            .when(Match::system_contains("every flaw"), fails("no flaws", critic))
            .otherwise(fails("no good", optimist))
            .build();
        let ran = Rig::new(&model).run(tree(TEAM)).await;
        let error = ran.failed().to_string();
        assert!(error.contains(decides) && !error.contains(other), "{error}");
    }
}

const POLISH: &str = "NAME f\nCONVERGE polish \"Polish it\" WITHIN 987654\nRUN r USING polish\n";

#[tokio::test]
async fn agent_099_102_iterations_go_on_until_one_says_that_it_is_enough() {
    let model = ScriptedModel::replies(["A", "B", "CONVERGED"]);
    let state = Rig::new(&model).run(tree(POLISH)).await.completed();
    assert_eq!(text(&state, "polish"), "B");
    assert!(state.unconverged.is_empty());
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
    assert_eq!(ran.customs("convergence_cap_reached"), [json!({"convergence": "polish", "cap": 3})]);
    assert_eq!(model.calls(), 3);
}

#[tokio::test]
async fn agent_103_how_often_may_be_an_input() {
    let file = "NAME f\nINPUT max\nCONVERGE polish \"Polish it\" WITHIN $max\nRUN r USING polish\n";
    let model = ScriptedModel::builder().otherwise("more").build();
    let rig = Rig::new(&model);
    assert_eq!(rig.run_with(tree(file), [("max", "5")]).await.completed().unconverged["polish"], 5);
    for wrong in ["0", "lots"] {
        let inputs = [("max", wrong)].into_iter().collect();
        let problem = rig.prepare(tree(file)).bind(inputs).unwrap_err().to_string();
        assert!(
            problem.contains("`max`") && problem.contains("a whole number above 0"),
            "{wrong}: {problem}"
        );
    }
    for too_many in ["4294967296", "99999999999"] {
        let inputs = [("max", too_many)].into_iter().collect();
        let problem = rig.prepare(tree(file)).bind(inputs).unwrap_err().to_string();
        assert!(problem.contains("at most 4294967295"), "{too_many}: {problem}");
    }
}

#[tokio::test]
async fn agent_103_how_often_may_be_an_output_which_goes_before_an_input() {
    let file = "NAME f\nINPUT max DEFAULT 9\nGOAL count \"Count\" -> max\nCONVERGE polish \"Polish it\" WITHIN $max\n\
                RUN r USING count, polish\n";
    let limited = async |max: &str| {
        let model = ScriptedModel::builder()
            .when(Match::user_contains("<current-goal id=\"count\">"), Reply::json(json!({"max": max})))
            .otherwise("more")
            .build();
        Rig::new(&model).run(tree(file)).await
    };
    assert_eq!(limited("2").await.completed().unconverged["polish"], 2);
    for wrong in ["0", "lots"] {
        let ran = limited(wrong).await;
        let error = ran.failed().to_string();
        assert!(error.contains("must be > 0") && error.contains(wrong), "{error}");
    }
}

#[tokio::test]
async fn agent_104_the_marker_ends_it_however_it_is_written_and_is_never_the_output() {
    for marker in ["  CONVERGED \n", "CONVERGED.", "**CONVERGED**", "`CONVERGED`"] {
        let model = ScriptedModel::replies(["draft", marker]);
        let state = Rig::new(&model).run(tree(POLISH)).await.completed();
        assert_eq!(text(&state, "polish"), "draft", "{marker:?}");
        assert!(state.unconverged.is_empty());
        assert_eq!(model.calls(), 2);
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
    // Both of them read it as it was written, once and between marks.
    let second_round: Vec<String> =
        prompts(&model).into_iter().filter(|prompt| prompt.contains("<iteration n=\"1\">")).collect();
    assert_eq!(second_round.len(), 2);
    for prompt in second_round {
        assert_eq!(prompt.matches("put together & <whole>").count(), 1, "{prompt}");
        assert!(prompt.contains("]\nput together & <whole>\n[end "), "{prompt}");
        assert!(!prompt.contains("&amp;") && !prompt.contains("&lt;"), "{prompt}");
    }
}

const FIELDS: &str = "NAME f\nGOAL g \"Look\" -> findings, sources:[string], count:int\nRUN r USING g\n";

#[tokio::test]
async fn agent_119_124_fields_are_asked_for_and_read() {
    let model = ScriptedModel::replies([r#"{"findings":"t","sources":["a","b"],"count":42}"#]);
    let state = Rig::new(&model).run(tree(FIELDS)).await.completed();
    assert_eq!(state.get("findings"), Some(&json!("t")));
    assert_eq!(state.get("sources"), Some(&json!(["a", "b"])));
    assert_eq!(state.get("count"), Some(&json!(42)));
    let prompt = &prompts(&model)[0];
    assert!(
        ["JSON", "`findings`", "`sources`", "`count`"].iter().all(|part| prompt.contains(part)),
        "{prompt}"
    );
}

#[tokio::test]
async fn agent_120_123_the_object_is_found_in_fences_between_words_and_with_others_inside() {
    let object = r#"{"findings":"a } in it","sources":["a","b"],"count":42,"more":{"deep":{"x":"}"}}}"#;
    for reply in [
        object.to_owned(),
        format!("```json\n{object}\n```"),
        format!("```\n{object}\n```"),
        format!("Here it is: {object} Anything else?"),
        format!("Here:\n```json\n{object}\n```\nDone."),
    ] {
        let model = ScriptedModel::replies([reply.as_str()]);
        let state = Rig::new(&model).run(tree(FIELDS)).await.completed();
        assert_eq!(state.get("findings"), Some(&json!("a } in it")), "{reply}");
        assert_eq!(state.get("sources"), Some(&json!(["a", "b"])), "{reply}");
        assert_eq!(state.get("count"), Some(&json!(42)), "{reply}");
    }
}

#[tokio::test]
async fn agent_122_a_field_that_is_missing_is_unset_and_one_that_is_too_much_is_ignored() {
    let model = ScriptedModel::builder().otherwise(r#"{"findings":"t","count":42,"more":"x"}"#).build();
    let ran = Rig::new(&model).run(tree(FIELDS)).await;
    let state = ran.completed();
    assert_eq!((state.get("findings"), state.get("count")), (Some(&json!("t")), Some(&json!(42))));
    assert_eq!((state.get("sources"), state.get("more")), (None, None));
    assert_eq!(ran.customs("output_missing")[0]["fields"], json!(["sources"]));
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
    assert_eq!(model.calls(), 2, "it is asked for once more");
    assert_eq!(ran.customs("output_missing").len(), 1);
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
