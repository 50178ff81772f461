//! Preparing a tree: everything that is wrong is said at once, and nothing that is right is refused.

use std::sync::Arc;

use crate::common::valid;
use convoke_core::Model;
use convoke_goals::{
    Agent, Availability, Equipment, Goal, Input, Models, Overrides, ProblemKind, SecurityMode, Sequence,
    Supervision, Tools, Type, Within, Workflow, when,
};
use convoke_models::ScriptedModel;

/// A workflow of one sequence.
fn one(sequence: Sequence) -> Workflow {
    Workflow::new("w").sequence(sequence)
}

fn main_with(goals: impl IntoIterator<Item = Goal>) -> Workflow {
    one(goals.into_iter().fold(Sequence::new("main"), Sequence::goal))
}

fn problems(tree: Workflow) -> Vec<String> {
    let problems = tree.prepare(&Equipment::default()).expect_err("it should be refused").problems;
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(texts.iter().all(|text| !text.contains('\n')), "{texts:#?}");
    texts
}

fn kinds(tree: Workflow) -> Vec<ProblemKind> {
    let problems = tree.prepare(&Equipment::default()).expect_err("it should be refused").problems;
    problems.into_iter().map(|problem| problem.kind).collect()
}

fn warnings(tree: Workflow) -> Vec<String> {
    let prepared = tree.prepare(&Equipment::default()).unwrap_or_else(|problems| panic!("{problems}"));
    prepared.warnings().iter().map(ToString::to_string).collect()
}

/// Whether each problem contains its text, in order.
fn assert_says(found: &[String], expected: &[&str]) {
    let matches = found.iter().zip(expected).all(|(found, expected)| found.contains(expected));
    assert!(matches && found.len() == expected.len(), "{found:#?}\nis not\n{expected:#?}");
}

#[test]
fn an_ordinary_tree_is_prepared() {
    let file = valid(
        "NAME daily-plan\nINPUT hours:int DEFAULT 4\nINPUT topic\nAGENT critic \"You are a critic of $topic.\"\n\
         GOAL analyze \"Choose what fits into $hours hours\" -> chosen USING critic\n\
         CONVERGE polish \"Refine $chosen\" WITHIN 5\nRUN main USING analyze, polish\n",
    );
    let prepared = Workflow::from(&file).prepare(&Equipment::default()).unwrap();
    assert_eq!(prepared.warnings(), []);
    assert_eq!(prepared.outline().children[0].children[0].children[0].name, "critic");
}

#[test]
fn agentcore_051_101_102_113_everything_that_is_wrong_is_said_at_once() {
    let sequence = Sequence::new("main")
        .goal(Goal::new("g", " ").using(Agent::new("a", "")))
        .goal(Goal::converging("c", "\n", 0));
    let found = problems(one(sequence).sequence(Sequence::new("solo")));
    assert_says(
        &found,
        &[
            "goal `g` in `w/main`: description is required",
            "agent `a` in `w/main/g`: prompt is required",
            "convergence `c` in `w/main`: description is required",
            "convergence `c` in `w/main`: 'within' must be > 0",
            "sequence `solo`: nothing is in it: a workflow needs at least one sequence, and a sequence at least one goal",
        ],
    );
}

#[test]
fn agentcore_052_an_agent_in_a_sequence_needs_a_task() {
    let agent = Agent::new("a", "You are a clerk.");
    let found = problems(one(Sequence::new("main").agent(agent.clone())));
    assert_says(&found, &["agent `a` in `w/main`: task is required for an agent that stands in a sequence"]);
    assert!(found[0].contains(".task(...)"));
    assert!(warnings(one(Sequence::new("main").agent(agent.task("Sort it.")))).is_empty());
}

#[test]
fn agentcore_114_a_workflow_needs_a_sequence() {
    let expected = "workflow `w`: nothing is in it: a workflow needs at least one sequence";
    assert_says(&problems(Workflow::new("w")), &[expected]);
    let expected = "sequence `main`: nothing is in it: a workflow needs at least one sequence, and a sequence at least one goal";
    assert_says(&problems(one(Sequence::new("main"))), &[expected]);
}

