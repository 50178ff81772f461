//! Cases 127 to 146, and 56 to 58: turns, and moving on in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_agent::{Approval, ClientTool, FunctionTool};
use convoke_core::store::NewMail;
use convoke_core::{Answer, Error, RunStatus, StoreError, ToolEffect, Toolset};
use convoke_machine::conversation::{
    Activation, CLIENT_REFUSED, CLIENT_REQUEST, InvalidMachine, Machine, MachineState, Situation,
    TOOL_RESULTS, Talk, Validator,
};
use convoke_machine::workflow::{Compiled, Known, Spec, Status};
use convoke_models::scripted::Chunks;
use convoke_models::{Reply, ScriptedModel};
use serde_json::{Map, Value, json};

use super::{Home, compiled, in_state, just_said, machine, payment, speaks, support, system, transition};

fn escalating() -> ScriptedModel {
    ScriptedModel::builder()
        .when(in_state("specialist"), "The specialist speaks.")
        .when(in_state("intake").and(just_said("refund")), transition("Escalate", "wants a refund"))
        .when(in_state("intake"), "How can I help?")
        .build()
}

fn once(words: &str) -> MachineState {
    MachineState::saying(words).talk(Talk::Once)
}

#[tokio::test]
async fn promptkit_131_the_state_that_is_moved_on_to_speaks_in_the_same_turn() {
    let home = Home::new(support(), escalating());
    let done = home.start(once("a refund, please")).await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some("The specialist speaks."));
    assert_eq!(done.context.unwrap().current_state(), "specialist");
    let asked = home.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].0.starts_with("You are intake.") && asked[1].0.starts_with("You are specialist."));
}

#[tokio::test]
async fn promptkit_132_without_a_transition_the_state_stays() {
    let home = Home::new(support(), escalating());
    let done = home.start(once("hello")).await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some("How can I help?"));
    assert_eq!(done.context.unwrap().current_state(), "intake");
    assert_eq!(home.model.calls(), 1);
}

#[tokio::test]
async fn promptkit_127_what_is_no_workflow_cannot_be_conversed_over() {
    let nothing: Spec = serde_json::from_value(json!({"version": 2, "entry": "a", "states": {}})).unwrap();
    assert!(Compiled::new(&nothing, &Known::anything()).is_err());
    let composed = json!({"version": 2, "entry": "a",
        "states": {"a": {"orchestration": "composition", "composition": "c", "terminal": true}}});
    let error = machine(composed).build().unwrap_err();
    assert_eq!(error, InvalidMachine::UnknownComposition { state: "a".into(), composition: "c".into() });
}

#[tokio::test]
async fn promptkit_128_what_is_over_takes_nothing_more() {
    let home = Home::new(support(), escalating());
    let first = home.start(MachineState::saying("hello")).await;
    assert_eq!(first.status, RunStatus::Suspended);
    let asked = home.store.questions(Some(&first.run)).await.unwrap().remove(0).id;
    home.answer(&first.run, super::TURN, Answer::reject("bye")).await;
    let closed = home.resume(&first.run).await;
    assert_eq!(closed.status, RunStatus::Completed);
    let calls = home.model.calls();
    // Neither words nor events reach it any more.
    home.store.answer(&first.run, &asked, Answer::text("one more thing")).await.unwrap_err();
    let mail = NewMail::json("Escalate", &Value::Null).unwrap();
    let refused = home.store.post(&first.run, mail).await.unwrap_err();
    assert!(matches!(refused, StoreError::Over { .. }), "{refused}");
    // Closing twice does nothing.
    let again = home.resume(&first.run).await;
    assert_eq!((again.status, again.state.last), (RunStatus::Completed, closed.state.last));
    assert_eq!(home.model.calls(), calls);
}

fn external() -> Value {
    let mut workflow = support();
    for state in ["intake", "specialist"] {
        workflow["states"][state]["orchestration"] = json!("external");
    }
    workflow
}

