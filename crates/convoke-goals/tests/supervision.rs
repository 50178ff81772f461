//! Goals that a model watches, phase by phase.
use crate::supervised::*;
use convoke_core::{BoxFuture, Error, EventKind, ModelError, RunStatus, Runtime, Scope};
use convoke_goals::Supervision;
use convoke_goals::supervise::{Review, SupervisedBy, SupervisionFailed, Supervisor, Verdict};
use convoke_models::Reply;
use convoke_models::scripted::Replies;
use convoke_store::MemoryStore;
use serde_json::json;

fn unable() -> Reply {
    Reply::error(ModelError::of_status(400, "no such model"))
}

#[tokio::test]
async fn agentcore_143_nobody_watches_nobody_is_asked() {
    let model = Script::default().model();
    let watched = Watched::by(SupervisedBy::Nobody, &model);
    assert_eq!(watched.output().await, "first");
    assert_eq!((watched.attempts(), model.calls()), (1, 1));
}

#[tokio::test]
async fn agent_135_an_unsupervised_goal_makes_no_commitment() {
    let model = Script::default().model();
    Watched::by(SupervisedBy::Nobody, &model).output().await;
    assert_eq!((count(&model, "commitment"), count(&model, "work"), model.calls()), (0, 1, 1));
}

#[tokio::test]
async fn agentcore_144_162_without_a_reason_to_look_nobody_judges() {
    let model = Script::default().model();
    let watched = Watched::by_model(&model);
    let (events, outcome) = watched.events(&Runtime::new()).await;
    assert_eq!(outcome.completed().unwrap(), "first");
    assert_eq!(model.calls(), 3);
    assert_eq!(count(&model, "judgement"), 0);
    let told = &supervision(&events, "reconcile")[0];
    assert_eq!(
        (&told["step"], &told["kind"], &told["triggers"]),
        (&json!("haiku"), &json!("goal"), &json!([]))
    );
    assert_eq!((watched.attempts(), supervision(&events, "supervise").len()), (1, 0));
}

#[tokio::test]
async fn agentcore_145_166_continue_takes_it_and_halt_ends_it() {
    let model = Script { post: one(broken()), ..Script::default() }.model();
    let (events, outcome) = Watched::by_model(&model).events(&Runtime::new()).await;
    assert_eq!(outcome.completed().unwrap(), "first");
    let judged = &supervision(&events, "supervise")[0];
    assert_eq!((&judged["verdict"], &judged["reason"]), (&json!("continue"), &json!("because")));

    let model = Script { post: one(broken()), judge: one(verdict("halt")), ..Script::default() }.model();
    let outcome = Watched::by_model(&model).outcome().await;
    assert_eq!(outcome.status, RunStatus::Halted);
    let error = outcome.completed().unwrap_err().to_string();
    assert!(error.contains("halted: goal `haiku`: by its supervisor: because"), "{error}");
}

#[tokio::test]
async fn agentcore_154_what_fails_is_not_assessed() {
    let model = Script::default().model();
    let watched = Watched { fails_at: Some(1), ..Watched::by_model(&model) };
    assert!(watched.error().await.downcast_ref::<Dry>().is_some());
    assert_eq!((count(&model, "commitment"), count(&model, "assessment")), (1, 0));
}

struct Broken;

impl Supervisor for Broken {
    fn supervise<'a>(&'a self, _: &'a Scope, _: &'a Review<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async { Err("the judge is ill".into()) })
    }
}

#[tokio::test]
async fn agentcore_155_a_supervisor_that_fails_fails_the_goal() {
    let model = Script { post: one(broken()), ..Script::default() }.model();
    let error = Watched::by_model(&model).supervisor(Broken).error().await;
    let failed = error.downcast_ref::<SupervisionFailed>().unwrap();
    assert_eq!((failed.step.as_str(), failed.source.to_string().as_str()), ("haiku", "the judge is ill"));
    assert!(error.to_string().contains("supervision of goal `haiku` failed"), "{error}");
    assert_eq!(count(&model, "work"), 1);
}

