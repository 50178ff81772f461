//! Calls of models: what is told of them, and what the journal keeps.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::stored::{Home, echo};
use crate::common::{Trail, watch_on, with_model};
use convoke_core::{
    CallContext, EffectKind, Entry, Error, EventKind, IdempotencyKey, Message, Model, ModelRequest, Phase,
    ReplyStream, Runtime, Transcript, Visibility, Workflow,
};
use convoke_models::ScriptedModel;
use convoke_steps::{AsyncFunc, task_boxed};

/// Asks the model this, for these eyes.
fn asks(visibility: Visibility) -> AsyncFunc<Trail> {
    task_boxed("ask", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            trail.text = scope.model(&model, ModelRequest::new("well?"), visibility).await?.text();
            Ok(())
        })
    })
}

#[tokio::test]
async fn nobody_hears_a_reply_that_is_part_of_the_machinery() {
    for (visibility, expected) in [(Visibility::Hidden, 0), (Visibility::Streamed, 3)] {
        let (events, outcome) = watch_on(&with_model(&echo()), asks(visibility), Trail::default()).await;
        assert_eq!(outcome.state.text, "well?!");
        let of_message = |kind: &EventKind| {
            matches!(
                kind,
                EventKind::MessageStarted { .. }
                    | EventKind::MessageDelta { .. }
                    | EventKind::MessageEnded { .. }
            )
        };
        assert_eq!(events.iter().filter(|event| of_message(&event.kind)).count(), expected, "{events:?}");
    }
}

#[tokio::test]
async fn whoever_reads_a_run_hears_which_model_was_asked_then() {
    let named = |name: &str| ScriptedModel::builder().name(name).otherwise("yes").build();
    let (home, workflow) = (Home::new(named("first")), Workflow::new(asks(Visibility::Streamed)));
    let run = home.start(&workflow, Trail::default()).await.run;
    let reader = Runtime::builder().shared_store(home.store().clone()).model(named("second")).build();
    let told = reader.replay(&workflow, &run).await.unwrap();
    let asked: Vec<&str> = told
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ModelCallStarted(call) => Some(call.model.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(asked, ["first"]);
}

#[tokio::test]
async fn the_journal_keeps_what_was_said_and_a_reply_that_is_said_again_once() {
    let long = "a long reply, ".repeat(400);
    let model = ScriptedModel::builder().otherwise(long.clone()).build();
    let talks = task_boxed("talk", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let mut said = Transcript::from(vec![Message::user("What is a loom for?")]);
            for _ in 0..2 {
                let request = ModelRequest::new(said.clone());
                let reply = scope.model(&model, request, Visibility::Hidden).await?;
                trail.text = reply.text();
                said.push(reply.message);
                said.push(Message::user("And then?"));
            }
            Ok(())
        })
    });
    let (home, workflow) = (Home::new(model), Workflow::new(talks));
    let run = home.start(&workflow, Trail::default()).await.run;
    let digests = home.store().blob_digests(&run).await.unwrap();
    let kept = home.store().blobs(&run, &digests).await.unwrap();
    let texts: Vec<String> = kept.values().map(|kept| String::from_utf8_lossy(kept).into_owned()).collect();
    for said in ["What is a loom for?", "And then?"] {
        assert!(texts.iter().any(|text| text.contains(said)), "{said}: {texts:?}");
    }
    let bytes: usize = kept.values().map(bytes::Bytes::len).sum();
    assert!(bytes < long.len(), "the reply is in the outcome of its call already: {bytes} bytes more");
}

#[tokio::test]
async fn a_reply_of_no_use_that_nobody_can_read_any_more_counts_and_is_asked_for_under_another_key() {
    let (home, workflow) = (Home::new(echo()), Workflow::new(asks(Visibility::Hidden)));
    let run = home.start(&workflow, Trail::default()).await.run;
    let unreadable = |entry: Entry| {
        let is_model = entry.effect == EffectKind::Model;
        Some(match is_model {
            true => Entry { phase: Phase::Superseded, outcome: Some("nonsense".into()), ..entry },
            false => entry,
        })
    };
    let other = home.with_changed_entries(&run, unreadable).await;
    let done = home.resume(&workflow, &other).await;
    assert_eq!((done.state.text.as_str(), done.totals.model_calls), ("well?!", 2));
    let unrefused = IdempotencyKey::derive(&other, &"ask".into(), 0);
    assert!(!home.model.call_keys().contains(&unrefused), "whoever honours keys would give that reply again");
}

/// A model that costs money.
#[derive(Default)]
struct Real(AtomicUsize);

impl Model for Real {
    fn name(&self) -> &str {
        "expensive"
    }

    fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(futures_util::stream::empty())
    }
}

#[tokio::test]
async fn a_real_model_is_not_called_where_real_models_are_forbidden() {
    let real = std::sync::Arc::new(Real::default());
    let shared: std::sync::Arc<dyn Model> = real.clone();
    let step = task_boxed("ask", move |scope, _: &mut Trail| {
        let model = std::sync::Arc::clone(&shared);
        Box::pin(async move {
            scope.model(&model, ModelRequest::new("well?"), Visibility::Hidden).await.map(drop)
        })
    });
    let runtime = Runtime::builder().forbid_live_models().build();
    let outcome = runtime.start(&Workflow::new(step), Trail::default()).await.unwrap();
    let Some(Error::Model(refused)) = outcome.error.as_ref().map(Error::root) else {
        panic!("{:?}", outcome.error)
    };
    assert!(refused.to_string().contains("`expensive` is a real model"), "{refused}");
    assert_eq!(real.0.load(Ordering::Relaxed), 0);
}
