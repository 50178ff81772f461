//! Contract: mail is kept in order, once, and wakes the runs that wait for it.

use std::time::Duration;

use convoke_core::store::{
    AwaitedChannel, Batch, ForkPoint, Lease, NewMail, NewRun, OnBusy, PostReceipt, WaitConditions,
    reply_channel,
};
use convoke_core::{Answer, Question, RunStatus, Store, StoreError, Timestamp};
use futures_util::StreamExt;
use futures_util::future::{join, join3};
use futures_util::stream::BoxStream;

use super::Backend;
use super::samples::{change, entry, finish, fresh, id, make, new_run, question, refused};

fn mail(channel: &str, payload: u64) -> NewMail {
    NewMail::json(channel, &payload).expect("a number is JSON")
}

async fn payloads(store: &dyn Store, run: &str, channel: &str, after: u64) -> Vec<u64> {
    let mail = store.mail(&id(run), channel, after, usize::MAX).await.expect("mail can be read");
    mail.iter().map(|mail| mail.read().expect("it is a number")).collect()
}

async fn due(store: &dyn Store) -> Vec<String> {
    let due = store.due(Timestamp::now(), 100).await.expect("what is due can be asked");
    due.iter().map(|due| due.run.to_string()).collect()
}

/// Suspends a run that waits for this, and gives its lease back.
async fn suspend(store: &dyn Store, run: &str, waits: WaitConditions) {
    let lease = make(store, run).await;
    let mut batch = change(RunStatus::Suspended);
    batch.change.iter_mut().for_each(|change| change.waits = waits.clone());
    store.append(&lease, batch).await.expect("a run can be suspended");
    let_go(store, &lease).await;
}

/// Gives a lease back. Nobody can await that, but what is written after it comes after it.
async fn let_go(store: &dyn Store, lease: &Lease) {
    store.release(lease);
    store.delete(&id("nothing")).await.expect("there is no such run");
}

fn on(channel: &str, after: u64) -> WaitConditions {
    WaitConditions { channels: vec![AwaitedChannel { name: channel.to_owned(), after }], until: None }
}

/// In the order it came, by channel, from a number on; whether anybody holds the run, and to nobody else.
pub async fn mail_is_kept_in_order<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "sent").await;
    make(&*store, "other").await;
    let first = store.post(&lease.run, mail("a", 1).sender("ann")).await.expect("it is held");
    store.post(&lease.run, mail("b", 2)).await.expect("another channel");
    let_go(&*store, &lease).await;
    let other = backend.open(&place).await;
    let third = other.post(&lease.run, mail("a", 3)).await.expect("nobody holds it");
    assert!(first.is_new && third.is_new && first.number < third.number);
    assert_eq!(payloads(&*store, "sent", "a", 0).await, [1, 3]);
    assert_eq!(payloads(&*store, "sent", "a", first.number).await, [3]);
    assert_eq!(payloads(&*store, "sent", "b", 0).await, [2]);
    assert!(payloads(&*store, "other", "a", 0).await.is_empty());
    let one = store.mail(&lease.run, "a", 0, 1).await.expect("mail can be read");
    assert_eq!((one.len(), &*one[0].sender, &*one[0].channel), (1, "ann", "a"));
    refused(store.post(&id("missing"), mail("a", 1)).await, "there is no such run", |error| {
        matches!(error, StoreError::NotFound { .. })
    });
}

/// What has the same key on the same channel of the same run is kept once, also if it comes from two sides at once.
pub async fn mail_with_a_key_is_kept_once<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "keyed").await;
    make(&*store, "other").await;
    let other = backend.open(&place).await;
    let (one, two) =
        join(store.post(&lease.run, mail("a", 1).key("k")), other.post(&lease.run, mail("a", 2).key("k")))
            .await;
    let (one, two) = (one.expect("it is kept"), two.expect("it is kept"));
    assert!(one.is_new != two.is_new && one.number == two.number, "{one:?} {two:?}");
    let again = store.post(&lease.run, mail("a", 3).key("k")).await;
    assert_eq!(again, Ok(PostReceipt { number: one.number, is_new: false }));
    assert_eq!(payloads(&*store, "keyed", "a", 0).await.len(), 1);
    assert!(store.post(&lease.run, mail("b", 4).key("k")).await.is_ok_and(|posted| posted.is_new));
    assert!(store.post(&id("other"), mail("a", 5).key("k")).await.is_ok_and(|posted| posted.is_new));
}