#[tokio::test]
async fn promptkit_130_152_a_workflow_that_others_move_takes_words_and_events() {
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Closed.")
        .when(in_state("specialist"), "The specialist.")
        .when(in_state("intake"), "Intake.")
        .build();
    let home = Home::new(external(), model);
    let talk = home.start(MachineState::saying("hello")).await;
    assert_eq!(talk.state.last.as_deref(), Some("Intake."));
    assert!(!home.asked()[0].1.contains(&"workflow__transition".to_owned()));
    let talk = home.send(&talk.run, "Escalate", json!("it is urgent")).await;
    assert_eq!(talk.status, RunStatus::Suspended);
    assert_eq!(talk.state.context.as_ref().unwrap().current_state(), "specialist");
    let talk = home.say(&talk.run, "are you there?").await;
    assert_eq!(talk.state.last.as_deref(), Some("The specialist."));
    assert!(home.asked()[1].0.contains("Brief: <it is urgent>"));
    let done = home.send(&talk.run, "Resolve", Value::Null).await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("Closed.")));
    let context = done.context.unwrap();
    assert_eq!(home.machine.compiled().available_events(&context).count(), 0);
    let late = NewMail::json("Escalate", &Value::Null).unwrap();
    assert!(matches!(home.store.post(&talk.run, late).await, Err(StoreError::Over { .. })), "129");
}

#[tokio::test]
async fn promptkit_129_an_event_that_the_state_does_not_know_waits_and_moves_nothing() {
    let home = Home::new(external(), ScriptedModel::replies(["Intake."]));
    let talk = home.start(MachineState::saying("hello")).await;
    let talk = home.send(&talk.run, "Resolve", Value::Null).await;
    assert_eq!(talk.status, RunStatus::Suspended);
    assert_eq!(talk.state.context.unwrap().current_state(), "intake");
}

#[tokio::test]
async fn promptkit_139_an_external_state_serves_its_own_turns() {
    let home = Home::new(external(), ScriptedModel::replies(["One.", "Two."]));
    let talk = home.start(MachineState::saying("first")).await;
    let talk = home.say(&talk.run, "second").await;
    assert_eq!(talk.state.last.as_deref(), Some("Two."));
    assert_eq!(talk.state.context.unwrap().current_state(), "intake");
}

#[tokio::test]
async fn promptkit_136_moving_on_to_an_external_state_ends_the_turn() {
    let mut workflow = support();
    workflow["states"]["specialist"]["orchestration"] = json!("external");
    let home = Home::new(workflow, escalating());
    let talk = home.start(MachineState::saying("a refund")).await;
    assert_eq!(talk.state.context.unwrap().current_state(), "specialist");
    assert_eq!(home.model.calls(), 1);
}

#[tokio::test]
async fn promptkit_134_135_a_resumed_turn_runs_under_the_prompt_it_had_come_to() {
    let home = Home::new(support(), escalating());
    let talk = home.start(MachineState::saying("a refund")).await;
    let again = home.resume(&talk.run).await;
    assert_eq!(again.status, RunStatus::Suspended);
    assert_eq!(home.model.calls(), 2, "asked again, it says the same without asking anybody");
    let talk = home.say(&talk.run, "and now?").await;
    assert_eq!(talk.state.last.as_deref(), Some("The specialist speaks."));
    assert!(home.asked()[2].0.starts_with("You are specialist."));
}

#[tokio::test]
async fn promptkit_137_a_context_in_a_state_that_is_not_there_is_an_error_that_names_it() {
    let home = Home::new(support(), escalating());
    let other = compiled(json!({"version": 2, "entry": "elsewhere",
        "states": {"elsewhere": {"prompt_task": "x", "terminal": true}}}));
    let context = other.start("2026-11-18T09:00:00Z".parse().unwrap());
    let mut stored = once("hello");
    stored.context = Some(context);
    let failed = home.start(stored).await;
    assert!(failed.error.unwrap().to_string().contains("`elsewhere`"));
    assert_eq!(home.model.calls(), 0);
}

#[tokio::test]
async fn promptkit_138_a_state_without_a_prompt_cannot_be() {
    let mut workflow = support();
    workflow["states"]["specialist"]["prompt_task"] = json!("");
    let spec: Spec = serde_json::from_value(workflow).unwrap();
    let error = Compiled::new(&spec, &Known::anything()).unwrap_err();
    assert_eq!(error.findings[0].code, "missing-prompt");
}

