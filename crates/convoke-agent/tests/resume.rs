//! Agents that are interrupted, and go on where they were.
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Diary, agent, call, echo, results, slow};
use convoke_agent::{Agent, AgentResult, AgentStop, AgentTool, Approval, Conversation};
use convoke_core::store::{Batch, NewRun};
use convoke_core::{
    Answer, BoxFuture, EffectKind, Error, Limits, Nature, Phase, Question, RunId, RunStatus, Runtime, Scope,
    Step, Store, ToolEffect, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::{MemoryStore, SqliteStore};
use serde_json::json;

fn run_id() -> RunId {
    "the-run".parse().unwrap()
}

fn keeping(store: &Arc<dyn Store>) -> Runtime {
    Runtime::builder().shared_store(Arc::clone(store)).build()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// A model whose answers depend on the conversation only: a new process has a new one.
fn planner(calls: Reply) -> ScriptedModel {
    ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build()
}

fn payer(model: &ScriptedModel, diary: &Diary) -> Workflow<Conversation> {
    let helper = agent(model)
        .tool(echo("look", diary).pure())
        .tool(
            echo("pay", diary)
                .effects([ToolEffect::Network, ToolEffect::Irreversible])
                .accesses(|_: crate::common::Text| vec![]),
        )
        .approval(Approval::of(["pay"]))
        .build()
        .unwrap();
    Workflow::new(helper)
}

fn three_calls() -> Reply {
    call("pay", "ann").and_tool("look", json!({"text": "x"})).and_tool("pay", json!({"text": "bob"}))
}

async fn answer_all(store: &Arc<dyn Store>, answer: impl Fn(&str) -> Answer) {
    for pending in store.questions(Some(&run_id())).await.unwrap() {
        let who = pending.question.subject["arguments"]["text"].as_str().unwrap_or_default().to_owned();
        store.answer(&run_id(), &pending.id, answer(&who)).await.unwrap();
    }
}

fn once_each(model: &ScriptedModel) {
    let mut keys: Vec<String> = model.call_keys().iter().map(|key| key.as_str().to_owned()).collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all, "a model call was made twice");
}

#[tokio::test]
async fn a_turn_that_waits_for_people_finishes_its_other_calls_first_and_goes_on_with_the_answers() {
    let (store, diary) = (memory(), Diary::default());
    let model = planner(three_calls());
    let workflow = payer(&model, &diary);
    let suspended = keeping(&store).start(&workflow, Conversation::from("go")).id(run_id()).await.unwrap();
    assert_eq!(suspended.status, RunStatus::Suspended);
    let asked: Vec<_> = suspended
        .questions()
        .iter()
        .map(|q| q.question.subject["arguments"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(asked, ["ann", "bob"]);
    assert_eq!(diary.entries(), ["look(x)"]);

    answer_all(&store, |who| if who == "ann" { Answer::approve() } else { Answer::reject("not bob") }).await;
    let talk = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    let result = talk.result.unwrap();
    assert_eq!(result.stop, AgentStop::Complete);
    assert_eq!(
        results(&result),
        [("[ann]".to_owned(), false), ("[x]".to_owned(), false), ("not bob".to_owned(), true)]
    );
    assert_eq!(diary.entries(), ["look(x)", "pay(ann)"]);
    assert_eq!(model.calls(), 2);
    once_each(&model);
}

#[tokio::test]
async fn one_answer_of_two_makes_that_call_and_waits_for_the_other() {
    let (store, diary) = (memory(), Diary::default());
    let model = planner(three_calls());
    let workflow = payer(&model, &diary);
    let first = keeping(&store).start(&workflow, Conversation::from("go")).id(run_id()).await.unwrap();
    let bob = first.questions()[1].clone();
    store.answer(&run_id(), &bob.id, Answer::approve()).await.unwrap();
    let second = keeping(&store).resume(&workflow, run_id()).await.unwrap();
    assert_eq!((second.status, second.questions().len()), (RunStatus::Suspended, 1));
    assert_eq!(diary.entries(), ["look(x)", "pay(bob)"]);
    answer_all(&store, |_| Answer::approve()).await;
    let talk = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    assert_eq!(talk.text(), "done");
    assert_eq!(diary.entries(), ["look(x)", "pay(bob)", "pay(ann)"]);
    once_each(&model);
}

#[tokio::test]
async fn a_call_that_conflicts_with_one_that_waits_is_held_back_until_it_is_decided() {
    let (store, diary) = (memory(), Diary::default());
    let model = planner(
        call("delete", "a").and_tool("write", json!({"text": "a"})).and_tool("look", json!({"text": "b"})),
    );
    let helper = agent(&model)
        .tool(echo("delete", &diary).effects([ToolEffect::Writes]))
        .tool(echo("write", &diary).effects([ToolEffect::Writes]))
        .tool(echo("look", &diary).pure())
        .approval(Approval::of(["delete"]))
        .build()
        .unwrap();
    let workflow = Workflow::new(helper);
    let first = keeping(&store).start(&workflow, Conversation::from("go")).id(run_id()).await.unwrap();
    assert_eq!(first.questions().len(), 1);
    assert_eq!(diary.entries(), ["look(b)"]);
    answer_all(&store, |_| Answer::approve()).await;
    keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    assert_eq!(diary.entries(), ["look(b)", "delete(a)", "write(a)"]);
}

#[tokio::test]
async fn another_process_goes_on_with_the_answer_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let first_diary = Diary::default();
    let first_model = planner(three_calls());
    {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
        let workflow = payer(&first_model, &first_diary);
        let suspended =
            keeping(&store).start(&workflow, Conversation::from("go")).id(run_id()).await.unwrap();
        assert_eq!(suspended.questions().len(), 2);
    }
    {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
        answer_all(&store, |_| Answer::approve()).await;
    }
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
    let (diary, model) = (Diary::default(), planner(three_calls()));
    let workflow = payer(&model, &diary);
    let talk = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    assert_eq!(talk.text(), "done");
    assert_eq!((first_model.calls(), model.calls()), (1, 1));
    assert_eq!(first_diary.entries(), ["look(x)"]);
    // They are made side by side: which comes first is not promised, only that each is made once.
    let mut paid = diary.entries();
    paid.sort_unstable();
    assert_eq!(paid, ["pay(ann)", "pay(bob)"]);

    let replay = keeping(&store).replay(&workflow, &run_id()).await.unwrap();
    assert!(replay.error.is_none(), "{:?}", replay.error);
    assert_eq!((replay.unused, replay.state.text().as_str()), (0, "done"));
    assert_eq!((model.calls(), diary.entries().len()), (1, 2));
}

/// An agent, and a question after it: so that what the agent came to must be the same when the run goes on.
struct ThenAsk(Agent);

impl Step<Conversation> for ThenAsk {
    fn name(&self) -> &str {
        "then_ask"
    }

    fn run<'a>(&'a self, scope: &'a Scope, talk: &'a mut Conversation) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let result = self.0.run(scope, talk.messages.clone()).await?;
            // The question carries what the agent came to: anything else on resume would be a divergence.
            let question = Question::confirm("Good?").about(serde_json::to_value(&result.transcript)?);
            talk.result = Some(result);
            scope.ask(question).await.map(drop)
        })
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

