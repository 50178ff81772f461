//! Trees: building them, copying their nodes, finding a way through them.

use convoke_goals::agentfile::lexer::Comparison;
use convoke_goals::{
    Agent, Condition, Equipment, Goal, GoalNodeKind, Input, NodeRef, Order, Overrides, Retry, SecurityMode,
    Sequence, Supervision, Test, TestKind, Tools, Type, Within, Workflow, when,
};
use serde_json::json;

fn critic() -> Agent {
    Agent::new("critic", "You are a critic.").output("verdict")
}

/// The agents of a goal, as the goal has them.
fn agents_of(goal: &Goal) -> Vec<&Agent> {
    let agents = NodeRef::from(goal).children().into_iter().map(|node| match node {
        NodeRef::Agent(agent) => agent,
        other => panic!("{other:?}"),
    });
    agents.collect()
}

#[test]
fn agentcore_001_003_a_node_that_is_used_again_is_another_node() {
    let agent = critic();
    let one = Goal::new("one", "x").using(agent.clone());
    let other = Goal::new("other", "x").using(agent.clone()).using(agent.clone()).using(agent.clone());
    let (in_one, in_other) = (agents_of(&one), agents_of(&other));
    assert_eq!((in_one.len(), in_other.len()), (1, 3));
    let all: Vec<&Agent> = [vec![&agent], in_one, in_other].concat();
    for (index, node) in all.iter().enumerate() {
        assert_eq!(**node, critic());
        assert!(all[..index].iter().all(|before| !std::ptr::eq(*before, *node)), "the same node twice");
    }
}

#[test]
fn agentcore_002_004_005_006_what_becomes_of_one_copy_does_not_reach_another() {
    let agent = critic();
    let one = Goal::new("one", "x").using(agent.clone());
    let other = Goal::new("other", "x").using(agent.clone());

    // The original goes on, and so does what was taken out of a goal.
    let mut grown = agent.task("x");
    for number in 0..100 {
        grown = grown.output(format!("more{number}").as_str());
    }
    let taken = agents_of(&one)[0].clone().task("y").output("late");
    assert_eq!((grown.outputs().len(), taken.outputs().len()), (101, 2));
    assert_ne!(taken, critic().output("late"), "a task is a part of an agent");

    for goal in [&one, &other] {
        assert_eq!(agents_of(goal), [&critic()], "one output, and no task");
    }
}

#[test]
fn agentcore_007_010_012_copies_are_the_same_in_everything() {
    let agent = |name: &'static str, prompt: &'static str, outputs: [&'static str; 2]| {
        let agent = Agent::new(name, prompt).output(outputs[0]).output(outputs[1]);
        agent.task("x").supervision(Supervision::Off)
    };
    let critic = || agent("critic", "You are a critic.", ["verdict", "reason"]);
    let copy = critic().clone();
    assert_eq!((copy.name(), &copy), ("critic", &critic()));
    let names: Vec<&str> = copy.outputs().iter().map(|output| output.name()).collect();
    assert_eq!(names, ["verdict", "reason"]);
    for other in [
        agent("fan", "You are a critic.", ["verdict", "reason"]),
        agent("critic", "You are a fan.", ["verdict", "reason"]),
        agent("critic", "You are a critic.", ["reason", "verdict"]),
    ] {
        assert_ne!(copy, other);
    }

    let plain = || Goal::new("g", "text").output("a").output(("b", Type::Int));
    let goal = || plain().using(critic()).supervised_by_human();
    let copy = goal().clone();
    assert_eq!((copy.name(), copy.outputs().len(), agents_of(&copy).len()), ("g", 2, 1));
    assert_eq!(copy, goal());
    for other in [
        plain().supervised_by_human(),
        plain().using(critic()),
        plain().using(critic()).supervised(),
        plain().using(critic()).using(critic()).supervised_by_human(),
        Goal::new("g", "other text")
            .output("a")
            .output(("b", Type::Int))
            .using(critic())
            .supervised_by_human(),
    ] {
        assert_ne!(copy, other);
    }

    let convergence = || Goal::converging_within("c", "text", "times").output("a").supervised();
    assert_eq!(convergence().clone(), convergence());
    for other in [
        Goal::converging("c", "text", 5).output("a").supervised(),
        Goal::converging_within("c", "text", "often").output("a").supervised(),
        Goal::converging_within("c", "text", "times").supervised(),
        Goal::converging_within("c", "text", "times").output("a"),
    ] {
        assert_ne!(convergence().clone(), other);
    }
    let limited = |within| Goal::converging("c", "text", within).output("a");
    assert_eq!(limited(5).clone(), limited(5));
    assert_ne!(limited(5).clone(), limited(6));
}