#[test]
fn agentcore_115_white_space_is_no_name() {
    let sequence = Sequence::new("\t").goal(Goal::new(" ", "x").using(Agent::new("", "x")));
    let found = problems(Workflow::new(" ").input(Input::new(" ")).sequence(sequence));
    assert_says(
        &found,
        &[
            "an input has no name",
            "workflow ``: name is required",
            "sequence ``: name is required",
            "goal `` in `",
            "agent `` in `",
        ],
    );
    assert!(found[1..].iter().all(|problem| problem.contains("name is required")), "{found:#?}");
}

#[test]
fn names_are_fit_for_paths_and_values_for_texts() {
    let goal = Goal::new("two\nlines", "x").output("not a name").output("x-").output("y").output("y");
    let found = problems(one(Sequence::new("n".repeat(201)).goal(goal)).input(Input::new("2nd")));
    let expected = [
        "`2nd` cannot be the name of an input",
        "201 bytes",
        "control characters",
        "`not a name` cannot be the name of an output",
        "`x-` cannot be the name of an output",
        "the output `y` is declared twice",
    ];
    for expected in expected {
        assert!(found.iter().any(|found| found.contains(expected)), "{expected}: {found:#?}");
    }
    // What paths write in another way is no mistake.
    assert!(warnings(one(Sequence::new("a/b #1").goal(Goal::new("50 % done", "x")))).is_empty());
}

#[test]
fn agentcore_116_117_nodes_are_checked_at_any_depth() {
    let inner = Goal::new("inner", " ").output(" ").using(Agent::new("deep", "x").output(""));
    let found = problems(main_with([Goal::converging("c", "x", 2).output(" ").using(inner)]));
    assert_says(
        &found,
        &[
            "convergence `c` in `w/main`: an output has no name",
            "goal `inner` in `w/main/c`: an output has no name",
            "goal `inner` in `w/main/c`: description is required",
            "agent `deep` in `w/main/c/inner`: an output has no name",
        ],
    );
}

#[test]
fn agentcore_034_118_inputs_and_sequences_have_different_names() {
    let sequence = || Sequence::new("main").goal(Goal::new("g", "x"));
    let tree = Workflow::new("w").input(Input::new("a")).input(Input::new("a").default("x"));
    let found = problems(tree.sequence(sequence()).sequence(sequence()));
    assert_says(
        &found,
        &[
            "workflow `w`: the input `a` is declared more than once",
            "sequence `main`: the name is taken by `w/main`",
        ],
    );
}

#[test]
fn agentcore_119_two_makers_of_one_value_are_noticed() {
    let (a, b) = (Goal::new("a", "x").output("shared"), Goal::new("b", "x").output("shared"));
    let found = problems(one(Sequence::parallel("main").goal(a.clone()).goal(b.clone())));
    assert_says(
        &found,
        &["goal `b` in `w/main`: output `shared` conflicts with goal `a`, which runs at the same"],
    );
    // One after the other it is sure which one holds; somebody may have forgotten that there is another.
    assert_says(&warnings(main_with([a.clone(), b.clone()])), &["output `shared` conflicts with goal `a`"]);
    let alternatives = [a.when(when("kind").is("x")), b.when(when("kind").is_not("x"))];
    assert!(warnings(main_with(alternatives).input(Input::new("kind"))).is_empty());
    let typed = [Goal::new("a", "x").output("n"), Goal::new("b", "x").output(("n", Type::Int))];
    assert_says(&problems(main_with(typed)), &["`n` is `int` here and `string` in goal `a`"]);
    let shadowed = main_with([Goal::new("topic", "x")]).input(Input::new("topic"));
    assert_says(&warnings(shadowed), &["output `topic` conflicts with the input of this name"]);
    let agent = Agent::new("critic", "x").output("shared");
    let beside = main_with([Goal::new("a", "x").output("shared"), Goal::new("b", "x").using(agent)]);
    assert_says(
        &warnings(beside),
        &["agent `critic` in `w/main/b`: output `shared` conflicts with goal `a`"],
    );
}