async fn suspended_then_resumed(
    make: impl Fn() -> Agent,
    limits: Option<Limits>,
) -> (Option<AgentResult>, AgentResult) {
    let store = memory();
    let start = keeping(&store).start(&Workflow::new(ThenAsk(make())), Conversation::from("go")).id(run_id());
    let start = match limits {
        Some(limits) => start.limits(limits),
        None => start,
    };
    let first = start.await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended, "{:?}", first.error);
    answer_all(&store, |_| Answer::approve()).await;
    let workflow = Workflow::new(ThenAsk(make()));
    let second = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    let replay = keeping(&store).replay(&workflow, &run_id()).await.unwrap();
    assert!(replay.error.is_none(), "{:?}", replay.error);
    assert_eq!((replay.unused, replay.state.result), (0, second.result.clone()));
    let entries = store.entries(&run_id(), 1, usize::MAX).await.unwrap();
    let finished = entries.iter().filter(|entry| entry.phase == Phase::Finished);
    let mut places: Vec<_> =
        finished.map(|entry| (entry.path.as_str(), entry.ordinal, entry.digest)).collect();
    let all = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), all, "what was decided is not decided again");
    (first.state.result, second.result.unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_time_was_up_comes_to_the_same_when_its_run_goes_on() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .otherwise(
            call("quick", "a").and_tool("slow", json!({"text": "b"})).and_tool("quick", json!({"text": "c"})),
        )
        .build();
    let make = || {
        agent(&model)
            .tool(echo("quick", &diary).pure())
            .tool(slow("slow", &diary, Duration::from_secs(60)))
            .timeout(Duration::from_secs(1))
            .build()
            .unwrap()
    };
    let (first, second) = suspended_then_resumed(make, None).await;
    assert_eq!(second.stop, AgentStop::TimedOut);
    assert_eq!(first, Some(second.clone()));
    assert_eq!(results(&second).iter().map(|(_, failed)| *failed).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(
        diary.entries().iter().filter(|entry| entry.contains("slow(b)")).count(),
        1,
        "{:?}",
        diary.entries()
    );
    assert_eq!(model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn so_does_one_whose_model_was_too_slow() {
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("never").hangs())
        .otherwise(call("quick", "a"))
        .build();
    let diary = Diary::default();
    let make = || agent(&model).tool(echo("quick", &diary)).timeout(Duration::from_secs(1)).build().unwrap();
    let (first, second) = suspended_then_resumed(make, None).await;
    assert_eq!((second.stop, second.turns), (AgentStop::TimedOut, 1));
    assert_eq!(first, Some(second));
    assert_eq!((model.calls(), diary.entries().len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_process_was_killed_has_what_is_left_of_its_time() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("done").delay(minutes(2)))
        .otherwise(call("quick", "a"))
        .build();
    let make = || {
        let quick = echo("quick", &Diary::default()).pure();
        Workflow::new(ThenAsk(agent(&model).tool(quick).timeout(minutes(10)).build().unwrap()))
    };
    let store = memory();
    let whole = keeping(&store).start(&make(), Conversation::from("go")).id(run_id()).await.unwrap();
    assert_eq!(whole.status, RunStatus::Suspended);
    let first = store.run(&run_id()).await.unwrap().unwrap();
    for (took, stop, reached) in
        [(7, AgentStop::Complete, 2), (9, AgentStop::TimedOut, 1), (60, AgentStop::TimedOut, 1)]
    {
        let mut entries = store.entries(&run_id(), 1, usize::MAX).await.unwrap();
        let called = entries.iter().position(|entry| entry.effect == EffectKind::Tool).unwrap();
        entries.truncate(called + 1);
        for entry in entries.iter_mut().skip_while(|entry| entry.effect != EffectKind::Model) {
            entry.at = entry.at + minutes(took);
        }
        let past = Batch { entries, ..Batch::default() };
        let killed = NewRun { past, ..make().new_run(RunId::mint(), first.input.clone()) };
        let lease = store.create(killed).await.unwrap();
        store.release(&lease);
        let outcome = keeping(&store).resume(&make(), lease.run.clone()).await.unwrap();
        let result = outcome.state.result.unwrap();
        assert_eq!((result.stop, result.turns), (stop, reached), "after {took} minutes");
        // Told again, there is time enough; where it ended then was written down.
        let told = keeping(&store).replay(&make(), &lease.run).await.unwrap();
        assert_eq!((told.unused, told.state.result), (0, Some(result)), "after {took} minutes");
    }
}

#[tokio::test]
async fn a_last_turn_made_for_a_budget_stays_the_last_when_the_run_goes_on_without_one() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(Match::offers_tools(), call("quick", "a"))
        .otherwise("My guess.")
        .build();
    let make = || agent(&model).tool(echo("quick", &diary)).build().unwrap();
    let (first, second) = suspended_then_resumed(make, Some(Limits::default().model_calls(2))).await;
    assert_eq!((second.stop, second.text().as_str()), (AgentStop::BudgetExhausted, "My guess."));
    assert_eq!(first, Some(second));
    assert_eq!((model.calls(), diary.entries().len()), (2, 1));
}

#[tokio::test]
async fn an_approval_within_an_agent_within_an_agent_suspends_the_run_and_resumes_it() {
    let (store, diary) = (memory(), Diary::default());
    let inner_model = planner(call("pay", "ann"));
    let outer_model = planner(Reply::tool("cashier", json!({"query": "pay ann"})));
    let make = || {
        let cashier = Agent::builder("cashier")
            .model(inner_model.clone())
            .tool(echo("pay", &diary))
            .approval(Approval::Always)
            .build()
            .unwrap();
        Workflow::new(agent(&outer_model).tool(AgentTool::new(cashier)).build().unwrap())
    };
    let first = keeping(&store).start(&make(), Conversation::from("go")).id(run_id()).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended);
    assert_eq!(first.questions()[0].path.as_str(), "helper/turn/cashier/turn/approval");
    answer_all(&store, |_| Answer::approve()).await;
    let talk = keeping(&store).resume(&make(), run_id()).await.unwrap().completed().unwrap();
    assert_eq!(talk.text(), "done");
    assert_eq!(diary.entries(), ["pay(ann)"]);
    assert_eq!((inner_model.calls(), outer_model.calls()), (2, 2));
}

/// A run whose process ends in the middle of a call.
async fn killed_in_a_call(store: &Arc<dyn Store>, workflow: &Workflow<Conversation>) {
    let runtime = keeping(store);
    let run = runtime.start(workflow, Conversation::from("go")).id(run_id());
    tokio::select! {
        outcome = run => panic!("not killed: {outcome:?}"),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_interrupted_is_not_repeated_behind_anyones_back() {
    let (store, diary) = (memory(), Diary::default());
    let model = planner(call("slow", "x").and_tool("quick", json!({"text": "y"})));
    let helper =
        agent(&model).tool(slow("slow", &diary, Duration::from_secs(10))).tool(echo("quick", &diary));
    let workflow = Workflow::new(helper.build().unwrap());
    killed_in_a_call(&store, &workflow).await;
    let suspended = keeping(&store).resume(&workflow, run_id()).await.unwrap();
    assert_eq!(suspended.status, RunStatus::Suspended);
    let doubt = suspended.questions()[0].clone();
    assert!(doubt.question.title.contains("`slow` was interrupted"), "{}", doubt.question.title);
    assert_eq!(diary.entries(), ["slow(x) begins", "quick(y)"]);

    store.answer(&run_id(), &doubt.id, Answer::choose("done")).await.unwrap();
    let talk = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    assert_eq!(talk.text(), "done");
    assert_eq!(diary.entries(), ["slow(x) begins", "quick(y)"]);
    assert_eq!(model.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_call_that_was_interrupted_is_made_again() {
    let (store, diary) = (memory(), Diary::default());
    let model = planner(call("slow", "x"));
    let helper =
        agent(&model).tool(slow("slow", &diary, Duration::from_secs(10)).idempotent()).build().unwrap();
    let workflow = Workflow::new(helper);
    killed_in_a_call(&store, &workflow).await;
    let talk = keeping(&store).resume(&workflow, run_id()).await.unwrap().completed().unwrap();
    assert_eq!(talk.text(), "done");
    assert_eq!(diary.entries(), ["slow(x) begins", "slow(x) begins", "slow(x) ends"]);
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn a_run_taken_up_at_any_point_of_its_journal_comes_to_the_same() {
    let diary = Diary::default();
    let inner = planner(call("note", "deep"));
    let calls =
        call("note", "a").and_tool("sage", json!({"query": "?"})).and_tool("look", json!({"text": "b"}));
    let outer = planner(calls);
    let sage =
        Agent::builder("sage").model(inner.clone()).tool(echo("note", &diary).idempotent()).build().unwrap();
    let helper = agent(&outer)
        .tool(echo("note", &diary).idempotent())
        .tool(AgentTool::new(sage))
        .tool(echo("look", &diary).pure())
        .timeout(Duration::from_secs(3_600))
        .build()
        .unwrap();
    let (store, workflow) = (memory(), Workflow::new(helper));
    let runtime = keeping(&store);
    let whole =
        runtime.start(&workflow, Conversation::from("go")).id(run_id()).await.unwrap().completed().unwrap();
    let entries = store.entries(&run_id(), 1, 1_000).await.unwrap();
    assert!(entries.len() >= 9, "{entries:?}");
    for at in 1..=entries.len() as u64 + 1 {
        let fork = convoke_core::Fork::new(run_id(), at).create(&store).await.unwrap();
        let made = (inner.calls() + outer.calls(), diary.entries().len());
        let again = runtime.resume(&workflow, fork).await.unwrap().completed().unwrap();
        assert_eq!(again.result, whole.result, "taken up at {at}");
        let more = (inner.calls() + outer.calls() - made.0, diary.entries().len() - made.1);
        assert!(more.0 <= 4 && more.1 <= 3 && (at > 1 || more == (4, 3)), "taken up at {at}: {more:?}");
    }
}
