//! The state of a gate and its decisions. No waiting here: time is given.

use std::time::Duration;

use convoke_core::Backoff;
use tokio::time::Instant;

use super::Ceilings;
use super::pace::Pace;
use super::queue::Queue;
use super::quota::{LONGEST_WAIT, Quota, QuotaRoom};
use super::rate_limit_headers::{QUOTAS, RateLimitInfo, RateLimitOutcome};

/// How many requests may be unanswered at first, and how many more with every success: in the time of an answer half as
/// many again.
const FIRST_WIDTH: f64 = 8.0;
const WIDER: f64 = 0.5;

/// With fewer than this, one request that hangs would keep everybody waiting.
const LEAST_WIDTH: f64 = 2.0;

/// How long the gate is closed after a refusal without a word on how long; twice as long after each further one.
const CLOSURES: Backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(30));

/// The total of requests and tokens admitted when a request was, itself included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AdmittedTotal {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

/// A request that is to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitingRequest {
    /// Its number in the queue.
    pub(super) number: u64,
    pub(super) tokens: u64,
    pub(super) since: Instant,
}

/// A request that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AdmittedRequest {
    pub(super) total: AdmittedTotal,
    pub(super) at: Instant,
    /// Whether it would have gone earlier if it had been let.
    pub(super) has_waited: bool,
}

/// The decision about a waiting request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AdmissionDecision {
    Admit(AdmittedRequest),
    /// Not before this time.
    Until(Instant),
    /// Not before something has happened.
    WhenCalled,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) queue: Queue,
    ceilings: Ceilings,
    /// Requests whose replies are not whole.
    under_way: usize,
    /// Requests whose replies have not begun.
    unanswered: usize,
    /// The latest request that was let through.
    latest: AdmittedTotal,
    /// How many requests may be unanswered.
    width: f64,
    pace: Pace,
    quotas: [Option<Quota>; QUOTAS],
    closed_until: Option<Instant>,
    /// Refusals without a success in between.
    refusals: u32,
    /// The latest request when the last refusal came: those up to it say nothing new.
    refused_at: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            queue: Queue::default(),
            ceilings: Ceilings::none(),
            under_way: 0,
            unanswered: 0,
            latest: AdmittedTotal::default(),
            width: FIRST_WIDTH,
            pace: Pace::default(),
            quotas: [const { None }; QUOTAS],
            closed_until: None,
            refusals: 0,
            refused_at: 0,
        }
    }
}

impl State {
    /// Whether one may pass. If so, it has left the queue.
    pub(super) fn decide(&mut self, asked: WaitingRequest, now: Instant) -> AdmissionDecision {
        if !self.queue.is_first(asked.number) || self.is_full() {
            return AdmissionDecision::WhenCalled;
        }
        let opens = self.closed_until.max(self.pace.opens(self.ceilings.interval));
        if let Some(time) = opens.filter(|time| *time > now) {
            return AdmissionDecision::Until(time);
        }
        match self.room(asked.tokens, now) {
            QuotaRoom::Until(time) => return AdmissionDecision::Until(time),
            QuotaRoom::WhenAnswered => return AdmissionDecision::WhenCalled,
            QuotaRoom::Enough | QuotaRoom::Unknown => {}
        }
        self.latest.requests += 1;
        self.latest.tokens = self.latest.tokens.saturating_add(asked.tokens);
        self.under_way += 1;
        self.unanswered += 1;
        self.pace.record_request(now, self.ceilings.interval);
        self.queue.leave(asked.number);
        AdmissionDecision::Admit(AdmittedRequest {
            total: self.latest,
            at: now,
            has_waited: now > asked.since,
        })
    }

    fn is_full(&self) -> bool {
        self.under_way >= self.concurrent() || self.unanswered >= self.width as usize || self.is_trying()
    }

    fn concurrent(&self) -> usize {
        self.ceilings.concurrent.unwrap_or(Ceilings::CONCURRENT)
    }

    /// Whether one has been sent ahead, after the gate was opened in vain, and is not back.
    fn is_trying(&self) -> bool {
        self.refusals > 1 && self.latest.requests > self.refused_at && self.unanswered > 0
    }

    /// What the quotas say: the first that has no room decides.
    fn room(&mut self, tokens: u64, now: Instant) -> QuotaRoom {
        for slot in &mut self.quotas {
            let Some(quota) = slot else { continue };
            match quota.room(tokens, self.latest, self.unanswered, now) {
                QuotaRoom::Enough => {}
                QuotaRoom::Unknown => *slot = None,
                wait => return wait,
            }
        }
        QuotaRoom::Enough
    }

    pub(super) fn limit(&mut self, ceilings: Ceilings) {
        self.ceilings = ceilings;
    }

