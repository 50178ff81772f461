//! Policies between a call and the world.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Diary, agent, call, call_events, calls_then_done, echo, results, slow, streamed};
use convoke_agent::{Agent, AgentStop, Conversation};
use convoke_core::{
    Answer, BoxFuture, Canceller, EffectOutcome, EffectRequest, Error, InterceptedEffect, Interceptor,
    Labels, Origin, Question, RunStatus, Runtime, RuntimeBuilder, Store, Verdict, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

/// Decides by the text a call has, and counts.
#[derive(Clone)]
struct ByText {
    name: &'static str,
    decide: fn(&str) -> Verdict,
    judged: Arc<AtomicUsize>,
}

impl ByText {
    fn new(decide: fn(&str) -> Verdict) -> Self {
        Self { name: "by text", decide, judged: Arc::default() }
    }

    fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn judged(&self) -> usize {
        self.judged.load(Ordering::Relaxed)
    }
}

impl Interceptor for ByText {
    fn name(&self) -> &str {
        self.name
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let EffectRequest::Tool { arguments, .. } = about.request else { return Ok(Verdict::Allow) };
            self.judged.fetch_add(1, Ordering::Relaxed);
            Ok((self.decide)(arguments["text"].as_str().unwrap()))
        })
    }
}

fn by_letter(text: &str) -> Verdict {
    match text {
        "no" => Verdict::deny("texts with an n are not allowed"),
        "ask" => Verdict::ask(
            Question::approval("Echo this?").about(json!({"tool": "echo", "arguments": {"text": "ask"}})),
        ),
        _ => Verdict::Allow,
    }
}

fn helper(diary: &Diary, text: &str) -> Agent {
    agent(&calls_then_done(call("echo", text))).tool(echo("echo", diary)).build().unwrap()
}

fn stored(store: &Arc<dyn Store>, gate: &ByText) -> RuntimeBuilder {
    Runtime::builder().shared_store(Arc::clone(store)).interceptor(gate.clone())
}

#[tokio::test]
async fn a_call_that_is_allowed_is_made() {
    let (diary, gate) = (Diary::default(), ByText::new(by_letter));
    let runtime = Runtime::builder().interceptor(gate.clone()).build();
    let (_, outcome) = streamed(&runtime, helper(&diary, "yes")).await;
    assert_eq!(outcome.completed().unwrap().result.unwrap().stop, AgentStop::Complete);
    assert_eq!((diary.entries().len(), gate.judged()), (1, 1));
}

#[tokio::test]
async fn a_call_that_is_denied_is_not_made_and_the_model_reads_why() {
    let diary = Diary::default();
    let runtime = Runtime::builder().interceptor(ByText::new(by_letter)).build();
    let (events, outcome) = streamed(&runtime, helper(&diary, "no")).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(result.stop, AgentStop::Complete);
    let told = "`echo` was not called: texts with an n are not allowed".to_owned();
    assert_eq!(results(&result), [(told, true)]);
    assert!(diary.entries().is_empty());
    let id = result.transcript.iter().flat_map(|message| message.tool_calls()).next().unwrap().id.clone();
    let kinds = call_events(&events, &id);
    assert!(kinds.contains(&"tool_call_rejected".to_owned()), "{kinds:?}");
    assert!(!kinds.contains(&"tool_call_executing".to_owned()), "{kinds:?}");
}

#[tokio::test]
async fn agentcore_245_the_first_interceptor_that_does_not_allow_a_call_decides() {
    let (diary, later) = (Diary::default(), ByText::new(by_letter).called("later"));
    let runtime = Runtime::builder().interceptor(ByText::new(by_letter)).interceptor(later.clone()).build();
    streamed(&runtime, helper(&diary, "no")).await.1.completed().unwrap();
    assert_eq!((later.judged(), diary.entries().len()), (0, 0));
    streamed(&runtime, helper(&diary, "yes")).await.1.completed().unwrap();
    assert_eq!((later.judged(), diary.entries().len()), (1, 1), "all of them have to allow it");
}

#[tokio::test]
async fn a_denial_is_remembered_whatever_the_interceptor_says_later() {
    let (diary, store) = (Diary::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let workflow = Workflow::new(helper(&diary, "no"));
    let strict = ByText::new(by_letter);
    let run = stored(&store, &strict).build().start(&workflow, Conversation::from("go")).await.unwrap().run;
    let lax = ByText::new(|_| Verdict::Allow);
    let again = stored(&store, &lax).build().resume(&workflow, run).await.unwrap();
    assert_eq!(again.status, RunStatus::Completed);
    assert_eq!((diary.entries().len(), lax.judged()), (0, 0));
}

#[tokio::test]
async fn a_question_of_an_interceptor_suspends_the_run_and_the_answer_decides() {
    for (answer, calls) in [(Answer::approve(), 1), (Answer::reject("not now"), 0)] {
        let (diary, store) = (Diary::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
        let workflow = Workflow::new(helper(&diary, "ask"));
        let gate = ByText::new(by_letter);
        let runtime = stored(&store, &gate).build();
        let first = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
        assert_eq!(first.status, RunStatus::Suspended);
        assert!(diary.entries().is_empty());
        let pending = store.questions(Some(&first.run)).await.unwrap().remove(0);
        store.answer(&first.run, &pending.id, answer).await.unwrap();
        let second = runtime.resume(&workflow, first.run).await.unwrap();
        assert_eq!(second.status, RunStatus::Completed);
        assert_eq!(diary.entries().len(), calls);
        let told = results(&second.completed().unwrap().result.unwrap()).remove(0);
        assert_eq!(told.1, calls == 0, "{told:?}");
    }
}

#[tokio::test]
async fn an_interceptor_that_cannot_decide_lets_nothing_through() {
    struct Broken;
    impl Interceptor for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn before<'a>(&'a self, _: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
            Box::pin(async { Err(Error::failed("the rules are gone")) })
        }
    }
    let diary = Diary::default();
    let runtime = Runtime::builder().interceptor(Broken).build();
    let outcome = streamed(&runtime, helper(&diary, "yes")).await.1;
    assert_eq!(outcome.status, RunStatus::Failed);
    assert!(diary.entries().is_empty());
}

