//! The parameters of a goal hold for what is said about it.
use std::sync::Arc;

use crate::run_support::Rig;
use crate::supervised::{Script, Watched, broken, one, requests, verdict};
use convoke_core::{ModelParams, ReasoningEffort};
use convoke_goals::supervise::ModelSupervisor;
use convoke_goals::{Goal, Overrides, Sequence, Workflow};
use convoke_models::{Reply, ScriptedModel};

fn cold() -> ModelParams {
    ModelParams::default().temperature(0.0).seed(7)
}

/// A model that is watched with a reason to look.
fn model() -> ScriptedModel {
    Script { post: one(broken()), ..Script::default() }.model()
}

fn asked(model: &ScriptedModel, phase: &str) -> ModelParams {
    requests(model, phase)[0].params.clone()
}

#[tokio::test]
async fn what_holds_for_a_part_of_a_tree_holds_for_its_supervision() {
    let model = model();
    let whole = Overrides::new().params(cold().reasoning(ReasoningEffort::Low));
    let own = Overrides::new().params(ModelParams::default().seed(8).max_tokens(9_000));
    let goal = Goal::new("g", "Do it").supervised().customize(own);
    let tree = Workflow::new("w").customize(whole).sequence(Sequence::new("s").goal(goal));
    Rig::new(&model).run(tree).await.completed();
    let expected = cold().reasoning(ReasoningEffort::Low).seed(8).max_tokens(9_000);
    for phase in ["commitment", "work", "assessment", "judgement"] {
        assert_eq!(asked(&model, phase), expected, "{phase}");
    }
}

#[tokio::test]
async fn what_shapes_an_answer_does_not_shape_what_is_said_about_it() {
    let model = model();
    let mut watched = Watched::by_model(&model);
    watched.params = cold().max_tokens(5);
    watched.params.stop = vec!["\n".to_owned()];
    watched.output().await;
    for phase in ["commitment", "assessment", "judgement"] {
        let params = asked(&model, phase);
        assert_eq!(params, cold().max_tokens(2_048), "{phase}: a verdict of five tokens is none");
    }
}

#[tokio::test]
async fn a_judge_with_a_model_of_its_own_has_its_own_parameters() {
    let judge = ScriptedModel::builder().otherwise(Reply::json(verdict("continue"))).build();
    let warm = || ModelParams::default().temperature(0.7);
    for (supervisor, expected) in [
        (ModelSupervisor::with_model(Arc::new(judge.clone())), ModelParams::default()),
        (ModelSupervisor::with_model(Arc::new(judge.clone())).params(warm()), warm()),
    ] {
        let mut watched = Watched::by_model(&model()).supervisor(supervisor);
        watched.params = cold();
        watched.output().await;
        assert_eq!(judge.last_request().unwrap().params, expected);
    }
    let model = model();
    let mut watched = Watched::by_model(&model).supervisor(ModelSupervisor::new().params(warm()));
    watched.params = cold();
    watched.output().await;
    assert_eq!(asked(&model, "judgement"), cold().temperature(0.7), "over those of the goal");
}
