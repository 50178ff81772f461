//! What is sent to a conversation: what it belongs to, and in which order it counts.

use std::sync::Arc;

use convoke_agent::{Approval, ClientTool};
use convoke_core::store::NewMail;
use convoke_core::{Answer, Error, RunId, RunStatus};
use convoke_machine::conversation::{CLIENT_REFUSED, Machine, MachineState, Situation, TOOL_RESULTS, TURN};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{Home, compiled, in_state, just_said, payment, speaks, transition};

/// A writer, and an editor somewhere else who accepts a text or sends it back.
fn newspaper() -> Home {
    let workflow = json!({"version": 2, "entry": "write", "states": {
        "write": {"prompt_task": "write", "on_event": {"Draft": "editor"}},
        "editor": {"prompt_task": "editor", "orchestration": "external",
            "on_event": {"Accepted": "print", "SentBack": "write"}},
        "print": {"prompt_task": "print", "terminal": true}}});
    let model = ScriptedModel::builder()
        .when(in_state("print"), "It is printed.")
        .when(in_state("editor"), "It is with the editor.")
        .when(in_state("write"), transition("Draft", "a text"))
        .build();
    Home::new(workflow, model)
}

impl Home {
    async fn post(&self, run: &RunId, channel: &str, payload: Value) {
        self.store.post(run, NewMail::json(channel, &payload).unwrap()).await.unwrap();
    }

    pub(super) async fn is_told_alike(&self, run: &RunId) {
        let replay = self.runtime().replay(&self.machine.clone().workflow(), run).await.unwrap();
        // One that waits is told as far as it has come.
        assert!(matches!(replay.error, None | Some(Error::NotRecorded { .. })), "{:?}", replay.error);
        assert_eq!(replay.unused, 0);
    }
}

#[tokio::test]
async fn of_two_events_the_one_that_was_sent_first_counts_and_the_other_is_not_kept_for_the_next_visit() {
    let home = newspaper();
    let run = home.start(MachineState::saying("go")).await.run;
    home.post(&run, "SentBack", json!("too long")).await;
    home.post(&run, "Accepted", json!("fine")).await;
    let talk = home.resume(&run).await;
    assert_eq!(talk.status, RunStatus::Suspended, "nobody has seen the second text");
    let context = talk.state.context.unwrap();
    assert_eq!((context.current_state(), context.visits("editor")), ("editor", 2));
    let passed_over = home.heard.all("event_passed_over");
    let expected = json!({"event": "Accepted", "sender": "", "payload": "fine", "state": "write"});
    assert_eq!(passed_over, [expected]);
    home.is_told_alike(&run).await;
    let done = home.send(&run, "Accepted", Value::Null).await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some("It is printed."));
    home.is_told_alike(&run).await;
}

#[tokio::test]
async fn an_event_that_is_sent_twice_moves_on_once() {
    let home = newspaper();
    let run = home.start(MachineState::saying("go")).await.run;
    home.post(&run, "SentBack", Value::Null).await;
    home.post(&run, "SentBack", Value::Null).await;
    let talk = home.resume(&run).await;
    assert_eq!(home.heard.all("event_passed_over").len(), 1);
    assert_eq!(talk.state.context.unwrap().visits("editor"), 2);
    let talk = home.resume(&run).await;
    assert_eq!(talk.state.context.unwrap().visits("editor"), 2);
}

#[tokio::test]
async fn what_a_person_said_where_an_event_is_there_too_is_heard_before_it() {
    for words_are_first in [true, false] {
        let home = newspaper();
        let run = home.start(MachineState::saying("go")).await.run;
        if words_are_first {
            home.answer(&run, TURN, Answer::text("How is it going?")).await;
        }
        home.post(&run, "Accepted", Value::Null).await;
        if !words_are_first {
            home.answer(&run, TURN, Answer::text("How is it going?")).await;
        }
        let done = home.resume(&run).await.completed().unwrap();
        let said: Vec<String> = done.said.iter().map(convoke_core::Message::text).collect();
        let expected = ["How is it going?", "It is with the editor.", "[Accepted]", "It is printed."];
        assert_eq!(said[said.len() - 4..], expected);
        home.is_told_alike(&run).await;
    }
}