#[tokio::test]
async fn promptkit_140_153_a_state_that_cannot_speak_is_tried_again_and_no_model_is_asked() {
    let broken = Arc::new(AtomicU32::new(1));
    let stage = {
        let broken = Arc::clone(&broken);
        move |situation: &Situation<'_>| match broken.load(Ordering::Relaxed) {
            0 => speaks(situation),
            _ => Err("variable `name` is not set".to_owned()),
        }
    };
    let home = Home::of(Machine::builder(compiled(support()), stage), escalating());
    let talk = home.start(MachineState::saying("hello")).await;
    assert_eq!((talk.status, home.model.calls()), (RunStatus::Suspended, 0));
    let open = home.store.questions(Some(&talk.run)).await.unwrap();
    assert!(open[0].question.details.contains("prompt `intake`: variable `name` is not set"), "{open:?}");
    // Once it is mended, the conversation goes on where it was.
    broken.store(0, Ordering::Relaxed);
    let talk = home.say(&talk.run, "are you there?").await;
    assert_eq!(talk.state.last.as_deref(), Some("How can I help?"));
    let said: Vec<String> = talk.state.said.iter().map(convoke_core::Message::text).collect();
    assert_eq!(said, ["hello", "are you there?", "How can I help?"]);
    let once =
        Home::of(Machine::builder(compiled(support()), |_: &Situation<'_>| Err("no".into())), escalating());
    let failed = once.start(MachineState::saying("hello").talk(Talk::Once)).await;
    assert!(
        failed.error.unwrap().to_string().contains("state `intake` cannot speak with prompt `intake`: no")
    );
}

#[tokio::test]
async fn promptkit_057_142_154_a_call_that_waits_for_approval_holds_the_transition_back() {
    let paid = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&paid);
    let stage = move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        if &*situation.state.name == "intake" {
            activation.tools = payment(&counter);
            activation.approval = Approval::of(["pay"]);
        }
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), "Confirmed.")
        .when(in_state("intake"), transition("Escalate", "paid 30").and_tool("pay", json!({})))
        .build();
    let home = Home::of(Machine::builder(compiled(support()), stage), model);
    let held = home.start(once("a refund")).await;
    assert_eq!(held.status, RunStatus::Suspended);
    assert_eq!(paid.load(Ordering::Relaxed), 0);
    assert_eq!(home.heard.all("transitioned"), [] as [Value; 0], "nothing moves while a call is held");
    home.answer(&held.run, "", Answer::approve()).await;
    let done = home.resume(&held.run).await.completed().unwrap();
    assert_eq!((done.last.as_deref(), paid.load(Ordering::Relaxed)), (Some("Confirmed."), 1));
    let context = done.context.unwrap();
    assert_eq!((context.current_state(), context.total_tool_calls()), ("specialist", 2));
    assert!(home.asked().last().unwrap().0.contains("Brief: <paid 30>"));
}

#[tokio::test]
async fn promptkit_142_after_an_approval_the_state_that_asked_for_it_goes_on_and_then_hands_over() {
    let paid = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&paid);
    let stage = move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        activation.tools = payment(&counter);
        activation.approval = Approval::of(["pay"]);
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), "Confirmed.")
        .when(
            in_state("intake").and(convoke_models::Match::tool_result_of("pay")),
            transition("Escalate", "paid 30"),
        )
        .when(in_state("intake"), Reply::tool("pay", json!({})))
        .build();
    let home = Home::of(Machine::builder(compiled(support()), stage), model);
    let held = home.start(once("a refund")).await;
    assert_eq!((held.status, paid.load(Ordering::Relaxed)), (RunStatus::Suspended, 0));
    assert_eq!(held.state.context.unwrap().current_state(), "intake");
    home.answer(&held.run, "", Answer::approve()).await;
    let done = home.resume(&held.run).await.completed().unwrap();
    assert_eq!((done.last.as_deref(), paid.load(Ordering::Relaxed)), (Some("Confirmed."), 1));
    let asked: Vec<String> = home.asked().into_iter().map(|(prompt, _)| prompt).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[..2].iter().all(|prompt| prompt.starts_with("You are intake.")), "{asked:?}");
    assert!(asked[2].starts_with("You are specialist. Brief: <paid 30>"), "{asked:?}");
}

#[tokio::test]
async fn promptkit_143_variables_of_the_caller_are_there_in_every_state_and_after_resuming() {
    let home = Home::new(support(), escalating());
    let talk = home.start(MachineState::saying("a refund").variable("customer", "ada")).await;
    let _ = home.say(&talk.run, "hello?").await;
    let asked = home.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|(prompt, _)| prompt.contains("Variables: <customer=\"ada\">")), "{asked:?}");
}

#[tokio::test]
async fn promptkit_144_the_brief_stays_until_the_next_transition() {
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Done.")
        .when(in_state("specialist").and(just_said("enough")), transition("Resolve", ""))
        .when(in_state("specialist"), "Go on.")
        .when(in_state("intake"), transition("Escalate", "wants a refund"))
        .build();
    let home = Home::new(support(), model);
    let talk = home.start(MachineState::saying("a refund")).await;
    let talk = home.say(&talk.run, "more").await;
    home.say(&talk.run, "enough").await.completed().unwrap();
    let briefed: Vec<bool> =
        home.asked().iter().map(|(prompt, _)| prompt.contains("Brief: <wants a refund>")).collect();
    assert_eq!(briefed, [false, true, true, true, false]);
}

