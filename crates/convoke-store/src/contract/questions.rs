//! Contract: questions wait, and take answers that fit.

use std::time::Duration;

use convoke_core::store::Batch;
use convoke_core::{Answer, Question, StoreError};
use futures_util::future::join_all;

use super::Backend;
use super::samples::{fresh, id, make, question, refused};

/// Oldest first, of one run or of all, until they are closed.
pub async fn questions_wait_until_they_are_closed<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let (one, two) = (make(&*store, "one").await, make(&*store, "two").await);
    let late = question("one", "main/late", 30, Question::text("late?"));
    let early = question("one", "main/early", 10, Question::confirm("early?").details("more").quorum(2));
    let other = question("two", "main/other", 20, Question::approval("other?"));
    let opened = Batch { opened: vec![late.clone(), early.clone()], ..Batch::default() };
    store.append(&one, opened).await.expect("questions can be opened");
    store
        .append(&two, Batch { opened: vec![other.clone()], ..Batch::default() })
        .await
        .expect("questions can be opened");
    assert_eq!(store.questions(None).await, Ok(vec![early.clone(), other.clone(), late.clone()]));
    assert_eq!(store.questions(Some(&one.run)).await, Ok(vec![early.clone(), late.clone()]));

    let closed = Batch { closed: vec![early.id.clone(), other.id.clone()], ..Batch::default() };
    store.append(&one, closed).await.expect("closing what is not open is no error");
    assert_eq!(store.questions(None).await, Ok(vec![other, late]), "a run closes its own questions only");
    refused(
        store.answer(&one.run, &early.id, Answer::approve()).await,
        "a closed question takes no answer",
        |error| *error == StoreError::NoSuchQuestion { run: id("one"), question: early.id.to_string() },
    );

    let stray =
        Batch { opened: vec![question("two", "main/stray", 1, Question::confirm("?"))], ..Batch::default() };
    assert!(store.append(&one, stray).await.is_err(), "a run cannot open another's question");
}

/// Answers are checked against the question and kept in the order they came, also when it is closed.
pub async fn answers_must_fit_and_stay_in_order<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "asked").await;
    let asked =
        question("asked", "main/ask", 1, Question::approval("ship?").quorum(2).audience(["ann", "bob"]));
    store
        .append(&lease, Batch { opened: vec![asked.clone()], ..Batch::default() })
        .await
        .expect("questions can be opened");
    refused(
        store.answer(&lease.run, &asked.id, Answer::text("maybe")).await,
        "an answer must fit its question",
        |error| matches!(error, StoreError::Unfit(_)),
    );
    let unknown = question("asked", "main/elsewhere", 1, Question::confirm("?")).id;
    refused(
        store.answer(&lease.run, &unknown, Answer::approve()).await,
        "there is no such question",
        |error| matches!(error, StoreError::NoSuchQuestion { .. }),
    );
    refused(
        store.answer(&id("missing"), &asked.id, Answer::approve()).await,
        "there is no such run",
        |error| matches!(error, StoreError::NoSuchQuestion { .. }),
    );
    assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(vec![]), "refused answers are not kept");

    store.release(&lease);
    // Those of people it is not for are kept, and settle nothing.
    let mut given: Vec<Answer> =
        (0..12).map(|number| Answer::revise(format!("{number}")).by("eve")).collect();
    given.extend([Answer::approve().by("ann"), Answer::approve().by("ann"), Answer::approve().by("bob")]);
    for answer in &given {
        store.answer(&lease.run, &asked.id, answer.clone()).await.expect("answering needs no lease");
    }
    assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(given.clone()));
    let lease = store.claim(&lease.run, convoke_core::store::OnBusy::Refuse).await.expect("it was released");
    store
        .append(&lease, Batch { closed: vec![asked.id.clone()], ..Batch::default() })
        .await
        .expect("closing works");
    assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(given), "answers outlive their question");
}

/// Whoever answers is told whether that counts: of several at once, one.
pub async fn a_question_that_is_settled_takes_no_answer<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "raced").await;
    let asked = question("raced", "main/ask", 1, Question::approval("ship?"));
    let opened = Batch { opened: vec![asked.clone()], ..Batch::default() };
    store.append(&lease, opened).await.expect("questions can be opened");
    let others = [backend.open(&place).await, backend.open(&place).await];
    let results = join_all([
        store.answer(&lease.run, &asked.id, Answer::approve().by("ann")),
        others[0].answer(&lease.run, &asked.id, Answer::reject("no").by("bob")),
        others[1].answer(&lease.run, &asked.id, Answer::revise("shorter").by("cat")),
    ]);
    let results = results.await;
    let kept = store.answers(&lease.run, &asked.id).await.expect("answers can be read");
    assert_eq!(kept.len(), 1, "one answer settles it");
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "one is told that it counts");
    for result in results.into_iter().filter(Result::is_err) {
        let settled = StoreError::Answered {
            run: lease.run.clone(),
            question: asked.id.to_string(),
            verdict: Box::new(kept[0].clone()),
        };
        refused(result, "the others are told what counts", |error| *error == settled);
    }
}

/// What holds when nobody answers in time holds from then on, also before anybody has looked.
pub async fn an_answer_that_comes_too_late_is_refused<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "late").await;
    let brief = Question::confirm("Go?").expires_after(Duration::from_secs(1));
    let asked = question("late", "main/ask", 1, brief);
    let opened = Batch { opened: vec![asked.clone()], ..Batch::default() };
    store.append(&lease, opened).await.expect("questions can be opened");
    let late = store.answer(&lease.run, &asked.id, Answer::approve().by("ann")).await;
    refused(
        late,
        "its time was over",
        |error| matches!(error, StoreError::Answered { verdict, .. } if !verdict.is_approval() && verdict.by == "expiry"),
    );
    assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(vec![]), "and is not kept");
    let mut early = Answer::approve().by("ann");
    early.at = asked.asked;
    assert_eq!(store.answer(&lease.run, &asked.id, early).await, Ok(()), "one from before counts");
}

/// Opening an open question changes nothing, so no answer is lost; opening a closed one begins anew.
pub async fn a_question_opened_twice_keeps_its_answers<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "twice").await;
    let first = question("twice", "main/ask", 1, Question::confirm("first?"));
    let again = question("twice", "main/ask", 2, Question::confirm("again?"));
    let open = |question: &_| Batch { opened: vec![Clone::clone(question)], ..Batch::default() };
    store.append(&lease, open(&first)).await.expect("questions can be opened");
    let answer = Answer::approve().by("ann");
    store.answer(&lease.run, &first.id, answer.clone()).await.expect("it fits");
    store.append(&lease, open(&again)).await.expect("an open question can be opened again");
    assert_eq!(
        store.questions(None).await,
        Ok(vec![first.clone()]),
        "the question that waits goes on waiting"
    );
    assert_eq!(store.answers(&lease.run, &first.id).await, Ok(vec![answer]), "and keeps its answers");

    let close = Batch { closed: vec![first.id.clone()], ..Batch::default() };
    store.append(&lease, close).await.expect("questions can be closed");
    store.append(&lease, open(&again)).await.expect("a closed question can be opened again");
    assert_eq!(store.questions(None).await, Ok(vec![again.clone()]));
    assert_eq!(store.answers(&lease.run, &again.id).await, Ok(vec![]), "old answers are no answers to it");
}
