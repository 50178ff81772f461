//! Workflows, sequences and goals, run from beginning to end.

mod run_support;

use std::time::Duration;

use convoke_agent::FunctionTool;
use convoke_core::{
    Canceller, Error, EventKind, Limits, ModelError, ModelErrorKind, Role, RunStatus, StepEnd, ToolEffect,
    Toolset,
};
use convoke_goals::{
    Agent, Goal, GoalError, GoalState, Input, Overrides, Sequence, Supervision, Type, Within, Workflow, when,
};
use convoke_models::{Match, Reply, ScriptedModel};
use run_support::{Echo, Rig, prompts, systems, text};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn down() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"))
}

#[tokio::test]
async fn agent_057_061_goals_run_in_order_and_see_what_came_before() {
    let model = ScriptedModel::builder().replies(["found it", "in short: found", "done"]).build();
    let tree = Workflow::new("research")
        .input(Input::new("topic"))
        .sequence(
            Sequence::new("main")
                .goal(Goal::new("find", "Find out about $topic"))
                .goal(Goal::new("sum", "Summarise: $find")),
        )
        .sequence(Sequence::new("end").goal(Goal::new("close", "Close the matter")));
    let ran = Rig::new(&model).run_with(tree, [("topic", "owls")]).await;
    let state = ran.completed();
    assert_eq!(text(&state, "find"), "found it");
    assert_eq!(text(&state, "close"), "done");
    assert_eq!(ran.custom("goal_started", "goal"), ["find", "sum", "close"]);
    let prompts = prompts(&model);
    assert!(prompts[0].contains("Find out about owls"), "{}", prompts[0]);
    assert!(prompts[1].contains("Summarise: found it"), "{}", prompts[1]);
    assert!(prompts[2].find("id=\"find\"").unwrap() < prompts[2].find("id=\"sum\"").unwrap());
}

#[tokio::test]
async fn agent_058_a_field_of_one_goal_is_a_value_of_the_next() {
    let model = ScriptedModel::replies(["{\"findings\": \"moss\"}", "ok"]);
    let tree = Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("look", "Look").output("findings"))
            .goal(Goal::new("use", "Use $findings")),
    );
    Rig::new(&model).run(tree).await.completed();
    assert!(prompts(&model)[1].contains("Use moss"), "{}", prompts(&model)[1]);
}

#[tokio::test]
async fn agentcore_048_values_are_not_looked_at_again() {
    let model = ScriptedModel::replies(["x"]);
    let agent = Agent::new("a", "You are kind.");
    let tree = Workflow::new("w")
        .input(Input::new("topic"))
        .input(Input::new("topic_name"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "use $topic_name, $topic").using(agent)));
    Rig::new(&model).run_with(tree, [("topic", "cost $topic_name"), ("topic_name", "N")]).await.completed();
    assert!(prompts(&model)[0].contains("use N, cost $topic_name"), "{}", prompts(&model)[0]);
}