#[tokio::test]
async fn an_event_that_is_sent_while_its_state_speaks_counts_and_one_for_a_state_that_was_left_does_not() {
    let workflow = json!({"version": 2, "entry": "desk", "states": {
        "desk": {"prompt_task": "desk", "orchestration": "hybrid", "on_event": {"Closed": "end", "Next": "till"}},
        "till": {"prompt_task": "till", "orchestration": "hybrid", "on_event": {"Closed": "end"}},
        "end": {"prompt_task": "end", "terminal": true}}});
    let counter = Arc::default();
    let stage = move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        activation.tools = payment(&counter);
        activation.approval = Approval::of(["pay"]);
        Ok(activation)
    };
    let model = || {
        ScriptedModel::builder()
            .when(in_state("end"), "Closed.")
            .when(in_state("till"), "At the till.")
            .when(in_state("desk").and(Match::tool_result_of("pay")), "Paid.")
            .when(
                just_said("move on"),
                Reply::tool("pay", json!({}))
                    .and_tool("workflow__transition", json!({"event": "Next", "context": ""})),
            )
            .when(in_state("desk"), Reply::tool("pay", json!({})))
            .build()
    };
    for (words, status, passed_over) in
        [("pay", RunStatus::Completed, 0), ("move on", RunStatus::Suspended, 1)]
    {
        let home = Home::of(Machine::builder(compiled(workflow.clone()), stage.clone()), model());
        let run = home.start(MachineState::saying(words)).await.run;
        home.post(&run, "Closed", Value::Null).await;
        home.answer(&run, "", Answer::approve()).await;
        let talk = home.resume(&run).await;
        assert_eq!(talk.status, status, "{words}: {:?}", talk.state.last);
        assert_eq!(home.heard.all("event_passed_over").len(), passed_over, "{words}");
        home.is_told_alike(&run).await;
    }
}

/// A state that asks a client whenever a person says something. Ids of calls come again in every reply.
fn asking_a_client() -> Home {
    let workflow = json!({"version": 2, "entry": "desk", "states": {
        "desk": {"prompt_task": "desk", "on_event": {"Closed": "end"}},
        "end": {"prompt_task": "end", "terminal": true}}});
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let look = ClientTool::new("look", "Looks", json!({"type": "object"})).unwrap();
        activation.tools.add(Arc::new(look)).unwrap();
        Ok(activation)
    };
    let call = convoke_core::ToolCall { id: "c1".into(), name: "look".into(), arguments: json!({}) };
    let model = ScriptedModel::builder()
        .when(Match::tool_result_of("look"), "I have looked.")
        .otherwise(Reply::empty().and_call(call))
        .build();
    Home::of(Machine::builder(compiled(workflow), stage), model)
}

#[tokio::test]
async fn a_result_that_is_sent_twice_or_before_its_call_answers_no_later_call() {
    for again in [json!({"content": "old"}), json!({"call_id": "c1", "content": "old"})] {
        let home = asking_a_client();
        let run = home.start(MachineState::saying("look")).await.run;
        home.post(&run, TOOL_RESULTS, json!({"content": "new"})).await;
        home.post(&run, TOOL_RESULTS, again).await;
        let talk = home.resume(&run).await;
        assert_eq!(talk.state.last.as_deref(), Some("I have looked."));
        let talk = home.say(&run, "look again").await;
        assert!(talk.state.last.is_none() || home.model.calls() == 3, "a client is to look again");
        assert_eq!(
            home.store.questions(Some(&run)).await.unwrap(),
            [],
            "it waits for the client, not for words"
        );
        let refused = home.heard.all(CLIENT_REFUSED);
        let reason = "it was sent before the calls were made that wait now";
        assert_eq!(refused, [json!({"channel": TOOL_RESULTS, "sender": "", "reason": reason})]);
        home.is_told_alike(&run).await;
        let talk = home.send(&run, TOOL_RESULTS, json!({"content": "newer"})).await;
        let results: Vec<String> = talk
            .state
            .said
            .iter()
            .flat_map(|message| message.results())
            .map(|result| result.content.clone())
            .collect();
        assert_eq!(results, ["new", "newer"]);
    }
}