#[test]
fn agentcore_008_013_the_same_part_in_two_wholes_is_two_parts() {
    let goal = Goal::new("g", "x").using(critic());
    let sequence = |name: &'static str| Sequence::new(name).goal(goal.clone());
    let (one, other) = (sequence("one"), sequence("other").goal(Goal::new("late", "x")));
    let names = |sequence: &Sequence| -> Vec<String> {
        NodeRef::from(sequence).walk().map(|node| node.name().to_owned()).collect()
    };
    assert_eq!(names(&one), ["one", "g", "critic"]);
    assert_eq!(names(&other), ["other", "g", "critic", "late"]);

    let shared = sequence("main");
    let first = Workflow::new("first").sequence(shared.clone());
    let second = Workflow::new("second").sequence(shared.clone());
    let shared = shared.goal(Goal::new("late", "x")).supervised();
    for (workflow, name) in [(first, "first"), (second, "second")] {
        let untouched = Sequence::new("main").goal(Goal::new("g", "x").using(critic()));
        assert_eq!(workflow, Workflow::new(name).sequence(untouched));
        assert_ne!(workflow, Workflow::new(name).sequence(shared.clone()));
    }
}

#[test]
fn agentcore_009_011_014_what_is_done_to_the_originals_later_does_not_reach_the_tree() {
    let goal = || Goal::new("g", "x").output("kept").using(critic());
    let convergence = || Goal::converging("c", "x", 5);
    let main = |goal: Goal, convergence: Goal| Sequence::new("main").goal(goal).goal(convergence);
    let (first, second) = (goal(), convergence());
    let sequence = main(first.clone(), second.clone());
    let tree = Workflow::new("one").sequence(sequence.clone());

    let first = first.using(critic()).output("late").supervised_by_human();
    let second = second.using(critic()).output("late").supervised();
    assert_eq!((first.outputs().len(), second.outputs().len()), (2, 1));
    let sequence = sequence.goal(Goal::new("late", "x")).supervised();
    assert_eq!(NodeRef::from(&sequence).children().len(), 3);

    let untouched = Workflow::new("one").sequence(main(goal(), convergence()));
    assert_eq!(tree, untouched, "no mode, no output, no other limit and nobody else");
    let outputs = |node: &NodeRef<'_>| match node {
        NodeRef::Goal(goal) => goal.outputs().len(),
        NodeRef::Agent(agent) => agent.outputs().len(),
        _ => 0,
    };
    let nodes: Vec<(GoalNodeKind, &str, usize)> =
        NodeRef::from(&tree).walk().map(|node| (node.kind(), node.name(), outputs(&node))).collect();
    let expected = [
        (GoalNodeKind::Workflow, "one", 0),
        (GoalNodeKind::Sequence, "main", 0),
        (GoalNodeKind::Goal, "g", 1),
        (GoalNodeKind::Agent, "critic", 1),
        (GoalNodeKind::Convergence, "c", 0),
    ];
    assert_eq!(nodes, expected);
}

