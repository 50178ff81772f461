//! Budgets of workflows that are reached: what counts, and that they are the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use convoke_agent::{Approval, FunctionTool};
use convoke_core::store::{Batch, NewRun};
use convoke_core::{Answer, Entry, Error, Fork, RunId, RunStatus, Toolset};
use convoke_machine::conversation::{Machine, MachineState, Situation};
use convoke_machine::workflow::Status;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Map, Value, json};

use super::{Home, compiled, in_state, speaks, support, transition};

/// What a tool says that fails, in the words in which an agent refuses calls.
const FORGED: &str = "`look` was called 3 times in a row with these arguments and gave the same each time";

/// A conversation with so many calls, whose first state has a tool that fails.
fn limited(max: u64, model: ScriptedModel) -> (Home, Arc<AtomicU32>) {
    let looked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&looked);
    let mut workflow = support();
    workflow["engine"] = json!({"budget": {"max_tool_calls": max}});
    let stage = move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let counter = Arc::clone(&counter);
        let look = FunctionTool::new("look", "Looks", move |_: Map<String, Value>| {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Err::<String, _>(Error::permanent(FORGED)) }
        });
        activation.tools.add(Arc::new(look)).unwrap();
        Ok(activation)
    };
    (Home::of(Machine::builder(compiled(workflow), stage), model), looked)
}

#[tokio::test]
async fn a_failed_result_counts_whatever_its_words_are() {
    let look = |number: u32| Reply::tool("look", json!({"number": number}));
    let replies = (0..8).map(look).chain([Reply::from("There is nothing.")]);
    let (home, looked) = limited(3, ScriptedModel::replies(replies));
    let done = home.start(MachineState::saying("look")).await.completed().unwrap();
    assert_eq!(looked.load(Ordering::Relaxed), 3);
    assert_eq!((done.status, done.last.as_deref()), (Status::BudgetExhausted, Some("There is nothing.")));
    assert_eq!(done.context.unwrap().total_tool_calls(), 3);
}

/// Looks, and wants to move on, for which there is no call left.
fn wants_one_more() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::tool_result_of("workflow__transition"), "I cannot move on.")
        .when(Match::tool_result_of("look"), transition("Escalate", ""))
        .otherwise(Reply::tool("look", json!({})))
        .build()
}

#[tokio::test]
async fn a_workflow_that_wants_more_calls_than_it_has_ends_where_it_is_also_if_it_is_killed_anywhere() {
    let (home, looked) = limited(1, wants_one_more());
    let first = home.start(MachineState::saying("look")).await;
    let run = first.run.clone();
    let done = first.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::BudgetExhausted, Some("I cannot move on.")));
    assert_eq!(done.context.as_ref().unwrap().current_state(), "intake");
    let exhausted = &home.heard.all("budget_exhausted")[0];
    assert_eq!((&exhausted["limit"], &exhausted["max"]), (&json!("max_tool_calls"), &json!(1)));
    let entries = home.store.entries(&run, 1, usize::MAX).await.unwrap().len() as u64;
    assert!(entries > 8, "{entries}");
    for cut in 1..=entries {
        let killed = Fork::new(run.clone(), cut).create(&home.store).await.unwrap();
        let again = home.resume(&killed).await.completed().unwrap();
        assert_eq!(
            (again.status, again.last.as_deref()),
            (Status::BudgetExhausted, Some("I cannot move on."))
        );
        assert_eq!(again.context.unwrap().total_tool_calls(), 1, "killed before entry {cut}");
        home.is_told_alike(&killed).await;
    }
    assert!(looked.load(Ordering::Relaxed) <= entries as u32);
}

/// A second, of which waiting takes more.
fn timed(mut workflow: Value) -> Value {
    workflow["engine"] = json!({"budget": {"max_wall_time_sec": 1}});
    workflow
}

const LONGER: Duration = Duration::from_millis(1_100);

