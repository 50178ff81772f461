//! The question broker: people in the same process who answer.
use std::sync::Arc;
use std::time::Duration;

use crate::common::Diary;
use convoke_agent::{AnswerError, QuestionBroker};
use convoke_core::{
    Answer, Canceller, Decision, IdempotencyKey, Path, PendingQuestion, Question, Responder, RunId, Timestamp,
};

fn pending(id: u32, question: Question) -> PendingQuestion {
    let run: RunId = "run".parse().unwrap();
    let path = Path::from("main");
    PendingQuestion {
        id: IdempotencyKey::derive(&run, &path, id),
        run,
        path,
        asked: Timestamp::now(),
        question,
    }
}

fn reason(answer: &Answer) -> &str {
    match &answer.decision {
        Decision::Reject { reason } => reason,
        other => panic!("not a rejection: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn gains_182_answers_reach_whoever_waits_for_them() {
    let submitted = Diary::default();
    let broker = QuestionBroker::new().on_submit({
        let submitted = submitted.clone();
        move |pending| submitted.note(&pending.question.title)
    });
    let (one, two) = (pending(1, Question::approval("one?")), pending(2, Question::approval("two?")));
    let (first, second, ()) = tokio::join!(broker.respond(&one), broker.respond(&two), async {
        assert_eq!(broker.pending_count(), 2);
        assert!(broker.has_pending(&one.id));
        let unknown = pending(9, Question::approval("?")).id;
        let Err(error @ AnswerError::NoSuchQuestion { .. }) = broker.approve(&unknown) else {
            panic!("nobody asked that")
        };
        assert!(error.to_string().starts_with(&format!("no pending question \"{unknown}\"")));
        broker.reject(&two.id, "too late").unwrap();
        broker.approve(&one.id).unwrap();
    });
    assert!(first.unwrap().is_approval());
    assert_eq!(reason(&second.unwrap()), "too late");
    assert_eq!(broker.pending_count(), 0);
    assert!(broker.approve(&one.id).is_err(), "a second decision is refused");
    assert_eq!(submitted.entries(), ["one?", "two?"]);
}

#[tokio::test(start_paused = true)]
async fn gains_182_a_wait_that_is_too_long_or_taken_back_is_a_rejection() {
    let broker = QuestionBroker::new().wait_limit(Duration::from_secs(300));
    let question = pending(1, Question::approval("?"));
    assert_eq!(reason(&broker.respond(&question).await.unwrap()), "approval timeout");
    let (answer, ()) =
        tokio::join!(broker.respond(&question), async { broker.cancel(&question.id).unwrap() });
    assert_eq!(reason(&answer.unwrap()), "approval cancelled");
    assert_eq!(broker.pending_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_leaves_no_question_behind() {
    use convoke_agent::{Approval, Conversation};
    use convoke_core::{RunStatus, Runtime, Workflow};
    let (broker, canceller) = (QuestionBroker::new(), Canceller::new());
    let runtime = Runtime::builder().responder(broker.clone()).build();
    let model = crate::common::calls_then_done(crate::common::call("echo", "x"));
    let helper = crate::common::agent(&model)
        .tool(crate::common::echo("echo", &Diary::default()))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let workflow = Workflow::new(helper);
    let start = runtime.start(&workflow, Conversation::from("go")).canceller(&canceller);
    let (outcome, ()) = tokio::join!(async { start.await.unwrap() }, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(broker.pending_count(), 1);
        canceller.cancel("enough");
    });
    assert_eq!((outcome.status, broker.pending_count()), (RunStatus::Cancelled, 0));
}

/// Many decisions, each at about the moment its wait is over: whoever decides knows whether it counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gains_183_a_decision_that_races_with_the_timeout_is_taken_or_refused() {
    let broker = QuestionBroker::new().wait_limit(Duration::from_millis(5));
    for round in 0..100 {
        let question = Arc::new(pending(round, Question::approval("?")));
        let waiting = {
            let (broker, question) = (broker.clone(), Arc::clone(&question));
            tokio::spawn(async move { broker.respond(&question).await.unwrap() })
        };
        tokio::time::sleep(Duration::from_micros(4_500 + u64::from(round) * 20)).await;
        let taken = broker.approve(&question.id).is_ok();
        assert_eq!(waiting.await.unwrap().is_approval(), taken);
    }
    assert_eq!(broker.pending_count(), 0);
}

/// The same on a clock that stands still: just before the time is up, in that very moment, and just after.
#[tokio::test(start_paused = true)]
async fn gains_183_a_decision_counts_until_the_time_is_up() {
    let limit = Duration::from_millis(5);
    let broker = QuestionBroker::new().wait_limit(limit);
    let question = pending(1, Question::approval("?"));
    let decided_after = async |wait: Duration| {
        let decide = async {
            tokio::time::sleep(wait).await;
            broker.approve(&question.id).is_ok()
        };
        let (answer, taken) = tokio::join!(broker.respond(&question), decide);
        assert_eq!(answer.unwrap().is_approval(), taken, "{wait:?}");
        taken
    };
    assert!(decided_after(limit - Duration::from_millis(1)).await);
    decided_after(limit).await;
    assert!(!decided_after(limit + Duration::from_millis(1)).await);
    assert_eq!(broker.pending_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_waits_for_one_question_are_answered_one_by_one() {
    let broker = QuestionBroker::new();
    let question = pending(1, Question::confirm("?"));
    let (first, second, ()) = tokio::join!(broker.respond(&question), broker.respond(&question), async {
        broker.approve(&question.id).unwrap();
        broker.reject(&question.id, "no").unwrap();
    });
    assert!(first.unwrap().is_approval() && !second.unwrap().is_approval());
}

#[tokio::test(start_paused = true)]
async fn gains_184_confirmations_texts_and_choices() {
    let seen = Diary::default();
    let broker = QuestionBroker::new().wait_limit(Duration::from_secs(60)).on_submit({
        let seen = seen.clone();
        move |pending| {
            let kind = serde_json::to_value(&pending.question.kind).unwrap()["type"].clone();
            seen.note(format!("{kind} {} {}", pending.question.title, pending.question.details));
        }
    });
    let confirm = pending(1, Question::confirm("Sure?").details("It is final."));
    let text = pending(2, Question::text("Name?"));
    let choice = pending(3, Question::choice("Colour?", ["red", "blue"]));
    let (yes, name, colour, ()) =
        tokio::join!(broker.respond(&confirm), broker.respond(&text), broker.respond(&choice), async {
            broker.answer(&confirm.id, Answer::approve()).unwrap();
            broker.answer(&text.id, Answer::text("Ann")).unwrap();
            let unfit = broker.answer(&choice.id, Answer::choose("green")).unwrap_err();
            assert_eq!(unfit.to_string(), "that does not answer the question: give one of: red, blue");
            broker.answer(&choice.id, Answer::choose("blue")).unwrap();
        });
    assert!(yes.unwrap().is_approval());
    assert_eq!(name.unwrap().decision, Decision::Text { text: "Ann".into() });
    assert_eq!(colour.unwrap().decision, Decision::Choose { option: "blue".into() });
    assert_eq!(seen.entries(), ["\"confirm\" Sure? It is final.", "\"text\" Name? ", "\"choice\" Colour? "]);

    let no = pending(4, Question::confirm("Really?"));
    let (no, ()) = tokio::join!(broker.respond(&no), async { broker.reject(&no.id, "").unwrap() });
    assert!(!no.unwrap().is_approval());
}

/// Whoever waits always gets a decision: where gains gives an error for one that comes too late, there is a no that
/// says so. Whoever answers what nobody asks gets the error.
#[tokio::test(start_paused = true)]
async fn gains_184_a_question_that_is_taken_back_or_waits_too_long_is_answered_with_no() {
    let submitted = Diary::default();
    let broker = QuestionBroker::new().wait_limit(Duration::from_secs(60)).on_submit({
        let submitted = submitted.clone();
        move |pending| submitted.note(&pending.question.title)
    });
    let questions =
        [Question::confirm("Sure?"), Question::text("Name?"), Question::choice("Colour?", ["red", "blue"])];
    for (number, question) in (1..).zip(questions) {
        let title = question.title.clone();
        let question = pending(number, question);
        let (cancelled, ()) =
            tokio::join!(broker.respond(&question), async { broker.cancel(&question.id).unwrap() });
        let cancelled = cancelled.unwrap();
        assert_eq!((reason(&cancelled), cancelled.is_approval()), ("input request cancelled", false));
        let late = broker.respond(&question).await.unwrap();
        assert_eq!((reason(&late), late.by.as_str()), ("input request timeout", "desk"));
        let times = submitted.entries().iter().filter(|entry| **entry == title).count();
        assert_eq!(times, 2, "once for each time it waits");

        let unknown = Err(AnswerError::NoSuchQuestion { id: question.id.to_string() });
        assert_eq!(broker.answer(&question.id, Answer::text("late")), unknown);
        assert_eq!(broker.approve(&question.id), unknown);
        assert_eq!(broker.cancel(&question.id), unknown);
        assert_eq!(broker.pending_count(), 0);
    }
}
