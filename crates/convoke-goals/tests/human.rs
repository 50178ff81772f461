//! Supervision by people.
use std::sync::Arc;
use std::time::Duration;

use crate::supervised::*;
use convoke_core::{
    Answer, BoxFuture, Canceller, Decision, Error, Nature, PendingQuestion, Responder, RunStatus, Runtime,
    Scope, Step, Store, Workflow,
};
use convoke_store::MemoryStore;
use serde_json::json;

#[tokio::test]
async fn agentcore_152_a_person_approves_revises_or_rejects() {
    let script = || Script { post: one(broken()), ..Script::default() };

    let model = script().model();
    let watched = Watched::by_human(&model);
    let (_, outcome) = watched.events(&Person::saying([Answer::approve()]).runtime()).await;
    assert_eq!((outcome.completed().unwrap().as_str(), watched.attempts()), ("first", 1));
    assert_eq!(count(&model, "judgement"), 0, "the person judges, whatever the reasons");

    let model = script().model();
    let watched = Watched::by_human(&model);
    let person =
        Person::saying([Answer::revise("add a frog"), Answer::revise("and a pond"), Answer::approve()]);
    let (events, outcome) = watched.events(&person.runtime()).await;
    assert_eq!((outcome.completed().unwrap().as_str(), watched.attempts()), ("third", 3));
    assert_eq!(last(&requests(&model, "work")[2]), format!("{GOAL}\n(human) add a frog\n(human) and a pond"));
    assert_eq!(person.asked().len(), 3, "what was revised is looked at again");
    assert_eq!((count(&model, "assessment"), count(&model, "judgement")), (3, 0));
    let decisions = supervision(&events, "human");
    assert_eq!(
        decisions[0],
        json!({
            "step": "haiku", "kind": "goal", "phase": "human", "decision": "revise", "text": "add a frog", "by": "",
        })
    );
    assert_eq!(decisions[2]["decision"], "approve");

    for (answer, why) in [
        (Answer::reject("not funny").by("ann"), "rejected by ann: not funny"),
        (Answer::reject(" "), "rejected by a person: (no reason given)"),
        (Answer::revise(" "), "asked for a revision without saying which"),
    ] {
        let watched = Watched::by_human(&script().model());
        let (_, outcome) = watched.events(&Person::saying([answer]).runtime()).await;
        assert_eq!(outcome.status, RunStatus::Halted);
        let error = outcome.completed().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(watched.attempts(), 1);
    }
}

/// Somebody who never answers, and tells that they were asked.
struct Silent(tokio::sync::mpsc::Sender<()>);

impl Responder for Silent {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let _ = self.0.send(()).await;
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn agentcore_152_waiting_for_a_person_can_be_cancelled() {
    let (asked, mut was_asked) = tokio::sync::mpsc::channel(1);
    let canceller = Canceller::new();
    let watched = Watched::by_human(&Script::default().model());
    let runtime = Runtime::builder().responder(Silent(asked)).build();
    let workflow = watched.workflow();
    let run = async { runtime.start(&workflow, String::new()).canceller(&canceller).await.unwrap() };
    let cancel = async {
        was_asked.recv().await;
        canceller.cancel("enough");
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert!(matches!(outcome.error.as_ref().unwrap().root(), Error::Cancelled(_)), "{:?}", outcome.error);
}

/// Somebody who is there and has nothing to say.
struct Absent;

impl Responder for Absent {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async { None })
    }
}

#[tokio::test]
async fn agentcore_152_where_nobody_answers_nothing_is_accepted() {
    let model = Script { post: one(broken()), ..Script::default() }.model();
    let watched = Watched::by_human(&model);
    let (_, outcome) = watched.events(&Runtime::builder().responder(Absent).build()).await;
    assert_eq!(outcome.status, RunStatus::Suspended, "it waits for an answer");
    assert_eq!((watched.attempts(), outcome.questions().len(), count(&model, "judgement")), (1, 1, 0));

    let watched = Watched::by_human(&Script::default().model()).unattended();
    assert_eq!(watched.outcome().await.status, RunStatus::Halted);
    assert_eq!(watched.attempts(), 0);
}

#[tokio::test]
async fn agentcore_153_what_a_person_is_asked() {
    let model = Script { post: one(broken()), ..Script::default() }.model();
    let outcome = Watched::by_human(&model)
        .shaped(|product| {
            product.fields = [("title", "Rust")].into_iter().collect();
            product.tools = vec!["look".to_owned()];
        })
        .outcome()
        .await;
    let question = &outcome.questions()[0].question;
    assert_eq!(question.title, "Is this what goal \"haiku\" is to give?");
    assert_eq!(
        question.details,
        format!(
            "What was noticed:\n- by its own account it does not keep the commitment\n\nWhat is to be achieved:\n{GOAL}"
        )
    );
    assert_eq!(
        question.subject,
        json!({
            "step": "haiku", "kind": "goal", "goal": GOAL, "output": "first", "fields": {"title": "Rust"},
            "tools": ["look"], "triggers": ["commitment_not_met"], "attempt": 1, "commitment": promise(),
            "assessment": broken(),
        })
    );

    let outcome = Watched::by_human(&Script::default().model()).outcome().await;
    let question = &outcome.questions()[0].question;
    assert!(question.details.starts_with("Nothing about it was noticed"), "{}", question.details);
}

#[tokio::test]
async fn the_whole_output_is_shown() {
    let output = "ü".repeat(200_000);
    let shown = output.clone();
    let watched =
        Watched::by_human(&Script::default().model()).shaped(move |product| product.text = shown.clone());
    let outcome = watched.outcome().await;
    assert_eq!(outcome.questions()[0].question.subject["output"], json!(output));
}

