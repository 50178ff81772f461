//! Cases 156 to 164, and conversations that are killed everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_agent::Approval;
use convoke_core::{Answer, Fork, Message, Outcome, Role, RunId, RunStatus};
use convoke_machine::conversation::{Machine, MachineState, Situation, TURN};
use convoke_machine::workflow::{Act, Command, Context, Status, advance};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{Home, compiled, in_state, just_said, payment, speaks, support, transition};

/// A pack with everything that can go wrong: a loop, a redirect, an artifact that is appended to, an approval, an event of others and a
/// budget.
fn everything() -> Value {
    json!({
        "version": 2, "entry": "draft",
        "engine": {"budget": {"max_total_visits": 20, "max_tool_calls": 40}},
        "states": {
            "draft": {"prompt_task": "draft", "on_event": {"Check": "check"}, "max_visits": 3,
                "on_max_visits": "review", "artifacts": {"log": {"type": "application/json", "mode": "append"}}},
            "check": {"prompt_task": "check", "on_event": {"Again": "draft"}},
            "review": {"prompt_task": "review", "orchestration": "external",
                "on_event": {"Approved": "pay", "Rejected": "draft"}},
            "pay": {"prompt_task": "pay", "on_event": {"Paid": "done"}, "persistence": "transient"},
            "done": {"prompt_task": "done", "terminal": true},
        },
    })
}

fn everything_model() -> ScriptedModel {
    let log = || Reply::tool("workflow__set_artifact", json!({"name": "log", "value": "\"drafted\""}));
    let check = || json!({"event": "Check", "context": "look at it"});
    ScriptedModel::builder()
        .when(in_state("done"), "All done.")
        .when(in_state("pay").and(Match::tool_result_of("pay")), transition("Paid", "paid"))
        .when(in_state("pay"), Reply::tool("pay", json!({})))
        .when(in_state("review"), "It is being reviewed.")
        .when(in_state("check"), transition("Again", "not good enough"))
        .when(
            in_state("draft").and(just_said("begin").or(Match::tool_result_of("workflow__transition"))),
            log().and_tool("workflow__transition", check()),
        )
        .when(in_state("draft"), "What is it about?")
        .build()
}

struct World {
    home: Home,
    paid: Arc<AtomicU32>,
}

fn world() -> World {
    let paid = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&paid);
    let stage = move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        if &*situation.state.name == "pay" {
            activation.tools = payment(&counter);
            activation.approval = Approval::of(["pay"]);
        }
        Ok(activation)
    };
    let home = Home::of(Machine::builder(compiled(everything()), stage), everything_model());
    World { home, paid }
}

impl World {
    /// Does whatever a run waits for, until it is over.
    async fn drive(&self, mut outcome: Outcome<MachineState>) -> MachineState {
        let run = outcome.run.clone();
        for _ in 0..20 {
            if outcome.status != RunStatus::Suspended {
                return outcome.completed().unwrap();
            }
            let context = outcome.state.context.as_ref().expect("it was opened");
            outcome = match context.current_state() {
                "review" if outcome.state.last.as_deref() != Some("It is being reviewed.") => {
                    self.home.say(&run, "how is it going?").await
                }
                "review" => self.home.send(&run, "Approved", json!("by the board")).await,
                "pay" => {
                    self.home.answer(&run, "", Answer::approve()).await;
                    self.home.resume(&run).await
                }
                _ => self.home.say(&run, "begin").await,
            };
        }
        panic!("it does not end: {:?}", outcome.state);
    }

    async fn finished_payments(&self, run: &RunId, before: u64) -> usize {
        let entries = self.home.store.entries(run, 1, usize::MAX).await.unwrap();
        let paid = |entry: &&convoke_core::Entry| {
            entry.seq < before
                && entry.effect == convoke_core::EffectKind::Tool
                && entry.phase == convoke_core::Phase::Finished
                && entry.path.as_str().contains("/pay")
                && !entry.path.as_str().contains("workflow")
        };
        entries.iter().filter(paid).count()
    }
}

/// What must be the same whatever happened on the way: everything but times.
fn essence(state: &MachineState) -> (Value, Vec<String>, Option<String>, Status) {
    let mut context = serde_json::to_value(&state.context).unwrap();
    without_times(&mut context);
    let said = state.said.iter().map(|message| format!("{:?}: {}", message.role, message.text())).collect();
    (context, said, state.last.clone(), state.status)
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !["timestamp", "started_at", "updated_at"].contains(&key.as_str()));
            fields.values_mut().for_each(without_times);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Words to a conversation whose context was stored.
