//! Contract: many writers at once.

use convoke_core::RunStatus;
use futures_util::future::join_all;

use super::Backend;
use super::samples::{batch, change, fresh, id, make, seqs};

/// Fifty runs, each appending as soon as its last append is durable, through two handles.
pub async fn many_runs_are_written_at_the_same_time<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let other = backend.open(&place).await;
    let runs = (0..50).map(|number| {
        let handle = if number % 2 == 0 { &store } else { &other };
        async move {
            let lease = make(&**handle, &format!("run-{number}")).await;
            for seq in 1..=20 {
                handle.append(&lease, batch([seq])).await.expect("runs do not disturb each other");
            }
            handle.append(&lease, change(RunStatus::Completed)).await.expect("a run can end");
        }
    });
    join_all(runs).await;
    for number in 0..50 {
        let expected: Vec<u64> = (1..=20).collect();
        assert_eq!(
            seqs(&*store, &id(&format!("run-{number}"))).await,
            expected,
            "run {number} has all its entries"
        );
    }
}

/// Appends that are refused do not take those of other runs with them, whatever is committed together.
pub async fn a_failing_run_does_not_disturb_its_neighbours<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let good = make(&*store, "good").await;
    let mut tickets = Vec::new();
    for seq in 1..=40 {
        let bad = make(&*store, &format!("bad-{seq}")).await;
        let refused = [store.append(&bad, batch([1, 5])), store.append(&bad, batch([1]))];
        tickets.push((store.append(&good, batch([seq])), refused));
    }
    for (accepted, refused) in tickets {
        assert_eq!(accepted.await, Ok(()), "a neighbour's failure is not ours");
        assert!(
            join_all(refused).await.iter().all(Result::is_err),
            "a bad batch and what follows it are refused"
        );
    }
    assert_eq!(seqs(&*store, &good.run).await, (1..=40).collect::<Vec<_>>());
}