#[tokio::test]
async fn promptkit_145_the_events_change_with_the_state_even_if_the_prompt_does_not() {
    let same = |_: &Situation<'_>| Ok(Activation::new("Always the same."));
    let model = ScriptedModel::builder()
        .when(convoke_models::Match::has_tool_result(), "Hello.")
        .otherwise(transition("Escalate", ""))
        .build();
    let home = Home::of(Machine::builder(compiled(support()), same), model);
    home.start(once("hi")).await.completed().unwrap();
    let events: Vec<Value> = home
        .model
        .requests()
        .iter()
        .map(|request| request.tools[0].parameters["properties"]["event"]["enum"].clone())
        .collect();
    assert_eq!(events, [json!(["Escalate"]), json!(["Resolve"])]);
    assert!(home.model.requests().iter().all(|request| system(request) == "Always the same."));
}

/// A rule against a word, and what is said instead.
fn banned(word: &str, direction: &str, instead: &str) -> Validator {
    let params = json!({"words": [word], "direction": direction, "message": instead});
    let spec = serde_json::from_value(json!({"type": "banned_words", "params": params})).unwrap();
    Validator::new(&spec).unwrap()
}

#[tokio::test]
async fn promptkit_146_validators_and_parameters_are_those_of_the_state_that_speaks() {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let specialist = &*situation.state.name == "specialist";
        activation.params.temperature = Some(if specialist { 0.1 } else { 0.9 });
        if specialist {
            activation.validators = vec![banned("speaks", "output", "I may not say that.")];
        }
        Ok(activation)
    };
    let home = Home::of(Machine::builder(compiled(support()), stage), escalating());
    let done = home.start(once("a refund")).await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some("I may not say that."));
    let temperatures: Vec<_> =
        home.model.requests().iter().map(|request| request.params.temperature).collect();
    assert_eq!(temperatures, [Some(0.9), Some(0.1)]);
}

#[tokio::test]
async fn what_a_person_must_not_say_is_answered_without_the_model() {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        activation.validators = vec![banned("password", "input", "Keep it to yourself.")];
        Ok(activation)
    };
    let home = Home::of(Machine::builder(compiled(support()), stage), escalating());
    let done = home.start(once("my password is 1234")).await.completed().unwrap();
    assert_eq!((done.last.as_deref(), home.model.calls()), (Some("Keep it to yourself."), 0));
}

#[tokio::test]
async fn promptkit_123_of_two_transitions_in_one_reply_the_first_happens() {
    let model = ScriptedModel::builder()
        .when(in_state("left"), "Left.")
        .when(
            in_state("fork"),
            transition("Left", "l")
                .and_tool("workflow__transition", json!({"event": "Right", "context": "r"})),
        )
        .build();
    let workflow = json!({"version": 2, "entry": "fork", "states": {
        "fork": {"prompt_task": "f", "on_event": {"Left": "left", "Right": "right"}},
        "left": {"prompt_task": "l", "terminal": true}, "right": {"prompt_task": "r", "terminal": true}}});
    let home = Home::new(workflow, model);
    let done = home.start(once("go")).await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some("Left."));
    let results: Vec<(bool, String)> = home.model.requests()[1]
        .messages
        .iter()
        .flat_map(|message| {
            message.results().map(|result| (result.is_error, result.content.clone())).collect::<Vec<_>>()
        })
        .collect();
    assert!(!results[0].0 && results[0].1.contains("\"target_state\":\"left\""));
    assert!(results[1].0 && results[1].1.contains("already pending"));
    assert_eq!(home.heard.all("transition_refused")[0]["event"], json!("Right"));
}

fn two_calls(max: u64) -> Home {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let look = FunctionTool::new("look", "Looks", |_: Map<String, Value>| async {
            Ok::<_, Error>("seen".to_owned())
        });
        activation.tools.add(Arc::new(look)).unwrap();
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(in_state("intake").and(convoke_models::Match::tool_result_of("look")), "I have looked.")
        .when(in_state("intake").and(just_said("move")), transition("Escalate", ""))
        .when(in_state("intake"), Reply::tool("look", json!({})).and_tool("look", json!({})))
        .when(in_state("specialist"), "Specialist.")
        .build();
    let mut workflow = support();
    workflow["engine"] = json!({"budget": {"max_tool_calls": max}});
    workflow["states"]["intake"]["orchestration"] = json!("hybrid");
    Home::of(Machine::builder(compiled(workflow), stage), model)
}

