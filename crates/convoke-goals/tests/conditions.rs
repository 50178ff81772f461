//! Goals and sequences that are pursued under a condition.

use crate::run_support::Rig;
use convoke_goals::{Goal, GoalError, Input, Sequence, Type, Workflow, when};
use convoke_models::ScriptedModel;

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
        let GoalError::MissingOutput { name, output, .. } = error else { panic!("{}", ran.failed()) };
        assert_eq!((name.as_str(), output.as_str()), ("sort", "kind"));
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
