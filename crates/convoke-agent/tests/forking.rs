//! Agents in a run that goes another way.
use std::sync::Arc;

use crate::common::{Diary, agent, call, calls_then_done, echo};
use convoke_agent::{Approval, Conversation};
use convoke_core::{
    Answer, EffectKind, Entry, Fork, Outcome, Phase, RunId, RunStatus, Runtime, Store, ToolEffect, Workflow,
};
use convoke_store::MemoryStore;
use serde_json::json;

struct Office {
    store: Arc<dyn Store>,
    diary: Diary,
    workflow: Workflow<Conversation>,
}

impl Office {
    /// An agent that pays bob once and ann twice, if somebody approves.
    fn new() -> Self {
        let diary = Diary::default();
        let ann = || json!({"text": "ann"});
        let calls = call("pay", "bob").and_tool("pay", ann()).and_tool("pay", ann());
        let pay = echo("pay", &diary).effects([ToolEffect::Network, ToolEffect::Irreversible]);
        let helper =
            agent(&calls_then_done(calls)).tool(pay).approval(Approval::of(["pay"])).build().unwrap();
        Self { store: Arc::new(MemoryStore::new()), diary, workflow: Workflow::new(helper) }
    }

    fn runtime(&self) -> Runtime {
        Runtime::builder().shared_store(Arc::clone(&self.store)).build()
    }

    async fn resume(&self, run: &RunId) -> Outcome<Conversation> {
        self.runtime().resume(&self.workflow, run.clone()).await.unwrap()
    }

    /// Approves payments to ann, and nothing else.
    async fn approve_ann(&self, run: &RunId) {
        for pending in self.store.questions(Some(run)).await.unwrap() {
            let is_ann = pending.question.subject["arguments"]["text"] == "ann";
            let answer = if is_ann { Answer::approve() } else { Answer::reject("not bob") };
            self.store.answer(run, &pending.id, answer).await.unwrap();
        }
    }

    /// A run that has paid ann twice.
    async fn paid(&self) -> (RunId, Vec<Entry>) {
        let run = self.runtime().start(&self.workflow, Conversation::from("go")).await.unwrap().run;
        self.approve_ann(&run).await;
        assert_eq!(self.resume(&run).await.status, RunStatus::Completed);
        assert_eq!(self.diary.entries(), ["pay(ann)", "pay(ann)"]);
        let entries = self.store.entries(&run, 1, usize::MAX).await.unwrap();
        (run, entries)
    }

    /// What a fork at an entry asks for before it is done.
    async fn asked_by_fork(&self, run: &RunId, at: u64) -> (RunId, usize) {
        let fork = Fork::new(run.clone(), at).create(&self.store).await.unwrap();
        let asked = self.resume(&fork).await.questions().len();
        (fork, asked)
    }
}

fn payments(entries: &[Entry], phase: Phase) -> Vec<u64> {
    let found = entries.iter().filter(|entry| entry.effect == EffectKind::Tool && entry.phase == phase);
    found.map(|entry| entry.seq).collect()
}

#[tokio::test]
async fn a_fork_asks_again_before_it_makes_an_approved_call_again() {
    let office = Office::new();
    let (run, entries) = office.paid().await;
    let (first, second) = match payments(&entries, Phase::Started)[..] {
        [first, second] => (first, second),
        ref others => panic!("{others:?}"),
    };
    let (fork, asked) = office.asked_by_fork(&run, first).await;
    assert_eq!(asked, 2, "both payments, and not what was rejected");
    assert_eq!(office.diary.entries().len(), 2, "nothing is paid without asking");
    office.approve_ann(&fork).await;
    assert_eq!(office.resume(&fork).await.status, RunStatus::Completed);
    assert_eq!(office.diary.entries().len(), 4);
    let (_, asked) = office.asked_by_fork(&run, second).await;
    assert_eq!(asked, 1, "one of the two had been made");
}

#[tokio::test]
async fn a_fork_after_the_calls_asks_nothing_and_makes_none() {
    let office = Office::new();
    let (run, entries) = office.paid().await;
    let after = payments(&entries, Phase::Finished).into_iter().max().unwrap() + 1;
    let (fork, asked) = office.asked_by_fork(&run, after).await;
    assert_eq!((asked, office.diary.entries().len()), (0, 2));
    assert_eq!(office.store.run(&fork).await.unwrap().unwrap().status, RunStatus::Completed);
}