#[tokio::test]
async fn promptkit_056_calls_of_a_turn_count_against_the_budget() {
    let home = two_calls(2);
    let talk = home.start(MachineState::saying("look twice")).await;
    assert_eq!(talk.state.context.as_ref().unwrap().total_tool_calls(), 2);
    let done = home.send(&talk.run, "Escalate", Value::Null).await.completed().unwrap();
    assert_eq!(done.status, Status::BudgetExhausted);
    assert_eq!(done.context.unwrap().current_state(), "intake");
    let exhausted = &home.heard.all("budget_exhausted")[0];
    assert_eq!((&exhausted["limit"], &exhausted["max"]), (&json!("max_tool_calls"), &json!(2)));
}

#[tokio::test]
async fn promptkit_058_the_call_that_moves_on_counts_before_it_does() {
    let home = two_calls(1);
    let done = home.start(once("move")).await.completed().unwrap();
    assert_eq!(done.status, Status::BudgetExhausted);
    let context = done.context.unwrap();
    assert_eq!((context.current_state(), context.total_tool_calls()), ("intake", 1));
}

#[tokio::test]
async fn promptkit_058_calls_that_fail_count_and_those_that_only_repeat_themselves_do_not() {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let broken = FunctionTool::new("look", "Looks", |_: Map<String, Value>| async {
            Err::<String, _>(Error::permanent("it is dark"))
        });
        activation.tools.add(Arc::new(broken)).unwrap();
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(convoke_models::Match::call(5), "I cannot see.")
        .otherwise(Reply::tool("look", json!({})))
        .build();
    let home = Home::of(Machine::builder(compiled(support()), stage), model);
    let done = home.start(once("look")).await.completed().unwrap();
    let results: Vec<String> = done
        .said
        .iter()
        .flat_map(|message| message.results().map(|result| result.content.clone()).collect::<Vec<_>>())
        .collect();
    assert_eq!(results.iter().filter(|result| result.contains("it is dark")).count(), 3, "{results:?}");
    assert_eq!(results.len(), 4, "the last one only says that repeating it is of no use: {results:?}");
    assert_eq!(done.context.unwrap().total_tool_calls(), 3);
}

#[tokio::test]
async fn calls_beyond_the_budget_are_not_made() {
    let home = two_calls(1);
    let done = home.start(once("look twice")).await.state;
    assert_eq!(done.last.as_deref(), Some("I have looked."));
    let results: Vec<bool> = done
        .said
        .iter()
        .flat_map(|message| message.results().map(|result| result.is_error).collect::<Vec<_>>())
        .collect();
    assert_eq!(results, [false, true]);
    assert_eq!(done.context.unwrap().total_tool_calls(), 1);
}

#[tokio::test]
async fn promptkit_084_artifacts_without_a_value_are_empty_and_those_set_before_a_transition_are_there_after_it()
 {
    let mut workflow = support();
    workflow["states"]["intake"]["artifacts"] = json!({"ticket": {"type": "text/plain"}});
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), "Seen.")
        .when(
            in_state("intake"),
            Reply::tool("workflow__set_artifact", json!({"name": "ticket", "value": "T-1"}))
                .and_tool("workflow__transition", json!({"event": "Escalate", "context": "c"})),
        )
        .build();
    let home = Home::new(workflow, model);
    let done = home.start(once("hi")).await.completed().unwrap();
    let asked = home.asked();
    assert!(asked[0].0.contains("Artifacts: <ticket=>") && asked[1].0.contains("Artifacts: <ticket=T-1>"));
    let context = done.context.unwrap();
    assert_eq!(&*context.artifact_history().next().unwrap().values["ticket"], "T-1");
}