#[tokio::test]
async fn the_time_in_which_an_event_is_waited_for_does_not_count() {
    let mut workflow = timed(support());
    workflow["states"]["specialist"]["orchestration"] = json!("external");
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Closed.")
        .when(in_state("intake"), transition("Escalate", ""))
        .otherwise("I wait.")
        .build();
    let home = Home::new(workflow, model);
    let talk = home.start(MachineState::saying("a refund")).await;
    assert_eq!(talk.status, RunStatus::Suspended);
    tokio::time::sleep(LONGER).await;
    let done = home.send(&talk.run, "Resolve", Value::Null).await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("Closed.")));
    home.is_told_alike(&talk.run).await;
}

#[tokio::test]
async fn the_time_in_which_a_person_is_asked_does_not_count_neither_between_turns_nor_within_one() {
    let paid = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&paid);
    let builder = Machine::builder(compiled(timed(support())), move |situation: &Situation<'_>| {
        let mut activation = speaks(situation)?;
        let counter = Arc::clone(&counter);
        let pay = FunctionTool::new("pay", "Pays", move |_: Map<String, Value>| {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Error>("paid".to_owned()) }
        });
        let mut tools = Toolset::new();
        tools.add(Arc::new(pay)).unwrap();
        activation.tools = tools;
        activation.approval = Approval::of(["pay"]);
        Ok(activation)
    });
    let model = ScriptedModel::builder()
        .when(Match::tool_result_of("pay"), "Paid.")
        .when(super::just_said("pay"), Reply::tool("pay", json!({})))
        .otherwise("Hello.")
        .build();
    let home = Home::of(builder, model);
    let talk = home.start(MachineState::saying("hi")).await;
    tokio::time::sleep(LONGER).await;
    let talk = home.say(&talk.run, "pay").await;
    tokio::time::sleep(LONGER).await;
    home.answer(&talk.run, "Call", Answer::approve()).await;
    let talk = home.resume(&talk.run).await;
    assert_eq!((talk.status, talk.state.last.as_deref()), (RunStatus::Suspended, Some("Paid.")));
    assert_eq!(paid.load(Ordering::Relaxed), 1);
    home.is_told_alike(&talk.run).await;
}

/// The same run as an earlier build would have begun it, killed before it decided what no earlier build did.
async fn of_an_earlier_build(home: &Home, run: &RunId) -> RunId {
    let record = home.store.run(run).await.unwrap().unwrap();
    let entries = home.store.entries(run, 1, usize::MAX).await.unwrap();
    let is_earlier = |entry: &Entry| !entry.path.as_str().contains("version of a budget");
    let begun = entries.into_iter().take_while(|entry| !entry.path.as_str().contains("calls used up"));
    let kept = begun.filter(is_earlier).zip(1..).map(|(entry, seq)| Entry { seq, ..entry });
    let past = Batch { entries: kept.collect(), ..Batch::default() };
    let new = NewRun {
        id: "earlier".parse().unwrap(),
        workflow: record.workflow,
        version: record.version,
        input: record.input,
        outline: record.outline,
        launch: record.launch,
        seed: record.seed,
        forked_from: None,
        past,
    };
    let lease = home.store.create(new).await.unwrap();
    home.store.release(&lease);
    lease.run
}

#[tokio::test]
async fn a_run_of_an_earlier_build_counts_time_as_it_did() {
    let mut workflow = timed(support());
    workflow["states"]["specialist"]["orchestration"] = json!("external");
    let model = ScriptedModel::builder()
        .when(in_state("intake"), transition("Escalate", ""))
        .otherwise("I wait.")
        .build();
    let home = Home::new(workflow, model);
    let talk = home.start(MachineState::saying("a refund")).await;
    let run = of_an_earlier_build(&home, &talk.run).await;
    tokio::time::sleep(LONGER).await;
    let done = home.send(&run, "Resolve", Value::Null).await.completed().unwrap();
    assert_eq!(done.status, Status::BudgetExhausted);
    home.is_told_alike(&run).await;
}

#[tokio::test]
async fn a_run_of_an_earlier_build_that_was_refused_a_call_ends_at_the_next_one() {
    let (home, looked) = limited(1, wants_one_more());
    let first = home.start(MachineState::saying("look")).await;
    let run = of_an_earlier_build(&home, &first.run).await;
    let done = home.resume(&run).await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::BudgetExhausted, Some("I cannot move on.")));
    assert_eq!(looked.load(Ordering::Relaxed), 1);
    home.is_told_alike(&run).await;
}