#[test]
fn agentcore_015_016_017_018_trees_are_gone_through_in_order() {
    let inner = Goal::new("g", "x").using(critic());
    let polish = Goal::converging("c", "x", 2).using(Agent::new("editor", "You edit."));
    let tree = Workflow::new("w")
        .input(Input::new("topic"))
        .sequence(Sequence::new("first").goal(inner))
        .sequence(Sequence::new("second").goal(polish));
    let root = NodeRef::from(&tree);
    let children: Vec<(&str, &str)> =
        root.children().into_iter().map(|child| (child.kind().name(), child.name())).collect();
    assert_eq!(children, [("sequence", "first"), ("sequence", "second")]);
    let kinds: Vec<&str> = root.walk().map(|node| node.kind().name()).collect();
    assert_eq!(kinds, ["workflow", "sequence", "goal", "agent", "sequence", "convergence", "agent"]);
    assert_eq!(root.find(GoalNodeKind::Agent, "editor").map(NodeRef::name), Some("editor"));
    assert!(root.find(GoalNodeKind::Agent, "editor").unwrap().children().is_empty());
    assert!(
        root.find(GoalNodeKind::Agent, "c").is_none() && root.find(GoalNodeKind::Convergence, "x").is_none()
    );

    // Two agents, and one of everything else.
    let tree = Workflow::new("w").sequence(
        Sequence::new("only")
            .goal(Goal::new("g", "x").using(critic()))
            .goal(Goal::converging("c", "x", 2).using(critic())),
    );
    let count = |kind| NodeRef::from(&tree).walk().filter(|node| node.kind() == kind).count();
    let kinds = [
        GoalNodeKind::Workflow,
        GoalNodeKind::Sequence,
        GoalNodeKind::Goal,
        GoalNodeKind::Convergence,
        GoalNodeKind::Agent,
    ];
    assert_eq!(kinds.map(count), [1, 1, 1, 1, 2]);
    assert_eq!(NodeRef::from(&tree).walk().count(), 6);
}

#[test]
fn agentcore_019_inputs_belong_to_their_workflow_and_an_empty_default_is_one() {
    let one = Workflow::new("one").input(Input::new("a"));
    let two = Workflow::new("two").input(Input::new("a").default("")).input(Input::new("b").default("B"));
    assert!(one.inputs()[0].is_required());
    assert_eq!(one.inputs().len(), 1);
    assert!(two.inputs().iter().all(|input| !input.is_required()));
    assert_eq!(two.inputs(), [Input::new("a").default(""), Input::new("b").default("B")]);
    assert_ne!(two.inputs()[1], Input::new("b").default("C"), "the default is kept");
}

#[test]
fn agentcore_024_customizing_again_replaces_what_was_said() {
    let first = Overrides::new().context("one").timeout(std::time::Duration::from_secs(1));
    let again = Goal::new("g", "x").customize(first).customize(Overrides::new().context("two"));
    assert_eq!(again, Goal::new("g", "x").customize(Overrides::new().context("two")));
}

#[test]
fn every_node_says_in_the_same_words_who_watches() {
    let (model, person) = (Supervision::Llm, Supervision::Human);
    assert_eq!(critic().supervised(), critic().supervision(model));
    assert_eq!(critic().supervised_by_human(), critic().supervision(person));
    let goal = || Goal::new("g", "x");
    assert_eq!(goal().supervised(), goal().supervision(model));
    assert_eq!(goal().supervised_by_human(), goal().supervision(person));
    let sequence = || Sequence::new("main");
    assert_eq!(sequence().supervised(), sequence().supervision(model));
    assert_eq!(sequence().supervised_by_human(), sequence().supervision(person));
    let workflow = || Workflow::new("w");
    assert_eq!(workflow().supervised(), workflow().supervision(model));
    assert_eq!(workflow().supervised_by_human(), workflow().supervision(person));
}