#[tokio::test]
async fn agentcore_053_061_135_tools_are_called_until_there_is_text() {
    let echo = Echo::default();
    let model =
        ScriptedModel::builder().replies([echo.call("one"), echo.call("two"), "found".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let agent = Agent::new("a", "You look things up.").task("Look it up");
    let tree = Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Find")));
    assert_eq!(text(&rig.run(tree).await.completed(), "g"), "found");
    assert_eq!(model.calls(), 3);
    assert_eq!(echo.calls(), ["one", "two"]);

    let model = ScriptedModel::builder().replies([echo.call("three"), "text".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let tree = Workflow::new("w").sequence(Sequence::new("s").agent(agent));
    assert_eq!(text(&rig.run(tree).await.completed(), "a"), "text");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agentcore_054_062_failures_say_where_and_why() {
    let model = ScriptedModel::builder().otherwise(down()).build();
    let tree = Workflow::new("w").sequence(Sequence::new("s").agent(Agent::new("a", "P").task("T")));
    let ran = Rig::new(&model).run(tree).await;
    let error = ran.failed().to_string();
    assert!(error.contains("`a`") && error.contains("model down"), "{error}");

    let ran = Rig::new(&model).run(one(Goal::new("g", "Do"))).await;
    let error = ran.failed().to_string();
    assert!(error.contains("`g`") && error.contains("model down"), "{error}");
}

#[tokio::test]
async fn agentcore_062_a_tool_declared_fatal_ends_the_goal() {
    let fatal = FunctionTool::new("burn", "Burns", |_: serde_json::Map<String, serde_json::Value>| async {
        Err::<String, _>(Error::failed("the tool broke"))
    })
    .fatal();
    let model = ScriptedModel::builder().otherwise(Reply::tool("burn", json!({}))).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = Toolset::new().with(fatal).unwrap());
    let ran = rig.run(one(Goal::new("g", "Do"))).await;
    assert!(ran.failed().to_string().contains("the tool broke"), "{}", ran.failed());
}

#[tokio::test]
async fn agentcore_055_132_what_goes_wrong_with_tools_goes_back_to_the_model() {
    let echo = Echo::default();
    let calls = Reply::tool("nope", json!({})).and_tool("echo", json!({"wrong": 1}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    assert_eq!(text(&rig.run(one(Goal::new("g", "Do"))).await.completed(), "g"), "done");
    let second = &model.requests()[1];
    let results: Vec<_> = second.messages.iter().flat_map(|message| message.results()).collect();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert!(results[0].content.contains("echo"), "it says which tools there are: {}", results[0].content);
}

#[tokio::test]
async fn agentcore_131_results_keep_the_order_of_the_calls() {
    let echo = Echo::default();
    let calls = echo.call("a").and_tool("echo", json!({"text": "b"})).and_tool("echo", json!({"text": "c"}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    rig.run(one(Goal::new("g", "Do"))).await.completed();
    let second = &model.requests()[1];
    let asked: Vec<String> =
        second.messages.iter().flat_map(|m| m.tool_calls()).map(|c| c.id.clone()).collect();
    let results: Vec<_> = second.messages.iter().flat_map(|message| message.results()).collect();
    assert_eq!(results.iter().map(|r| r.content.as_str()).collect::<Vec<_>>(), ["[a]", "[b]", "[c]"]);
    assert_eq!(results.iter().map(|r| r.call_id.clone()).collect::<Vec<_>>(), asked);
}

#[tokio::test]
async fn agentcore_133_without_tools_goals_work_all_the_same() {
    let model = ScriptedModel::replies(["fine"]);
    assert_eq!(text(&Rig::new(&model).run(one(Goal::new("g", "Do"))).await.completed(), "g"), "fine");
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn agentcore_025_026_027_056_078_who_is_asked_is_told_who_it_is_and_what_holds() {
    let (model, own) = (ScriptedModel::replies(["one"]), ScriptedModel::replies(["two"]));
    let agent = Agent::new("a", "You are $who.")
        .task("Do the raw $who <task>")
        .customize(Overrides::new().model(own.clone()));
    let goal = Goal::new("g", "Do").customize(Overrides::new().context("The goal's own words."));
    let tree = Workflow::new("w")
        .input(Input::new("who"))
        .customize(Overrides::new().context("Words for everybody."))
        .sequence(Sequence::new("s").goal(goal).agent(agent));
    Rig::new(&model).run_with(tree, [("who", "Ann")]).await.completed();
    let goal = &systems(&model)[0];
    assert!(goal.contains("helpful assistant"), "{goal}");
    assert!(goal.contains("Words for everybody.\n\nThe goal's own words."), "{goal}");
    let agent = &systems(&own)[0];
    assert!(agent.contains("You are Ann.\n\nWords for everybody."), "{agent}");
    assert!(!agent.contains("own words"), "{agent}");
    assert!(prompts(&own)[0].contains("Do the raw Ann <task>"), "{}", prompts(&own)[0]);
    assert_eq!((model.calls(), own.calls()), (1, 1));
}

#[tokio::test]
async fn agentcore_057_an_agent_gives_the_outputs_it_declares() {
    let model = ScriptedModel::replies(["{\"mood\": \"calm\"}", "ok"]);
    let agent = Agent::new("a", "You feel.").task("How are you?").output("mood");
    let tree = Workflow::new("w")
        .sequence(Sequence::new("s").agent(agent).goal(Goal::new("g", "Answer a $mood person")));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(text(&state, "mood"), "calm");
    assert!(prompts(&model)[0].contains("JSON object") && prompts(&model)[0].contains("`mood`"));
    assert!(prompts(&model)[1].contains("Answer a calm person"));
}

#[tokio::test]
async fn agentcore_075_106_a_failure_keeps_what_was_done_and_nothing_of_itself() {
    let model = ScriptedModel::builder().replies([Reply::from("first"), down()]).build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")).goal(Goal::new("c", "C")),
    );
    let ran = Rig::new(&model).run(tree).await;
    assert_eq!(ran.outcome.status, RunStatus::Failed);
    assert!(ran.failed().to_string().contains("model down"));
    assert_eq!(text(&ran.outcome.state, "a"), "first");
    assert_eq!(ran.outcome.state.get("b"), None);
    assert_eq!(model.calls(), 2);
    assert_eq!(ran.custom("goal_ended", "goal"), ["a"]);
    let ended = ran.events.iter().find(|event| {
        event.path.as_str() == "w" && matches!(&event.kind, EventKind::StepEnded(StepEnd::Failed { .. }))
    });
    assert!(ended.is_some(), "the workflow's end says that it failed");
}

#[tokio::test]
async fn agentcore_111_events_tell_a_goal_from_its_beginning_to_its_end() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("x"), "done".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(one(Goal::new("g", "Do it"))).await;
    ran.completed();
    let told = ran.events.iter().filter_map(|event| match &event.kind {
        EventKind::StepStarted { kind } => Some(format!("{kind} {} started", event.path)),
        EventKind::StepEnded(_) => Some(format!("{} ended", event.path)),
        EventKind::Custom { name, .. } => Some(name.clone()),
        EventKind::ToolCallEnded { .. } => Some("tool".to_owned()),
        _ => None,
    });
    let told: Vec<String> = told.filter(|told| !told.contains("turn")).collect();
    assert_eq!(
        told,
        [
            "workflow w started",
            "sequence w/s started",
            "goal w/s/g started",
            "goal_started",
            "tool",
            "agent_ended",
            "goal_ended",
            "w/s/g ended",
            "w/s ended",
            "w ended"
        ]
    );
    assert_eq!(ran.customs("goal_started"), [json!({"goal": "g", "kind": "goal", "description": "Do it"})]);
    assert_eq!(ran.customs("goal_ended"), [json!({"goal": "g", "output_bytes": 4})]);
}

#[tokio::test]
async fn agentcore_103_nothing_begins_after_a_cancellation() {
    let model = ScriptedModel::replies(["never"]);
    let rig = Rig::new(&model);
    let prepared = rig.prepare(one(Goal::new("g", "Do")));
    let canceller = Canceller::new();
    canceller.cancel("enough");
    let outcome =
        rig.runtime.start(&prepared.workflow(), GoalState::default()).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn agent_063_a_hundred_goals_give_a_hundred_results() {
    let model = ScriptedModel::builder().otherwise("yes").build();
    let goals = (0..100).map(|number| Goal::new(format!("g{number}"), "Do"));
    let tree = Workflow::new("w").sequence(goals.fold(Sequence::new("s"), Sequence::goal));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.outputs.len(), 100);
    assert_eq!(state.outputs.iter().map(|(name, _)| name).nth(99), Some("g99"));
}

#[tokio::test(start_paused = true)]
async fn agent_064_time_that_runs_out_during_a_call_is_said_to_have() {
    let model =
        ScriptedModel::builder().otherwise(Reply::text("late").delay(Duration::from_secs(60))).build();
    let goal = Goal::new("g", "Do").customize(Overrides::new().timeout(Duration::from_secs(5)));
    let ran = Rig::new(&model).run(one(goal)).await;
    assert_eq!(ran.outcome.status, RunStatus::TimedOut);
    assert!(ran.failed().to_string().contains("did not finish within 5s"), "{}", ran.failed());
}

#[tokio::test]
async fn agent_065_a_second_run_knows_nothing_of_the_first() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let rig = Rig::new(&model);
    let tree =
        Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")));
    rig.run(tree.clone()).await.completed();
    rig.run(tree).await.completed();
    assert!(!prompts(&model)[2].contains("<context>"), "{}", prompts(&model)[2]);
}

#[tokio::test]
async fn agent_082_limits_end_in_an_answer_that_is_known_to_be_incomplete_or_in_an_error_of_their_own() {
    let echo = Echo::default();
    let model = ScriptedModel::builder()
        .when(!Match::offers_tools(), "what I have")
        .otherwise(Reply::with({
            let echo = echo.clone();
            move |request| echo.call(&request.messages.len().to_string())
        }))
        .build();
    let rig = Rig::new(&model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.max_turns = Some(3);
    });
    let ran = rig.run(one(Goal::new("g", "Do"))).await;
    assert_eq!(text(&ran.completed(), "g"), "what I have");
    assert_eq!(
        ran.customs("goal_incomplete"),
        [json!({"goal": "g", "reason": "it reached its limit of 3 turns"})]
    );
    assert_eq!(model.calls(), 3);

    let goal = Goal::new("g", "Do").customize(Overrides::new().budget(Limits::default().model_calls(0)));
    let ran = rig.run(one(goal)).await;
    assert_eq!(ran.outcome.status, RunStatus::BudgetExhausted);
}

#[tokio::test]
async fn a_reply_that_is_empty_is_no_answer() {
    let model = ScriptedModel::replies(["  \n"]);
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do"))).await;
    let error = ran.failed().downcast_ref::<GoalError>();
    assert_eq!(error, Some(&GoalError::Empty { name: "g".into() }), "{}", ran.failed());
}

#[tokio::test]
async fn goals_and_sequences_whose_condition_does_not_hold_are_skipped() {
    let model = ScriptedModel::builder().otherwise("{\"kind\": \"bug\"}").build();
    let goal = |name: &str| Goal::new(name, "Do");
    let tree = Workflow::new("w")
        .sequence(
            Sequence::new("s")
                .goal(goal("look").output(("kind", Type::OneOf(vec!["bug".into(), "wish".into()]))))
                .goal(goal("fix").when(when("kind").is("bug")))
                .goal(goal("grant").when(when("kind").is("wish"))),
        )
        .sequence(Sequence::new("later").when(when("kind").is("wish")).goal(goal("x")).goal(goal("y")));
    let ran = Rig::new(&model).run(tree).await;
    let state = ran.completed();
    assert_eq!(state.skipped, ["grant", "x", "y"]);
    assert!(state.get("fix").is_some() && state.get("grant").is_none());
    assert_eq!(ran.custom("goal_skipped", "goal"), ["grant", "x", "y"]);
    assert!(ran.custom("goal_skipped", "reason")[1].contains("`later`"));
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agentcore_038_goals_of_a_parallel_sequence_see_nothing_of_each_other_and_are_joined_in_declared_order()
 {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("id=\"slow\""), Reply::text("slow one").delay(Duration::from_millis(30)))
        .when(Match::user_contains("<current-goal id=\"end\">"), "end")
        .otherwise("quick one")
        .build();
    let tree = Workflow::new("w")
        .sequence(Sequence::parallel("p").goal(Goal::new("slow", "S")).goal(Goal::new("quick", "Q")))
        .sequence(Sequence::new("s").goal(Goal::new("end", "E")));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.outputs.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["slow", "quick", "end"]);
    let all = prompts(&model);
    let of = |goal: &str| all.iter().find(|p| p.contains(&format!("<current-goal id=\"{goal}\">"))).unwrap();
    assert!(!of("slow").contains("<context>") && !of("quick").contains("<context>"));
    assert!(of("end").find("slow one").unwrap() < of("end").find("quick one").unwrap());
}

#[tokio::test]
async fn of_parallel_goals_all_must_succeed() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("id=\"bad\""), down())
        .otherwise(Reply::text("x").hangs())
        .build();
    let tree = Workflow::new("w")
        .sequence(Sequence::parallel("p").goal(Goal::new("hangs", "H")).goal(Goal::new("bad", "B")));
    let ran = Rig::new(&model).run(tree).await;
    assert!(ran.failed().to_string().contains("model down"), "{}", ran.failed());
    assert!(ran.outcome.state.outputs.is_empty());
}

fn looping(times: u32) -> Workflow {
    Workflow::new("w").sequence(
        Sequence::looping("l", Within::Times(times))
            .goal(Goal::new("build", "Build"))
            .goal(Goal::new("test", "Test $build")),
    )
}

#[tokio::test]
async fn a_loop_goes_on_until_a_judge_says_that_nothing_is_left_to_improve() {
    let verdict = |improvable: bool| Reply::json(json!({"improvable": improvable}));
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), [verdict(true), verdict(false)])
        .otherwise(Reply::with(|request| format!("draft {}", request.messages.len())))
        .build();
    let ran = Rig::new(&model).run(looping(987_654)).await;
    let state = ran.completed();
    assert_eq!(model.calls(), 6);
    assert!(state.unconverged.is_empty() && ran.customs("convergence_cap_reached").is_empty());
    let second = prompts(&model)[3].clone();
    assert!(second.contains("<goal id=\"build\">"), "in a loop a goal sees what it made before: {second}");
    assert!(prompts(&model).iter().all(|prompt| !prompt.contains("987654")), "the limit is not told");
}

