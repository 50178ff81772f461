//! Several sources merged into one, and one step for every item.

use crate::common::gauge::Gauge;
use crate::common::{Oops, Trail, add, at_once, failed_branches, fails, millis, run, run_on, slow, watch};
use convoke_core::{Error, RunStatus, Runtime};
use convoke_steps::{
    BuildError, Chain, Func, Join, Map, MappedItem, Merge, MergeBuilder, MergedSource, StepExt, func,
    task_boxed,
};

fn sources(join: Join) -> MergeBuilder<Trail, Trail> {
    Merge::builder("merge", join, |_: &Trail| Trail::default())
        .source(slow("slow", 30))
        .source(slow("quick", 10))
        .source(Chain::new("broken").then(slow("wait", 20)).then(fails("fail")))
}

/// Leaves the names of the sources that finished.
fn names(trail: &mut Trail, finished: Vec<MergedSource<Trail>>) -> Result<(), Error> {
    trail.text = finished.iter().map(|merged| merged.source.as_str()).collect::<Vec<_>>().join(",");
    assert!(finished.iter().all(|merged| merged.value.steps.last() == Some(&merged.source)));
    Ok(())
}

async fn merged(join: Join) -> Result<String, Error> {
    run(sources(join).merge(names).unwrap()).await.completed().map(|trail| trail.text)
}

#[tokio::test(start_paused = true)]
async fn the_join_says_which_sources_must_have_finished() {
    assert_eq!(merged(Join::any().cancel_rest()).await.unwrap(), "quick");
    assert_eq!(merged(Join::any().finish_rest()).await.unwrap(), "slow,quick");
    assert_eq!(merged(Join::at_least(2).cancel_rest()).await.unwrap(), "slow,quick");
    assert_eq!(merged(Join::named(["slow"]).cancel_rest()).await.unwrap(), "slow,quick");
    assert_eq!(merged(Join::keep_succeeded()).await.unwrap(), "slow,quick");
    let one_of_each = Join::when(|progress| progress.succeeded() >= 1 && progress.failed() >= 1);
    assert_eq!(merged(one_of_each.cancel_rest()).await.unwrap(), "quick");
    let error = merged(Join::all().finish_rest()).await.unwrap_err();
    assert_eq!(failed_branches(&error), ["broken"]);
}

#[tokio::test]
async fn sources_start_from_what_the_fork_gives() {
    let double = |name: &str, factor: u64| {
        func(name, move |count: &mut u64| {
            *count *= factor;
            Ok::<_, Error>(())
        })
    };
    let merge = Merge::builder("merge", Join::all().cancel_rest(), |trail: &Trail| trail.count)
        .source(double("two", 2))
        .source(double("three", 3))
        .merge(|trail, finished| {
            trail.steps =
                finished.iter().map(|merged| format!("{} {}", merged.source, merged.value)).collect();
            Ok::<_, Error>(())
        })
        .unwrap();
    let outcome = run_on(&Runtime::new(), merge, Trail { count: 7, ..Trail::default() }).await;
    assert_eq!(outcome.completed().unwrap().steps, ["two 14", "three 21"]);
}

#[tokio::test(start_paused = true)]
async fn merging_can_fail_and_sources_can_be_few_at_once() {
    let gauge = Gauge::default();
    let merge = Merge::builder("merge", Join::all().cancel_rest(), |_: &Trail| ())
        .source(gauge.step("a", 10))
        .source(gauge.step("b", 10))
        .source(gauge.step("c", 10))
        .concurrency(at_once(2))
        .merge(|_, _| Err(Oops("the merge".into())))
        .unwrap();
    let error = run(merge).await.error.unwrap();
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("the merge".into())));
    assert_eq!(gauge.most(), 2);
}

#[tokio::test]
async fn a_panic_while_merging_fails_the_merge() {
    let merge = Merge::builder("merge", Join::all().cancel_rest(), |_: &Trail| Trail::default())
        .source(add("a"))
        .merge(|_, _| -> Result<(), Error> { panic!("a bug") })
        .unwrap();
    let (_, outcome) = watch(merge).await;
    assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == "merge"));
}

#[test]
fn sources_that_cannot_work_are_refused() {
    let twice = sources(Join::all().cancel_rest()).source(add("quick")).merge(names);
    assert_eq!(twice.err(), Some(BuildError::DuplicateName { step: "merge".into(), name: "quick".into() }));
    let too_many = sources(Join::at_least(4).cancel_rest()).merge(names);
    assert_eq!(
        too_many.err(),
        Some(BuildError::Unreachable { step: "merge".into(), needed: 4, branches: 3 })
    );
}

/// Doubles what is not a multiple of five, and fails for the rest.
fn double() -> Func<u64> {
    func("double", |number: &mut u64| {
        if number.is_multiple_of(5) {
            return Err(Oops(number.to_string()));
        }
        *number *= 2;
        Ok(())
    })
}

