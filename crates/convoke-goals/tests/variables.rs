//! Variables in the texts of a tree, and the values that replace them.

use crate::common::valid;
use crate::run_support::{Rig, prompts, systems};
use convoke_goals::{Agent, Goal, Input, Sequence, Workflow};
use convoke_models::ScriptedModel;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("main").goal(goal))
}

/// What a description comes to for the model, where `x` is `X` and `aZ_09` is `long`.
async fn told(description: &str) -> String {
    let model = ScriptedModel::builder().otherwise("done").build();
    let tree = one(Goal::new("g", description)).input(Input::new("x")).input(Input::new("aZ_09"));
    Rig::new(&model).run_with(tree, [("x", "X"), ("aZ_09", "long")]).await.completed();
    let prompt = prompts(&model).remove(0);
    let (_, rest) = prompt.split_once("<current-goal id=\"g\">\n").unwrap();
    rest.split_once("\n</current-goal>").unwrap().0.to_owned()
}

#[tokio::test]
async fn agentcore_041_a_dollar_that_begins_no_name_stays() {
    for text in ["price is $", "$ at start", "between $ vars", "without any"] {
        assert_eq!(told(text).await, text);
    }
    assert_eq!(told("$x and $").await, "X and $");
}

#[tokio::test]
async fn agentcore_042_a_name_goes_on_as_long_as_it_can() {
    assert_eq!(told("$aZ_09").await, "long");
    for end in [" ", "$", "-", ".", "/", "@"] {
        assert_eq!(told(&format!("$x{end} rest")).await, format!("X{end} rest"), "{end:?}");
    }
}

#[tokio::test]
async fn agentcore_049_braces_are_for_names_and_two_dollars_for_one() {
    assert_eq!(told("$$x").await, "$x");
    assert_eq!(told("$$$x").await, "$X");
    assert_eq!(told("${x}s").await, "Xs");
    assert_eq!(told("$1abc").await, "$1abc", "no name begins with a digit");
}

#[test]
fn agentcore_043_variables_are_found_in_the_order_they_stand() {
    let found = |text: &str| {
        let file = valid(&format!("NAME n\nINPUT a\nINPUT b\nINPUT c\nGOAL g \"{text}\"\nRUN r USING g"));
        let variables = file.goals[0].text.template.variables();
        variables.map(|id| file.variable(*id).name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("$a $b $c"), ["a", "b", "c"]);
    assert_eq!(found("$a $"), ["a"]);
    assert_eq!(found("$a-not-ident $b"), ["a", "b"]);
    assert_eq!(found("none"), [""; 0]);
}

#[tokio::test]
async fn agentcore_044_agents_know_values_in_who_they_are_and_in_what_they_do() {
    let model = ScriptedModel::replies(["done"]);
    let agent = Agent::new("a", "Expert in $domain.").task("Read $document.");
    let tree = Workflow::new("w")
        .input(Input::new("domain"))
        .input(Input::new("document"))
        .sequence(Sequence::new("main").agent(agent));
    Rig::new(&model).run_with(tree, [("domain", "law"), ("document", "the deed")]).await.completed();
    assert!(systems(&model)[0].contains("Expert in law."), "{}", systems(&model)[0]);
    assert!(prompts(&model)[0].contains("Read the deed."), "{}", prompts(&model)[0]);
}

#[tokio::test]
async fn agentcore_039_045_what_was_made_last_is_what_a_name_stands_for() {
    let model = ScriptedModel::replies(["made", "said", "done"]);
    let agent = Agent::new("a", "You know $topic.").task("Look at $topic");
    let sequence = Sequence::new("main").goal(Goal::new("topic", "Improve $topic")).agent(agent);
    let tree = Workflow::new("w").input(Input::new("topic")).sequence(sequence);
    Rig::new(&model).run_with(tree, [("topic", "given")]).await.completed();
    assert!(prompts(&model)[0].contains("Improve given"), "{}", prompts(&model)[0]);
    assert!(prompts(&model)[1].contains("Look at made"), "{}", prompts(&model)[1]);
    assert!(systems(&model)[1].contains("You know made."), "{}", systems(&model)[1]);
}

#[tokio::test]
async fn agentcore_047_048_050_texts_are_read_once_and_values_never() {
    let model = ScriptedModel::builder().otherwise("done").build();
    // Whoever a goal uses is given a text in which its values are already.
    let helped = |name: &'static str, text: &'static str| Goal::new(name, text).using(Agent::new("a", "P"));
    let tree =
        Workflow::new("w").input(Input::new("who")).input(Input::new("a")).input(Input::new("b")).sequence(
            Sequence::new("main").goal(helped("greet", "Greet $who")).goal(helped("use", "use $a, ${a}s")),
        );
    let rig = Rig::new(&model).with(|equipment| equipment.context = "Costs $b.".into());
    rig.run_with(tree, [("who", "Vinay"), ("a", "cost $b"), ("b", "9")]).await.completed();
    let prompts = prompts(&model);
    assert!(prompts[0].contains("\nGreet Vinay\n"), "{}", prompts[0]);
    assert!(prompts[1].contains("\nuse cost $b, cost $bs\n"), "{}", prompts[1]);
    assert!(systems(&model).iter().all(|system| system.contains("Costs $b.")), "{:?}", systems(&model));
}
