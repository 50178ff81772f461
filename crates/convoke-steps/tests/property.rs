//! Properties of any workflow, however it is put together.

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use crate::shapes::{Joining, shapes};
use convoke_core::{
    Answer, BoxFuture, Error, Fork, PendingQuestion, Recovery, Responder, RunStatus, Runtime, StepFailure,
};
use proptest::prelude::*;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

/// Random numbers differ from run to run: this is what must be the same.
fn plain(trail: Trail) -> (Vec<String>, u64) {
    (trail.steps.into_iter().filter(|step| step.parse::<u64>().is_err()).collect(), trail.count)
}

/// Answers every question with its title.
struct Parrot;

impl Responder for Parrot {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async { Some(Answer::text(question.question.title.clone())) })
    }
}

/// Without joins whose outcome depends on which branch is quicker.
const CERTAIN: [Joining; 3] = [Joining::AllFinish, Joining::AnyFinish, Joining::Keep];
/// Without joins that do without a branch that waits.
const PATIENT: [Joining; 2] = [Joining::AllFinish, Joining::Keep];
const ANY: [Joining; 5] =
    [Joining::AllFinish, Joining::AnyFinish, Joining::Keep, Joining::AllCancel, Joining::AnyCancel];

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// What a run is told besides its workflow.
#[derive(Debug, Clone)]
struct Options {
    on_failure: Option<Recovery>,
    branches_at_once: Option<usize>,
    leaf_timeout: Option<u64>,
}

impl Options {
    fn runtime(&self) -> Runtime {
        let mut builder = Runtime::builder().model(echo());
        builder = builder.leaf_timeout(self.leaf_timeout.map(crate::common::millis));
        if let Some(decision) = self.on_failure.clone() {
            builder = builder.on_failure(move |_: &StepFailure<'_>| decision.clone());
        }
        if let Some(branches) = self.branches_at_once {
            builder = builder.max_concurrency(crate::common::at_once(branches));
        }
        builder.build()
    }
}

fn options() -> impl Strategy<Value = Options> {
    let decisions = vec![
        Recovery::Fail,
        Recovery::FailWith(Error::from("the policy says no")),
        Recovery::Continue,
        Recovery::Stop,
    ];
    // Never just as long as waits, or other limits, take together.
    let leaf_timeout = (0_u64..6).prop_map(|time| time * 10 + 3);
    let each = (
        prop::option::of(prop::sample::select(decisions)),
        prop::option::of(1_usize..3),
        prop::option::of(leaf_timeout),
    );
    each.prop_map(|(on_failure, branches_at_once, leaf_timeout)| Options {
        on_failure,
        branches_at_once,
        leaf_timeout,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn gains_055_a_run_is_the_same_whether_anybody_listens_or_not(
        shape in shapes(&CERTAIN, 2, 0),
        options in options(),
    ) {
        block_on(async {
            let (workflow, runtime) = (shape.workflow(), options.runtime());
            let quiet = runtime.start(&workflow, Trail::default()).await.unwrap();
            let (events, heard) = runtime.start(&workflow, Trail::default()).stream().collect().await;
            let heard = heard.unwrap();
            crate::common::events::must_be_well_formed(&events);
            assert_eq!(quiet.status, heard.status);
            assert_eq!(plain(quiet.state), plain(heard.state));
            assert_eq!(quiet.error.map(|error| error.to_string()), heard.error.map(|error| error.to_string()));
            assert_eq!(quiet.totals, heard.totals);
        });
    }

    #[test]
    fn a_replay_comes_to_the_same_end(shape in shapes(&ANY, 2, 0)) {
        block_on(async {
            let (home, workflow) = (Home::new(echo()), shape.workflow());
            let outcome = home.start(&workflow, Trail::default()).await;
            let calls = home.model.calls();
            let replay = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
            assert_eq!((replay.state, replay.unused), (outcome.state, 0));
            assert_eq!(replay.error.map(|error| error.to_string()), outcome.error.map(|error| error.to_string()));
            assert_eq!(home.model.calls(), calls);
        });
    }

    // Without timeouts: the time of a resumed run begins anew.
    #[test]
    fn a_run_that_was_killed_anywhere_comes_to_the_same_end(
        shape in shapes(&CERTAIN, 0, 0),
        place in any::<prop::sample::Index>(),
    ) {
        block_on(async {
            let (home, workflow) = (Home::new(echo()), shape.workflow());
            let outcome = home.start(&workflow, Trail::default()).await;
            let entries = home.entries(&outcome.run).await.len();
            // A fork has the journal that a run killed at this point has.
            let at = place.index(entries + 1) as u64 + 1;
            if entries > 0 {
                let fork = Fork::new(outcome.run.clone(), at).create(home.store()).await.unwrap();
                let resumed = home.resume(&workflow, &fork).await;
                assert_eq!((resumed.status, resumed.state), (outcome.status, outcome.state));
                assert_eq!(resumed.totals, outcome.totals);
                assert_ne!(resumed.status, RunStatus::Suspended);
            }
        });
    }

    #[test]
    fn a_run_that_waits_for_answers_comes_to_the_same_end_as_one_that_gets_them_at_once(
        shape in shapes(&PATIENT, 0, 6),
    ) {
        block_on(async {
            let (home, workflow) = (Home::new(echo()), shape.workflow());
            let attended = Runtime::builder().model(echo()).responder(Parrot).build();
            let answered = attended.start(&workflow, Trail::default()).await.unwrap();
            let mut outcome = home.start(&workflow, Trail::default()).await;
            while outcome.status == RunStatus::Suspended {
                let asked = home.asked(&outcome.run).await;
                assert_eq!(asked.len(), outcome.questions().len());
                home.answer(&outcome.run, &asked[0], Answer::text(asked[0].clone())).await;
                outcome = home.resume(&workflow, &outcome.run).await;
            }
            assert_eq!((outcome.status, plain(outcome.state)), (answered.status, plain(answered.state)));
            assert!(home.asked(&outcome.run).await.is_empty());
            let mut keys: Vec<String> = home.model.call_keys().iter().map(ToString::to_string).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), home.model.calls(), "no call is made twice");
        });
    }
}
