//! Tests of the gate by itself: order, cancellation, rate limits.

use std::sync::Arc;
use std::time::Duration;

use convoke_models::ApiKey;
use convoke_models::gate::{Admission, Ceilings, Gate};
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::Instant;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let header = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(header).collect()
}

/// A quota of requests, as OpenAI tells it.
fn left(limit: u32, remaining: u32, reset: &str) -> HeaderMap {
    headers(&[
        ("x-ratelimit-limit-requests", &limit.to_string()),
        ("x-ratelimit-remaining-requests", &remaining.to_string()),
        ("x-ratelimit-reset-requests", reset),
    ])
}

/// A quota of tokens, as OpenAI tells it.
fn tokens_left(limit: u32, remaining: u32, reset: &str) -> HeaderMap {
    headers(&[
        ("x-ratelimit-limit-tokens", &limit.to_string()),
        ("x-ratelimit-remaining-tokens", &remaining.to_string()),
        ("x-ratelimit-reset-tokens", reset),
    ])
}

/// An admission, if there is one without a wait.
fn at_once(gate: &Gate, tokens: u64) -> Option<Admission> {
    gate.admit(tokens).now_or_never()
}

/// How long the next one has to wait. The clock is the paused one.
async fn wait(gate: &Gate, tokens: u64) -> Duration {
    let start = Instant::now();
    drop(gate.admit(tokens).await);
    start.elapsed()
}

/// Sends one request that is answered like this.
async fn answered(gate: &Gate, status: u16, headers: &HeaderMap) {
    gate.admit(1).await.record_response(StatusCode::from_u16(status).unwrap(), headers);
}

#[test]
fn one_gate_for_a_place_and_a_key() {
    let (key, other) = (ApiKey::new("sk-one-secret"), ApiKey::new("sk-other"));
    let gate = Gate::shared("https://gate.example/v1", Some(&key));
    assert!(Arc::ptr_eq(&gate, &Gate::shared("https://gate.example/v1/", Some(&key.clone()))));
    assert!(!Arc::ptr_eq(&gate, &Gate::shared("https://gate.example/v1", Some(&other))));
    assert!(!Arc::ptr_eq(&gate, &Gate::shared("https://gate.example/v1", None)));
    assert!(!Arc::ptr_eq(&gate, &Gate::shared("https://gate.example/v2", Some(&key))));
    let known = Gate::shared("https://gate.example/v1", Some(&key));
    assert!(Arc::ptr_eq(&gate, &known), "others have come since, and it is held");
    let held = at_once(&gate, 1).unwrap();
    assert_eq!(format!("{gate:?}"), "Gate { under way: 1, waiting: 0, .. }", "and nothing of the key");
    assert_eq!(format!("{held:?}"), "Admission { answered: false, .. }");
}

#[test]
fn a_gate_that_nobody_holds_is_forgotten() {
    let gate = Gate::shared("https://forgotten.example", None);
    gate.limit(Ceilings::none().concurrent(1));
    let held = at_once(&gate, 1).unwrap();
    assert!(at_once(&Gate::shared("https://forgotten.example", None), 1).is_none());
    drop((gate, held));
    let gate = Gate::shared("https://forgotten.example", None);
    let _first = at_once(&gate, 1).unwrap();
    assert!(at_once(&gate, 1).is_some());
}