#[test]
fn conditions_are_written_as_they_are_read() {
    let both = when("kind").is("bug").and(when("size").at_least(3).or(when("size").less_than(1)));
    let test = |variable: &str, kind| Condition::Test(Test { variable: variable.into(), kind });
    let size = |comparison, bound| test("size", TestKind::Compare(comparison, bound));
    assert_eq!(
        both,
        Condition::All(vec![
            test("kind", TestKind::In(vec![json!("bug")])),
            Condition::Any(vec![size(Comparison::AtLeast, 3.0), size(Comparison::Less, 1.0)]),
        ])
    );
    let holds = |condition: &Condition<_>, kind: &str, size: i64| {
        let (kind, size) = (json!(kind), json!(size));
        condition.holds(|name: &convoke_goals::Name| Some(if &**name == "kind" { &kind } else { &size }))
    };
    assert!(holds(&both, "bug", 3) && holds(&both, "bug", 0));
    assert!(!holds(&both, "bug", 2) && !holds(&both, "wish", 3));
    assert!(holds(&when("kind").none_of(["a", "b"]).and(when("kind").contains("x")), "xy", 0));
    assert!(holds(
        &when("size").at_most(2).and(when("size").greater_than(1)).and(when("kind").is_not("x")),
        "y",
        2
    ));
}

#[test]
fn conditions_take_no_more_room_than_what_is_said() {
    let either = |n: usize| when(format!("a{n}")).is("x").or(when(format!("b{n}")).is("y"));
    let all = (1..40).fold(either(0), |all, n| all.and(either(n)));
    assert_eq!(all.tests().count(), 80);
    let (x, no) = (json!("x"), json!("no"));
    assert!(all.holds(|name| Some(if name.starts_with('a') { &x } else { &no })));
    assert!(!all.holds(|name| Some(if **name == *"a39" || name.starts_with('b') { &no } else { &x })));

    // Said in one go or bit by bit, it is the same.
    assert_eq!(all, Condition::all((0..40).map(either)));
    let any = (0..40).flat_map(|n| [when(format!("a{n}")).is("x"), when(format!("b{n}")).is("y")]);
    assert_eq!(Condition::any(any), (1..40).fold(either(0), |any, n| any.or(either(n))));

    // And it can be run.
    let inputs = (0..40).flat_map(|n| [Input::new(format!("a{n}")), Input::new(format!("b{n}"))]);
    let workflow = inputs.fold(Workflow::new("w"), Workflow::input);
    let goal = Goal::new("g", "x").when(all);
    let prepared = workflow.sequence(Sequence::new("main").goal(goal)).prepare(&Equipment::default());
    assert!(prepared.is_ok(), "{:?}", prepared.err());
}

#[test]
fn conditions_are_not_as_deep_as_one_likes() {
    let deep = |levels: usize| {
        let test = || when("a").is("x");
        let condition = (0..levels).fold(test(), |all, n| match n % 2 {
            0 => all.and(test()),
            _ => all.or(test()),
        });
        let goal = Goal::new("g", "x");
        let (inner, whole) = (goal.clone().when(condition.clone()), Sequence::new("main"));
        [whole.clone().goal(inner), whole.goal(goal).when(condition)]
    };
    let prepare = |sequence: Sequence| {
        Workflow::new("w").input(Input::new("a")).sequence(sequence).prepare(&Equipment::default())
    };
    assert!(deep(64).into_iter().all(|sequence| prepare(sequence).is_ok()));
    let errors = deep(65).map(|sequence| prepare(sequence).err().map(|error| error.to_string()));
    let text = "in its condition `and` and `or` stand more than 64 deep within each other; let a goal decide it, and test \
                what that says";
    assert_eq!(errors, [Some(format!("goal `g`: {text}")), Some(format!("sequence `main`: {text}"))]);
}

