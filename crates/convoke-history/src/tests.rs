//! Hand-made journals, put together.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use convoke_core::ask::Question;
use convoke_core::store::{ForkPoint, Totals};
use convoke_core::{Digest, Entry, Message, Money, Path, Phase, RunStatus, Timestamp, Transcript};

fn second(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn record(status: RunStatus) -> RunRecord {
    RunRecord {
        launch: Default::default(),
        latest: 1,
        worked: std::time::Duration::ZERO,
        id: "r1".parse().unwrap(),
        workflow: "letters".to_owned(),
        version: 1,
        status,
        created: second(0),
        updated: second(60),
        input: Bytes::from_static(b"{}"),
        generation: Default::default(),
        outline: None,
        outcome: None,
        seed: 0,
        epoch: 1,
        holder: None,
        forked_from: None,
        totals: Totals::default(),
        wake: None,
        channels: Vec::new(),
    }
}

/// A journal under construction; each entry is a second after the one before.
#[derive(Default)]
pub(crate) struct Journal {
    entries: Vec<Entry>,
    stored: HashMap<Digest, Bytes>,
}

impl Journal {
    fn add(
        &mut self,
        at: (&str, u32),
        effect: EffectKind,
        phase: Phase,
        request: Option<Value>,
        outcome: Option<Value>,
    ) -> &mut Self {
        let seq = self.entries.len() as u64 + 1;
        let bytes = |json: Value| Bytes::from(json.to_string());
        self.entries.push(Entry {
            seq,
            path: Path::from(at.0),
            ordinal: at.1,
            effect,
            phase,
            digest: Digest::default(),
            at: second(i64::try_from(seq).unwrap()),
            request: request.map(bytes),
            outcome: outcome.map(bytes),
            labels: convoke_core::Labels::new(),
        });
        self
    }

    pub(crate) fn model(
        &mut self,
        at: (&str, u32),
        prompt: &Transcript,
        text: &str,
        cost: Option<Money>,
    ) -> &mut Self {
        self.stored.extend(prompt.unsaved(|_| true).map(|blob| (blob.digest, blob.content)));
        let mut usage = json!({"input_tokens": 100, "output_tokens": 20});
        if let Some(cost) = cost {
            usage["cost"] = json!(cost.as_micros());
        }
        let reply = json!({
            "message": {"role": "assistant", "parts": [{"type": "text", "text": text}]},
            "finish": "stop", "usage": usage, "model": "scripted",
        });
        let request = json!({"model": "scripted", "messages": prompt.digest()});
        self.add(at, EffectKind::Model, Phase::Finished, Some(request), Some(json!({"ok": reply})))
    }

    pub(crate) fn begin_tool(&mut self, at: (&str, u32), tool: &str) -> &mut Self {
        let request = json!({"tool": tool, "arguments": {"q": 1}});
        self.add(at, EffectKind::Tool, Phase::Started, Some(request), None)
    }

    pub(crate) fn end_tool(&mut self, at: (&str, u32), content: &str, is_error: bool) -> &mut Self {
        let outcome = json!({"ok": {"content": content, "is_error": is_error}});
        self.add(at, EffectKind::Tool, Phase::Finished, None, Some(outcome))
    }

    pub(crate) fn history(&self, record: RunRecord) -> History {
        History::assemble(record, &self.entries, self.stored.clone(), Vec::new())
    }
}

#[test]
fn entries_of_one_effect_become_one_effect_that_knows_its_numbers_and_duration() {
    let mut journal = Journal::default();
    journal.begin_tool(("main/a", 0), "search").begin_tool(("main/b", 0), "fetch");
    journal.end_tool(("main/a", 0), "found", false).end_tool(("main/b", 0), "404", true);
    let history = journal.history(record(RunStatus::Completed));

    let [search, fetch] = &*history.effects else { panic!("two effects") };
    assert_eq!((search.first_seq(), search.last_seq()), (1, 3));
    assert_eq!(history.duration(search.current()), Some(Duration::from_secs(2)));
    assert_eq!(search.status(), EffectStatus::Finished);
    let result = Some(ToolOutcome { content: "found".to_owned(), is_error: false });
    let arguments = json!({"q": 1});
    assert_eq!(search.current().detail, Detail::Tool { tool: "search".to_owned(), arguments, result });
    assert!(fetch.current().is_failure());
    assert_eq!(history.spent().failures, 1);
    assert_eq!(history.at(3).map(|(effect, _)| effect), Some(search));
    assert_eq!((history.last_seq(), history.at(5)), (4, None));
}

#[test]
fn a_model_call_has_its_conversation_and_usage_but_no_duration() {
    let mut prompt = Transcript::from("hello");
    let mut journal = Journal::default();
    journal.model(("main", 0), &prompt, "hi", Some(Money::from_cents(1)));
    prompt.extend([Message::assistant("hi"), Message::user("bye")]);
    journal.model(("main", 1), &prompt, "bye", None);
    let history = journal.history(record(RunStatus::Completed));

    let second_call = &history.effects[1];
    assert_eq!(history.duration(second_call.current()), None, "nobody wrote down when it began");
    let Detail::Model { messages, reply: Some(reply), .. } = &second_call.current().detail else {
        panic!("a model call with a reply")
    };
    assert_eq!(history.conversations.get(*messages), Some(prompt));
    assert_eq!(reply.text(), "bye");
    let spent = history.spent();
    assert_eq!((spent.model_calls, spent.unpriced_calls, spent.usage.total_tokens()), (2, 1, 240));
    assert_eq!(spent.whole_cost(), None, "the price of one call is unknown");
    assert_eq!(history.tree.node(1).duration, None);
}

#[test]
fn a_call_without_an_end_is_in_doubt_only_if_nobody_holds_the_run() {
    let mut journal = Journal::default();
    journal.begin_tool(("main/pay", 0), "pay");
    journal.add(("main", 0), EffectKind::Sleep, Phase::Started, Some(json!({"secs": 5, "nanos": 0})), None);
    let history = journal.history(record(RunStatus::Running));
    assert_eq!(history.effects[0].status(), EffectStatus::Begun);
    assert!(history.is_in_doubt(&history.effects[0]));
    assert!(!history.is_in_doubt(&history.effects[1]), "a wait can simply go on");

    let held = RunRecord { holder: Some("process 7 on here".to_owned()), ..record(RunStatus::Running) };
    let history = journal.history(held);
    assert!(!history.is_in_doubt(&history.effects[0]));
}

#[test]
fn a_call_that_is_made_of_effects_goes_on_with_them_and_is_not_in_doubt() {
    let in_doubt = |below: &[(&str, EffectKind, bool)]| {
        let mut journal = Journal::default();
        journal.begin_tool(("main/a2a__mem", 0), "a2a__mem");
        let asked = || json!(Question::text("?"));
        for (number, (path, kind, has_ended)) in (0..).zip(below) {
            journal.add((path, number), *kind, Phase::Started, Some(asked()), None);
            if *has_ended {
                journal.add((path, number), *kind, Phase::Finished, None, Some(json!({"ok": null})));
            }
        }
        let history = journal.history(record(RunStatus::Suspended));
        history.is_in_doubt(&history.effects[0])
    };
    assert!(in_doubt(&[]) && in_doubt(&[("main/a2a__memory/turn", EffectKind::Receive, false)]));
    assert!(!in_doubt(&[("main/a2a__mem/mem/wait", EffectKind::Receive, false)]), "it waits for a client");
    assert!(!in_doubt(&[("main/a2a__mem/mem", EffectKind::Now, true)]), "it is made of effects");
    assert!(!in_doubt(&[("main/a2a__mem/ask", EffectKind::Ask, false)]), "it waits for a person");
    // It was allowed something, and may have done it.
    assert!(in_doubt(&[
        ("main/a2a__mem/ask", EffectKind::Ask, true),
        ("main/a2a__mem/ask", EffectKind::Ask, false)
    ]));
    assert!(in_doubt(&[("main/a2a__mem/in doubt", EffectKind::Ask, false)]), "that is what is asked");
}

#[test]
fn a_failure_that_was_tried_again_is_kept_as_an_earlier_attempt() {
    let mut journal = Journal::default();
    let request = || Some(json!({"name": "charge", "request": 30}));
    let failed = json!({"err": {"type": "failed", "message": "no network", "category": "transient"}});
    let at = ("main/charge", 0);
    journal.add(at, EffectKind::Custom, Phase::Finished, request(), Some(failed));
    journal.add(at, EffectKind::Custom, Phase::Superseded, None, None);
    let history = journal.history(record(RunStatus::Running));
    assert_eq!(history.effects[0].status(), EffectStatus::Superseded);

    journal.add(at, EffectKind::Custom, Phase::Finished, request(), Some(json!({"ok": "receipt 7"})));
    let history = journal.history(record(RunStatus::Completed));
    let [charge] = &*history.effects else { panic!("one effect") };
    assert_eq!((charge.first_seq(), charge.last_seq(), charge.attempts.len()), (1, 3, 2));
    assert_eq!(charge.attempts[0].error.as_ref().map(ToString::to_string).as_deref(), Some("no network"));
    assert_eq!((charge.status(), charge.error()), (EffectStatus::Finished, None));
    let phases: Vec<_> = history.timeline().iter().map(|moment| (moment.seq, moment.phase)).collect();
    assert_eq!(phases, [(1, Phase::Finished), (2, Phase::Superseded), (3, Phase::Finished)]);
}

#[test]
fn every_kind_of_effect_is_read_and_what_cannot_be_read_is_kept() {
    let mut journal = Journal::default();
    let question = serde_json::to_value(Question::confirm("Go on?")).unwrap();
    let answer = json!({"ok": {"decision": {"type": "approve"}, "by": "ann", "at": 5}});
    let timed_out =
        json!({"err": {"type": "timed_out", "owner": "main/slow", "limit": {"secs": 1, "nanos": 0}}});
    let mut add = |ordinal, kind, phase, request, outcome| {
        journal.add(("main", ordinal), kind, phase, request, outcome);
    };
    add(0, EffectKind::Ask, Phase::Started, Some(question), None);
    add(0, EffectKind::Ask, Phase::Finished, None, Some(answer));
    add(1, EffectKind::Now, Phase::Finished, None, Some(json!({"ok": 7})));
    add(2, EffectKind::Decision, Phase::Finished, None, Some(json!({"ok": "left"})));
    add(3, EffectKind::Model, Phase::Finished, Some(json!({"x": 1})), Some(json!({"ok": 1})));
    add(4, EffectKind::Tool, Phase::Finished, Some(json!({"tool": "t", "arguments": 1})), Some(json!("odd")));
    add(u32::MAX, EffectKind::Decision, Phase::Finished, None, Some(timed_out));
    let history = journal.history(record(RunStatus::Completed));
    let details: Vec<&Detail> = history.effects.iter().map(|effect| &effect.current().detail).collect();
    assert!(matches!(details[0], Detail::Ask { answer: Some(answer), .. } if answer.by == "ann"));
    assert_eq!(*details[1], Detail::Now { time: Some(Timestamp::from_micros(7)) });
    assert_eq!(*details[2], Detail::Decision { choice: Some(json!("left")) });
    assert_eq!(*details[3], Detail::Unreadable { request: Some(json!({"x": 1})), outcome: Some(json!(1)) });
    assert!(
        matches!(details[4], Detail::Unreadable { outcome: Some(Value::String(text)), .. } if text == "\"odd\"")
    );
    assert_eq!(*details[5], Detail::StepTimeout);
    assert!(history.effects[5].error().is_some());
}

#[test]
fn the_tree_sums_up_each_part_and_keeps_the_order_of_first_appearance() {
    let mut journal = Journal::default();
    journal.begin_tool(("main/b/search", 0), "search").end_tool(("main/b/search", 0), "ok", false);
    journal.model(("main/b", 0), &Transcript::from("hi"), "yes", Some(Money::from_cents(3)));
    journal.model(("main/a%2f1", 0), &Transcript::from("hi"), "no", Some(Money::from_cents(4)));
    let history = journal.history(record(RunStatus::Completed));
    let tree = &history.tree;

    let names: Vec<&str> = tree.nodes().map(|node| &*node.name).collect();
    assert_eq!(names, ["", "main", "b", "search", "a/1"]);
    assert_eq!(tree.root().duration, Some(Duration::from_secs(60)));
    assert_eq!(tree.root().spent.whole_cost(), Some(Money::from_cents(7)));
    assert_eq!(tree.node(2).items, [TreeItem::Node(3), TreeItem::Effect(1)]);
    assert_eq!((tree.node(2).spent.model_calls, tree.node(2).spent.tool_calls), (1, 1));
    assert_eq!(tree.node(2).duration, Some(Duration::from_secs(2)), "from the tool's start to the reply");
    assert_eq!(tree.node(4).duration, None, "when its only call began is not on record");
}

#[test]
fn an_effect_with_one_entry_took_as_long_as_its_request_says() {
    let mut journal = Journal::default();
    let request = json!({"name": "rate", "request": null, "began": second(0)});
    journal.add(("main", 0), EffectKind::Custom, Phase::Finished, Some(request), Some(json!({"ok": 1})));
    let history = journal.history(record(RunStatus::Completed));
    let took = history.effects[0].current().ended.map(|mark| mark.at.since(second(0)));
    assert!(took.is_some_and(|took| !took.is_zero()));
    assert_eq!(history.duration(history.effects[0].current()), took);
    assert_eq!(history.tree.node(1).duration, took);
}

#[test]
fn a_part_with_something_unfinished_or_across_a_fork_has_no_duration() {
    let mut journal = Journal::default();
    journal.begin_tool(("open", 0), "x");
    journal.begin_tool(("whole", 0), "x").end_tool(("whole", 0), "ok", false);
    let history = journal.history(record(RunStatus::Running));
    assert_eq!(history.tree.root().duration, None, "the run goes on");
    assert_eq!(history.tree.node(1).duration, None);
    assert_eq!(history.tree.node(2).duration, Some(Duration::from_secs(1)));

    let fork = ForkPoint { run: "r0".parse().unwrap(), at: 3 };
    let created = second(3) + Duration::from_millis(500);
    let fork = RunRecord { forked_from: Some(fork), created, ..record(RunStatus::Running) };
    let history = journal.history(fork);
    let whole = history.effects[1].current();
    assert!(whole.begun.is_some_and(|mark| history.is_inherited(mark)));
    assert!(whole.ended.is_some_and(|mark| !history.is_inherited(mark)));
    assert_eq!(history.tree.node(2).duration, None);
    assert_eq!(history.duration(whole), None, "it began in another run");
}

#[test]
fn a_failed_model_call_has_an_unknown_cost_unless_it_cannot_have_cost_anything() {
    let cost_after = |kind: &str| {
        let error = json!({"err": {"type": "model", "kind": kind, "message": "no"}});
        let request = json!({"model": "scripted", "messages": Digest::default()});
        let mut journal = Journal::default();
        journal.add(("main", 0), EffectKind::Model, Phase::Finished, Some(request), Some(error));
        let spent = journal.history(record(RunStatus::Failed)).spent();
        assert_eq!((spent.model_calls, spent.failures), (1, 1));
        spent.whole_cost()
    };
    assert_eq!(cost_after("rate_limited"), Some(Money::ZERO));
    assert_eq!(cost_after("interrupted"), None);
}

#[test]
fn an_empty_journal_is_a_run_that_has_done_nothing() {
    let history = Journal::default().history(record(RunStatus::Running));
    assert_eq!((history.last_seq(), history.effects.len(), history.tree.nodes().len()), (0, 0, 1));
    assert!(history.timeline().is_empty());
    assert_eq!(history.spent(), Spent::default());
}

/// What a chronicle tells, in short.
fn told(history: &History) -> Vec<String> {
    let short = |happening: &ChronicleEntry<'_>| match happening.event {
        ChronicleEvent::Began => "began".to_owned(),
        ChronicleEvent::Resumed(why) => format!("{why:?}"),
        ChronicleEvent::Entry(moment) => moment.seq.to_string(),
        ChronicleEvent::Ended => "ended".to_owned(),
    };
    history.chronicle().iter().map(short).collect()
}

