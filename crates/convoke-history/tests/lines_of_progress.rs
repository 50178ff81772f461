//! Pictures and lines of recorded runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use convoke_core::{Answer, Event, EventKind, Money, Path, Question, RunStatus, StepEnd, Timestamp, Usage};
use convoke_history::account::readable_json;
use convoke_history::lines::{Canvas, LogLines, LogOptions, Rich, draw};
use convoke_history::progress::{NodeKind, PlannedNode, RunProgress};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A run being recorded, on a clock that is moved by hand.
struct Recording {
    now: Timestamp,
    told: Vec<Event>,
}

impl Recording {
    fn new() -> Self {
        Self { now: Timestamp::from_micros(1_767_603_600_000_000), told: Vec::new() }
    }

    fn after(mut self, millis: u64) -> Self {
        self.now = self.now + Duration::from_millis(millis);
        self
    }

    fn event(mut self, path: &str, kind: EventKind) -> Self {
        self.told.push(Event {
            run: "plan-1".parse().unwrap(),
            seq: self.told.len() as u64 + 1,
            path: Path::from(path),
            at: self.now,
            replayed: false,
            position: None,
            kind,
        });
        self
    }

    fn begins(self, resumed: bool) -> Self {
        self.event("", EventKind::RunStarted { workflow: "plan".to_owned(), resumed })
            .start("plan", "workflow")
            .start("plan/main", "sequence")
    }

    fn start(self, path: &str, kind: &str) -> Self {
        self.event(path, EventKind::StepStarted { kind: kind.to_owned() })
    }

    fn end(self, path: &str) -> Self {
        self.event(path, EventKind::StepEnded(StepEnd::Completed))
    }

    fn asks(self, path: &str, call: &str) -> Self {
        let call = json!({"type": "model_call_started", "id": call, "model": "sonnet"});
        self.event(path, serde_json::from_value(call).unwrap())
    }

    fn hears(self, path: &str, call: &str, tokens: (u64, u64), micros: Option<u64>) -> Self {
        let usage = Usage { cost: micros.map(Money::from_micros), ..Usage::tokens(tokens.0, tokens.1) };
        let end = json!({
            "type": "model_call_ended", "id": call, "usage": usage,
            "result": "replied", "model": "sonnet", "finish": "stop",
        });
        self.event(path, serde_json::from_value(end).unwrap())
    }

    fn tool(self, path: &str, id: &str, tool: &str, arguments: &str) -> Self {
        let (id, tool) = (id.to_owned(), tool.to_owned());
        self.event(path, EventKind::ToolCallStarted { id: id.clone(), tool, message: None })
            .event(path, EventKind::ToolCallArguments { id: id.clone(), delta: arguments.to_owned() })
            .event(path, EventKind::ToolCallExecuting { id })
    }

    fn custom(self, path: &str, name: &str, value: Value) -> Self {
        self.event(path, EventKind::Custom { name: name.to_owned(), value })
    }

    fn folded(&self, planned: &PlannedNode) -> RunProgress {
        let mut progress = RunProgress::new(planned);
        self.told.iter().for_each(|told| progress.apply(told));
        progress
    }

    fn picture(&self, planned: &PlannedNode, width: usize, height: usize) -> String {
        let view =
            Canvas { width, height, now: self.now, says: true, reading: None, interrupt: "Ctrl-C stops" };
        let picture = draw(&self.folded(planned), view);
        assert!(picture.len() <= height, "{} lines of {height}", picture.len());
        assert!(picture.iter().all(|line| line.width() <= width));
        shown(&picture)
    }

    fn lines(&self, planned: &PlannedNode, verbose: bool) -> String {
        let (mut progress, mut plain) =
            (RunProgress::new(planned), LogLines::new(LogOptions { verbose, says: true, reason: in_words }));
        let lines = self.told.iter().flat_map(|told| {
            progress.apply(told);
            plain.lines(&progress, told)
        });
        shown(&lines.collect::<Vec<_>>())
    }
}