#[tokio::test]
async fn agent_134_a_supervisor_whose_model_fails_fails_the_goal_and_is_asked_again_on_resume() {
    let judge = Replies::in_turn([unable(), Reply::json(verdict("continue"))]);
    let model = Script { post: one(broken()), judge, ..Script::default() }.model();
    let watched = Watched::by_model(&model);
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let failed = runtime.start(&watched.workflow(), String::new()).id(run_id()).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
    let error = failed.error.unwrap();
    assert!(error.to_string().contains("supervision of goal `haiku` failed"), "{error}");
    assert!(error.downcast_ref::<ModelError>().is_some());
    let resumed = runtime.resume(&watched.workflow(), run_id()).await.unwrap();
    assert_eq!(resumed.completed().unwrap(), "first");
    assert_eq!((count(&model, "work"), count(&model, "judgement")), (1, 2));
}

#[test]
fn agentcore_160_what_a_person_watches_is_never_left_to_a_model() {
    use Supervision::{Human, Inherit, Llm, Off};
    assert_eq!(
        [Llm.within(Off), Off.within(Llm), Inherit.within(Llm), Inherit.within(Inherit)],
        [Llm, Off, Llm, Inherit]
    );
    for own in [Inherit, Off, Llm, Human] {
        assert_eq!(own.within(Human), Human);
    }
}

#[tokio::test]
async fn who_commits_knows_the_tools() {
    let model = Script::default().model();
    Watched::by_model(&model).output().await;
    let told = last(&requests(&model, "commitment")[0]);
    assert!(told.contains("TOOLS THAT WILL BE AVAILABLE\nlook"), "{told}");
}

#[tokio::test]
async fn each_phase_is_a_step_and_is_told() {
    let post = turns([broken(), kept()]);
    let model = Script { post, judge: one(verdict("reorient")), ..Script::default() }.model();
    let (events, _) = Watched::by_model(&model).events(&Runtime::new()).await;
    let steps: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StepStarted { kind } => Some(format!("{kind} {}", event.path)),
            EventKind::Custom { name, value } if name == "supervision" => {
                Some(format!("told {} {}", value["phase"].as_str().unwrap(), event.path))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        steps,
        [
            "step haiku",
            "commit haiku/commit",
            "told commit haiku",
            "post haiku/post",
            "told post haiku",
            "told reconcile haiku",
            "supervise haiku/supervise",
            "told supervise haiku",
            "post haiku/post#2",
            "told post haiku",
            "told reconcile haiku",
        ]
    );
    let judged = &supervision(&events, "supervise")[0];
    assert_eq!(
        *judged,
        json!({
            "step": "haiku", "kind": "goal", "phase": "supervise", "verdict": "reorient", "reason": "because",
            "correction": "use fewer words", "attempt": 1,
        })
    );
}

#[tokio::test]
async fn limits_further_out_are_not_a_reason_to_look_but_the_end() {
    let model = Script::default().model();
    let limits = convoke_core::Limits::default().model_calls(2);
    let watched = Watched::by_model(&model);
    let outcome = Runtime::new().start(&watched.workflow(), String::new()).limits(limits).await.unwrap();
    assert_eq!(outcome.status, RunStatus::BudgetExhausted);
}

#[tokio::test(start_paused = true)]
async fn a_phase_that_takes_too_long_is_a_reason_to_look_and_a_judge_that_does_fails_the_goal() {
    let hang = || Replies::from(Reply::text("x").hangs());
    let model = Script { commit: hang(), post: hang(), ..Script::default() }.model();
    let limited = || Runtime::builder().leaf_timeout(Some(std::time::Duration::from_secs(120)));
    let triggers = Watched::by_model(&model).triggers_with(&limited().build()).await.remove(0);
    assert_eq!(triggers.len(), 2, "{triggers:?}");
    assert!(
        triggers[1].starts_with("commitment_unavailable:") && triggers[1].contains("120s"),
        "{triggers:?}"
    );

    let judge = Replies::in_turn([Reply::text("x").hangs(), Reply::json(verdict("continue"))]);
    let model = Script { post: one(broken()), judge, ..Script::default() }.model();
    let watched = Watched::by_model(&model);
    let runtime = limited().store(MemoryStore::new()).build();
    let failed = runtime.start(&watched.workflow(), String::new()).id(run_id()).await.unwrap();
    assert!(failed.error.unwrap().downcast_ref::<SupervisionFailed>().is_some());
    let resumed = runtime.resume(&watched.workflow(), run_id()).await.unwrap();
    assert_eq!(resumed.completed().unwrap(), "first");
    assert_eq!((count(&model, "work"), count(&model, "judgement")), (1, 2));
}
