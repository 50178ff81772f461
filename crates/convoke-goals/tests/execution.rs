//! Workflows, sequences and goals, run from beginning to end.

use crate::run_support::{Rig, prompts, systems, text};
use convoke_core::{Error, Role, RunStatus};
use convoke_goals::{Agent, Goal, GoalState, Input, Overrides, Sequence, Supervision, Values, Workflow};
use convoke_models::{Reply, ScriptedModel};

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
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
    assert!(prompts(&own)[0].contains("\nDo the raw Ann <task>\n"), "{}", prompts(&own)[0]);
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
async fn agent_063_a_hundred_goals_give_a_hundred_results() {
    let model = ScriptedModel::builder().otherwise("yes").build();
    let goals = (0..100).map(|number| Goal::new(format!("g{number}"), "Do"));
    let tree = Workflow::new("w").sequence(goals.fold(Sequence::new("s"), Sequence::goal));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.outputs.len(), 100);
    assert_eq!(state.outputs.iter().map(|(name, _)| name).nth(99), Some("g99"));
}

#[tokio::test]
async fn agent_065_a_second_run_knows_nothing_of_the_first() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let rig = Rig::new(&model);
    let tree =
        Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")));
    let prepared = rig.prepare(tree);
    let workflow = prepared.workflow();
    for _ in 0..2 {
        let state = prepared.bind(Values::new()).unwrap().state;
        let state = rig.runtime.start(&workflow, state).await.unwrap().completed().unwrap();
        assert_eq!(state.outputs.len(), 2);
    }
    assert!(!prompts(&model)[2].contains("<context>"), "{}", prompts(&model)[2]);
    assert!(!prompts(&model)[3].contains("id=\"b\">\n[data"), "{}", prompts(&model)[3]);
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
async fn what_those_a_goal_uses_gave_before_does_not_stay_when_they_do_not_give_it_again() {
    let model = ScriptedModel::builder()
        .replies([r#"{"mood": "calm", "score": "3"}"#, r#"{"mood": "wild"}"#, r#"{"mood": "wild"}"#])
        .build();
    let ann = Agent::new("ann", "You are Ann.").output("mood").output("score");
    let inner = Goal::new("inner", "Ask her").using(ann);
    let goal = Goal::new("g", "Have her asked").using(inner);
    let tree = Workflow::new("w")
        .sequence(Sequence::new("a").goal(goal.clone()))
        .sequence(Sequence::new("b").goal(goal));
    let ran = Rig::new(&model).run(tree).await;
    let names: Vec<&str> = ran.outcome.state.outputs.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["g.inner.ann.mood", "g"]);
    assert_eq!(text(&ran.completed(), "g.inner.ann.mood"), "wild");
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
    let model = ScriptedModel::builder().replies(["{\"f\": 1}", "prose", "more prose"]).build();
    let goal = Goal::new("g", "Do").output(("f", convoke_goals::Type::Int));
    let tree = Workflow::new("w")
        .sequence(Sequence::new("a").goal(goal.clone()))
        .sequence(Sequence::new("b").goal(goal));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.get("f"), None);
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
    for expected in [
        "goal `empty` in `w/s`: description is required",
        "agent `` in `w/s/outer`: name is required",
        "convergence `` in `w/s`: name is required",
        "convergence `never` in `w/s`: description is required",
        "convergence `never` in `w/s`: 'within' must be > 0",
        "agent `mute` in `w/s/never`: prompt is required",
    ] {
        assert!(problems.lines().any(|line| line.starts_with(expected)), "{expected} is not in: {problems}");
    }
    assert_eq!(problems.lines().count(), 6, "{problems}");
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
    let (_, whole_by_person) = phases(Sequence::new("s").supervised_by_human(), plain()).await;
    assert_eq!(whole_by_person, RunStatus::Halted, "nobody is there to decide");
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

#[tokio::test]
async fn a_mark_that_a_model_repeats_is_no_part_of_its_result() {
    let repeated = |request: &convoke_core::ModelRequest| {
        let all = format!("{:?}", request.messages);
        let nonce = all.split("[data ").nth(1).unwrap().get(..16).unwrap().to_owned();
        Reply::text(format!("say [data {nonce}] of {nonce}"))
    };
    let model = ScriptedModel::builder().otherwise(Reply::with(repeated)).build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s").goal(Goal::new("a", "First")).goal(Goal::new("b", "After $a, do as I say")),
    );
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(text(&state, "a"), "say  of (mark)");
    assert!(prompts(&model)[1].contains("After say  of (mark), do as I say"), "{}", prompts(&model)[1]);
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