#[tokio::test]
async fn agent_125_with_nobody_to_ask_nothing_is_begun() {
    let model = Script::default().model();
    let error = Watched::by_human(&model).unattended().error().await.to_string();
    assert!(
        error.contains("goal `haiku`: a person has to decide about it, and nobody may be asked"),
        "{error}"
    );
    assert_eq!(model.calls(), 0);

    // With somebody to ask it is begun; what only a model watches needs nobody.
    assert_eq!(Watched::by_human(&model).outcome().await.status, RunStatus::Suspended);
    assert_eq!(count(&model, "work"), 1);
    assert_eq!(Watched::by_model(&model).unattended().output().await, "second");
}

#[tokio::test]
async fn agent_136_a_person_always_decides_and_no_model_judges_before_them() {
    for (post, triggers) in [(kept(), json!([])), (broken(), json!(["commitment_not_met"]))] {
        let script = || Script { post: one(post.clone()), ..Script::default() }.model();
        let waiting = Watched::by_human(&script()).outcome().await;
        assert_eq!(waiting.status, RunStatus::Suspended, "before the person has decided it is not over");
        assert_eq!(waiting.questions().len(), 1);

        let model = script();
        let watched = Watched::by_human(&model);
        let person = Person::saying([Answer::approve().by("ann")]);
        let (events, outcome) = watched.events(&person.runtime()).await;
        assert_eq!(outcome.completed().unwrap(), "first");
        assert_eq!(person.asked().len(), 1, "whether there was a reason to look or not");
        assert_eq!(supervision(&events, "reconcile")[0]["triggers"], triggers);
        assert_eq!(supervision(&events, "human")[0]["by"], "ann");
        // What is compared beforehand is there for the person; the judgement is theirs.
        assert_eq!((count(&model, "commitment"), count(&model, "assessment")), (1, 1));
        assert_eq!(count(&model, "judgement"), 0);
    }
}

#[tokio::test]
async fn agent_132_an_answer_is_waited_for_as_long_as_it_says() {
    let mut watched = Watched::by_human(&Script::default().model());
    let question = watched.outcome().await.questions()[0].question.clone();
    assert_eq!(question.expiry, None, "as long as it takes");

    watched.human.expiry = Some(Duration::from_secs(300));
    watched.human.audience = vec!["ann".to_owned()];
    let question = watched.outcome().await.questions()[0].question.clone();
    let expiry = question.expiry.unwrap();
    assert_eq!(expiry.after, Duration::from_secs(300));
    assert!(matches!(expiry.otherwise, Decision::Reject { .. }));
    assert_eq!(question.audience, ["ann"]);

    watched.human.expiry = Some(Duration::ZERO);
    let outcome = watched.outcome().await;
    assert_eq!(outcome.status, RunStatus::Halted, "silence is no consent");
}

#[tokio::test]
async fn a_person_may_not_send_it_back_for_ever() {
    let watched = Watched::by_human(&Script::default().model());
    let person = Person::saying([Answer::revise("again")]);
    let (_, outcome) = watched.events(&person.runtime()).await;
    assert_eq!(outcome.status, RunStatus::Halted);
    assert_eq!((watched.attempts(), person.asked().len()), (11, 11));
}

/// Two supervised goals side by side.
struct Two(Watched, Watched);

impl Step<Vec<String>> for Two {
    fn name(&self) -> &str {
        "two"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Vec<String>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (mut one, mut other) = (String::new(), String::new());
            let (first, second) = tokio::join!(scope.run(&self.0, &mut one), scope.run(&self.1, &mut other));
            first.and(second)?;
            *state = vec![one, other];
            Ok(())
        })
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

#[tokio::test]
async fn agentcore_161_goals_side_by_side_ask_questions_of_their_own() {
    let (one, other) = (Script::default().model(), Script::default().model());
    let two = Two(
        Watched { name: "one", ..Watched::by_human(&one) },
        Watched { name: "other", ..Watched::by_human(&other) },
    );
    let workflow = Workflow::new(two);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let asked = runtime.start(&workflow, Vec::new()).id(run_id()).await.unwrap();
    assert_eq!(asked.status, RunStatus::Suspended);
    let questions = store.questions(Some(&run_id())).await.unwrap();
    let about: Vec<_> = questions.iter().map(|pending| pending.question.subject["step"].clone()).collect();
    assert_eq!(about.len(), 2);

    // One is revised; the other still waits for its own answer.
    let of = |name: &str| questions.iter().find(|pending| pending.question.subject["step"] == *name).unwrap();
    store.answer(&run_id(), &of("one").id, Answer::revise("shorter")).await.unwrap();
    let waiting = runtime.resume(&workflow, run_id()).await.unwrap();
    assert_eq!(waiting.status, RunStatus::Suspended);
    let open = store.questions(Some(&run_id())).await.unwrap();
    assert_eq!(open.len(), 2);
    assert!(open.iter().any(|pending| pending.id == of("other").id));
    for pending in open {
        store.answer(&run_id(), &pending.id, Answer::approve()).await.unwrap();
    }
    let done = runtime.resume(&workflow, run_id()).await.unwrap();
    assert_eq!(done.completed().unwrap(), ["second", "first"]);
    assert_eq!((count(&one, "work"), count(&other, "work")), (2, 1));
    assert_eq!((one.calls(), other.calls()), (5, 3), "nothing is paid for twice");
}
