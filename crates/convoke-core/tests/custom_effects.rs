//! Effects of the user's own: interrupted, denied, labelled, and what the journal keeps of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::meddling::Meddler;
use crate::common::stored::{Home, echo};
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, Canceller, EffectKind, EffectOutcome, EffectRequest, Error, Labels, Outcome, RunStatus, Runtime,
    Verdict, Workflow,
};
use convoke_steps::task_boxed;

/// Acts, which takes a minute the first time, and leaves what is known then.
fn acts(acted: &Arc<AtomicUsize>, is_repeatable: bool) -> Workflow<Trail> {
    let acted = Arc::clone(acted);
    Workflow::new(task_boxed("main", move |scope, trail: &mut Trail| {
        let acted = Arc::clone(&acted);
        Box::pin(async move {
            let effect = scope.custom("act").request(&"now");
            let effect = if is_repeatable { effect.repeatable() } else { effect };
            let done = effect.perform(|_| async move {
                if acted.fetch_add(1, Ordering::Relaxed) == 0 {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                Ok::<_, Error>(Some("acted".to_owned()))
            });
            trail.steps.push(match done.await {
                Err(Error::Denied(_)) => "denied".to_owned(),
                done => done?.unwrap_or_else(|| "lost".to_owned()),
            });
            trail.text = scope.labels().to_string();
            Ok(())
        })
    }))
}

async fn interrupted(home: &Home, workflow: &Workflow<Trail>) -> Outcome<Trail> {
    let canceller = Canceller::new();
    let start = home.runtime().start(workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    tokio::join!(start.into_future(), cancel).0.unwrap()
}

/// Says of everything of the user's own that it is.
fn labelling(home: &Home) -> Runtime {
    let after = |request: &EffectRequest<'_>, _: &mut Result<EffectOutcome, Error>| match request {
        EffectRequest::Custom { .. } => "own".parse().unwrap(),
        _ => Labels::new(),
    };
    home.builder().interceptor(Meddler { after, ..Meddler::called("labels") }).build()
}

#[tokio::test(start_paused = true)]
async fn one_that_was_interrupted_is_asked_about_and_performed_again_only_if_somebody_says_so() {
    for (answer, times, came_of_it) in [("again", 2, "acted"), ("done", 1, "lost")] {
        let (home, acted) = (Home::new(echo()), Arc::default());
        let workflow = acts(&acted, false);
        let run = interrupted(&home, &workflow).await.run;
        let asked = home.resume(&workflow, &run).await;
        assert_eq!((asked.status, acted.load(Ordering::Relaxed)), (RunStatus::Suspended, 1));
        let [title] = &home.asked(&run).await[..] else { panic!("one question is expected") };
        home.answer(&run, title, Answer::choose(answer)).await;
        let done = labelling(&home).resume(&workflow, run).await.unwrap();
        assert_eq!((done.state.steps, acted.load(Ordering::Relaxed)), (vec![came_of_it.to_owned()], times));
        assert_eq!(done.state.text, "own", "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_may_be_repeated_is_performed_again_and_nobody_is_asked() {
    let (home, acted) = (Home::new(echo()), Arc::default());
    let workflow = acts(&acted, true);
    let run = interrupted(&home, &workflow).await.run;
    let done = home.resume(&workflow, &run).await;
    assert_eq!((done.status, acted.load(Ordering::Relaxed)), (RunStatus::Completed, 2));
}

/// Whoever looks at a run wants to know what was asked for, however it ended.
#[tokio::test(start_paused = true)]
async fn the_journal_keeps_once_what_was_asked_for() {
    let denying = |home: &Home| {
        let deny = Meddler { before: |_| Verdict::deny("no"), ..Meddler::called("denies") };
        home.builder().interceptor(deny).build()
    };
    let runtime: fn(&Home) -> Runtime = Home::runtime;
    for (runtime, is_repeatable) in [(runtime, false), (runtime, true), (denying, false), (denying, true)] {
        let home = Home::new(echo());
        let outcome = runtime(&home).start(&acts(&Arc::default(), is_repeatable), Trail::default()).await;
        let entries = home.entries(&outcome.unwrap().run).await;
        let own = entries.iter().filter(|entry| entry.effect == EffectKind::Custom);
        let requests: Vec<String> = own
            .filter_map(|entry| Some(String::from_utf8_lossy(entry.request.as_deref()?).into_owned()))
            .collect();
        assert!(matches!(&requests[..], [one] if one.contains("\"now\"")), "{requests:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_denied_when_the_run_goes_on_keeps_the_request_it_has() {
    let (home, acted) = (Home::new(echo()), Arc::default());
    let workflow = acts(&acted, false);
    let run = interrupted(&home, &workflow).await.run;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
    let [title] = &home.asked(&run).await[..] else { panic!("one question is expected") };
    home.answer(&run, title, Answer::choose("again")).await;
    let before = |about: &convoke_core::InterceptedEffect<'_>| match about.request {
        EffectRequest::Custom { .. } => Verdict::deny("no"),
        _ => Verdict::Allow,
    };
    let deny = home.builder().interceptor(Meddler { before, ..Meddler::called("denies") }).build();
    let done = deny.resume(&workflow, run.clone()).await.unwrap();
    assert_eq!((&*done.state.steps, acted.load(Ordering::Relaxed)), (&["denied".to_owned()][..], 1));
    let entries = home.entries(&run).await;
    let own = entries.iter().filter(|entry| entry.effect == EffectKind::Custom && entry.request.is_some());
    assert_eq!(own.count(), 1);
}