fn in_context(words: &str, context: Context) -> MachineState {
    let mut state = MachineState::saying(words);
    state.context = Some(context);
    state
}

#[tokio::test]
async fn a_conversation_that_is_killed_anywhere_comes_to_the_same_end_and_does_nothing_twice() {
    let world = world();
    let first = world.home.start(MachineState::saying("hello")).await;
    let run = first.run.clone();
    let whole = world.drive(first).await;
    let expected = essence(&whole);
    let context = whole.context.unwrap();
    assert_eq!(context.artifact("log"), Some(r#"["drafted","drafted","drafted"]"#));
    assert_eq!((context.visits("draft"), context.visits("review")), (3, 1), "the redirect happened");
    assert_eq!((whole.status, whole.last.as_deref()), (Status::Completed, Some("All done.")));
    assert_eq!(world.paid.load(Ordering::Relaxed), 1);
    let entries = world.home.store.entries(&run, 1, usize::MAX).await.unwrap().len() as u64;
    assert!(entries > 40, "{entries}");
    for cut in 1..=entries {
        let before = world.paid.load(Ordering::Relaxed);
        let paid_before = world.finished_payments(&run, cut).await;
        let killed = Fork::new(run.clone(), cut).create(&world.home.store).await.unwrap();
        let again = world.home.resume(&killed).await;
        let ended = world.drive(again).await;
        assert_eq!(essence(&ended), expected, "killed before entry {cut}");
        let paid = world.paid.load(Ordering::Relaxed) - before;
        assert_eq!(paid as usize + paid_before, 1, "killed before entry {cut}");
        let replay =
            world.home.runtime().replay(&world.home.machine.clone().workflow(), &killed).await.unwrap();
        assert!(replay.error.is_none(), "killed before entry {cut}: {:?}", replay.error);
    }
}

#[tokio::test]
async fn promptkit_162_164_a_conversation_goes_on_in_another_process_before_its_first_transition() {
    let model = ScriptedModel::builder()
        .when(in_state("specialist"), "The specialist.")
        .when(in_state("intake").and(just_said("refund")), transition("Escalate", "b"))
        .when(in_state("intake"), "Hello.")
        .build();
    let home = Home::new(support(), model);
    let talk = home.start(MachineState::saying("hi")).await;
    let opened = talk.state.context.clone().unwrap();
    assert_eq!((opened.current_state(), opened.total_visits()), ("intake", 1));
    let talk = home.say(&talk.run, "a refund").await;
    let moved = talk.state.context.clone().unwrap();
    assert_eq!(moved.started_at(), opened.started_at());
    assert_eq!(moved.history().len(), 1);
    let after = home.say(&talk.run, "more").await;
    assert_eq!(after.run, talk.run, "one run, whatever the state");
    assert_eq!(after.state.context.unwrap(), moved, "a turn without a transition changes nothing");
}

#[tokio::test]
async fn promptkit_160_a_context_of_the_go_program_is_gone_on_with() {
    let stored = json!({"current_state": "specialist", "history": [{"from": "intake", "to": "specialist",
        "event": "Escalate", "timestamp": "2026-01-02T03:04:06.1Z"}], "visit_counts": {"intake": 1, "specialist": 1},
        "started_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:06.1Z"});
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Goodbye.")
        .when(in_state("specialist"), transition("Resolve", ""))
        .build();
    let home = Home::new(support(), model);
    for unreadable in [json!([]), json!({"history": []}), json!("specialist")] {
        home.machine.compiled().restore(&unreadable.to_string()).unwrap_err();
    }
    let context = home.machine.compiled().restore(&stored.to_string()).unwrap();
    let done = home.start(in_context("hi", context)).await.completed().unwrap();
    assert_eq!(done.status, Status::Completed);
    assert_eq!(done.context.unwrap().transition_count(), 2);
}

#[tokio::test]
async fn promptkit_161_a_run_that_is_not_there_cannot_be_resumed() {
    let home = Home::new(support(), ScriptedModel::replies(["Hello."]));
    let nobody: RunId = "nobody".parse().unwrap();
    let workflow = home.machine.clone().workflow();
    assert!(home.runtime().resume(&workflow, nobody.clone()).await.is_err());
    let error = convoke_core::Runtime::new().resume(&workflow, nobody).await.unwrap_err();
    assert!(error.to_string().contains("store"), "{error}");
}

/// A loop that people go round, one transition a turn.
fn looping() -> Value {
    json!({"version": 2, "entry": "a", "states": {
        "a": {"prompt_task": "a", "on_event": {"Go": "b", "End": "end"}},
        "b": {"prompt_task": "b", "on_event": {"Go": "a"}},
        "end": {"prompt_task": "end", "terminal": true}}})
}

fn looping_model() -> ScriptedModel {
    ScriptedModel::builder().when(just_said("go"), transition("Go", "round")).otherwise("There.").build()
}

#[tokio::test]
async fn promptkit_163_long_conversations_go_on_from_their_last_generation() {
    let home = Home::new(looping(), looping_model());
    let mut talk = home.start(MachineState::saying("go")).await;
    for turn in 2..=120 {
        talk = home.say(&talk.run, "go").await;
        assert_eq!(talk.status, RunStatus::Suspended, "turn {turn}");
    }
    let context = talk.state.context.unwrap();
    assert_eq!((context.transition_count(), context.total_visits()), (120, 121));
    assert_eq!(context.history().len(), 120);
    let record = home.store.run(&talk.run).await.unwrap().unwrap();
    let whole = home.store.entries(&talk.run, 1, usize::MAX).await.unwrap().len();
    assert!(record.generation.number >= 2, "120 turns are more than one generation: {whole} entries");
}

#[tokio::test]
async fn promptkit_163_after_fifteen_hundred_transitions_the_newest_are_there_when_it_goes_on() {
    let home = Home::new(looping(), looping_model());
    let begun: jiff::Timestamp = "2026-11-18T09:00:00Z".parse().unwrap();
    let compiled = home.machine.compiled();
    let mut context = compiled.start(begun);
    for number in 0..1500 {
        let at = begun + jiff::SignedDuration::from_secs(number);
        advance(compiled, &mut context, Command::at(at, Act::Event("Go"))).unwrap();
    }
    let talk = home.start(in_context("go", context)).await;
    let talk = home.resume(&talk.run).await;
    let context = talk.state.context.unwrap();
    assert_eq!((context.transition_count(), context.history().len()), (1501, 1000));
    assert_eq!(context.history().next().unwrap().timestamp, begun + jiff::SignedDuration::from_secs(501));
    assert!(context.last_transition().unwrap().timestamp > begun + jiff::SignedDuration::from_secs(1499));
}

#[tokio::test]
async fn words_of_a_person_are_asked_for_under_one_title() {
    let home = Home::new(support(), ScriptedModel::replies(["Hello."]));
    let talk = home.start(MachineState::saying("hi")).await;
    let open = home.store.questions(Some(&talk.run)).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].question.title, TURN);
    // Whoever is asked elsewhere, or days later, sees what was answered last.
    assert_eq!(open[0].question.subject, json!({"said": "Hello.", "state": "intake"}));
}

