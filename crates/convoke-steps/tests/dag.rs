//! Steps that wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use convoke_core::{Answer, Error, Fork, Question, RunId, RunStatus, Runtime, Scope, Store, Workflow};
use convoke_steps::{BuildError, Dag, RemainingBranches, func, task_boxed};
use convoke_store::MemoryStore;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// Which steps somebody knows to be over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Seen(BTreeSet<String>);

fn name(number: usize) -> String {
    format!("s{number}")
}

/// A DAG in which every step keeps what it saw, and counts how often it was run for real and how many were at once.
struct World {
    log: Arc<Mutex<Vec<(String, Seen)>>>,
    at_once: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        Self { log: Arc::default(), at_once: Arc::default(), most: Arc::default() }
    }

    fn dag(&self, edges: &[Vec<usize>], limit: Option<usize>) -> Dag<Seen> {
        let mut builder = Dag::builder("dag", RemainingBranches::Cancel);
        for (number, before) in edges.iter().enumerate() {
            let own = name(number);
            let (log, at_once, most) = (self.log.clone(), self.at_once.clone(), self.most.clone());
            let step = task_boxed(own.clone(), move |scope: &Scope, seen: &mut Seen| {
                let (log, at_once, most) = (log.clone(), at_once.clone(), most.clone());
                let (own, before) = (name(number), seen.clone());
                Box::pin(async move {
                    let work = |_| async move {
                        most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        log.lock().unwrap().push((own.clone(), before));
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        Ok::<_, Error>(own)
                    };
                    let done: String = scope.custom("work").repeatable().perform(work).await?;
                    seen.0.insert(done);
                    Ok(())
                })
            });
            let names: Vec<String> = before.iter().map(|before| name(*before)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            builder = builder.step(step, &names, move |seen: &mut Seen, done: &Seen| {
                seen.0.extend(done.0.contains(&own).then(|| own.clone()));
            });
        }
        match limit.and_then(NonZeroUsize::new) {
            Some(limit) => builder.concurrency(limit).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }
}

fn ancestors(edges: &[Vec<usize>], of: usize) -> BTreeSet<String> {
    edges[of].iter().flat_map(|before| ancestors(edges, *before).into_iter().chain([name(*before)])).collect()
}

fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(any::<u16>(), 1..9).prop_map(|bits| {
        let edges = |(number, bits): (usize, &u16)| (0..number).filter(|n| bits & (1 << n) != 0).collect();
        bits.iter().enumerate().map(edges).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_step_runs_once_after_what_it_waits_for_and_sees_just_that(
        edges in graphs(), limit in prop::option::of(1_usize..4), cut in 1_u64..40,
    ) {
        let world = World::new();
        let workflow = Workflow::new(world.dag(&edges, limit));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        tokio.block_on(async {
            let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).build();
            let ended = runtime().start(&workflow, Seen::default()).await.unwrap();
            let run: RunId = ended.run.clone();
            let all = ended.completed().unwrap();
            assert_eq!(all.0.len(), edges.len());
            let log = std::mem::take(&mut *world.log.lock().unwrap());
            let runs: BTreeMap<&String, &Seen> = log.iter().map(|(step, seen)| (step, seen)).collect();
            assert_eq!((runs.len(), log.len()), (edges.len(), edges.len()), "each once: {log:?}");
            for number in 0..edges.len() {
                assert_eq!(runs[&name(number)].0, ancestors(&edges, number), "{edges:?}");
            }
            if let Some(limit) = limit {
                assert!(world.most.load(Ordering::SeqCst) <= limit);
            }
            // Killed anywhere, what is over is not done again, and the end is the same.
            let entries = store.entries(&run, 1, usize::MAX).await.unwrap();
            let cut = cut.min(entries.len() as u64);
            let killed = Fork::new(run, cut).create(&store).await.unwrap();
            let kept = store.entries(&killed, 1, usize::MAX).await.unwrap();
            let over: BTreeSet<String> = kept
                .iter()
                .filter(|entry| entry.phase == convoke_core::Phase::Finished)
                .filter_map(|entry| entry.path.as_str().rsplit('/').next().map(str::to_owned))
                .collect();
            let again = runtime().resume(&workflow, killed).await.unwrap().completed().unwrap();
            assert_eq!(again, all);
            let redone: BTreeSet<String> = world.log.lock().unwrap().iter().map(|(step, _)| step.clone()).collect();
            assert!(redone.is_disjoint(&over), "{redone:?} {over:?}");
            assert_eq!(redone.len() + over.len(), edges.len());
        });
    }
}

fn adds(own: &'static str) -> impl convoke_core::Step<Seen> {
    func(own, move |seen: &mut Seen| {
        seen.0.insert(own.to_owned());
        Ok::<_, Error>(())
    })
}

fn takes(own: &'static str) -> impl Fn(&mut Seen, &Seen) + Send + Sync {
    move |seen, done| seen.0.extend(done.0.get(own).cloned())
}

fn fails(own: &'static str) -> impl convoke_core::Step<Seen> {
    func(own, |_: &mut Seen| Err(Error::permanent("broken")))
}

#[tokio::test]
async fn a_step_whose_condition_does_not_hold_is_passed_over_and_counts_as_over() {
    let dag = Dag::builder("dag", RemainingBranches::Cancel)
        .step(adds("a"), &[], takes("a"))
        .step(adds("b"), &["a"], takes("b"))
        .when(|seen| !seen.0.contains("a"))
        .step(adds("c"), &["b"], takes("c"))
        .build()
        .unwrap();
    let seen = Runtime::new().start(&Workflow::new(dag), Seen::default()).await.unwrap().completed().unwrap();
    assert_eq!(seen.0.into_iter().collect::<Vec<_>>(), ["a", "c"]);
}

#[tokio::test]
async fn what_comes_after_a_failure_is_not_run_and_the_rest_finishes_if_it_is_to() {
    let world = Arc::new(Mutex::new(Vec::new()));
    let noted = |own: &'static str| {
        let world = world.clone();
        func(own, move |_: &mut Seen| {
            world.lock().unwrap().push(own);
            Ok::<_, Error>(())
        })
    };
    let dag = Dag::builder("dag", RemainingBranches::Finish)
        .step(fails("a"), &[], takes("a"))
        .step(noted("after a"), &["a"], takes("after a"))
        .step(noted("b"), &[], takes("b"))
        .step(noted("after b"), &["b"], takes("after b"))
        .step(fails("d"), &["b"], takes("d"))
        .concurrency(NonZeroUsize::MIN)
        .build()
        .unwrap();
    let ended = Runtime::new().start(&Workflow::new(dag), Seen::default()).await.unwrap();
    assert_eq!(ended.status, RunStatus::Failed);
    let failed = ended.error.unwrap().failed_paths();
    assert_eq!(failed.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["dag/a", "dag/d"]);
    assert_eq!(*world.lock().unwrap(), ["b", "after b"]);
}

