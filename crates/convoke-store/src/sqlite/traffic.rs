//! The choice between sleeping and spinning while a commit is awaited.
//!
//! A task that waits for its commit can sleep, or look out for its end. Which of the two is faster depends on the disk,
//! the cores and what else they do; looking out can even slow the commit down, by keeping a core busy that the kernel
//! needs for it. So both are tried, and the better one is used until the next try.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Commits that take longer than this are not worth looking out for: to be woken costs little in comparison.
const SHORT: Duration = Duration::from_micros(250);
/// For so many rounds the worse way of waiting is tried,
const TRIAL: u32 = 16;
/// and then the better one used.
const USE: u32 = 500;

/// What the writer and those who wait for it know of each other.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    waiting: AtomicUsize,
    looks_out: AtomicBool,
    /// Microseconds for which to look out.
    patience: AtomicU32,
}

impl Traffic {
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
        (is_alone && self.looks_out.load(Ordering::Relaxed))
            .then(|| Duration::from_micros(self.patience.load(Ordering::Relaxed).into()))
    }

    #[cfg(test)]
    pub(super) fn looking_out(patience: Duration) -> Self {
        let traffic = Self::default();
        traffic.wait_like(Way::LookOut, patience);
        traffic
    }

    fn wait_like(&self, way: Way, patience: Duration) {
        self.patience.store(u32::try_from(patience.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.looks_out.store(way == Way::LookOut, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Sleep = 0,
    LookOut = 1,
}

/// Finds out which way of waiting is the better one. The writer has it.
#[derive(Debug)]
pub(super) struct Observer {
    has_several_cores: bool,
    way: Way,
    is_trial: bool,
    rounds_left: u32,
    /// Nanoseconds that a round took lately: sleeping, and looking out.
    averages: [Option<u64>; 2],
}

impl Default for Observer {
    fn default() -> Self {
        let has_several_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        Self { has_several_cores, way: Way::Sleep, is_trial: true, rounds_left: TRIAL, averages: [None; 2] }
    }
}

impl Observer {
    /// Takes note of a round: from the beginning of a commit for one task alone to its next one, which came at once.
    pub(super) fn round(&mut self, took: Duration, traffic: &Traffic) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let average = &mut self.averages[self.way as usize];
        // One round that took very long says nothing about the others, hence the limit.
        *average = Some(average.map_or(took, |before| before - before / 8 + took.min(before * 2) / 8));
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 {
            self.choose();
            let patience =
                Duration::from_nanos(self.averages.iter().flatten().min().copied().unwrap_or(0)) * 2;
            traffic.wait_like(self.way, patience);
        }
    }

    fn choose(&mut self) {
        let [sleeping, looking_out] = self.averages;
        let is_short = sleeping.is_some_and(|average| Duration::from_nanos(average) < SHORT);
        let better = if looking_out < sleeping { Way::LookOut } else { Way::Sleep };
        let other = if self.way == Way::Sleep { Way::LookOut } else { Way::Sleep };
        let is_other_unknown = self.averages[other as usize].is_none();
        self.is_trial = !self.is_trial || is_other_unknown;
        self.way = if self.is_trial { other } else { better };
        if !self.has_several_cores || !is_short {
            (self.way, self.is_trial) = (Way::Sleep, false);
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

    /// Lets rounds take as long as the way of waiting makes them. Gives how often tasks looked out.
    fn observe(observer: &mut Observer, rounds: u32, sleeping: u64, looking_out: u64) -> u32 {
        let traffic = Traffic::default();
        traffic.wait_like(observer.way, Duration::ZERO);
        let mut looked_out = 0;
        for _ in 0..rounds {
            let looks_out = traffic.patience().is_some();
            looked_out += u32::from(looks_out);
            observer.round(Duration::from_micros(if looks_out { looking_out } else { sleeping }), &traffic);
        }
        looked_out
    }

    fn observer() -> Observer {
        Observer { has_several_cores: true, ..Observer::default() }
    }

    #[test]
    fn looking_out_is_used_where_it_pays() {
        let looked_out = observe(&mut observer(), 4 * USE, 130, 105);
        assert!(looked_out > 3 * USE, "{looked_out} of {} rounds", 4 * USE);
    }

    #[test]
    fn looking_out_is_only_tried_where_it_hurts() {
        let looked_out = observe(&mut observer(), 4 * USE, 105, 150);
        assert!((TRIAL..=4 * TRIAL).contains(&looked_out), "{looked_out} of {} rounds", 4 * USE);
    }

    #[test]
    fn what_is_better_is_found_out_anew() {
        let mut observer = observer();
        observe(&mut observer, USE, 105, 150);
        let looked_out = observe(&mut observer, 4 * USE, 130, 105);
        assert!(looked_out > 2 * USE, "{looked_out} of {} rounds", 4 * USE);
    }

    #[test]
    fn nobody_looks_out_for_a_slow_disk_or_on_a_single_core() {
        assert_eq!(observe(&mut observer(), 2 * USE, 300, 100), 0);
        let mut single = Observer { has_several_cores: false, ..Observer::default() };
        assert_eq!(observe(&mut single, 2 * USE, 130, 105), 0);
    }

    #[test]
    fn nobody_looks_out_among_several() {
        let traffic = Traffic::default();
        traffic.wait_like(Way::LookOut, Duration::from_micros(200));
        traffic.begins();
        assert_eq!(traffic.patience(), Some(Duration::from_micros(200)));
        traffic.begins();
        assert_eq!(traffic.patience(), None);
    }
}