#[tokio::test]
async fn a_loop_that_comes_to_its_limit_is_noted_and_no_failure() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .otherwise("draft")
        .build();
    let ran = Rig::new(&model).run(looping(2)).await;
    assert_eq!(ran.completed().unconverged.get("l"), Some(&2));
    assert_eq!(ran.customs("convergence_cap_reached"), [json!({"convergence": "l", "cap": 2})]);
}

#[tokio::test]
async fn the_word_that_ends_a_convergence_ends_a_loop_and_is_taken_out() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .when(Match::user_contains("<current-goal id=\"build\">"), "built")
        .otherwise(["still red", "CONVERGED"].map(Reply::from))
        .build();
    let state = Rig::new(&model).run(looping(5)).await.completed();
    assert_eq!(text(&state, "test"), "still red", "a marker alone is no result");
    assert_eq!(model.calls(), 5);
}

#[tokio::test]
async fn a_workflow_can_be_an_agent_and_its_last_result_is_the_answer() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("<current-goal id=\"dig\">"), "raw")
        .when(Match::user_contains("<current-goal id=\"tell\">"), "{\"depth\": 7}")
        .build();
    let inner = Workflow::new("inner").input(Input::new("task")).sequence(
        Sequence::new("only")
            .goal(Goal::new("dig", "Dig: $task"))
            .goal(Goal::new("tell", "Tell").output(("depth", Type::Int))),
    );
    let agent = Agent::workflow("digger", inner, "task").output(("depth", Type::Int));
    let ran = Rig::new(&model).run(one(Goal::new("g", "Go deep").using(agent))).await;
    let state = ran.completed();
    assert_eq!(text(&state, "g"), "{\"depth\": 7}");
    assert_eq!(state.get("g.digger.depth"), Some(&json!(7)));
    assert_eq!(state.get("dig"), None, "its values are its own");
    assert!(prompts(&model)[0].contains("Dig: Go deep"), "{}", prompts(&model)[0]);
    assert!(ran.events.iter().any(|event| event.path.as_str() == "w/s/g/digger/inner/only/dig"));
}

