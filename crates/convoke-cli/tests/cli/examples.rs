//! The runs that most tests look at.

use std::time::Duration;

use convoke_core::store::ForkPoint;
use convoke_core::{Answer, EffectKind, Message, Phase, Question, RunStatus, ToolResult};
use serde_json::json;

use crate::journal::{BEGINNING, Reply, Run, call};

/// Completed: a draft, then an agent with two tools side by side, then a person's approval.
pub(crate) fn letter() -> Run {
    let draft = [Message::system("Be brief."), Message::user("Write to Ann about looms.")];
    let agent = [Message::system("Check the facts."), Message::user("Dear Ann, looms are old.")];
    let calls = Reply::calls([
        call("c1", "search", json!({"query": "age of looms"})),
        call("c2", "fetch", json!({"url": "https://example.org/looms"})),
    ]);
    let results = Message::tool_results([
        ToolResult {
            call_id: "c1".to_owned(),
            name: "search".to_owned(),
            content: "6,000 years".to_owned(),
            is_error: false,
        },
        ToolResult {
            call_id: "c2".to_owned(),
            name: "fetch".to_owned(),
            content: "404 not found".to_owned(),
            is_error: true,
        },
    ]);
    let later = [agent[0].clone(), agent[1].clone(), calls.message.clone(), results];
    let mut run = Run::new("letter-1", "letters");
    run.version = 2;
    run.input = json!({"to": "Ann", "about": "looms"});
    let question = Question::approval("Send it?").about(json!({"to": "Ann", "words": 6}));
    run.after(1_250)
        .model(("main/draft", 0), &draft, Reply::text("Dear Ann,\nlooms are old.").used(120, 35).cost(1_230))
        .after(900)
        .model(("main/check", 0), &agent, calls.used(240, 60).cost(2_100))
        .after(10)
        .begin_tool(("main/check/search", 0), "search", json!({"query": "age of looms"}))
        .begin_tool(("main/check/fetch", 0), "fetch", json!({"url": "https://example.org/looms"}))
        .after(320)
        .end_tool_badly(("main/check/fetch", 0), "404 not found")
        .after(1_100)
        .end_tool(("main/check/search", 0), "6,000 years")
        .after(2_000)
        .model(
            ("main/check", 1),
            &later,
            Reply::text("Dear Ann, looms are 6,000 years old.").used(900, 45).cost(9_000),
        )
        .after(5)
        .ask(("main/approve", 0), question)
        .after(185_000)
        .answered(("main/approve", 0), Answer::approve().by("ben"))
        .after(15)
        .completes(json!({"to": "Ann", "text": "Dear Ann, looms are 6,000 years old.", "sent": true}))
}

/// Failed twice at the same call: resumed once, without luck.
pub(crate) fn failed() -> Run {
    let prompt = [Message::user("Write to Ben.")];
    let error =
        json!({"type": "model", "kind": "rate_limited", "message": "too many requests", "status": 429});
    Run::new("letter-2", "letters")
        .after(400)
        .model_failure(("main/draft", 0), &prompt, error.clone())
        .after(60_000)
        .entry(("main/draft", 0), EffectKind::Model, Phase::Superseded, None, None)
        .after(500)
        .model_failure(("main/draft", 0), &prompt, error)
        .ends(
            RunStatus::Failed,
            json!({
                "state": {"to": "Ben", "text": ""},
                "error": "step `main` failed: step `draft` failed: model call failed: too many requests",
                "failed_at": ["main/draft"],
            }),
        )
}

/// Suspended on one question.
pub(crate) fn refund() -> Run {
    let question = Question::approval("Refund order 17?")
        .details("The customer says the parcel never came.")
        .about(json!({"order": 17, "amount": "30.00"}));
    Run::new("refund-7", "refunds")
        .after(700)
        .model(("main/judge", 0), &[Message::user("Parcel lost?")], Reply::text("Probably.").used(50, 5))
        .after(20)
        .ask(("main/approve", 0), question)
        .after(5)
        .suspends()
}

/// Suspended on two questions: one for two people, one to choose from.
pub(crate) fn release() -> Run {
    Run::new("release-3", "releases")
        .after(50)
        .ask(("main/ship", 0), Question::approval("Ship version 3?").quorum(2).audience(["ann", "ben"]))
        .ask(("main/when", 0), Question::choice("When?", ["today", "next week"]))
        .after(5)
        .suspends()
}

/// Interrupted in the middle of a payment.
pub(crate) fn crashed() -> Run {
    Run::new("payment-9", "payments")
        .after(300)
        .model(("main/plan", 0), &[Message::user("Pay?")], Reply::text("Pay 30.00.").used(20, 4).cost(90))
        .after(5)
        .begin_tool(("main/pay", 0), "transfer", json!({"to": "DE02", "amount": "30.00"}))
}

/// A fork of [`letter`] that goes another way after its draft.
pub(crate) fn forked() -> Run {
    let draft = [Message::system("Be brief."), Message::user("Write to Ann about looms.")];
    let mut run = Run::new("letter-1b", "letters");
    run.version = 2;
    run.forked_from = Some(ForkPoint { run: "letter-1".parse().unwrap(), at: 2 });
    run.created = BEGINNING + Duration::from_secs(86_400);
    run.after(1_250)
        .model(("main/draft", 0), &draft, Reply::text("Dear Ann,\nlooms are old.").used(120, 35).cost(1_230))
        .after(86_400_000)
        .model(
            ("main/check", 0),
            &[Message::user("Check.")],
            Reply::text("It is fine.").used(100, 4).cost(400),
        )
        .completes(json!({"text": "Dear Ann, looms are old."}))
}