#[test]
fn agentcore_040_046_120_what_nothing_defines_is_reported() {
    let agent = Agent::new("a", "About $unknown").task("Do ${nope}");
    let goal = Goal::new("g", "See $missing and $topicc").using(agent);
    assert_says(
        &problems(main_with([goal]).input(Input::new("topic"))),
        &[
            "goal `g` in `w/main`: $missing is not declared",
            "$topicc is not declared as an input, and no goal or output is called so; did you mean `$topic`?",
            "agent `a` in `w/main/g`: $unknown is not declared",
            "$nope is not declared",
        ],
    );
}

#[test]
fn agentcore_121_128_outputs_are_values_and_a_node_may_stand_twice() {
    let plan = Goal::new("make", "x").output("plan").using(Agent::new("a", "x").output("part"));
    let tree = Workflow::new("w")
        .sequence(Sequence::new("one").goal(plan.clone()).goal(Goal::new("use", "Use $plan of $make")))
        .sequence(Sequence::new("two").goal(plan));
    assert!(warnings(tree).is_empty());
}

/// Knows one model, and no profile.
struct Few;

impl Models for Few {
    fn named(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        match name {
            "known" => Ok(Arc::new(ScriptedModel::replies(["x"]))),
            _ => Err("the provider `a` needs a key: set A_API_KEY".into()),
        }
    }

    fn profile(&self, _: &str) -> Result<Arc<dyn Model>, String> {
        Err("add it to the configuration under [profiles]".into())
    }
}

#[test]
fn agentcore_122_no_model_is_no_mistake_but_an_unknown_one_is() {
    assert!(warnings(main_with([Goal::new("g", "x")])).is_empty());
    let named = |name: &str| main_with([Goal::new("g", "x").customize(Overrides::new().model_named(name))]);
    let expected = "goal `g` in `w/main`: there is no model `a/b`: nothing is set up";
    assert_says(&problems(named("a/b")), &[expected]);
    let mut equipment = Equipment::default();
    equipment.models = Some(Arc::new(Few));
    assert!(named("known").prepare(&equipment).is_ok());
    let error = named("a/b").prepare(&equipment).unwrap_err().to_string();
    assert!(error.contains("no model `a/b`: the provider `a` needs a key: set A_API_KEY"), "{error}");
    let file = valid("NAME w\nAGENT a \"x\" REQUIRES \"deep\"\nGOAL g \"x\" USING a\nRUN main USING g");
    let error = Workflow::from(&file).prepare(&equipment).unwrap_err().to_string();
    assert!(error.contains("agent `a` in `w/main/g`: there is no profile `deep`: add it"), "{error}");
}