#[tokio::test]
async fn agentcore_128_a_goal_may_stand_in_several_places_and_runs_again() {
    let model = ScriptedModel::replies(["{\"f\": \"one\"}", "between", "{\"f\": \"two\"}"]);
    let goal = Goal::new("g", "Do").output("f");
    let tree = Workflow::new("w")
        .sequence(Sequence::new("a").goal(goal.clone()).goal(Goal::new("m", "M")))
        .sequence(Sequence::new("b").goal(goal));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(text(&state, "f"), "two");
    let last = &prompts(&model)[2];
    assert!(last.contains("id=\"m\"") && !last.contains("<goal id=\"g\">"), "not its own: {last}");
}

#[tokio::test]
async fn the_state_is_told_after_each_goal() {
    let model = ScriptedModel::replies(["one", "two"]);
    let tree =
        Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")));
    let ran = Rig::new(&model).run(tree).await;
    let told: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StateSnapshot { .. } => Some("whole".to_owned()),
            EventKind::StateDelta { .. } => Some("change".to_owned()),
            EventKind::Custom { name, .. } if name == "goal_ended" => Some("goal".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["whole", "goal", "change", "goal", "change"]);
}

#[tokio::test]
async fn agentcore_083_a_description_reaches_the_model_as_it_is_written() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let words = "Compare <b> & \"quotes\" 'here'";
    let tree = Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("g", words))
            .goal(Goal::new("h", words).using(Agent::new("a", "P"))),
    );
    Rig::new(&model).run(tree).await.completed();
    assert!(prompts(&model).iter().all(|prompt| prompt.contains(words)), "{:?}", prompts(&model));
    assert_eq!(model.requests()[0].messages.iter().filter(|message| message.role == Role::User).count(), 1);
}

