//! Contract: one writer per run.

use convoke_core::StoreError;
use convoke_core::store::OnBusy;
use futures_util::future::join_all;

use super::Backend;
use super::samples::{batch, fresh, id, make, new_run, refused, seqs};

/// An id is taken once; a run that is not there can be neither claimed nor written.
pub async fn an_id_names_one_run<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "taken").await;
    refused(store.create(new_run("taken")).await, "an id can be used once", |error| {
        *error == StoreError::Exists { run: id("taken") }
    });
    store.append(&lease, batch([1])).await.expect("the first holder is not disturbed");
    let creations = (0..8).map(|_| store.create(new_run("raced")));
    let made = join_all(creations).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(made, 1, "of several that make a run with the same id, one does");

    let missing = StoreError::NotFound { run: id("missing") };
    let claimed = store.claim(&id("missing"), OnBusy::TakeOver).await;
    assert_eq!(claimed, Err(missing.clone()), "a run that is not there cannot be claimed");
    let mut stray = lease;
    stray.run = id("missing");
    assert_eq!(
        store.append(&stray, batch([1])).await,
        Err(missing),
        "a run that is not there cannot be written"
    );
}

/// Whoever claimed last can write; every earlier lease writes nothing more, through any handle.
pub async fn a_claim_ends_every_earlier_lease<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let other = backend.open(&place).await;
    let first = make(&*store, "fenced").await;
    store.append(&first, batch([1])).await.expect("the first lease can write");
    let second = other.claim(&first.run, OnBusy::TakeOver).await.expect("a run can be taken over");
    assert_eq!((first.epoch, second.epoch, second.next_seq), (1, 2, 2), "claims are counted, entries go on");
    for batch in [batch([2]), batch([]), batch([2])] {
        refused(store.append(&first, batch).await, "a lease that was taken over is fenced", |error| {
            *error == StoreError::Fenced { run: id("fenced"), ours: 1, current: 2 }
        });
    }
    store.release(&first);
    other.append(&second, batch([2])).await.expect("the release of an old lease does not end the new one");
    let third = store.claim(&first.run, OnBusy::TakeOver).await.expect("a run can be taken over");
    refused(other.append(&second, batch([3])).await, "a lease that was taken over is fenced", |error| {
        *error == StoreError::Fenced { run: id("fenced"), ours: 2, current: 3 }
    });
    store.append(&third, batch([3])).await.expect("the last lease can write");
    assert_eq!(seqs(&*store, &first.run).await, [1, 2, 3]);
    let record = store.run(&first.run).await.expect("readable").expect("the run is there");
    assert_eq!(record.epoch, 3);
}

/// A claim that does not take over is refused while somebody holds the run, and works once it was given back.
pub async fn a_held_run_is_busy_until_it_is_released<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let other = backend.open(&place).await;
    let lease = make(&*store, "held").await;
    for handle in [&store, &other] {
        refused(
            handle.claim(&lease.run, OnBusy::Refuse).await,
            "a held run is busy",
            |error| matches!(error, StoreError::Busy { run, holder } if *run == id("held") && !holder.is_empty()),
        );
    }
    store.append(&lease, batch([1])).await.expect("a refused claim changes nothing");
    store.release(&lease);
    let lease = store.claim(&lease.run, OnBusy::Refuse).await.expect("a released run can be claimed");
    assert_eq!((lease.epoch, lease.next_seq), (2, 2));
}

/// A lease that was given back is over, even if nobody has claimed the run since.
pub async fn a_released_lease_cannot_write<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "released").await;
    let ticket = store.append(&lease, batch([1]));
    store.release(&lease);
    assert_eq!(ticket.await, Ok(()), "what was appended before the release is written");
    refused(store.append(&lease, batch([2])).await, "a lease that was given back cannot write", |_| true);
    assert_eq!(seqs(&*store, &lease.run).await, [1]);
}

/// Of many that claim a free run at once, through two handles, one gets it.
pub async fn racing_claims_have_one_winner<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let other = backend.open(&place).await;
    let lease = make(&*store, "race").await;
    store.release(&lease);
    // A release is not awaited. A claim through the same handle comes after it, one through another may not.
    let lease = store.claim(&lease.run, OnBusy::Refuse).await.expect("a released run can be claimed");
    store.release(&lease);
    let claims = (0..20).map(|number| {
        let handle = if number % 2 == 0 { &store } else { &other };
        handle.claim(&lease.run, OnBusy::Refuse)
    });
    let won: Vec<_> = join_all(claims).await.into_iter().filter_map(Result::ok).collect();
    assert_eq!(won.len(), 1, "exactly one claim wins: {won:?}");
    assert_eq!(won[0].epoch, 3);
}

/// Takeovers always succeed; each has a number of its own, and the highest is in force.
pub async fn the_last_of_racing_takeovers_can_write_and_no_other<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let other = backend.open(&place).await;
    let lease = make(&*store, "takeover").await;
    let claims =
        (0..10).map(|number| {
            let handle = if number % 2 == 0 { &store } else { &other };
            async move {
                (handle, handle.claim(&id("takeover"), OnBusy::TakeOver).await.expect("always succeeds"))
            }
        });
    let mut leases = join_all(claims).await;
    leases.sort_by_key(|(_, lease)| lease.epoch);
    let epochs: Vec<u64> = leases.iter().map(|(_, lease)| lease.epoch).collect();
    assert_eq!(epochs, (2..=11).collect::<Vec<_>>(), "every claim has a number of its own");
    let written = join_all(leases.iter().map(|(handle, lease)| handle.append(lease, batch([1])))).await;
    let (last, earlier) = written.split_last().expect("there were claims");
    assert_eq!(*last, Ok(()), "the last lease can write");
    assert!(earlier.iter().all(|result| matches!(result, Err(StoreError::Fenced { current: 11, .. }))));
    assert_eq!(seqs(&*store, &lease.run).await, [1]);
}