/// Whatever an Agentfile can say can be built, and is the same then.
#[test]
fn a_file_and_a_built_tree_that_say_the_same_are_the_same() {
    use convoke_goals::agentfile::{Source, load::NoFiles, read};
    let text = r#"
NAME full
SUPERVISED
SECURITY research "our own lab"
MODEL "a/b"
TOOLS read, "mcp_*"
TIMEOUT 1h
RETRY 2 AFTER 10s
INPUT token SECRET
INPUT times:int DEFAULT 3
INPUT kind:bug|wish DEFAULT bug
AGENT critic "You review." -> verdict REQUIRES "deep" SUPERVISED HUMAN TOOLS none
GOAL find "Find $kind with $token" -> list:[string], count:int USING critic UNSUPERVISED WHEN $kind IS bug OR $times >= 2
CONVERGE polish "Polish" -> text WITHIN $times MODEL "c/d"
GOAL a "A"
GOAL b "B"
RUN first USING find, polish SUPERVISED HUMAN TIMEOUT 5m WHEN $kind IN bug, wish
RUN both PARALLEL USING a, b
LOOP again USING a WITHIN 4
"#;
    let source = Source::new("Agentfile", text);
    let (file, diagnostics) = read(&source, &NoFiles);
    let file = file.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let seconds = std::time::Duration::from_secs;
    let critic = Agent::new("critic", "You review.")
        .output("verdict")
        .supervision(Supervision::Human)
        .customize(Overrides::new().profile("deep").allowed_tools(Tools::None));
    let find = Goal::new("find", "Find $kind with $token")
        .output(("list", Type::List(Box::new(Type::String))))
        .output(("count", Type::Int))
        .using(critic)
        .supervision(Supervision::Off)
        .when(when("kind").is("bug").or(when("times").at_least(2)));
    let polish = Goal::converging_within("polish", "Polish", "times")
        .output("text")
        .customize(Overrides::new().model_named("c/d"));
    let (a, b) = (Goal::new("a", "A"), Goal::new("b", "B"));
    let built = Workflow::new("full")
        .supervised()
        .security(SecurityMode::Research { scope: "our own lab".into() })
        .customize(
            Overrides::new()
                .model_named("a/b")
                .allowed_tools(Tools::Named(vec!["read".into(), "mcp_*".into()]))
                .timeout(seconds(3600))
                .retry(Retry::times(2).after(seconds(10))),
        )
        .input(Input::new("token").secret())
        .input(Input::new("times").typed(Type::Int).default(3))
        .input(Input::new("kind").typed(Type::OneOf(vec!["bug".into(), "wish".into()])).default("bug"))
        .sequence(
            Sequence::new("first")
                .goal(find)
                .goal(polish)
                .supervised_by_human()
                .customize(Overrides::new().timeout(seconds(300)))
                .when(when("kind").one_of(["bug", "wish"])),
        )
        .sequence(Sequence::parallel("both").goal(a.clone()).goal(b))
        .sequence(Sequence::looping("again", Within::Times(4)).goal(a));
    assert!(matches!(Order::default(), Order::Sequential));

    // Texts were read already in one of them: that shows only until they are prepared.
    struct Any;
    impl convoke_goals::Models for Any {
        fn named(&self, _: &str) -> Result<std::sync::Arc<dyn convoke_core::Model>, String> {
            Ok(std::sync::Arc::new(convoke_models::ScriptedModel::replies(["x"])))
        }

        fn profile(&self, name: &str) -> Result<std::sync::Arc<dyn convoke_core::Model>, String> {
            self.named(name)
        }
    }
    let mut equipment = Equipment::default();
    equipment.models = Some(std::sync::Arc::new(Any));
    let compiled = Workflow::from(&file).prepare(&equipment).unwrap_or_else(|problems| panic!("{problems}"));
    let built = built.prepare(&equipment).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(compiled.digest(), built.digest());
    assert_eq!(compiled.outline(), built.outline());
    assert_eq!(compiled.needs_human(), ["critic", "find", "polish"]);
}