#[tokio::test]
async fn tools_of_the_client_wait_for_their_results_and_so_does_the_transition() {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        if &*situation.state.name == "intake" {
            let form = ClientTool::new("show_form", "Shows a form", json!({"type": "object"})).unwrap();
            activation.tools.add(Arc::new(form)).unwrap();
        }
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), "Thank you.")
        .when(
            in_state("intake"),
            Reply::empty()
                .and_call(convoke_core::ToolCall {
                    id: "c1".into(),
                    name: "show_form".into(),
                    arguments: json!({}),
                })
                .and_tool("workflow__transition", json!({"event": "Escalate", "context": "c"})),
        )
        .build();
    // Where only one call waits, nobody need say which.
    for result in [json!({"call_id": "c1", "content": "filled"}), json!({"content": "filled"})] {
        let home = Home::of(Machine::builder(compiled(support()), stage), model.clone());
        let waiting = home.start(once("hi")).await;
        assert_eq!(waiting.status, RunStatus::Suspended);
        assert_eq!(home.heard.all("transitioned").len(), 0);
        // Nonsense is told of and passed over: it goes on waiting.
        for nonsense in [json!("filled"), json!({"content": "x", "call_id": "c2"}), json!({"call_id": "c1"})]
        {
            let waiting = home.send(&waiting.run, TOOL_RESULTS, nonsense).await;
            assert_eq!(waiting.status, RunStatus::Suspended);
        }
        let asked = json!([{"call_id": "c1", "tool": "show_form", "arguments": {}}]);
        assert_eq!(home.heard.all(CLIENT_REQUEST)[0], json!({"channel": TOOL_RESULTS, "calls": asked}));
        for reason in [
            "a result is an object with its `content`",
            "no call `c2` waits for its result; there are `c1` (show_form)",
        ] {
            assert!(
                home.heard.all(CLIENT_REFUSED).iter().any(|refused| refused["reason"] == reason),
                "{reason}"
            );
        }
        let done = home.send(&waiting.run, TOOL_RESULTS, result).await;
        let done = done.completed().unwrap();
        assert_eq!(done.last.as_deref(), Some("Thank you."));
        assert_eq!(done.context.unwrap().total_tool_calls(), 2);
    }
}

#[tokio::test]
async fn promptkit_133_it_is_the_same_whether_replies_come_in_pieces_or_whole() {
    for chunks in [Chunks::Whole, Chunks::Words] {
        let model = ScriptedModel::builder()
            .when(in_state("specialist"), Reply::text("The specialist speaks.").chunks(chunks))
            .when(in_state("intake"), transition("Escalate", "wants a refund").chunks(chunks))
            .build();
        let home = Home::new(support(), model);
        let done = home.start(once("a refund")).await.completed().unwrap();
        assert_eq!(done.last.as_deref(), Some("The specialist speaks."));
        assert_eq!(home.model.calls(), 2);
    }
}

#[tokio::test]
async fn promptkit_151_a_transition_of_a_reply_that_was_replaced_does_not_happen_later() {
    let stage = |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        activation.validators = vec![banned("forbidden", "output", "No.")];
        Ok(activation)
    };
    let model = ScriptedModel::builder()
        .when(just_said("more"), "Gladly.")
        .otherwise(transition("Escalate", "").and_text("forbidden"))
        .build();
    let home = Home::of(Machine::builder(compiled(support()), stage), model);
    let talk = home.start(MachineState::saying("hi")).await;
    assert_eq!(talk.state.last.as_deref(), Some("No."));
    let talk = home.say(&talk.run, "more").await;
    assert_eq!(talk.state.last.as_deref(), Some("Gladly."));
    assert_eq!(talk.state.context.unwrap().current_state(), "intake");
}

/// Two calls of one reply, one after the other, the first of which takes all the time there is: the second is not made.
#[tokio::test]
async fn time_is_looked_at_before_every_call() {
    let mut workflow = support();
    workflow["engine"] = json!({"budget": {"max_wall_time_sec": 1}});
    let begun = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&begun);
    let slow = FunctionTool::new("slow", "Takes its time", move |_: Map<String, Value>| {
        counter.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
            Ok::<_, convoke_core::Error>("done".to_owned())
        }
    })
    .effects(ToolEffect::Writes);
    let mut tools = Toolset::new();
    tools.add(Arc::new(slow)).unwrap();
    let builder = Machine::builder(compiled(workflow), move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        activation.tools = tools.clone();
        Ok(activation)
    });
    let calls = Reply::tool("slow", json!({"part": 1})).and_tool("slow", json!({"part": 2}));
    let model = ScriptedModel::builder().otherwise(calls).build();
    let home = Home::of(builder, model);
    let done = home.start(MachineState::saying("hi").talk(Talk::Once)).await.completed().unwrap();
    assert!(begun.load(Ordering::Relaxed) <= 1, "{:?}", done.said);
    assert_eq!(done.status, Status::BudgetExhausted);
}