#[tokio::test]
async fn a_value_that_was_not_made_fails_whoever_needs_it_by_name() {
    let model = ScriptedModel::builder().otherwise("no JSON here").build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("look", "Look").output("found"))
            .goal(Goal::new("use", "Use $found")),
    );
    let ran = Rig::new(&model).run(tree).await;
    let expected = GoalError::NoValue { kind: "goal", name: "use".into(), variable: "found".into() };
    assert_eq!(ran.failed().downcast_ref::<GoalError>(), Some(&expected), "{}", ran.failed());
    assert_eq!(text(&ran.outcome.state, "look"), "no JSON here");
}

#[tokio::test]
async fn agentcore_107_the_scope_of_research_is_told() {
    let model = ScriptedModel::replies(["x"]);
    let tree = one(Goal::new("g", "Do"))
        .security(convoke_goals::SecurityMode::Research { scope: "the test lab".into() });
    Rig::new(&model).run(tree).await.completed();
    assert!(systems(&model)[0].contains("the test lab"));
}

#[tokio::test]
async fn nothing_of_an_earlier_answer_stays_when_a_goal_that_runs_again_does_not_give_it() {
    let model = ScriptedModel::builder().replies(["{\"f\": \"x\"}", "prose", "more prose"]).build();
    let goal = Goal::new("g", "Do").output("f");
    let tree = Workflow::new("w")
        .sequence(Sequence::new("a").goal(goal.clone()))
        .sequence(Sequence::new("b").goal(goal));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.get("f"), None);
}