#[test]
fn a_dag_that_cannot_work_is_not_built() {
    let one =
        |waits: &[&str]| Dag::builder("dag", RemainingBranches::Cancel).step(adds("a"), waits, takes("a"));
    assert!(matches!(one(&["a"]).build().err(), Some(BuildError::Cycle { .. })));
    assert!(matches!(one(&["b"]).build().err(), Some(BuildError::UnknownName { .. })));
    let twice = one(&[]).step(adds("a"), &[], takes("a")).build().err();
    assert!(matches!(twice, Some(BuildError::DuplicateName { .. })));
}

#[tokio::test]
async fn a_step_that_waits_for_an_answer_holds_up_those_after_it_and_no_others() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let noted = |own: &'static str| {
        let done = done.clone();
        task_boxed(own, move |scope: &Scope, seen: &mut Seen| {
            let done = done.clone();
            Box::pin(async move {
                let work = |_| async move {
                    done.lock().unwrap().push(own);
                    Ok::<_, Error>(())
                };
                scope.custom("work").perform(work).await?;
                seen.0.insert(own.to_owned());
                Ok(())
            })
        })
    };
    let asks = task_boxed("asks", |scope: &Scope, seen: &mut Seen| {
        Box::pin(async move {
            scope.ask(Question::text("What is it?")).await?;
            seen.0.insert("asks".to_owned());
            Ok(())
        })
    });
    let dag = Dag::builder("dag", RemainingBranches::Cancel)
        .step(asks, &[], takes("asks"))
        .step(noted("after"), &["asks"], takes("after"))
        .step(noted("beside"), &[], takes("beside"))
        .step(noted("last"), &["after", "beside"], takes("last"))
        .build()
        .unwrap();
    let workflow = Workflow::new(dag);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || {
        let builder = Runtime::builder().shared_store(Arc::clone(&store));
        builder.patience(std::time::Duration::ZERO).build()
    };
    let waits = runtime().start(&workflow, Seen::default()).await.unwrap();
    assert_eq!((waits.status, &**done.lock().unwrap()), (RunStatus::Suspended, &["beside"][..]));
    let open = store.questions(Some(&waits.run)).await.unwrap();
    store.answer(&waits.run, &open[0].id, Answer::text("this")).await.unwrap();
    let all = runtime().resume(&workflow, waits.run).await.unwrap().completed().unwrap();
    assert_eq!(all.0.len(), 4);
    assert_eq!(*done.lock().unwrap(), ["beside", "after", "last"], "nothing twice");
}
