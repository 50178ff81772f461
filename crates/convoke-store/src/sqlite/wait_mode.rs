//! The choice between sleeping and spinning while a commit is awaited.
//!
//! A task that waits for its commit can sleep, or spin until its end. Which of the two is faster depends on the disk,
//! the cores and what else they do; spinning can even slow the commit down, by keeping a core busy that the kernel
//! needs for it. So both are tried, and the better one is used until the next try.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Commits that take longer than this are not worth spinning for: to be woken costs little in comparison.
const SHORT: Duration = Duration::from_micros(250);
/// For so many rounds the worse way of waiting is tried,
const TRIAL: u32 = 16;
/// and then the better one used.
const USE: u32 = 500;

/// What the writer and those who wait for it know of each other.
#[derive(Debug, Default)]
pub(super) struct WaitState {
    waiting: AtomicUsize,
    spins: AtomicBool,
    /// Microseconds for which to look out.
    patience: AtomicU32,
}

impl WaitState {
    /// Somebody begins to wait.
    pub(super) fn begins(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody waits no longer.
    pub(super) fn ends(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// For how long a task should look out for the end of its commit, if it should.
    pub(super) fn patience(&self) -> Option<Duration> {
        // Among several, one commit follows the other anyway, and the cores have better things to do.
        let is_alone = self.waiting.load(Ordering::Relaxed) <= 1;
        (is_alone && self.spins.load(Ordering::Relaxed))
            .then(|| Duration::from_micros(self.patience.load(Ordering::Relaxed).into()))
    }

    #[cfg(test)]
    pub(super) fn spinning(patience: Duration) -> Self {
        let waits = Self::default();
        waits.set_mode(WaitMode::Spin, patience);
        waits
    }

    fn set_mode(&self, way: WaitMode, patience: Duration) {
        self.patience.store(u32::try_from(patience.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.spins.store(way == WaitMode::Spin, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitMode {
    Sleep = 0,
    Spin = 1,
}

/// Finds out which way of waiting is the better one. The writer has it.
#[derive(Debug)]
pub(super) struct WaitTuner {
    has_several_cores: bool,
    way: WaitMode,
    is_trial: bool,
    rounds_left: u32,
    /// Nanoseconds that a round took lately: sleeping, and spinning.
    averages: [Option<u64>; 2],
}

impl Default for WaitTuner {
    fn default() -> Self {
        let has_several_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        Self {
            has_several_cores,
            way: WaitMode::Sleep,
            is_trial: true,
            rounds_left: TRIAL,
            averages: [None; 2],
        }
    }
}

impl WaitTuner {
    /// Takes note of a round: from the beginning of a commit for one task alone to its next one, which came at once.
    pub(super) fn round(&mut self, took: Duration, waits: &WaitState) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let average = &mut self.averages[self.way as usize];
        // One round that took very long says nothing about the others, hence the limit.
        *average = Some(average.map_or(took, |before| before - before / 8 + took.min(before * 2) / 8));
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 {
            self.choose();
            let patience =
                Duration::from_nanos(self.averages.iter().flatten().min().copied().unwrap_or(0)) * 2;
            waits.set_mode(self.way, patience);
        }
    }

    fn choose(&mut self) {
        let [sleeping, spinning] = self.averages;
        let is_short = sleeping.is_some_and(|average| Duration::from_nanos(average) < SHORT);
        let better = if spinning < sleeping { WaitMode::Spin } else { WaitMode::Sleep };
        let other = if self.way == WaitMode::Sleep { WaitMode::Spin } else { WaitMode::Sleep };
        let is_other_unknown = self.averages[other as usize].is_none();
        self.is_trial = !self.is_trial || is_other_unknown;
        self.way = if self.is_trial { other } else { better };
        if !self.has_several_cores || !is_short {
            (self.way, self.is_trial) = (WaitMode::Sleep, false);
        } else if self.is_trial {
            // What is known about it is old.
            self.averages[other as usize] = None;
        }
        self.rounds_left = if self.is_trial { TRIAL } else { USE };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets rounds take as long as the way of waiting makes them. Gives how often tasks spun.
    fn observe(observer: &mut WaitTuner, rounds: u32, sleeping: u64, spinning: u64) -> u32 {
        let waits = WaitState::default();
        waits.set_mode(observer.way, Duration::ZERO);
        let mut spun = 0;
        for _ in 0..rounds {
            let spins = waits.patience().is_some();
            spun += u32::from(spins);
            observer.round(Duration::from_micros(if spins { spinning } else { sleeping }), &waits);
        }
        spun
    }

    fn observer() -> WaitTuner {
        WaitTuner { has_several_cores: true, ..WaitTuner::default() }
    }

    #[test]
    fn spinning_is_used_where_it_pays() {
        let spun = observe(&mut observer(), 4 * USE, 130, 105);
        assert!(spun > 3 * USE, "{spun} of {} rounds", 4 * USE);
    }

    #[test]
    fn spinning_is_only_tried_where_it_hurts() {
        let spun = observe(&mut observer(), 4 * USE, 105, 150);
        assert!((TRIAL..=4 * TRIAL).contains(&spun), "{spun} of {} rounds", 4 * USE);
    }

    #[test]
    fn what_is_better_is_found_out_anew() {
        let mut observer = observer();
        observe(&mut observer, USE, 105, 150);
        let spun = observe(&mut observer, 4 * USE, 130, 105);
        assert!(spun > 2 * USE, "{spun} of {} rounds", 4 * USE);
    }

    #[test]
    fn nobody_spins_for_a_slow_disk_or_on_a_single_core() {
        assert_eq!(observe(&mut observer(), 2 * USE, 300, 100), 0);
        let mut single = WaitTuner { has_several_cores: false, ..WaitTuner::default() };
        assert_eq!(observe(&mut single, 2 * USE, 130, 105), 0);
    }

    #[test]
    fn nobody_spins_among_several() {
        let waits = WaitState::default();
        waits.set_mode(WaitMode::Spin, Duration::from_micros(200));
        waits.begins();
        assert_eq!(waits.patience(), Some(Duration::from_micros(200)));
        waits.begins();
        assert_eq!(waits.patience(), None);
    }
}