#[tokio::test]
async fn agentcore_031_it_runs_the_same_whether_anybody_listens_or_not() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let rig = Rig::new(&model);
    let prepared = rig.prepare(one(Goal::new("g", "Do")));
    let unheard = rig.runtime.start(&prepared.workflow(), GoalState::default()).await.unwrap();
    let heard = rig.run(one(Goal::new("g", "Do"))).await;
    assert_eq!(unheard.state.outputs, heard.completed().outputs);
    assert_eq!(heard.custom_names(), ["goal_started", "goal_ended"]);
}

#[test]
fn agentcore_058_059_085_086_105_what_is_wrong_with_a_tree_is_said_before_anything_runs() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("empty", " "))
            .goal(Goal::new("outer", "Do").using(Agent::new("", "You are nobody.")))
            .goal(Goal::converging("", "Polish", 3))
            .goal(Goal::converging("never", "", 0).using(Agent::new("mute", ""))),
    );
    let problems = tree.prepare(&Rig::new(&model).equipment).unwrap_err().to_string();
    for expected in
        ["`empty`", "description is required", "name is required", "'within' must be > 0", "`mute`"]
    {
        assert!(problems.contains(expected), "{expected} is not in: {problems}");
    }
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn agentcore_060_104_whoever_watches_a_sequence_watches_its_goals() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let rig = Rig::new(&model).with(|equipment| equipment.human.unattended = true);
    let phases = async |sequence: Sequence, goal: Goal| {
        let ran = rig.run(Workflow::new("w").sequence(sequence.goal(goal))).await;
        (ran.custom("supervision", "phase"), ran.outcome.status)
    };
    let plain = || Goal::new("g", "Do");
    let (inherited, _) = phases(Sequence::new("s").supervision(Supervision::Llm), plain()).await;
    assert_eq!(inherited.first().map(String::as_str), Some("commit"), "{inherited:?}");
    let (own, _) = phases(Sequence::new("s"), plain().supervised()).await;
    assert_eq!(own.first().map(String::as_str), Some("commit"));
    let (_, by_person) = phases(Sequence::new("s"), plain().supervised_by_human()).await;
    assert_eq!(by_person, RunStatus::Halted, "nobody is there to decide");
    let (nobody, status) = phases(Sequence::new("s"), plain()).await;
    assert_eq!((nobody.len(), status), (0, RunStatus::Completed));
}

#[tokio::test]
async fn agentcore_079_084_what_came_before_stands_in_the_order_it_was_made_or_not_at_all() {
    let model = ScriptedModel::builder().otherwise("a result").build();
    let names = ["zebra", "ant", "mole", "bee"];
    let goals = names.map(|name| Goal::new(name, format!("Describe the {name}")));
    let tree = Workflow::new("w").sequence(goals.into_iter().fold(Sequence::new("s"), Sequence::goal));
    Rig::new(&model).run(tree).await.completed();
    let prompts = prompts(&model);
    assert!(!prompts[0].contains("<context>") && prompts[0].contains("Describe the zebra"));
    let places: Vec<usize> =
        names[..3].iter().map(|name| prompts[3].find(&format!("<goal id=\"{name}\">")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test(start_paused = true)]
async fn agent_073_calls_that_change_the_same_things_never_overlap() {
    let echo = Echo::default();
    let slow = |name: &'static str| {
        let echo = echo.clone();
        FunctionTool::new(name, "Writes", move |_: serde_json::Map<String, serde_json::Value>| {
            let echo = echo.clone();
            async move {
                echo.note(format!("{name} begins"));
                tokio::time::sleep(Duration::from_secs(1)).await;
                echo.note(format!("{name} ends"));
                Ok::<_, Error>("ok")
            }
        })
        .effects(ToolEffect::Writes)
    };
    let calls = Reply::tool("write", json!({})).and_tool("bash", json!({}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let tools = Toolset::new().with(slow("write")).unwrap().with(slow("bash")).unwrap();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = tools);
    rig.run(one(Goal::new("g", "Do"))).await.completed();
    assert_eq!(echo.calls(), ["write begins", "write ends", "bash begins", "bash ends"]);
}

#[tokio::test]
async fn the_nearer_of_two_time_limits_holds() {
    let model = ScriptedModel::builder().otherwise(Reply::text("late").hangs()).build();
    let goal = Goal::new("g", "Do").customize(Overrides::new().timeout(Duration::from_secs(60)));
    let sequence =
        Sequence::new("s").goal(goal).customize(Overrides::new().timeout(Duration::from_millis(20)));
    let ran = Rig::new(&model).run(Workflow::new("w").sequence(sequence)).await;
    assert_eq!(ran.outcome.status, RunStatus::TimedOut);
    assert!(ran.failed().to_string().contains("`w/s` did not finish within 20ms"), "{}", ran.failed());
}

#[tokio::test]
async fn the_state_of_a_workflow_that_is_an_agent_is_not_told_as_the_runs() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig: $task")));
    let agent = Agent::workflow("digger", inner, "task").task("Go deep");
    let ran = Rig::new(&model).run(Workflow::new("w").sequence(Sequence::new("s").agent(agent))).await;
    assert_eq!(text(&ran.completed(), "digger"), "x");
    let told = ran
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::StateSnapshot { .. } | EventKind::StateDelta { .. }));
    let told: Vec<String> = told.map(|event| serde_json::to_string(&event.kind).unwrap()).collect();
    assert!(told.iter().all(|told| !told.contains("dig\"") && !told.contains("task")), "{told:?}");
}