#[tokio::test]
async fn first_come_first_served_and_whoever_gives_up_gives_its_turn_on() {
    let gate = Gate::new();
    gate.limit(Ceilings::none().concurrent(1));
    let under_way = at_once(&gate, 1).unwrap();
    let mut gives_up = Box::pin(gate.admit(1));
    let mut second = Box::pin(gate.admit(1));
    let mut third = Box::pin(gate.admit(1));
    assert!((&mut gives_up).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    assert_eq!((gate.under_way(), gate.waiting()), (1, 3));
    drop(under_way);
    // It has been called, and leaves without listening.
    drop(gives_up);
    assert!((&mut third).now_or_never().is_none(), "it is not its turn");
    let second = second.now_or_never().expect("it is its turn");
    assert!((&mut third).now_or_never().is_none());
    drop(second);
    drop(third.now_or_never().expect("it is its turn"));
    assert_eq!((gate.under_way(), gate.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn those_behind_one_who_gives_up_while_the_gate_is_closed_are_not_forgotten() {
    let gate = Gate::new();
    answered(&gate, 429, &headers(&[("retry-after", "5")])).await;
    let start = Instant::now();
    let patient = async {
        drop(gate.admit(1).await);
        start.elapsed()
    };
    let impatient = tokio::time::timeout(Duration::from_secs(1), gate.admit(1));
    let (impatient, patient) = tokio::join!(impatient, patient);
    assert!(impatient.is_err());
    assert_eq!(patient, Duration::from_secs(5));
}

#[tokio::test]
async fn a_request_that_is_given_up_at_any_time_leaves_room() {
    let gate = Gate::new();
    gate.limit(Ceilings::none().concurrent(2));
    for _ in 0..100 {
        let unanswered = at_once(&gate, 1).expect("there is room");
        let mut answered = at_once(&gate, 1).expect("there is room");
        answered.record_response(StatusCode::OK, &HeaderMap::new());
        assert!(at_once(&gate, 1).is_none());
        drop((unanswered, answered));
    }
    assert_eq!((gate.under_way(), gate.waiting()), (0, 0));
}

#[tokio::test]
async fn few_are_sent_before_the_first_answer_and_more_after_it() {
    let gate = Gate::new();
    let mut sent: Vec<_> = std::iter::from_fn(|| at_once(&gate, 1)).collect();
    let at_first = sent.len();
    assert!(at_first < 20, "{at_first} requests went before anything was known");
    let mut waiting: Vec<_> = (0..50).map(|_| Box::pin(gate.admit(1))).collect();
    waiting.iter_mut().for_each(|waits| assert!(waits.now_or_never().is_none()));
    sent.iter_mut().for_each(|sent| sent.record_response(StatusCode::OK, &HeaderMap::new()));
    let more = waiting.iter_mut().filter_map(|waits| waits.now_or_never()).collect::<Vec<_>>().len();
    assert!(more > at_first, "{more} after {at_first}");
}

#[tokio::test(start_paused = true)]
async fn one_refusal_closes_the_gate_for_everybody_for_as_long_as_the_provider_asks() {
    for (status, name, value, seconds) in
        [(429, "retry-after", "7", 7.0), (503, "retry-after", "2", 2.0), (529, "retry-after-ms", "1500", 1.5)]
    {
        let gate = Gate::new();
        answered(&gate, status, &headers(&[(name, value)])).await;
        assert!(at_once(&gate, 1).is_none());
        assert_eq!(wait(&gate, 1).await.as_secs_f64(), seconds, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_without_a_word_close_it_for_longer_and_longer_until_one_is_taken() {
    let gate = Gate::new();
    answered(&gate, 429, &HeaderMap::new()).await;
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
        let start = Instant::now();
        answered(&gate, 429, &HeaderMap::new()).await;
        assert_eq!(start.elapsed(), Duration::from_secs(seconds));
    }
    answered(&gate, 200, &HeaderMap::new()).await;
    answered(&gate, 429, &HeaderMap::new()).await;
    assert_eq!(wait(&gate, 1).await, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn one_who_asks_alone_gets_back_to_a_good_pace_after_many_refusals() {
    let gate = Gate::new();
    for _ in 0..10 {
        answered(&gate, 429, &HeaderMap::new()).await;
    }
    for _ in 0..100 {
        answered(&gate, 200, &HeaderMap::new()).await;
    }
    let waited = wait(&gate, 1).await;
    assert!(waited <= Duration::from_secs(1), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_of_requests_that_were_on_their_way_count_as_one() {
    let gate = Gate::new();
    let mut sent: Vec<_> = std::iter::from_fn(|| at_once(&gate, 1)).collect();
    for sent in &mut sent {
        sent.record_response(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new());
    }
    drop(sent);
    assert_eq!(wait(&gate, 1).await, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn trouble_that_has_nothing_to_do_with_pace_does_not_close_it() {
    let gate = Gate::new();
    for status in [200, 400, 401, 404, 500, 503] {
        answered(&gate, status, &HeaderMap::new()).await;
    }
    answered(&gate, 429, &headers(&[("x-should-retry", "false")])).await;
    // Whoever is asked to come back in an hour must be told so, not kept waiting.
    answered(&gate, 429, &headers(&[("retry-after", "3600")])).await;
    assert!(at_once(&gate, 1).is_some());
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_a_quota_everybody_waits_until_it_is_full_again() {
    let gate = Gate::new();
    answered(&gate, 200, &left(4, 2, "3s")).await;
    let two = [at_once(&gate, 1), at_once(&gate, 1)];
    assert!(two.iter().all(Option::is_some));
    assert!(at_once(&gate, 1).is_none());
    drop(two);
    let start = Instant::now();
    let times = join_all((0..4).map(async |_| {
        let admission = gate.admit(1).await;
        (start.elapsed(), admission)
    }));
    let times: Vec<_> = times.await;
    assert!(times.iter().all(|(time, _)| *time == Duration::from_secs(3)));
    // Four are on their way, and will tell what is left.
    assert!(at_once(&gate, 1).is_none());
    drop(times);
    assert!(at_once(&gate, 1).is_some(), "nobody is left who could tell");
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_request_is_told_late_is_no_news() {
    let gate = Gate::new();
    let (mut earlier, mut later) = (gate.admit(1).await, gate.admit(1).await);
    later.record_response(StatusCode::OK, &left(50, 0, "2s"));
    earlier.record_response(StatusCode::OK, &left(50, 1, "2s"));
    assert_eq!(wait(&gate, 1).await, Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_as_well_as_requests() {
    let gate = Gate::new();
    answered(&gate, 200, &tokens_left(1_000, 1_000, "6s")).await;
    drop(at_once(&gate, 800).unwrap());
    drop(at_once(&gate, 150).unwrap());
    assert_eq!(wait(&gate, 100).await, Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_request_larger_than_the_whole_quota_goes_when_the_quota_is_full() {
    let gate = Gate::new();
    answered(&gate, 200, &tokens_left(1_000, 900, "6s")).await;
    assert_eq!(wait(&gate, 5_000).await, Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_quota_for_the_day_is_not_waited_for() {
    let gate = Gate::new();
    answered(&gate, 200, &left(100, 0, "8h0m0s")).await;
    assert!(at_once(&gate, 1).is_some());
}

#[tokio::test(start_paused = true)]
async fn numbers_beyond_reason_do_no_harm() {
    let gate = Gate::new();
    answered(&gate, 200, &left(0, 0, "99999999999999999d")).await;
    answered(&gate, 429, &left(0, 0, "0s")).await;
    assert!(at_once(&gate, u64::MAX).is_none());
    drop(gate.admit(u64::MAX).await);
    drop(gate.admit(u64::MAX).await);
    gate.limit(Ceilings::none().requests(0, Duration::MAX).concurrent(0));
    drop(gate.admit(u64::MAX).await);
}

#[tokio::test(start_paused = true)]
async fn the_users_ceilings_hold_and_can_be_lifted() {
    let gate = Gate::new();
    gate.limit(Ceilings::none().requests(10, Duration::from_secs(1)));
    let start = Instant::now();
    for _ in 0..=20 {
        drop(gate.admit(1).await);
    }
    // Timers are late by up to a millisecond each, and that is made up for.
    let slack = Duration::from_millis(20);
    let expected = Duration::from_secs(2);
    assert!(start.elapsed() + slack >= expected && start.elapsed() <= expected + slack);
    gate.limit(Ceilings::none());
    assert!(at_once(&gate, 1).is_some());
}

#[tokio::test(start_paused = true)]
async fn lifting_a_ceiling_lets_those_pass_who_wait_for_it() {
    let gate = Gate::new();
    gate.limit(Ceilings::none().requests(1, Duration::from_hours(1)));
    drop(gate.admit(1).await);
    let start = Instant::now();
    tokio::join!(async { drop(gate.admit(1).await) }, async { gate.limit(Ceilings::none()) });
    assert_eq!(start.elapsed(), Duration::ZERO);
}