    pub(super) fn closed_for(&self, now: Instant) -> Option<Duration> {
        self.closed_until?.checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// The reply to a request has begun, or there will be none.
    pub(super) fn answered(&mut self) {
        self.unanswered -= 1;
    }

    /// A request is not under way any more.
    pub(super) fn ended(&mut self) {
        self.under_way -= 1;
    }

    /// Records the rate limits in the reply to this request.
    pub(super) fn record_response(&mut self, request: AdmittedRequest, info: &RateLimitInfo, now: Instant) {
        for reading in &info.readings {
            match &mut self.quotas[reading.quota] {
                Some(quota) => quota.update(reading, request.total, now),
                unknown => *unknown = Some(Quota::new(reading, request.total, now)),
            }
        }
        match info.outcome {
            RateLimitOutcome::Accepted => self.accepted(request, now),
            RateLimitOutcome::Refused { wait } => self.refused(request, wait, now),
            RateLimitOutcome::Neither => {}
        }
    }

    /// This request was refused, and the provider wants a wait.
    pub(super) fn record_retry_after(&mut self, request: AdmittedRequest, wait: Duration, now: Instant) {
        if !wait.is_zero() {
            self.refused(request, Some(wait), now);
        }
    }

    fn accepted(&mut self, request: AdmittedRequest, now: Instant) {
        if request.total.requests <= self.refused_at {
            return;
        }
        self.refusals = 0;
        // Room that nobody needs is not known to be there.
        if request.has_waited || !self.queue.is_empty() {
            self.width = (self.width + WIDER).min(self.concurrent() as f64);
            self.pace.accepted(now);
        }
    }

    fn refused(&mut self, request: AdmittedRequest, wait: Option<Duration>, now: Instant) {
        if wait.is_some_and(|wait| wait > LONGEST_WAIT) {
            return;
        }
        let is_new = request.total.requests > self.refused_at;
        if is_new {
            self.refusals += 1;
            self.refused_at = self.latest.requests;
        }
        let used_up = || self.quotas.iter().flatten().filter_map(|quota| quota.used_up_for(now)).max();
        let unsaid = || is_new.then(|| CLOSURES.after(self.refusals.saturating_sub(1)));
        let Some(wait) = wait.or_else(used_up).or_else(unsaid) else { return };
        if is_new {
            self.width = (self.width / 2.0).max(LEAST_WIDTH);
            self.pace.refused(request.at, wait, self.closed_until);
        }
        self.closed_until = self.closed_until.max(Some(now + wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const REFUSED: RateLimitOutcome = RateLimitOutcome::Refused { wait: None };

    /// Has one more ask, at this time, and gives the decision.
    fn ask(state: &mut State, now: Instant) -> AdmissionDecision {
        let (number, _) = state.queue.join();
        let decision = state.decide(WaitingRequest { number, tokens: 10, since: now }, now);
        state.queue.leave(number);
        decision
    }

    fn admitted(state: &mut State, now: Instant) -> AdmittedRequest {
        match ask(state, now) {
            AdmissionDecision::Admit(request) => request,
            other => panic!("{other:?}"),
        }
    }

    fn all_that_may_go(state: &mut State, now: Instant) -> Vec<AdmittedRequest> {
        std::iter::from_fn(|| match ask(state, now) {
            AdmissionDecision::Admit(request) => Some(request),
            _ => None,
        })
        .collect()
    }

    fn answer(state: &mut State, request: AdmittedRequest, outcome: RateLimitOutcome, now: Instant) {
        state.answered();
        state.ended();
        state.record_response(request, &RateLimitInfo { outcome, readings: Vec::new() }, now);
    }

    #[test]
    fn eight_go_before_the_first_answer_half_as_many_after_a_refusal_and_never_less_than_two() {
        let (mut state, mut now) = (State::default(), Instant::now());
        let mut widths = Vec::new();
        for _ in 0..4 {
            let sent = all_that_may_go(&mut state, now);
            widths.push(state.width);
            assert!(!sent.is_empty() && sent.len() <= state.width as usize);
            sent.iter().for_each(|request| answer(&mut state, *request, REFUSED, now));
            now += 40 * SECOND;
        }
        assert_eq!(widths, [8.0, 4.0, 2.0, 2.0]);
        let (mut fresh, now) = (State::default(), Instant::now());
        assert_eq!(all_that_may_go(&mut fresh, now).len(), 8);
        assert_eq!(fresh.latest, AdmittedTotal { requests: 8, tokens: 80 });
        assert_eq!((fresh.under_way(), fresh.unanswered), (8, 8));
    }

    #[test]
    fn a_success_makes_it_wider_only_if_somebody_has_waited_or_waits() {
        let (mut state, now) = (State::default(), Instant::now());
        let alone = admitted(&mut state, now);
        answer(&mut state, alone, RateLimitOutcome::Accepted, now);
        assert_eq!(state.width, 8.0, "room that nobody needs");
        let request = admitted(&mut state, now);
        let (waiting, _) = state.queue.join();
        answer(&mut state, request, RateLimitOutcome::Accepted, now);
        assert_eq!(state.width, 8.5);
        let late = state.decide(WaitingRequest { number: waiting, tokens: 10, since: now }, now + SECOND);
        let AdmissionDecision::Admit(late) = late else { panic!("{late:?}") };
        assert!(late.has_waited && state.queue.is_empty());
        answer(&mut state, late, RateLimitOutcome::Accepted, now);
        assert_eq!(state.width, 9.0);
        state.limit(Ceilings::none().concurrent(3));
        let (request, _) = (admitted(&mut state, now), state.queue.join());
        answer(&mut state, request, RateLimitOutcome::Accepted, now);
        assert_eq!(state.width, 3.0, "no wider than what may be under way");
    }

    #[test]
    fn after_it_was_opened_in_vain_one_goes_ahead_and_the_others_wait_for_what_it_is_told() {
        let (mut state, now) = (State::default(), Instant::now());
        let first = admitted(&mut state, now);
        answer(&mut state, first, REFUSED, now);
        assert_eq!(state.closed_for(now), Some(SECOND));
        assert_eq!(ask(&mut state, now), AdmissionDecision::Until(now + SECOND));
        let later = now + SECOND;
        assert_eq!(state.closed_for(later), None);
        let second = admitted(&mut state, later);
        answer(&mut state, second, REFUSED, later);
        let later = later + 2 * SECOND;
        let ahead = admitted(&mut state, later);
        assert_eq!(ask(&mut state, later + 60 * SECOND), AdmissionDecision::WhenCalled);
        answer(&mut state, ahead, RateLimitOutcome::Accepted, later);
        assert_eq!(all_that_may_go(&mut state, later + 60 * SECOND).len(), 1, "at the pace there is now");
        assert_eq!(state.refusals, 0);
    }

    #[test]
    fn after_a_single_refusal_nobody_is_sent_ahead() {
        let (mut state, now) = (State::default(), Instant::now());
        let first = admitted(&mut state, now);
        answer(&mut state, first, REFUSED, now);
        admitted(&mut state, now + SECOND);
        admitted(&mut state, now + 2 * SECOND);
        assert_eq!(state.unanswered, 2);
    }

    /// A gate that two were refused at, while one from before that has no answer yet.
    fn refused_twice_beside_a_slow_one() -> (State, Instant) {
        let (mut state, now) = (State::default(), Instant::now());
        let _slow = admitted(&mut state, now);
        let first = admitted(&mut state, now);
        answer(&mut state, first, REFUSED, now);
        let now = now + SECOND;
        let second = admitted(&mut state, now);
        answer(&mut state, second, REFUSED, now);
        (state, now)
    }

    #[test]
    fn the_others_wait_for_nobody_but_the_one_that_is_ahead_and_no_longer_than_it_takes() {
        let (mut state, now) = refused_twice_beside_a_slow_one();
        assert_eq!((state.refusals, state.unanswered), (2, 1));
        let now = now + 60 * SECOND;
        state.answered();
        let ahead = admitted(&mut state, now);
        let now = now + 60 * SECOND;
        assert_eq!(ask(&mut state, now), AdmissionDecision::WhenCalled);
        answer(&mut state, ahead, RateLimitOutcome::Neither, now);
        admitted(&mut state, now);
    }

    #[test]
    fn one_that_was_sent_before_the_gate_closed_is_not_the_one_that_is_ahead() {
        let (mut state, now) = refused_twice_beside_a_slow_one();
        admitted(&mut state, now + 60 * SECOND);
    }

    #[test]
    fn what_was_on_its_way_before_a_refusal_says_nothing_new() {
        let (mut state, now) = (State::default(), Instant::now());
        let sent = all_that_may_go(&mut state, now);
        answer(&mut state, sent[0], REFUSED, now);
        answer(&mut state, sent[1], REFUSED, now);
        answer(&mut state, sent[2], RateLimitOutcome::Accepted, now);
        assert_eq!((state.refusals, state.refused_at, state.width), (1, 8, 4.0));
        let wait = RateLimitOutcome::Refused { wait: Some(9 * SECOND) };
        answer(&mut state, sent[3], wait, now);
        assert_eq!(state.closed_for(now), Some(9 * SECOND), "but for a longer wait");
        assert_eq!((state.refusals, state.width), (1, 4.0));
    }

    #[test]
    fn a_wait_that_is_wanted_closes_it_unless_it_is_none_or_much_more_than_a_minute() {
        let now = Instant::now();
        for (wait, closed) in [(0, None), (5, Some(5)), (75, Some(75)), (76, None)] {
            let mut state = State::default();
            let request = admitted(&mut state, now);
            state.record_retry_after(request, SECOND * wait, now);
            assert_eq!(state.closed_for(now), closed.map(|wait| SECOND * wait));
            assert_eq!(state.refusals, u32::from(closed.is_some()));
        }
    }

    #[test]
    fn a_refusal_without_a_word_closes_it_until_the_quota_that_is_used_up_is_full() {
        let now = Instant::now();
        let mut state = State::default();
        let request = admitted(&mut state, now);
        let unit = super::super::rate_limit_headers::Unit::Requests;
        let reading = |quota, remaining, seconds: u32| super::super::rate_limit_headers::QuotaReading {
            quota,
            unit,
            limit: Some(9),
            remaining,
            full_in: SECOND * seconds,
        };
        let readings = vec![reading(0, 0, 20), reading(1, 5, 60)];
        state.record_response(request, &RateLimitInfo { outcome: REFUSED, readings }, now);
        assert_eq!(state.closed_for(now), Some(20 * SECOND));
    }
}