#[tokio::test]
async fn a_later_generation_asks_with_the_instructions_once_and_everything_that_was_said() {
    let model = ScriptedModel::builder()
        .when(in_state("intake").and(just_said("escalate")), transition("Escalate", "a refund"))
        .otherwise("Hm.")
        .build();
    let home = Home::new(support(), model);
    let run = home.start(MachineState::saying("word 1")).await.run;
    for turn in 2..=52 {
        let words = if turn == 50 { "escalate".to_owned() } else { format!("word {turn}") };
        assert_eq!(home.say(&run, &words).await.status, RunStatus::Suspended);
    }
    assert_eq!(home.store.run(&run).await.unwrap().unwrap().generation.number, 1);
    let asked = home.model.requests();
    // Once a turn, and once more by the state that was handed over to.
    assert_eq!(asked.len(), 53);
    let last: Vec<&Message> = asked[52].messages.iter().collect();
    assert!(last[0].role == Role::System && last[0].text().starts_with("You are specialist."));
    assert!(last[1..].iter().all(|message| message.role != Role::System));
    let words = |message: &&&Message| message.role == Role::User;
    let words: Vec<String> = last.iter().filter(words).map(|message| message.text()).collect();
    assert_eq!((words.len(), words[0].as_str(), words[51].as_str()), (52, "word 1", "word 52"));
    assert_eq!(home.resume(&run).await.status, RunStatus::Suspended);
    assert_eq!(home.model.requests().len(), 53, "the journal answers");
}