fn count_up(trail: &Trail) -> Vec<u64> {
    (1..=trail.count).collect()
}

fn tell(trail: &mut Trail, mapped: Vec<MappedItem<u64>>) {
    let told = mapped.iter().map(|item| match &item.result {
        Ok(number) => format!("{}: {number}", item.index),
        Err(error) => format!("{}: {error}", item.index),
    });
    trail.steps = told.collect();
}

async fn mapped(join: Join, count: u64) -> Result<Vec<String>, Error> {
    let map = Map::new("each", join, count_up, double(), tell);
    let outcome = run_on(&Runtime::new(), map, Trail { count, ..Trail::default() }).await;
    outcome.completed().map(|trail| trail.steps)
}

#[tokio::test]
async fn every_item_is_worked_on_and_collected_in_order() {
    assert_eq!(mapped(Join::all().finish_rest(), 3).await.unwrap(), ["0: 2", "1: 4", "2: 6"]);
    assert!(mapped(Join::all().finish_rest(), 0).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_join_says_what_becomes_of_failed_items() {
    let kept = mapped(Join::keep_succeeded(), 6).await.unwrap();
    assert_eq!(kept[3..], ["3: 8", "4: oops from 5", "5: 12"]);
    let error = mapped(Join::all().finish_rest(), 10).await.unwrap_err();
    assert_eq!(failed_branches(&error), ["double", "double"]);
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("5".into())));
    let nothing = mapped(Join::any().cancel_rest(), 0).await.unwrap_err();
    assert!(nothing.to_string().starts_with("not enough branches succeeded, though none failed"));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_items_are_worked_on_a_few_at_a_time() {
    let gauge = Gauge::default();
    // Each takes 20 s, so the last begins after more than half an hour: the time of an item begins with it.
    let map = Map::new("each", Join::all().finish_rest(), count_up, gauge.step("item", 20_000), tell);
    let map = map.concurrency(at_once(10));
    let outcome = run_on(&Runtime::new(), map, Trail { count: 1_000, ..Trail::default() }).await;
    let steps = outcome.completed().unwrap().steps;
    assert_eq!((gauge.most(), gauge.in_all(), steps.len()), (10, 1_000, 1_000));
    assert_eq!(steps[999], "999: 1000");
}

#[tokio::test(start_paused = true)]
async fn items_that_are_not_needed_are_missing() {
    let by_size = task_boxed("wait", |scope, number: &mut u64| {
        let wait = millis(*number * 10);
        Box::pin(async move { scope.sleep(wait).await })
    });
    let map = Map::new("each", Join::at_least(2).cancel_rest(), count_up, by_size, tell);
    let outcome = run_on(&Runtime::new(), map, Trail { count: 5, ..Trail::default() }).await;
    assert_eq!(outcome.completed().unwrap().steps, ["0: 1", "1: 2"]);
}

#[tokio::test]
async fn items_have_paths_of_their_own() {
    let map = Map::new("each", Join::all().finish_rest(), count_up, double(), tell);
    let (events, _) =
        crate::common::watch_on(&Runtime::new(), map, Trail { count: 3, ..Trail::default() }).await;
    let told = crate::common::events::told(&events);
    for path in ["each/double", "each/double#2", "each/double#3"] {
        assert!(told.contains(&format!("{path} completed")), "{path}");
    }
}

#[tokio::test]
async fn a_panic_in_a_function_of_the_map_fails_the_map() {
    let items = Map::new("items", Join::keep_succeeded(), |_: &Trail| panic!("a bug"), double(), tell);
    let collect =
        Map::new("collect", Join::keep_succeeded(), count_up, double(), |_: &mut Trail, _| panic!("a bug"));
    for (map, name) in [(items, "items"), (collect, "collect")] {
        let outcome = run(map).await;
        assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == name));
    }
    let panics = func("item", |_: &mut u64| -> Result<(), Error> { panic!("a bug") });
    let body = Map::new("each", Join::keep_succeeded(), count_up, panics, tell);
    let outcome = run_on(&Runtime::new(), body, Trail { count: 2, ..Trail::default() }).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert!(outcome.state.steps[1].contains("panicked"));
}

#[tokio::test(start_paused = true)]
async fn a_map_can_have_a_timeout_as_a_whole() {
    let gauge = Gauge::default();
    let map = Map::new("each", Join::keep_succeeded(), count_up, gauge.step("item", 40), tell);
    let map = map.concurrency(at_once(1)).timeout(millis(100));
    let outcome = run_on(&Runtime::new(), map, Trail { count: 9, ..Trail::default() }).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert_eq!(gauge.in_all(), 3, "those that queue never begin");
}