/// What was sent under a key is found wherever it was sent.
pub async fn mail_is_found_by_its_key<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "keyed").await;
    make(&*store, "other").await;
    for (channel, key, payload) in [("b", "k", 1), ("a", "l", 2), ("a", "k", 3)] {
        store.post(&lease.run, mail(channel, payload).key(key)).await.expect("it is kept");
    }
    store.post(&lease.run, mail("a", 4)).await.expect("it has no key");
    let found = store.mail_by_key(&lease.run, "k").await.expect("mail can be read");
    let found: Vec<(&str, u64)> =
        found.iter().map(|mail| (&*mail.channel, mail.read().expect("it is a number"))).collect();
    assert_eq!(found, [("b", 1), ("a", 3)], "in the order in which it came");
    assert_eq!(store.mail_by_key(&lease.run, "m").await, Ok(vec![]));
    assert_eq!(store.mail_by_key(&id("other"), "k").await, Ok(vec![]));
    assert_eq!(store.mail_by_key(&id("missing"), "k").await, Ok(vec![]));
}

/// A run that ended well takes nothing; one that may go on does.
pub async fn a_completed_run_takes_no_mail<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let (done, failed) = (make(&*store, "done").await, make(&*store, "failed").await);
    store.post(&done.run, mail("a", 1).key("k")).await.expect("it is under way");
    finish(&*store, &done, RunStatus::Completed).await;
    finish(&*store, &failed, RunStatus::Failed).await;
    refused(store.post(&done.run, mail("a", 2)).await, "it is completed", |error| {
        *error == StoreError::Over { run: id("done"), status: RunStatus::Completed }
    });
    let again = store.post(&done.run, mail("a", 1).key("k")).await;
    assert!(again.is_ok_and(|posted| !posted.is_new), "what it took before is still known");
    assert!(store.post(&failed.run, mail("a", 3)).await.is_ok());
}

/// A suspended run is due when there is mail where it waits, not before, and not for other mail.
pub async fn a_run_is_due_when_it_is_sent_what_it_waits_for<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    suspend(&*store, "waits", on("a", 0)).await;
    let record = store.run(&id("waits")).await.expect("a record can be read").expect("there is one");
    assert_eq!((record.channels, record.wake), (vec!["a".to_owned()], None));
    store.post(&id("waits"), mail("b", 1)).await.expect("mail is taken");
    assert_eq!(due(&*store).await, [] as [&str; 0]);
    let other = backend.open(&place).await;
    let posted = other.post(&id("waits"), mail("a", 2)).await.expect("mail is taken");
    assert_eq!(due(&*store).await, ["waits"]);

    let lease = store.claim(&id("waits"), OnBusy::Refuse).await.expect("nobody has it");
    assert_eq!(due(&*store).await, [] as [&str; 0], "somebody has it");
    store.append(&lease, change(RunStatus::Running)).await.expect("it goes on");
    assert_eq!(due(&*store).await, [] as [&str; 0], "it is under way");
    let_go(&*store, &lease).await;
    assert_eq!(due(&*store).await, ["waits"], "it was left in the middle");
    let record = store.run(&id("waits")).await.expect("a record can be read").expect("there is one");
    assert_eq!((record.channels, record.wake), (vec![], None));

    // What came before it was suspended counts, unless the run has seen it.
    suspend_again(&*store, "waits", on("a", posted.number)).await;
    assert_eq!(due(&*store).await, [] as [&str; 0]);
    suspend_again(&*store, "waits", on("a", posted.number - 1)).await;
    assert_eq!(due(&*store).await, ["waits"]);
}

async fn suspend_again(store: &dyn Store, run: &str, waits: WaitConditions) {
    let lease = store.claim(&id(run), OnBusy::Refuse).await.expect("nobody has it");
    let mut batch = change(RunStatus::Suspended);
    batch.change.iter_mut().for_each(|change| change.waits = waits.clone());
    store.append(&lease, batch).await.expect("a run can be suspended");
    let_go(store, &lease).await;
}