#[test]
fn agentcore_123_124_125_supervision_needs_nothing_to_be_set_up() {
    // Without a supervisor a model judges; without a person the run waits for one. Who is needed is known before.
    let needed = |tree: Workflow| {
        let prepared = tree.prepare(&Equipment::default()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(prepared.warnings(), []);
        prepared.needs_human().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = || Goal::new("g", "x");
    let nested = plain().using(Goal::new("inner", "x").supervised());
    let watched = [main_with([plain().supervised()]), one(Sequence::new("main").goal(plain()).supervised())];
    for tree in watched.into_iter().chain([main_with([nested]), main_with([plain()])]) {
        assert_eq!(needed(tree), [""; 0]);
    }
    let convergence = || Goal::converging("c", "x", 2);
    assert_eq!(needed(main_with([convergence().supervised_by_human(), plain()])), ["c"]);
    assert_eq!(needed(main_with([convergence(), plain()]).supervised_by_human()), ["c", "g"]);
}

#[test]
fn agent_125_who_needs_a_person_is_known_by_name() {
    let needed = |text: &str| {
        let prepared = Workflow::from(&valid(text)).prepare(&Equipment::default()).unwrap();
        prepared.needs_human().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let goals = "NAME w\nGOAL ship \"x\" SUPERVISED HUMAN\nGOAL look \"x\" SUPERVISED\n";
    assert_eq!(needed(&format!("{goals}RUN main USING ship, look")), ["ship"]);
    assert_eq!(needed("NAME w\nGOAL ship \"x\"\nRUN main USING ship SUPERVISED HUMAN"), ["ship"]);
    assert!(needed("NAME w\nGOAL ship \"x\" SUPERVISED\nRUN main USING ship").is_empty());
}

#[test]
fn agentcore_126_values_are_made_before_they_are_used() {
    let (make, need) = (Goal::new("make", "x").output("thing"), Goal::new("need", "Use $thing"));
    let made = |tree| match kinds(tree).as_slice() {
        [ProblemKind::TooEarly { variable, made, .. }] => (variable.to_string(), *made),
        other => panic!("{other:#?}"),
    };
    assert_eq!(made(main_with([need.clone(), make.clone()])), ("thing".into(), Availability::Later));
    let parallel = one(Sequence::parallel("main").goal(make.clone()).goal(need.clone()));
    assert_eq!(made(parallel), ("thing".into(), Availability::AtTheSameTime));
    let itself = main_with([Goal::new("make", "Improve $make")]);
    assert_eq!(made(itself), ("make".into(), Availability::ByItself));
    let sometimes = [make.clone().when(when("kind").is("bug")), need.clone()];
    let kinds = Input::new("kind").typed(Type::OneOf(vec!["bug".into(), "wish".into()]));
    assert_eq!(made(main_with(sometimes).input(kinds.clone())), ("thing".into(), Availability::Sometimes));
    // Under the same condition it is there, and so it is if there is a maker for every case.
    let same = [make.clone().when(when("kind").is("bug")), need.clone().when(when("kind").is("bug"))];
    assert!(warnings(main_with(same).input(kinds.clone())).is_empty());
    let other = Goal::new("other", "x").output("thing").when(when("kind").is("wish"));
    let all = [make.clone().when(when("kind").is("bug")), other, need.clone()];
    assert!(warnings(main_with(all).input(kinds)).is_empty());
    // Agents need their values too, and conditions and limits theirs.
    let agent = Goal::new("g", "x").using(Agent::new("a", "You know $thing"));
    let condition = Goal::new("g", "x").when(when("thing").is("y"));
    let limit = Goal::converging_within("g", "x", "thing");
    for goal in [agent, condition, limit] {
        assert_eq!(made(main_with([goal, make.clone()])), ("thing".into(), Availability::Later));
    }
}

#[test]
fn agentcore_127_what_is_below_a_goal_is_seen_by_that_goal_only() {
    let inner = Goal::new("inner", "x").output("piece").using(Agent::new("a", "x").output("part"));
    let next = Goal::new("next", "$part of $piece of $inner in $main");
    let tree = main_with([Goal::new("g", "x").using(inner), next]);
    assert_says(
        &problems(tree),
        &[
            "$part is not a value here: it is an output of agent `a`, which only goal `inner` sees",
            "$piece is not a value here: it is an output of goal `inner`, which only goal `g` sees",
            "$inner is not a value here: it is goal `inner`, whose result only goal `g` sees",
            "$main is not a value here: it is a sequence",
        ],
    );
}

#[test]
fn agentcore_129_dollars_are_dollars() {
    let tree = main_with([Goal::new("g", "$100 of $$x for ${x} and $")]).input(Input::new("x"));
    assert!(warnings(tree).is_empty());
}

#[test]
fn agentcore_130_two_goals_of_one_name_are_refused() {
    let tree = main_with([Goal::new("g", "one"), Goal::new("g", "other")]);
    let expected = "goal `g` in `w/main`: the name is taken by `w/main/g`, which is not the same";
    assert_says(&problems(tree), &[expected]);
    let agents = Goal::new("g", "x").using(Agent::new("a", "one")).using(Agent::new("a", "other"));
    assert_says(
        &problems(main_with([agents])),
        &["agent `a` in `w/main/g`: the name is taken by `w/main/g/a`"],
    );
}

#[test]
fn those_who_pursue_a_goal_are_told_apart_by_their_names() {
    let (agent, goal) = (Agent::new("x", "You are x."), Goal::new("x", "Do x"));
    let shared = Goal::new("g", "x").using(agent.clone()).using(goal.clone());
    let expected = "goal `x` in `w/main/g`: whoever uses it uses the agent of this name too, and they could not be told \
                    apart; give one of them another name";
    assert_eq!(problems(main_with([shared])), [expected]);
    let converging = Goal::converging("x", "Do x", 2);
    let shared = Goal::new("g", "x").using(Goal::new("h", "y").using(converging).using(agent.clone()));
    let expected = "agent `x` in `w/main/g/h`: whoever uses it uses the convergence of this name too";
    assert_says(&problems(main_with([shared])), &[expected]);

    // Elsewhere an agent and a goal may well be called the same, and who is named twice counts once.
    let first = Goal::new("first", "x").using(agent.clone()).using(agent.clone());
    let second = Goal::new("second", "x").using(goal.using(agent));
    assert!(warnings(main_with([first, second])).is_empty());
    let file = valid("NAME x\nAGENT x \"You are x.\"\nGOAL x \"Do x\" USING x\nRUN x USING x");
    assert!(warnings(Workflow::from(&file)).is_empty());
}

#[test]
fn agentcore_107_research_needs_a_scope() {
    let research = |scope: &str| SecurityMode::Research { scope: scope.into() };
    let tree = |scope: &str| main_with([Goal::new("g", "x")]).security(research(scope));
    assert_says(&problems(tree(" ")), &["workflow `w`: research requires a non-empty scope"]);
    assert!(warnings(tree("our own lab")).is_empty());
}

#[test]
fn conditions_and_limits_fit_the_types_of_their_values() {
    let tree = |goal: Goal| {
        main_with([goal])
            .input(Input::new("size").typed(Type::Int))
            .input(Input::new("kind").typed(Type::OneOf(vec!["bug".into(), "wish".into()])))
            .input(Input::new("tags").typed(Type::List(Box::new(Type::String))))
            .input(Input::new("flag").typed(Type::Bool))
            .input(Input::new("token").secret())
    };
    let tested = |condition| problems(tree(Goal::new("g", "x").when(condition)));
    assert_says(&tested(when("kind").is("idea")), &["$kind is one of `bug`, `wish` and is never `\"idea\"`"]);
    assert_says(&tested(when("size").is("3")), &["$size is a whole number and is never"]);
    assert_says(&tested(when("kind").at_least(2)), &["cannot be compared with a number"]);
    assert_says(&tested(when("flag").contains("x")), &["that needs a list or a text"]);
    assert_says(&tested(when("tags").contains(3)), &["and is never `3`"]);
    assert_says(&tested(when("token").is("x")), &["the secret `token` is in a condition"]);
    assert_says(&tested(when("sise").at_least(1)), &["did you mean `$size`?"]);
    let limited = |name: &str| problems(tree(Goal::converging_within("g", "x", name)));
    assert_says(&limited("flag"), &["'within' needs a whole number"]);
    assert_says(&limited("token"), &["cannot be a limit"]);
    let none = tree(Goal::converging_within("g", "x", "times")).input(Input::new("times").default("0"));
    assert_says(&problems(none), &["cannot be a number of times"]);
    let looping = one(Sequence::looping("main", Within::Times(0)).goal(Goal::new("g", "x")));
    assert_says(&problems(looping), &["sequence `main`: 'within' must be > 0"]);
}

#[test]
fn inputs_are_what_they_say() {
    let tree = main_with([Goal::new("token", "x")])
        .input(Input::new("n").typed(Type::Int).default("many"))
        .input(Input::new("token").secret())
        .input(Input::new("key").secret().default("k"))
        .input(Input::new("pin").secret().typed(Type::Int));
    assert_says(
        &problems(tree),
        &[
            "the secret `token` is given another value here",
            "the default of the input `n` must be a whole number",
            "the secret `key` has a default",
            "the secret `pin` has a type",
        ],
    );
}

#[test]
fn agentcore_220_what_a_person_watches_over_is_not_left_to_nobody() {
    let off = || Goal::new("g", "x").supervision(Supervision::Off);
    let whole = main_with([off()]).supervised_by_human();
    assert_says(&problems(whole), &["goal `g` in `w/main`: nobody would watch"]);
    let sequence = Sequence::new("main").goal(off()).supervised_by_human();
    let expected = "a person watches over it all the same, as over all of sequence `main`";
    assert_says(&warnings(one(sequence)), &[expected]);
    // Under a model's eyes, what says so is left alone.
    let watched = |goal: &str| {
        let file = valid(&format!("NAME w\nSUPERVISED\nGOAL g \"x\"{goal}\nRUN main USING g"));
        Workflow::from(&file).prepare(&Equipment::default()).unwrap().digest()
    };
    let unwatched = main_with([Goal::new("g", "x")]).prepare(&Equipment::default()).unwrap().digest();
    assert_eq!(watched(" UNSUPERVISED"), unwatched);
    assert_ne!(watched(""), unwatched);
}

#[test]
fn tools_that_are_not_there_are_a_warning() {
    let tools = Overrides::new().allowed_tools(Tools::Named(vec!["mcp_web_*".into()]));
    let found = warnings(main_with([Goal::new("g", "x").customize(tools)]));
    assert_says(&found, &["goal `g` in `w/main`: no tool is called `mcp_web_*`; if it comes from a server"]);
    let skill = Overrides::new().restrict_calls(["Bash(git:*)"]);
    let found = warnings(main_with([Goal::new("g", "x").customize(skill)]));
    assert_says(&found, &["goal `g` in `w/main`: no tool is called `bash`; if it comes from a server"]);
}

#[test]
fn a_workflow_is_an_agent_if_it_can_be_given_a_task() {
    let inner = main_with([Goal::new("g", "Do $task and $nope")])
        .input(Input::new("task"))
        .input(Input::new("other"));
    let tree = |task: &str| {
        let agent = Agent::workflow("sub", inner.clone(), task);
        Workflow::new("outer").sequence(Sequence::new("run").goal(Goal::new("use", "x").using(agent)))
    };
    assert_says(
        &problems(tree("task")),
        &[
            "agent `sub` in `outer/run/use`: it cannot be given its task in the input `task`: the workflow `w` needs",
            "goal `g` in `outer/run/use/sub/w/main`: $nope is not declared",
        ],
    );
    assert_says(&problems(tree("missing"))[..1], &["the workflow `w` has no such input"]);
}

#[test]
fn what_the_tree_says_decides_whether_it_is_the_same() {
    let digest = |goal: Goal| main_with([goal]).prepare(&Equipment::default()).unwrap().digest();
    let plain = digest(Goal::new("g", "x"));
    assert_eq!(plain, digest(Goal::new("g", "x")));
    for other in [
        Goal::new("g", "y"),
        Goal::new("g", "x").output("o"),
        Goal::new("g", "x").supervised(),
        Goal::new("g", "x").using(Agent::new("a", "x")),
        Goal::converging("g", "x", 2),
        Goal::new("g", "x").customize(Overrides::new().timeout(std::time::Duration::from_secs(1))),
    ] {
        assert_ne!(plain, digest(other));
    }
    let model = ScriptedModel::replies(["x"]);
    assert_eq!(plain, digest(Goal::new("g", "x").customize(Overrides::new().model(model))));
}