fn shown(lines: &[Rich]) -> String {
    lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

/// The words for a reason, as whoever knows the goals has them.
fn in_words(reason: &Value) -> String {
    match reason.as_str() {
        Some("low_confidence") => "confidence was low".to_owned(),
        _ => readable_json(reason),
    }
}

fn node(name: &str, kind: NodeKind, children: Vec<PlannedNode>) -> PlannedNode {
    PlannedNode { name: name.to_owned(), kind, children }
}

fn goal(name: &str) -> PlannedNode {
    node(name, NodeKind::Goal, Vec::new())
}

fn plan(goals: Vec<PlannedNode>) -> PlannedNode {
    node("plan", NodeKind::Workflow, vec![node("main", NodeKind::Sequence, goals)])
}

fn usual() -> PlannedNode {
    let agents = ["critic", "optimist"].map(|name| node(name, NodeKind::Agent, Vec::new()));
    plan(vec![
        node("analyze", NodeKind::Goal, agents.to_vec()),
        node("polish", NodeKind::Convergence, Vec::new()),
        goal("translate"),
        goal("report"),
    ])
}

/// Two agents are done, a convergence is in its second round, and a tool is at work.
fn under_way() -> Recording {
    Recording::new()
        .begins(false)
        .start("plan/main/analyze", "goal")
        .start("plan/main/analyze/critic", "agent")
        .start("plan/main/analyze/optimist", "agent")
        .asks("plan/main/analyze/critic", "a")
        .asks("plan/main/analyze/optimist", "b")
        .after(2_400)
        .hears("plan/main/analyze/critic", "a", (4_100, 320), Some(12_300))
        .end("plan/main/analyze/critic")
        .after(700)
        .hears("plan/main/analyze/optimist", "b", (3_900, 90), Some(9_000))
        .end("plan/main/analyze/optimist")
        .end("plan/main/analyze")
        .start("plan/main/polish", "convergence")
        .start("plan/main/polish/iteration", "iteration")
        .asks("plan/main/polish/iteration/turn", "c")
        .after(61_000)
        .hears("plan/main/polish/iteration/turn", "c", (900, 400), None)
        .end("plan/main/polish/iteration")
        .start("plan/main/polish/iteration#2", "iteration")
        .tool(
            "plan/main/polish/iteration#2/turn",
            "t1",
            "search",
            r#"{"query": "looms\u001b[2J", "limit": 3}"#,
        )
        .after(250)
}

#[test]
fn before_anything_happens_everything_waits() {
    assert_snapshot!(Recording::new().picture(&usual(), 80, 24));
}

#[test]
fn a_run_under_way_shows_who_does_what_and_what_it_costs() {
    assert_snapshot!(under_way().picture(&usual(), 80, 24));
    assert_snapshot!(under_way().lines(&usual(), false));
    assert_snapshot!(under_way().lines(&usual(), true));
}

#[test]
fn a_narrow_terminal_has_names_and_times() {
    assert_snapshot!(under_way().picture(&usual(), 40, 24));
}

#[test]
fn a_low_terminal_keeps_what_is_going_on() {
    assert_snapshot!(under_way().picture(&usual(), 80, 6));
    assert_snapshot!(under_way().picture(&usual(), 80, 3));
}

fn many(running: usize) -> (PlannedNode, Recording) {
    let goals = (1..=50).map(|number| goal(&format!("goal-{number}"))).collect();
    let mut recording = Recording::new().begins(false);
    for number in 1..=20 {
        let path = format!("plan/main/goal-{number}");
        recording = recording.start(&path, "goal").asks(&path, "a").after(100);
        recording = recording.hears(&path, "a", (100, 10), Some(100)).end(&path);
    }
    for number in 21..21 + running {
        let path = format!("plan/main/goal-{number}");
        recording = recording.start(&path, "goal").asks(&path, &path);
    }
    (plan(goals), recording.after(5_000))
}

#[test]
fn fifty_goals_fit_into_24_lines() {
    let (planned, recording) = many(1);
    assert_snapshot!(recording.picture(&planned, 80, 24));
    let (planned, recording) = many(30);
    assert_snapshot!(recording.picture(&planned, 80, 24));
}

#[test]
fn failures_skipped_goals_and_limits_say_why() {
    let failed =
        EventKind::StepEnded(StepEnd::Failed { error: "model call failed:\ntoo many requests".to_owned() });
    let recording = Recording::new()
        .begins(false)
        .start("plan/main/analyze", "goal")
        .custom("plan/main/analyze", "goal_skipped", json!({"goal": "analyze", "reason": "$kind is not bug"}))
        .end("plan/main/analyze")
        .start("plan/main/polish", "convergence")
        .asks("plan/main/polish", "a")
        .custom("plan/main/polish", "convergence_cap_reached", json!({"convergence": "polish", "cap": 5}))
        .end("plan/main/polish")
        .start("plan/main/translate", "goal")
        .event("plan/main/translate", EventKind::RetryAttempt { attempt: 1 })
        .after(1_000)
        .event(
            "plan/main/translate",
            EventKind::RetryFailed { attempt: 1, error: "reset".to_owned(), retryable: true },
        )
        .event(
            "plan/main/translate",
            EventKind::RetryScheduled { attempt: 1, delay: Duration::from_secs(10) },
        );
    assert_snapshot!(recording.picture(&usual(), 80, 24));
    let recording = recording
        .after(10_000)
        .event("plan/main/translate", EventKind::RetryAttempt { attempt: 2 })
        .event("plan/main/translate", failed);
    assert_snapshot!(recording.picture(&usual(), 80, 24));
    assert_snapshot!(recording.lines(&usual(), false));
}

#[test]
fn a_question_is_seen_until_it_is_answered() {
    let id: convoke_core::QuestionId =
        convoke_core::IdempotencyKey::derive(&"plan-1".parse().unwrap(), &Path::from("plan/main/report"), 0);
    let question = Question::approval("Is this what goal \"report\" is to give?");
    let asked = Recording::new()
        .begins(false)
        .start("plan/main/report", "goal")
        .start("plan/main/report/commit", "commit")
        .asks("plan/main/report/commit", "a")
        .after(900)
        .hears("plan/main/report/commit", "a", (10, 2), Some(5))
        .end("plan/main/report/commit")
        .event("plan/main/report", EventKind::QuestionAsked { id: id.clone(), question });
    assert_snapshot!(asked.picture(&usual(), 80, 24));
    let verdict =
        json!({"step": "report", "phase": "supervise", "verdict": "continue", "reason": "as promised"});
    let answered = asked
        .after(60_000)
        .event("plan/main/report", EventKind::QuestionAnswered { id, answer: Answer::approve().by("ann") })
        .custom("plan/main/report", "supervision", verdict)
        .end("plan/main/report");
    assert_snapshot!(answered.lines(&usual(), false));
}

#[test]
fn why_a_result_is_looked_into_is_told_in_words() {
    let triggers = json!(["low_confidence", "a_reason_of_later"]);
    let reconciled = json!({"step": "report", "phase": "reconcile", "triggers": triggers});
    let lines = Recording::new()
        .begins(false)
        .start("plan/main/report", "goal")
        .custom("plan/main/report", "supervision", reconciled)
        .lines(&usual(), false);
    let told = "looked into: confidence was low; a_reason_of_later";
    assert!(lines.contains(told), "{lines}");
}

#[test]
fn what_was_done_before_a_run_was_resumed_is_told_in_a_word() {
    let recording = Recording::new()
        .begins(true)
        .start("plan/main/analyze", "goal")
        .start("plan/main/analyze/critic", "agent")
        .end("plan/main/analyze/critic")
        .end("plan/main/analyze")
        .start("plan/main/polish", "convergence")
        .start("plan/main/polish/iteration", "iteration")
        .end("plan/main/polish/iteration")
        .start("plan/main/polish/iteration#2", "iteration")
        .asks("plan/main/polish/iteration#2/turn", "a")
        .after(300);
    assert_snapshot!(recording.picture(&usual(), 80, 24));
    assert_snapshot!(recording.lines(&usual(), false));
}

#[test]
fn a_goal_that_is_run_again_keeps_its_line_and_one_that_is_spawned_gets_one() {
    let recording = Recording::new()
        .begins(false)
        .start("plan/main/iteration", "iteration")
        .start("plan/main/iteration/report", "goal")
        .asks("plan/main/iteration/report", "a")
        .after(1_000)
        .hears("plan/main/iteration/report", "a", (10, 1), Some(1_000))
        .end("plan/main/iteration/report")
        .end("plan/main/iteration")
        .start("plan/main/iteration#2", "iteration")
        .after(1_000)
        .start("plan/main/iteration#2/report", "goal")
        .start("plan/main/iteration#2/report/a%2fb reader", "agent")
        .start("plan/main/iteration#2/report/a%2fb reader#2", "agent")
        .after(1_000);
    assert_snapshot!(recording.picture(&usual(), 80, 24));
    let evil = recording.start("plan/main/iteration#2/report/\u{1b}[2Jgone", "agent");
    assert!(
        !evil.picture(&usual(), 80, 24).contains('\u{1b}') && !evil.lines(&usual(), true).contains('\u{1b}')
    );
}

fn saying(text: &str) -> Recording {
    let (id, model) = ("m1".to_owned(), "sonnet".to_owned());
    Recording::new()
        .begins(false)
        .start("plan/main/report", "goal")
        .event("plan/main/report/turn", EventKind::MessageStarted { id: id.clone(), model })
        .event("plan/main/report/turn", EventKind::MessageDelta { id, text: text.to_owned() })
}

#[test]
fn what_is_said_is_shown_below_while_there_is_room() {
    let recording = saying(&"Looms weave. ".repeat(40));
    assert_snapshot!(recording.picture(&usual(), 60, 24));
    let ended = EventKind::MessageEnded {
        id: "m1".to_owned(),
        finish: None,
        usage: Usage::default(),
        text: String::new(),
    };
    let lines = saying("one\ntwo\n").event("plan/main/report/turn", ended).lines(&usual(), false);
    assert!(lines.ends_with("report │ one\n[      0 ms] report │ two\n"), "{lines}");
    assert!(!recording.picture(&usual(), 60, 7).contains("weave"));
}

#[test]
fn the_end_stops_everything() {
    let end = convoke_core::RunEnd {
        status: RunStatus::Cancelled,
        error: Some("cancelled: stopped by Ctrl-C".to_owned()),
        refused: None,
        state: None,
        totals: Default::default(),
    };
    assert_snapshot!(under_way().event("", EventKind::RunEnded(end)).picture(&usual(), 80, 24));
}

#[test]
fn calls_of_two_agents_with_the_same_id_are_told_apart() {
    let recording = Recording::new()
        .begins(false)
        .start("plan/main/analyze", "goal")
        .start("plan/main/analyze/critic", "agent")
        .start("plan/main/analyze/optimist", "agent")
        .tool("plan/main/analyze/critic/turn", "call-1", "search", r#"{"query": "moths"}"#)
        .tool("plan/main/analyze/optimist/turn", "call-1", "fetch", "{}")
        .event(
            "plan/main/analyze/optimist/turn",
            EventKind::ToolCallResult { id: "call-1".to_owned(), content: "404".to_owned(), is_error: true },
        );
    let picture = recording.picture(&usual(), 80, 24);
    assert!(
        picture.contains("critic  search(\"query\": \"moths\")") && !picture.contains("fetch"),
        "{picture}"
    );
    assert!(recording.lines(&usual(), false).ends_with("optimist: fetch failed: 404\n"));
}