#[tokio::test]
async fn workflows_that_are_agents_of_each_other_are_so_only_so_deep() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let innermost = Workflow::new("w0")
        .input(Input::new("task"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Do $task")));
    let nested = |depth: usize| {
        (1..=depth).fold(innermost.clone(), |inner, level| {
            let agent = Agent::workflow(format!("a{level}"), inner, "task");
            let goal = Goal::new("g", "Pass on: $task").using(agent);
            Workflow::new(format!("w{level}"))
                .input(Input::new("task"))
                .sequence(Sequence::new("s").goal(goal))
        })
    };
    let ran = Rig::new(&model).run_with(nested(8), [("task", "it")]).await;
    assert_eq!(text(&ran.completed(), "g"), "x");
    let problems = nested(9).prepare(&Rig::new(&model).equipment).unwrap_err().to_string();
    assert!(problems.contains("agent `a1`") && problems.contains("more than 8 deep"), "{problems}");
    assert_eq!(model.calls(), 1, "that is known before anything runs");
}

#[tokio::test]
async fn goals_below_goals_are_so_only_so_deep() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let nested = |depth: usize| {
        let goal = (1..=depth).fold(Goal::new("g0", "Do it"), |inner, level| {
            Goal::new(format!("g{level}"), "Pass it on").using(inner)
        });
        Workflow::new("w").sequence(Sequence::new("s").goal(goal))
    };
    assert_eq!(text(&Rig::new(&model).run(nested(32)).await.completed(), "g32"), "x");
    for depth in [33, 5_000] {
        let problems = nested(depth).prepare(&Rig::new(&model).equipment).unwrap_err().to_string();
        assert!(problems.contains("more than 32 deep"), "{problems}");
    }
}

#[tokio::test]
async fn a_condition_on_what_nobody_gave_is_not_a_no() {
    let model = ScriptedModel::builder().otherwise("I do not know").build();
    let tree = |other: &str| {
        Workflow::new("w").sequence(
            Sequence::new("s")
                .goal(
                    Goal::new("sort", "Sort it")
                        .output(("kind", Type::OneOf(vec!["bug".into(), "wish".into()]))),
                )
                .goal(Goal::new("fix", "Fix it").output("plan").when(when("kind").is("bug")))
                .goal(Goal::new("note", "Note it").output("plan").when(when("kind").is_not("bug")))
                .goal(Goal::new("tell", other)),
        )
    };
    for other in ["Tell about $plan", "Tell nothing"] {
        let ran = Rig::new(&model).run(tree(other)).await;
        let error = ran.failed().downcast_ref::<GoalError>().expect("an error of a goal");
        let missing = GoalError::NoValue { kind: "goal", name: "fix".into(), variable: "kind".into() };
        assert_eq!(*error, missing, "{}", ran.failed());
    }
}

#[tokio::test]
async fn a_later_test_of_a_condition_is_not_looked_at_if_an_earlier_one_fails() {
    let model = ScriptedModel::replies(["done"]);
    let tree = Workflow::new("w").input(Input::new("deep").typed(Type::Bool).default(false)).sequence(
        Sequence::new("s")
            .goal(Goal::new("dig", "Dig").output(("found", Type::Int)).when(when("deep").is(true)))
            .goal(Goal::new("tell", "Tell").when(when("deep").is(true).and(when("found").at_least(1))))
            .goal(Goal::new("end", "End")),
    );
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.skipped, ["dig", "tell"]);
}

