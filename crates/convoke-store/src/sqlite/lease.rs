//! Leases of one handle, and whether they may still write.
//!
//! This is the fast half of fencing: what the next entry's number is, and whether an earlier batch failed. It never
//! decides alone. That a lease is still in force is read from the database, in the transaction that writes.

use std::collections::HashMap;

use convoke_core::store::Lease;
use convoke_core::{RunId, StoreError};

/// A lease this handle gave and nobody gave back.
#[derive(Debug)]
pub(super) struct HeldLease {
    /// The run's number in the tables.
    pub(super) key: i64,
    /// Which claim it is.
    pub(super) epoch: u64,
    /// The number the next entry must have, or why there can be no next one.
    pub(super) next_seq: Result<u64, StoreError>,
}

/// All leases of one handle.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: HashMap<RunId, HeldLease>,
    /// Leases that ended because a transaction was lost, and by what, until the run is taken again.
    lost: HashMap<RunId, (u64, StoreError)>,
    /// Leases that were given back in a transaction that was lost: the tables still have them.
    unreturned: Vec<Lease>,
}

impl Leases {
    /// Notes a lease that is about to be given. An earlier one on the same run ends.
    pub(super) fn grant(&mut self, lease: &Lease, key: i64) {
        self.lost.remove(&lease.run);
        self.held
            .insert(lease.run.clone(), HeldLease { key, epoch: lease.epoch, next_seq: Ok(lease.next_seq) });
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The runs of these leases, their numbers in the tables, and how many entries each has.
    pub(super) fn written(&self) -> impl Iterator<Item = (&RunId, i64, u64)> {
        let held = self.held.iter();
        held.filter_map(|(run, held)| Some((run, held.key, held.next_seq.as_ref().ok()? - 1)))
    }

    /// The lease, if it is one of ours.
    pub(super) fn find(&self, lease: &Lease) -> Option<&HeldLease> {
        self.held.get(&lease.run).filter(|held| held.epoch == lease.epoch)
    }

    /// Whether a run is held under this claim.
    pub(super) fn holds(&self, run: &RunId, epoch: u64) -> bool {
        self.held.get(run).is_some_and(|held| held.epoch == epoch)
    }

    /// Notes what became of a lease's batch: how the next one must begin, or why there can be none.
    pub(super) fn appended(&mut self, lease: &Lease, next_seq: Result<u64, StoreError>) {
        if let Some(held) = self.held.get_mut(&lease.run).filter(|held| held.epoch == lease.epoch) {
            held.next_seq = next_seq;
        }
    }

    /// Forgets a run's lease: it was given back, or its run is gone.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.held.remove(run);
        self.lost.remove(run);
    }

    /// Ends a run's lease because a transaction was lost: nobody knows where it could go on.
    pub(super) fn lose(&mut self, run: &RunId, cause: &StoreError) {
        if let Some(held) = self.held.remove(run) {
            let first = held.next_seq.err().unwrap_or_else(|| cause.clone());
            self.lost.insert(run.clone(), (held.epoch, first));
        }
    }

    /// Notes a lease that is to be given back as soon as the store can be written.
    pub(super) fn return_later(&mut self, lease: &Lease) {
        self.unreturned.push(lease.clone());
    }

    /// Whether there are leases to be given back.
    pub(super) fn has_unreturned(&self) -> bool {
        !self.unreturned.is_empty()
    }

    /// The leases to be given back.
    pub(super) fn take_unreturned(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.unreturned)
    }

    /// Why a lease ended, if it was lost.
    pub(super) fn lost(&self, lease: &Lease) -> Option<&StoreError> {
        self.lost.get(&lease.run).filter(|(epoch, _)| *epoch == lease.epoch).map(|(_, cause)| cause)
    }

    /// The leases still held, at the end.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = HeldLease> + '_ {
        self.held.drain().map(|(_, held)| held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(run: &str, epoch: u64) -> Lease {
        Lease { run: run.parse().unwrap(), epoch, next_seq: 4 }
    }

    #[test]
    fn a_lease_is_held_from_when_it_is_given_until_it_is_given_back_or_lost() {
        let (mut leases, one, two) = (Leases::default(), lease("one", 7), lease("two", 1));
        assert!(leases.is_empty() && leases.find(&one).is_none());
        leases.grant(&one, 11);
        leases.grant(&two, 12);
        assert!(!leases.is_empty() && leases.holds(&one.run, 7) && !leases.holds(&one.run, 6));
        let mut written: Vec<_> =
            leases.written().map(|(run, key, entries)| (run.clone(), key, entries)).collect();
        written.sort();
        assert_eq!(written, [(one.run.clone(), 11, 3), (two.run.clone(), 12, 3)]);
        leases.forget(&one.run);
        assert!(!leases.holds(&one.run, 7) && leases.lost(&one).is_none());
        leases.lose(&two.run, &StoreError::Failed("full".to_owned()));
        assert_eq!(leases.lost(&two), Some(&StoreError::Failed("full".to_owned())));
        assert!(leases.is_empty() && leases.lost(&lease("two", 2)).is_none());
        leases.grant(&two, 12);
        assert!(leases.lost(&two).is_none(), "it was taken again");
    }
}