/// A suspended run is due when its time has come, the earliest first, and no more than were asked for.
pub async fn a_run_is_due_when_its_time_has_come<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let now = Timestamp::now();
    let at = |time| WaitConditions { until: Some(time), channels: Vec::new() };
    suspend(&*store, "later", at(now - Duration::from_secs(1))).await;
    suspend(&*store, "sooner", at(now - Duration::from_secs(2))).await;
    suspend(&*store, "tomorrow", at(now + Duration::from_secs(86_400))).await;
    suspend(&*store, "never", WaitConditions::default()).await;
    assert_eq!(due(&*store).await, ["sooner", "later"]);
    let one = store.due(now, 1).await.expect("what is due can be asked");
    assert_eq!(one.iter().map(|due| due.run.as_str()).collect::<Vec<_>>(), ["sooner"]);
    let all = store.due(now + Duration::from_secs(90_000), 100).await.expect("what is due can be asked");
    assert_eq!(
        all.last().map(|due| (due.run.as_str(), due.at)),
        Some(("tomorrow", now + Duration::from_secs(86_400)))
    );
    let record = store.run(&id("tomorrow")).await.expect("a record can be read").expect("there is one");
    assert_eq!(record.wake, Some(now + Duration::from_secs(86_400)));
}

/// Runs that somebody works on, however many and however old, are not in the way of those that are due.
pub async fn runs_under_way_are_not_in_the_way_of_those_that_are_due<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for number in 0..20 {
        make(&*store, &format!("held-{number}")).await;
    }
    suspend(&*store, "due", WaitConditions { until: Some(Timestamp::now()), channels: Vec::new() }).await;
    let left = make(&*store, "left").await;
    let_go(&*store, &left).await;
    let due = store.due(Timestamp::now(), 2).await.expect("what is due can be asked");
    let mut due: Vec<&str> = due.iter().map(|due| due.run.as_str()).collect();
    due.sort_unstable();
    assert_eq!(due, ["due", "left"]);
}

/// A fork is due when somebody who went on with it has left it, not when it is made.
pub async fn a_fork_is_due_once_somebody_has_gone_on_with_it<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let from = make(&*store, "other").await;
    let forked_from = Some(ForkPoint { run: from.run, at: 1 });
    let made = store.create(NewRun { forked_from, ..new_run("fork") }).await.expect("a fork can be made");
    let_go(&*store, &made).await;
    assert_eq!(due(&*store).await, [] as [&str; 0], "it waits for whoever made it");
    let taken = store.claim(&made.run, OnBusy::Refuse).await.expect("nobody has it");
    let_go(&*store, &taken).await;
    assert_eq!(due(&*store).await, ["fork"], "it was left in the middle");
}

/// A suspended run is due when its question is settled, by an answer before or after it was suspended, and not by one of two
/// that are needed.
pub async fn a_run_is_due_when_its_question_is_settled<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for (run, quorum) in [("one", 1), ("two", 2)] {
        let lease = make(&*store, run).await;
        let asked = question(run, "main/ask", 1, Question::confirm("?").quorum(quorum));
        let opened = Batch { opened: vec![asked.clone()], ..change(RunStatus::Suspended) };
        store.append(&lease, opened).await.expect("a run can be suspended");
        let_go(&*store, &lease).await;
        assert_eq!(due(&*store).await, [] as [&str; 0]);
        store.answer(&lease.run, &asked.id, Answer::approve().by("ann")).await.expect("it fits");
        if quorum == 2 {
            assert_eq!(due(&*store).await, [] as [&str; 0], "another must approve");
            store.answer(&lease.run, &asked.id, Answer::approve().by("bob")).await.expect("it fits");
        }
        assert_eq!(due(&*store).await, [run]);
        suspend_again(&*store, run, WaitConditions::default()).await;
        assert_eq!(due(&*store).await, [run], "it was answered before it was suspended");
        let lease = store.claim(&lease.run, OnBusy::Refuse).await.expect("nobody has it");
        finish(&*store, &lease, RunStatus::Failed).await;
    }
}