/// One of everything else, with texts that are not only ASCII and not only harmless.
pub(crate) fn odd() -> Run {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}gone\u{202e}txt.exe";
    let waited = json!({"secs": 90, "nanos": 0});
    let mut run = Run::new("odd-1", "手紙 für Ánn");
    run.input = json!({"an": "Ánn"});
    run.after(100)
        .model(
            ("主/下書き", 0),
            &[Message::user("織機について短く書いてください。それから猫についても書いてください。🧵")],
            Reply::text("織機は六千年前から使われています。猫はもっと前からいます。そして糸で遊びます。🧵🐈").used(1_234_567, 98_765),
        )
        .after(1)
        .entry(("主/a%2fb", 0), EffectKind::Now, Phase::Finished, None, Some(json!({"ok": 1_767_603_600_000_000_i64})))
        .entry(("主", 0), EffectKind::Sleep, Phase::Started, Some(waited), None)
        .after(90_000)
        .entry(("主", 0), EffectKind::Sleep, Phase::Finished, None, Some(json!({"ok": null})))
        .entry(
            ("主/charge", 0),
            EffectKind::Custom,
            Phase::Finished,
            Some(json!({"name": "charge", "request": {"cents": 3000, "note": "Grüße aus dem Büro, bitte bald überweisen"}})),
            Some(json!({"ok": {"receipt": "№ 7"}})),
        )
        .entry(("主", 1), EffectKind::Decision, Phase::Finished, None, Some(json!({"ok": "left"})))
        .begin_tool(("主/run", 0), "run", json!({"command": evil}))
        .after(2)
        .end_tool(("主/run", 0), &format!("line one\tof {evil}\nline two"))
        .entry(
            ("主/slow", u32::MAX),
            EffectKind::Decision,
            Phase::Finished,
            None,
            Some(json!({"err": {"type": "timed_out", "owner": "主/slow", "limit": {"secs": 120, "nanos": 0}}})),
        )
        .entry(("主/new", 0), EffectKind::Tool, Phase::Finished, Some(json!({"v": 9})), Some(json!({"ok": 1})))
        .completes(json!({"text": "織機", "price": 12.5}))
}

/// A goal that is supervised: what it commits to, what it did, the judgement, a person's word, and a second goal that
/// was tried twice.
pub(crate) fn supervised() -> Run {
    let outline = json!({"name": "main", "kind": "workflow", "children": [
        {"name": "research", "kind": "goal", "children": [{"name": "critic", "kind": "agent"}]},
        {"name": "again", "kind": "retry", "children": [{"name": "publish", "kind": "goal"}]},
    ]});
    let call = json!({"path": "notes.md"});
    let waited = json!({"secs": 2, "nanos": 0});
    let failure =
        json!({"type": "model", "kind": "rate_limited", "message": "too many requests", "status": 429});
    let publish = [Message::system("You publish."), Message::user("Publish the findings.")];
    Run::new("report-4", "reports")
        .made_of(outline)
        .taking(800)
        .after(1_000)
        .model(
            ("main/research/commit", 0),
            &[Message::user("What will you do?")],
            Reply::text(r#"{"commitment":"read the notes","confidence":"high"}"#).used(90, 20).cost(300),
        )
        .after(1_000)
        .model(
            ("main/research/critic", 0),
            &[Message::system("You are a critic."), Message::user("Read the notes.")],
            Reply::text("The notes are thin.").thinking("Where are the sources?").used(400, 80).cost(1_500),
        )
        .after(50)
        .begin_tool(("main/research/critic/read", 0), "read", call)
        .after(20)
        .end_tool(("main/research/critic/read", 0), "# Notes")
        .after(1_000)
        .model(
            ("main/research/post", 0),
            &[Message::user("What did you do?")],
            Reply::text(r#"{"met_commitment":true}"#).used(100, 10).cost(200),
        )
        .after(1_000)
        .model(
            ("main/research/supervise", 0),
            &[Message::user("Is it good enough?")],
            Reply::text(r#"{"verdict":"reorient","correction":"name the sources"}"#).used(300, 30).cost(900),
        )
        .after(10)
        .ask(("main/research/supervise#2", 0), Question::approval("Go on without sources?"))
        .after(60_000)
        .answered(("main/research/supervise#2", 0), Answer::revise("only if marked").by("ben"))
        .after(900)
        .model_failure(("main/again/publish", 0), &publish, failure)
        .entry(("main/again", 0), EffectKind::Sleep, Phase::Started, Some(waited), None)
        .after(2_000)
        .entry(("main/again", 0), EffectKind::Sleep, Phase::Finished, None, Some(json!({"ok": null})))
        .after(900)
        .model(("main/again/publish#2", 0), &publish, Reply::text("Published.").used(50, 5).cost(100))
        .after(5)
        .completes(json!({"published": true}))
}

/// A call that was interrupted and made again.
pub(crate) fn interrupted() -> Run {
    crashed()
        .after(3_600_000)
        .begin_tool(("main/pay", 0), "transfer", json!({"to": "DE02", "amount": "30.00"}))
        .after(100)
        .end_tool(("main/pay", 0), "paid")
        .completes(json!({"paid": true}))
}
