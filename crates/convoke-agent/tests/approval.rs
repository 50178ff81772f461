//! Approval of tool calls by a person.
use std::time::Duration;

use crate::common::{
    Diary, Person, agent, call, call_events, calls_then_done, echo, kind, outcome, results, slow, streamed,
};
use convoke_agent::{
    AgentStop, Approval, ClientTool, Conversation, FunctionTool, InvalidAgent, OnRejection, QuestionBroker,
};
use convoke_core::{Answer, Canceller, EventKind, Question, RunStatus, Runtime, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn two_tools() -> Reply {
    call("safe", "a").and_tool("dangerous", json!({"text": "b"}))
}

#[tokio::test]
async fn gains_163_an_approved_call_is_made() {
    let (diary, person) = (Diary::default(), Person::new(|_| Some(Answer::approve())));
    let helper = agent(&calls_then_done(call("echo", "x")))
        .tool(echo("echo", &diary))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let result = outcome(&person.runtime(), helper).await.completed().unwrap().result.unwrap();
    assert_eq!((result.stop, diary.entries().len()), (AgentStop::Complete, 1));
}

#[tokio::test]
async fn gains_163_a_rejected_call_is_not_made_and_ends_the_agent() {
    let (diary, person) = (Diary::default(), Person::new(|_| Some(Answer::reject("not today"))));
    let model = calls_then_done(call("echo", "x"));
    let helper = agent(&model).tool(echo("echo", &diary)).approval(Approval::Always).build().unwrap();
    let (events, outcome) = streamed(&person.runtime(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(result.stop, AgentStop::Rejected);
    assert_eq!(results(&result), [("not today".to_owned(), true)]);
    assert!(diary.entries().is_empty());
    assert_eq!(model.calls(), 1);
    let id = result.transcript.iter().flat_map(|m| m.tool_calls()).next().unwrap().id.clone();
    assert_eq!(
        call_events(&events, &id),
        [
            "tool_call_started",
            "tool_call_arguments",
            "tool_call_rejected",
            "tool_call_ended",
            "tool_call_result"
        ]
    );
}

#[tokio::test]
async fn gains_164_a_rejection_without_a_reason_says_so() {
    let person = Person::new(|_| Some(Answer::reject("")));
    let helper = agent(&calls_then_done(call("echo", "x")))
        .tool(echo("echo", &Diary::default()))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let result = outcome(&person.runtime(), helper).await.completed().unwrap().result.unwrap();
    assert_eq!(results(&result), [("Tool call rejected".to_owned(), true)]);
}

#[tokio::test]
async fn gains_165_only_the_named_tools_are_asked_about() {
    let none: [&str; 0] = [];
    for (approval, expected) in [
        (Approval::of(["dangerous"]), vec!["dangerous"]),
        (Approval::Always, vec!["safe", "dangerous"]),
        (Approval::Never, vec![]),
        (Approval::of(none), vec![]),
    ] {
        let (diary, asked) = (Diary::default(), Diary::default());
        let about = asked.clone();
        let person = Person::new(move |pending| {
            about.note(pending.question.subject["tool"].as_str().unwrap());
            Some(Answer::approve())
        });
        let helper = agent(&calls_then_done(two_tools()))
            .tool(echo("safe", &diary))
            .tool(echo("dangerous", &diary))
            .approval(approval)
            .build()
            .unwrap();
        outcome(&person.runtime(), helper).await.completed().unwrap();
        assert_eq!(asked.entries(), expected);
        assert_eq!(diary.entries(), ["safe(a)", "dangerous(b)"]);
    }
}

#[tokio::test]
async fn gains_166_the_question_is_told_before_the_wait_and_the_verdict_after() {
    let about_the_call = ["tool_call_approved", "tool_call_rejected", "tool_call_executing"];
    for (answer, then) in [
        (Answer::approve(), vec!["tool_call_approved", "tool_call_executing"]),
        (Answer::reject("no"), vec!["tool_call_rejected"]),
    ] {
        let (waits, mut waiting) = tokio::sync::mpsc::unbounded_channel();
        let broker = QuestionBroker::new().on_submit(move |pending| waits.send(pending.id.clone()).unwrap());
        let runtime = Runtime::builder().responder(broker.clone()).build();
        let helper = agent(&calls_then_done(call("echo", "x")))
            .tool(echo("echo", &Diary::default()))
            .approval(Approval::Always)
            .build()
            .unwrap();
        let mut stream = runtime.start(&Workflow::new(helper), Conversation::from("go")).stream();
        let mut told = Vec::new();
        while let Some(event) = stream.next().await {
            let kind = kind(&event.kind);
            if kind.starts_with("question") || about_the_call.contains(&kind.as_str()) {
                told.push(kind);
            }
            if let EventKind::QuestionAsked { id, question: Question { title, subject, .. } } = &event.kind {
                assert_eq!(title, "Call `echo`?");
                assert_eq!(
                    (&subject["tool"], &subject["arguments"]),
                    (&json!("echo"), &json!({"text": "x"}))
                );
                assert!(subject["call_id"].is_string());
                // It is told while the agent waits: only now somebody decides.
                assert_eq!(waiting.recv().await.as_ref(), Some(id));
                broker.answer(id, answer.clone()).unwrap();
            }
        }
        assert_eq!(told[..2], ["question_asked", "question_answered"]);
        assert_eq!(told[2..], then);
    }
}

#[tokio::test]
async fn gains_167_in_a_mixed_batch_the_model_sees_both_results_in_call_order_and_goes_on() {
    let diary = Diary::default();
    let person = Person::new(|pending| {
        Some(if pending.question.subject["tool"] == "safe" {
            Answer::approve()
        } else {
            Answer::reject("too risky")
        })
    });
    let model = calls_then_done(two_tools());
    let helper = agent(&model)
        .tool(echo("safe", &diary))
        .tool(echo("dangerous", &diary))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let (events, outcome) = streamed(&person.runtime(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.turns), (AgentStop::Complete, 2));
    assert_eq!(diary.entries(), ["safe(a)"]);
    assert_eq!(results(&result), [("[a]".to_owned(), false), ("too risky".to_owned(), true)]);
    let request = model.last_request().unwrap();
    let seen = request.messages.iter().flat_map(|m| m.results()).map(|result| result.content.as_str());
    assert_eq!(seen.collect::<Vec<_>>(), ["[a]", "too risky"]);
    for call in result.transcript.iter().flat_map(|message| message.tool_calls()) {
        let told = call_events(&events, &call.id);
        assert_eq!(told[told.len() - 2..], ["tool_call_ended", "tool_call_result"], "{}", call.name);
    }
}

#[tokio::test]
async fn gains_176_client_tools_are_not_asked_about() {
    let person = Person::new(|_| Some(Answer::approve()));
    let helper = agent(&calls_then_done(call("show", "x")))
        .tool(ClientTool::typed::<crate::common::Text>("show", "Shows"))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let result = outcome(&person.runtime(), helper).await.completed().unwrap().result.unwrap();
    assert_eq!((result.stop, person.asked()), (AgentStop::ClientToolCalls, 0));
}

#[tokio::test]
async fn a_wish_for_revision_reaches_the_model() {
    let diary = Diary::default();
    let person = Person::new(|pending| {
        let polite = pending.question.subject["arguments"]["text"] == "please";
        Some(if polite { Answer::approve() } else { Answer::revise("say please") })
    });
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("say please"), call("echo", "please"))
        .when(Match::has_tool_result(), "done")
        .otherwise(call("echo", "now"))
        .build();
    let helper = agent(&model)
        .tool(echo("echo", &diary))
        .approval(Approval::Always)
        .when_rejected(OnRejection::TellModel)
        .build()
        .unwrap();
    let result = outcome(&person.runtime(), helper).await.completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.turns), (AgentStop::Complete, 3));
    assert_eq!(diary.entries(), ["echo(please)"]);
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_cannot_be_made() {
    let person = Person::new(|_| Some(Answer::approve()));
    let helper = agent(&calls_then_done(Reply::tool("echo", json!({})).and_tool("gone", json!({}))))
        .tool(echo("echo", &Diary::default()))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let result = outcome(&person.runtime(), helper).await.completed().unwrap().result.unwrap();
    assert_eq!((person.asked(), result.stop), (0, AgentStop::Complete));
    assert!(results(&result)[0].0.starts_with("invalid arguments: "));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_is_not_the_tools_time() {
    let (diary, broker) = (Diary::default(), QuestionBroker::new());
    let runtime = Runtime::builder().responder(broker.clone()).build();
    let helper = agent(&calls_then_done(call("slow", "x")))
        .tool(slow("slow", &diary, Duration::from_secs(20)))
        .approval(Approval::Always)
        .build()
        .unwrap();
    let (outcome, ()) = tokio::join!(outcome(&runtime, helper), async {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        broker.approve(&broker.pending()[0].id).unwrap();
    });
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(results(&result), [("[x]".to_owned(), false)]);
}

#[tokio::test]
async fn approval_for_a_tool_there_is_not_is_refused_when_the_agent_is_built() {
    let model = ScriptedModel::replies(["hi"]);
    let built = agent(&model).tool(echo("echo", &Diary::default())).approval(Approval::of(["ecko"])).build();
    let Err(error @ InvalidAgent::ApprovalOfUnknownTool { .. }) = built else { panic!("{built:?}") };
    assert_eq!(
        error.to_string(),
        "agent `helper` wants approval for `ecko`, and has no such tool; it has: echo"
    );
}

#[tokio::test]
async fn a_question_comes_before_a_failure_beside_it() {
    let broken =
        FunctionTool::new("broken", "Fails", |_: crate::common::Text| async { Err::<String, _>("on fire") });
    let helper = agent(&calls_then_done(call("broken", "x").and_tool("pay", json!({"text": "y"}))));
    let helper = helper.tool(broken.fatal().pure()).tool(echo("pay", &Diary::default()));
    let outcome = outcome(&Runtime::new(), helper.approval(Approval::of(["pay"])).build().unwrap()).await;
    assert_eq!((outcome.status, outcome.questions().len()), (RunStatus::Suspended, 1), "{:?}", outcome.error);
}

#[tokio::test(start_paused = true)]
async fn a_stop_comes_before_a_question_beside_it() {
    let (diary, canceller) = (Diary::default(), Canceller::new());
    let helper = agent(&calls_then_done(call("slow", "x").and_tool("pay", json!({"text": "y"}))));
    let helper =
        helper.tool(slow("slow", &diary, Duration::from_secs(60)).unbounded()).tool(echo("pay", &diary));
    let workflow = Workflow::new(helper.approval(Approval::of(["pay"])).build().unwrap());
    let start = Runtime::new().start(&workflow, Conversation::from("go")).canceller(&canceller);
    let (outcome, ()) = tokio::join!(async { start.await.unwrap() }, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel("enough");
    });
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert_eq!(diary.entries(), ["slow(x) begins"]);
}
