//! Goals that a supervisor sends back, and people who decide when it does not.
use std::time::Duration;

use crate::supervised::*;
use convoke_core::{Answer, RunStatus};
use convoke_goals::supervise::SupervisedBy;
use serde_json::json;

#[tokio::test]
async fn agentcore_147_166_a_correction_sends_it_back_and_it_is_checked_again() {
    let post = turns([broken(), kept()]);
    let model = Script { post, judge: one(verdict("reorient")), ..Script::default() }.model();
    let watched = Watched::by_model(&model);
    assert_eq!(watched.output().await, "second");
    assert_eq!(watched.attempts(), 2);
    assert_eq!(last(&requests(&model, "work")[1]), format!("{GOAL}\n(supervisor) use fewer words"));
    // The second result has no reason to look at, so nobody judges it.
    assert_eq!(
        (count(&model, "assessment"), count(&model, "judgement"), count(&model, "commitment")),
        (2, 1, 1)
    );
}

#[tokio::test]
async fn agent_129_one_correction_is_one_more_execution() {
    let post = turns([broken(), broken()]);
    let judge = turns([verdict("reorient"), verdict("continue")]);
    let model = Script { post, judge, ..Script::default() }.model();
    let watched = Watched::by_model(&model);
    assert_eq!(watched.output().await, "second");
    assert_eq!((watched.attempts(), count(&model, "judgement")), (2, 2));
    let told: Vec<String> = requests(&model, "work").iter().map(last).collect();
    assert_eq!(told, [GOAL.to_owned(), format!("{GOAL}\n(supervisor) use fewer words")]);
}

#[tokio::test]
async fn corrections_add_up() {
    let judge = turns([
        json!({"verdict": "reorient", "correction": "shorter"}),
        json!({"verdict": "reorient", "correction": "in German"}),
    ]);
    let model = Script { post: turns([broken(), broken(), kept()]), judge, ..Script::default() }.model();
    assert_eq!(Watched::by_model(&model).output().await, "third");
    let last_work = last(&requests(&model, "work")[2]);
    assert_eq!(last_work, format!("{GOAL}\n(supervisor) shorter\n(supervisor) in German"));
    for phase in ["assessment", "judgement"] {
        let told = last(requests(&model, phase).last().unwrap());
        assert!(told.contains("1. supervisor: shorter"), "{phase}: {told}");
    }
}

#[tokio::test]
async fn agentcore_148_what_an_attempt_fails_with_stays_what_it_is() {
    let model = Script { post: one(broken()), judge: one(verdict("reorient")), ..Script::default() }.model();
    let watched = Watched { fails_at: Some(2), ..Watched::by_model(&model) };
    assert!(watched.error().await.downcast_ref::<Dry>().is_some());
    assert_eq!((watched.attempts(), count(&model, "assessment")), (2, 1));
}

#[tokio::test]
async fn agentcore_149_at_the_limit_with_nobody_to_ask_it_is_halted() {
    let model = Script { post: one(broken()), judge: one(verdict("reorient")), ..Script::default() }.model();
    let watched = Watched::by_model(&model).reorients(1).unattended();
    let outcome = watched.outcome().await;
    assert_eq!(outcome.status, RunStatus::Halted);
    let error = outcome.completed().unwrap_err().to_string();
    for part in ["nobody may be asked", "sent back once", "use fewer words", "does not keep the commitment"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!((watched.attempts(), count(&model, "judgement")), (2, 2));
}

#[tokio::test]
async fn agentcore_150_at_the_limit_a_person_is_asked_what_the_matter_is() {
    let post = turns([broken(), broken(), kept()]);
    let model = Script { post, judge: one(verdict("reorient")), ..Script::default() }.model();
    let watched = Watched::by_model(&model).reorients(1);
    let person = Person::saying([Answer::revise("count again")]);
    let (_, outcome) = watched.events(&person.runtime()).await;
    assert_eq!(outcome.completed().unwrap(), "third");
    assert_eq!((watched.attempts(), person.asked().len()), (3, 1));
    assert!(person.asked()[0].question.details.contains("sent back once"));
    assert_eq!(
        last(&requests(&model, "work")[2]),
        format!("{GOAL}\n(supervisor) use fewer words\n(human) count again")
    );
}

#[tokio::test]
async fn agentcore_156_no_corrections_means_none() {
    let model = Script { post: one(broken()), judge: one(verdict("reorient")), ..Script::default() }.model();
    let watched = Watched::by_model(&model).reorients(0).unattended();
    assert_eq!(watched.outcome().await.status, RunStatus::Halted);
    assert_eq!((watched.attempts(), count(&model, "judgement")), (1, 1));
}

#[tokio::test]
async fn agentcore_151_166_a_supervisor_that_does_not_know_asks_a_person() {
    let script =
        || Script { post: turns([broken(), kept()]), judge: one(verdict("ask_human")), ..Script::default() };

    let model = script().model();
    let error = Watched::by_model(&model).unattended().error().await.to_string();
    assert!(error.contains("nobody may be asked") && error.contains("Is this a haiku?"), "{error}");

    // Whoever approves gets what they saw.
    let model = script().model();
    let watched = Watched::by_model(&model);
    let person = Person::saying([Answer::approve()]);
    let (_, outcome) = watched.events(&person.runtime()).await;
    assert_eq!((outcome.completed().unwrap().as_str(), watched.attempts()), ("first", 1));
    let question = &person.asked()[0].question;
    assert!(question.details.starts_with("Is this a haiku?"), "{}", question.details);
    assert_eq!(question.subject["output"], "first");

    let model = script().model();
    let watched = Watched::by_model(&model);
    let (_, outcome) = watched.events(&Person::saying([Answer::revise("add a frog")]).runtime()).await;
    assert_eq!((outcome.completed().unwrap().as_str(), watched.attempts()), ("second", 2));
    assert!(last(&requests(&model, "work")[1]).ends_with("(human) add a frog"));
}

#[tokio::test]
async fn agent_130_131_with_nobody_to_ask_no_model_decides_instead() {
    let model = Script { post: one(broken()), judge: one(verdict("ask_human")), ..Script::default() }.model();
    let outcome = Watched::by_model(&model).unattended().outcome().await;
    assert_eq!(outcome.status, RunStatus::Halted);
    assert_eq!(count(&model, "judgement"), 1);
    let error = outcome.completed().unwrap_err().to_string();
    assert!(error.contains("nobody may be asked"), "{error}");
}

#[tokio::test]
async fn agent_130_what_a_person_answers_sends_it_back_and_silence_halts_it() {
    let script =
        || Script { post: turns([broken(), kept()]), judge: one(verdict("ask_human")), ..Script::default() };
    for by in [SupervisedBy::Model, SupervisedBy::Human] {
        let model = script().model();
        let watched = Watched::by(by, &model);
        let person = Person::saying([Answer::revise("add a frog"), Answer::approve()]);
        let (_, outcome) = watched.events(&person.runtime()).await;
        assert_eq!(outcome.completed().unwrap(), "second", "{by:?}");
        assert_eq!(last(&requests(&model, "work")[1]), format!("{GOAL}\n(human) add a frog"));

        let mut watched = Watched::by(by, &script().model());
        watched.human.expiry = Some(Duration::ZERO);
        let outcome = watched.outcome().await;
        assert_eq!(outcome.status, RunStatus::Halted, "{by:?}: silence is no consent");
        assert_eq!(watched.attempts(), 1);
    }
}
