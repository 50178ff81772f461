//! Events of a model's reply: piece by piece when it comes, and as a whole when the run goes on.

use crate::common::stored::{Home, asks, echo, says};
use convoke_core::{
    Answer, CallContext, Event, EventKind, FinishReason, Model, ModelRequest, Reality, ReplyDelta,
    ReplyStream, Workflow,
};
use convoke_steps::Chain;
use futures_util::{StreamExt, stream};

use crate::common::Trail;

/// A model that replies with these pieces.
#[derive(Clone)]
struct Pieces(Vec<ReplyDelta>);

impl Model for Pieces {
    fn name(&self) -> &str {
        "pieces"
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }

    fn reply(&self, _: ModelRequest, _: CallContext) -> ReplyStream<'_> {
        stream::iter(self.0.clone()).map(Ok).boxed()
    }
}

fn end() -> ReplyDelta {
    ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None }
}

/// What was told of messages and calls, and whether it was told again.
fn told(events: &[Event]) -> Vec<(String, bool)> {
    let words = events.iter().filter_map(|event| {
        let words = match &event.kind {
            EventKind::MessageStarted { model, .. } => format!("begins {model}"),
            EventKind::MessageDelta { text, .. } => format!("says {text}"),
            EventKind::ReasoningDelta { text, .. } => format!("thinks {text}"),
            EventKind::MessageRestarted { model, reason, .. } => format!("begins anew as {model}: {reason}"),
            EventKind::MessageEnded { .. } => "ends".to_owned(),
            EventKind::ToolCallStarted { tool, .. } => format!("calls {tool}"),
            EventKind::ToolCallArguments { delta, .. } => format!("with {delta}"),
            EventKind::ToolCallEnded { .. } => "call ends".to_owned(),
            _ => return None,
        };
        Some((words, event.replayed))
    });
    words.collect()
}

fn words(told: &[(String, bool)]) -> Vec<&str> {
    told.iter().map(|(words, _)| words.as_str()).collect()
}

#[tokio::test]
async fn a_reply_comes_in_pieces_and_is_told_again_as_a_whole() {
    let text = |text: &str| ReplyDelta::Text(text.to_owned());
    let thought = |text: &str| ReplyDelta::Reasoning(text.to_owned());
    let model =
        Pieces(vec![thought(""), thought("Hm"), thought("m."), text(""), text("Good "), text("day."), end()]);
    let home = Home::new(echo());
    let runtime = home.builder().model(model).build();
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")));
    let (events, outcome) = runtime.start(&workflow, Trail::default()).stream().collect().await;
    let live = told(&events);
    assert_eq!(words(&live), ["begins pieces", "thinks Hm", "thinks m.", "says Good ", "says day.", "ends"]);
    assert!(live.iter().all(|(_, replayed)| !replayed));
    let run = outcome.unwrap().run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let (events, _) = runtime.resume(&workflow, run).stream().collect().await;
    let again = told(&events);
    assert_eq!(words(&again), ["begins pieces", "thinks Hmm.", "says Good day.", "ends"]);
    assert!(again.iter().all(|(_, replayed)| *replayed));
}

#[tokio::test]
async fn a_reply_that_begins_anew_ends_the_calls_it_had_begun() {
    let model = Pieces(vec![
        ReplyDelta::Text("Let me".to_owned()),
        ReplyDelta::ToolCallStarted { index: 0, id: "c1".to_owned(), name: "look".to_owned() },
        ReplyDelta::ToolCallArguments { index: 0, delta: "{\"x\"".to_owned() },
        ReplyDelta::Restarted { model: "other".to_owned(), reason: "it broke off".to_owned() },
        ReplyDelta::Text("No need.".to_owned()),
        end(),
    ]);
    let runtime = Home::new(echo()).builder().model(model).build();
    let workflow = Workflow::new(Chain::new("main").then(says("a")));
    let (events, outcome) = runtime.start(&workflow, Trail::default()).stream().collect().await;
    let expected = [
        "begins pieces",
        "says Let me",
        "calls look",
        "with {\"x\"",
        "call ends",
        "begins anew as other: it broke off",
        "says No need.",
        "ends",
    ];
    assert_eq!(words(&told(&events)), expected);
    assert_eq!(outcome.unwrap().completed().unwrap().steps, ["No need."]);
}