#[test]
fn a_chronicle_says_where_a_run_was_taken_up_again_and_what_it_had_spent() {
    let mut journal = Journal::default();
    let (charge, request) = (("main/charge", 0), || Some(json!({"name": "charge", "request": 30})));
    let failed = json!({"err": {"type": "failed", "message": "no network", "category": "transient"}});
    journal.model(("main", 0), &Transcript::from("hi"), "yes", Some(Money::from_cents(3)));
    journal.add(charge, EffectKind::Custom, Phase::Finished, request(), Some(failed.clone()));
    journal.add(("main/other", 0), EffectKind::Custom, Phase::Finished, request(), Some(failed));
    journal.add(charge, EffectKind::Custom, Phase::Superseded, None, None);
    journal.add(("main/other", 0), EffectKind::Custom, Phase::Superseded, None, None);
    journal.begin_tool(("main/a", 0), "get").begin_tool(("main/b", 0), "get");
    // Interrupted; then both are called again.
    journal.begin_tool(("main/a", 0), "get").begin_tool(("main/b", 0), "get");
    journal.end_tool(("main/a", 0), "ok", false).end_tool(("main/b", 0), "no", true);
    let history = journal.history(record(RunStatus::Completed));
    assert_eq!(
        told(&history),
        [
            "began",
            "1",
            "2",
            "3",
            "AfterFailure",
            "4",
            "5",
            "6",
            "7",
            "AfterInterruption",
            "8",
            "9",
            "10",
            "11",
            "ended"
        ]
    );
    let happenings = history.chronicle();
    assert_eq!(happenings[1].so_far.usage.cost, Some(Money::from_cents(3)));
    assert_eq!(happenings[0].so_far, Spent::default());
    assert_eq!(happenings.last().map(|last| last.so_far), Some(history.spent()), "it all adds up");
}

#[test]
fn the_past_of_a_fork_comes_before_its_beginning_and_is_not_counted_twice() {
    let mut journal = Journal::default();
    journal.model(("main", 0), &Transcript::from("hi"), "yes", Some(Money::from_cents(3)));
    let question = serde_json::to_value(Question::confirm("Go on?")).unwrap();
    journal.add(("main", 1), EffectKind::Ask, Phase::Started, Some(question), None);
    let fork = Some(ForkPoint { run: "r0".parse().unwrap(), at: 2 });
    let created = second(1) + Duration::from_millis(500);
    let fork = RunRecord { forked_from: fork, created, ..record(RunStatus::Suspended) };
    let history = journal.history(fork.clone());
    assert_eq!(told(&history), ["1", "began", "2", "ended"]);
    let tally = Tally::of(&fork, &history.effects);
    assert_eq!((tally.spent, tally.models.len()), (Spent::default(), 0));
    assert_eq!((tally.questions, tally.answered), (1, 0));

    let mut both = Tally::of(&record(RunStatus::Completed), &history.effects);
    both += &tally;
    assert_eq!(both.models["scripted"].usage.cost, Some(Money::from_cents(3)));
    assert_eq!(both.questions, 2);
}