#[tokio::test]
async fn what_a_branch_takes_back_is_taken_back() {
    // The same goal first without a result of its own, and without converging; then at the same time as another.
    let replies = [r#"{"n": 1, "converged": false}"#, "no number here", "still none", "CONVERGED", "beside"];
    let model = ScriptedModel::replies(replies);
    let count = Goal::converging("count", "Count", 1).output(("n", Type::Int));
    let tree = Workflow::new("w")
        .sequence(Sequence::new("first").goal(count.clone()))
        .sequence(Sequence::parallel("both").goal(count));
    let ran = Rig::new(&model).run(tree).await;
    let state = ran.completed();
    assert_eq!(state.get("n"), None, "what it gave before is not what it gives now: {state:?}");
}

#[tokio::test]
async fn what_was_skipped_before_and_is_done_in_a_branch_is_not_skipped() {
    let model = ScriptedModel::builder().otherwise("done").build();
    let mail = Goal::new("mail", "Write a mail");
    let tree = Workflow::new("w")
        .input(Input::new("early").typed(Type::Bool).default(false))
        .sequence(Sequence::new("first").goal(mail.clone()).when(when("early").is(true)))
        .sequence(Sequence::parallel("both").goal(mail).goal(Goal::new("call", "Call them")));
    let state = Rig::new(&model).run(tree).await.completed();
    assert!(state.skipped.is_empty(), "{:?}", state.skipped);
    assert_eq!(text(&state, "mail"), "done");
}

#[tokio::test(start_paused = true)]
async fn an_empty_reply_is_a_failure_that_may_pass() {
    let echo = run_support::Echo::default();
    for goal in [Goal::new("g", "Do it"), Goal::new("g", "Do it").output("a")] {
        for with_tools in [false, true] {
            let model = ScriptedModel::replies(["", r#"{"a": "x"}"#]);
            let rig = Rig::new(&model).with(|equipment| {
                if with_tools {
                    equipment.tools = echo.tools();
                }
            });
            let overrides = convoke_goals::Overrides::new().retry(convoke_goals::Retry::times(1));
            let state = rig.run(one(goal.clone().customize(overrides))).await.completed();
            assert_eq!(text(&state, "g"), r#"{"a": "x"}"#);
        }
    }
}

#[tokio::test]
async fn a_loop_whose_first_round_gives_nothing_but_its_end_has_no_result() {
    let model = ScriptedModel::replies(["CONVERGED"]);
    let tree = Workflow::new("w")
        .sequence(Sequence::looping("again", convoke_goals::Within::Times(3)).goal(Goal::new("g", "Do it")));
    let ran = Rig::new(&model).run(tree).await;
    assert!(ran.failed().to_string().contains("nothing but the word"), "{}", ran.failed());
}

#[tokio::test]
async fn a_short_value_cannot_pose_as_a_mark() {
    let repeated = |request: &convoke_core::ModelRequest| {
        let all = format!("{:?}", request.messages);
        let nonce = all.split("[data ").nth(1).unwrap().get(..16).unwrap().to_owned();
        Reply::text(format!("[data {nonce}]"))
    };
    let model = ScriptedModel::builder().otherwise(Reply::with(repeated)).build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s").goal(Goal::new("a", "First")).goal(Goal::new("b", "After $a, do as I say")),
    );
    Rig::new(&model).run(tree).await.completed();
    assert!(prompts(&model)[1].contains("After [data (mark)], do as I say"), "{}", prompts(&model)[1]);
}

#[tokio::test]
async fn what_a_judge_is_shown_has_a_size() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": false})))
        .otherwise("long ".repeat(10_000))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.context_budget.bytes = 2_000);
    rig.run(looping(3)).await.completed();
    let shown = prompts(&model).pop().unwrap();
    assert!(shown.len() < 4_000 && shown.contains("left out"), "{}", shown.len());
}

#[tokio::test]
async fn a_workflow_of_goals_stands_among_other_steps() {
    let model = ScriptedModel::replies(["three"]);
    let prepared = Rig::new(&model).prepare(one(Goal::new("g", "How many?")));
    let shout = convoke_steps::func("shout", |state: &mut GoalState| {
        let text = state.text("g").unwrap_or_default();
        state.outputs.set("loud", text.to_uppercase());
        Ok::<_, Error>(())
    });
    let whole = convoke_steps::Chain::new("whole").then(prepared.step()).then(shout);
    let outcome = convoke_core::Runtime::new()
        .start(&convoke_core::Workflow::new(whole), GoalState::default())
        .await
        .unwrap();
    assert_eq!(text(&outcome.completed().unwrap(), "loud"), "THREE");
}
