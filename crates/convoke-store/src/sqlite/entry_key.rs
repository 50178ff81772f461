//! Row keys of journal entries: the run's number in the upper half, the entry's in the lower.

use convoke_core::StoreError;

use super::failure::Fault;

const SEQ_BITS: u32 = 32;

/// The place of an entry of a run.
pub(super) fn of(run: i64, seq: u64) -> Result<i64, Fault> {
    let seq =
        u32::try_from(seq).map_err(|_| StoreError::Failed(format!("a run cannot have {seq} entries")))?;
    Ok(first(run) + i64::from(seq))
}

/// The first place of a run.
pub(super) fn first(run: i64) -> i64 {
    run << SEQ_BITS
}

/// The last place of a run.
pub(super) fn last(run: i64) -> i64 {
    first(run) + i64::from(u32::MAX)
}

/// The number of the entry at a place.
pub(super) fn seq(place: i64) -> u64 {
    (place & i64::from(u32::MAX)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_their_places_beside_each_other_and_never_in_common() {
        for (run, entry) in [(1, 1), (1, u64::from(u32::MAX)), (i64::from(i32::MAX), 7)] {
            let place = of(run, entry).unwrap();
            assert_eq!(seq(place), entry);
            assert!((first(run)..=last(run)).contains(&place));
        }
        assert_eq!(last(1) + 1, first(2));
        assert!(of(1, 1 << 32).is_err());
    }
}