#[tokio::test]
async fn what_an_agent_refuses_by_its_conversation_reaches_no_interceptor() {
    let (diary, gate) = (Diary::default(), ByText::new(|_| Verdict::Allow));
    let agent = agent(&calls_then_done(call("echo", "hello")))
        .tool(echo("echo", &diary))
        .refuse_when(|conversation, call| {
            let wanted =
                conversation.last().is_some_and(|reply| reply.tool_calls().any(|other| other == call));
            wanted.then(|| format!("`{}` is not for today", call.name))
        })
        .build()
        .unwrap();
    let runtime = Runtime::builder().interceptor(gate.clone()).build();
    let outcome = streamed(&runtime, agent).await.1;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!((diary.entries().len(), gate.judged()), (0, 0));
    let told = results(&outcome.completed().unwrap().result.unwrap()).remove(0);
    assert_eq!((told.0.as_str(), told.1), ("`echo` is not for today", true));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_interrupted_and_is_denied_meanwhile_is_not_made_again() {
    let (diary, store) = (Diary::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let helper = agent(&calls_then_done(call("slow", "no")))
        .tool(slow("slow", &diary, Duration::from_secs(10)))
        .build()
        .unwrap();
    let workflow = Workflow::new(helper);
    let lax = ByText::new(|_| Verdict::Allow);
    let canceller = Canceller::new();
    let run = stored(&store, &lax).build().start(&workflow, Conversation::from("go")).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel("enough");
    };
    let run = tokio::join!(run.into_future(), cancel).0.unwrap().run;
    assert_eq!(diary.entries(), ["slow(no) begins"]);

    let strict = stored(&store, &ByText::new(by_letter)).build();
    let doubtful = strict.resume(&workflow, run.clone()).await.unwrap();
    assert_eq!(doubtful.status, RunStatus::Suspended);
    store.answer(&run, &doubtful.questions()[0].id, Answer::choose("again")).await.unwrap();
    let resumed = strict.resume(&workflow, run).await.unwrap();
    let told = results(&resumed.completed().unwrap().result.unwrap()).remove(0);
    assert_eq!(told, ("`slow` was not called: texts with an n are not allowed".to_owned(), true));
    assert_eq!(diary.entries(), ["slow(no) begins"]);
}

#[tokio::test]
async fn a_denied_call_of_a_fatal_tool_does_not_end_the_run() {
    let diary = Diary::default();
    let helper =
        agent(&calls_then_done(call("echo", "no"))).tool(echo("echo", &diary).fatal()).build().unwrap();
    let runtime = Runtime::builder().interceptor(ByText::new(by_letter)).build();
    let outcome = streamed(&runtime, helper).await.1;
    assert_eq!(outcome.status, RunStatus::Completed, "{:?}", outcome.error);
    let told = results(&outcome.completed().unwrap().result.unwrap()).remove(0);
    assert_eq!(told, ("`echo` was not called: texts with an n are not allowed".to_owned(), true));
    assert!(diary.entries().is_empty());
}

#[tokio::test]
async fn what_was_approved_for_a_run_is_not_asked_again_and_a_resumed_run_remembers_it() {
    fn covered(text: &str) -> Verdict {
        Verdict::ask(Question::approval(format!("Echo {text}?")).covers("every echo"))
    }
    let (diary, store) = (Diary::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let replies = [call("echo", "one"), call("echo", "two"), Reply::text("Done.")];
    let workflow =
        Workflow::new(agent(&ScriptedModel::replies(replies)).tool(echo("echo", &diary)).build().unwrap());
    let gate = ByText::new(covered);
    let runtime = stored(&store, &gate).build();
    let first = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended);
    let pending = store.questions(Some(&first.run)).await.unwrap().remove(0);
    store.answer(&first.run, &pending.id, Answer::approve().for_run()).await.unwrap();
    let second = runtime.resume(&workflow, first.run).await.unwrap();
    assert_eq!(second.status, RunStatus::Completed, "the other call is not asked about: {:?}", second.error);
    assert_eq!(diary.entries().len(), 2);
}

/// Labels what tools give, and notes what is known whenever a model is asked.
#[derive(Clone, Default)]
struct Learns(Arc<std::sync::Mutex<Vec<String>>>);

impl Interceptor for Learns {
    fn name(&self) -> &'static str {
        "learns"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        if matches!(about.request, EffectRequest::Model { .. }) {
            self.0.lock().unwrap().push(about.labels.to_string());
        }
        Box::pin(async { Ok(Verdict::Allow) })
    }

    fn after<'a>(
        &'a self,
        about: InterceptedEffect<'a>,
        _: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        let labels = match about.request {
            EffectRequest::Tool { origin: Origin::Tool(name), .. } => format!("origin={name}"),
            _ => String::new(),
        };
        Box::pin(async move { labels.parse().map_err(Error::failed) })
    }
}

#[tokio::test]
async fn an_agents_next_turn_knows_what_is_known_of_the_results_it_reads() {
    let (diary, learns) = (Diary::default(), Learns::default());
    let runtime = Runtime::builder().interceptor(learns.clone()).build();
    streamed(&runtime, helper(&diary, "yes")).await.1.completed().unwrap();
    assert_eq!(*learns.0.lock().unwrap(), ["", "origin=echo"]);
}