/// An answer may come before its question, and counts once that is asked.
pub async fn an_answer_that_comes_early_is_kept<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "early").await;
    let asked = question("early", "main/ask", 1, Question::confirm("?"));
    refused(
        store.answer(&lease.run, &asked.id, Answer::approve()).await,
        "who answers is told that there is no question",
        |error| matches!(error, StoreError::NoSuchQuestion { .. }),
    );
    let answer = Answer::approve().by("ann");
    let reply = NewMail::reply(&asked.id, &answer).expect("an answer is JSON");
    store.post(&lease.run, reply.clone()).await.expect("who sends it knows what they do");
    store
        .append(&lease, Batch { opened: vec![asked.clone()], ..change(RunStatus::Suspended) })
        .await
        .expect("questions can be opened");
    let_go(&*store, &lease).await;
    assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(vec![answer]));
    assert_eq!(due(&*store).await, ["early"]);
    refused(store.post(&lease.run, reply).await, "it is settled", |error| {
        matches!(error, StoreError::Answered { .. })
    });
    let mut nonsense = mail("a", 1);
    nonsense.channel = reply_channel(&asked.id);
    assert!(store.post(&lease.run, nonsense).await.is_err(), "that is no answer");
}

/// A run that is told to end is due whatever it waits for.
pub async fn a_run_that_is_told_to_end_is_due<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    suspend(&*store, "ending", on("a", 0)).await;
    store.post(&id("ending"), NewMail::cancel("enough").expect("words are JSON")).await.expect("it is kept");
    assert_eq!(due(&*store).await, ["ending"]);
    suspend_again(&*store, "ending", on("a", 0)).await;
    assert_eq!(due(&*store).await, ["ending"], "also if it was told before");
}

/// Whoever watches is told of what happens to a run, through this handle and through others.
pub async fn whoever_watches_is_told<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "watched").await;
    make(&*store, "other").await;
    let other = backend.open(&place).await;
    for (sent, sender) in [(1, &store), (2, &other)] {
        // Whoever waits has looked and found nothing before anything is sent; what they are told then makes them look again.
        let wait = |mut watch: BoxStream<'static, ()>| {
            let store = &store;
            async move {
                while payloads(&**store, "watched", "a", 0).await.len() < sent {
                    watch.next().await.expect("there is always more to come");
                }
            }
        };
        let (run, any) = (wait(store.watch(Some(&lease.run))), wait(store.watch(None)));
        let ((), (), posted) = join3(run, any, sender.post(&lease.run, mail("a", 1))).await;
        posted.expect("it is kept");
    }
}

/// Whoever watches a run is told when it is given back: it may be free for them.
pub async fn whoever_watches_is_told_when_a_run_is_given_back<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "held").await;
    let mut watch = store.watch(Some(&lease.run));
    // A store may say once more than it must, when it begins to watch; that is over with the second letter.
    for number in 1..=2 {
        store.post(&lease.run, mail("a", number)).await.expect("it is kept");
    }
    watch.next().await.expect("there is always more to come");
    store.release(&lease);
    watch.next().await.expect("there is always more to come");
}

/// Whoever follows a run is told of what it writes, through this handle and through others.
pub async fn whoever_follows_is_told<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "followed").await;
    let other = backend.open(&place).await;
    for (written, reader) in [(1, &store), (2, &other)] {
        let mut follow = reader.follow(&lease.run);
        let reads = async {
            while reader.entries(&lease.run, 1, 9).await.expect("they can be read").len() < written {
                follow.next().await.expect("there is always more to come");
            }
        };
        let batch = Batch { entries: vec![entry(written as u64)], ..Batch::default() };
        let ((), appended) = join(reads, store.append(&lease, batch)).await;
        appended.expect("it is written");
    }
}

/// A lease can be asked about without writing.
pub async fn a_lease_is_confirmed_until_somebody_else_has_the_run<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "held").await;
    assert_eq!(store.confirm(&lease).await, Ok(()));
    let other = backend.open(&place).await;
    other.claim(&lease.run, OnBusy::TakeOver).await.expect("it can be taken over");
    refused(store.confirm(&lease).await, "somebody else has it", |error| {
        matches!(error, StoreError::Fenced { ours: 1, current: 2, .. })
    });
}
