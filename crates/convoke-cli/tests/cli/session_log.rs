//! `convoke replay --jsonl`

use convoke_core::Message;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::examples::{crashed, failed, interrupted, letter, refund, supervised};
use crate::journal::{Reply, Run};
use crate::place::{Place, stderr, stdout};

fn log(place: &Place, run: &str) -> Vec<Value> {
    let output = place.convoke(&["replay", run, "--jsonl"]);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of a type, or of several.
fn events<'a>(log: &'a [Value], types: &[&str]) -> Vec<&'a Value> {
    log.iter().filter(|line| line["type"].as_str().is_some_and(|kind| types.contains(&kind))).collect()
}

#[test]
fn agent_143_a_session_log_has_a_header_numbered_events_and_a_footer() {
    let place = Place::with([letter(), supervised(), failed(), refund()]);
    assert_snapshot!("session_log_letter", place.seen(&["replay", "letter-1", "--jsonl"]));
    assert_snapshot!("session_log_supervised", place.seen(&["replay", "report-4", "--jsonl"]));
    for (run, status) in [("letter-1", "complete"), ("letter-2", "failed"), ("refund-7", "running")] {
        let log = log(&place, run);
        let [header, events @ .., footer] = &*log else { panic!("{log:?}") };
        assert_eq!((&header["_type"], &header["id"]), (&json!("header"), &json!(run)));
        assert_eq!((&footer["_type"], &footer["status"]), (&json!("footer"), &json!(status)));
        for (event, seq) in events.iter().zip(1..) {
            assert_eq!((&event["_type"], &event["seq"]), (&json!("event"), &json!(seq)), "{event}");
        }
        assert_eq!(log, self::log(&place, run), "reading it again gives the same");
    }
    let footer = log(&place, "letter-1").pop().unwrap();
    assert_eq!(footer["state"]["text"], "Dear Ann, looms are 6,000 years old.");
    assert_eq!(footer.get("error"), None);
    let footer = log(&place, "letter-2").pop().unwrap();
    assert!(footer["error"].as_str().unwrap().contains("too many requests"), "{footer}");
}

#[test]
fn agent_147_the_error_of_an_event_is_there() {
    let place = Place::with([letter(), failed()]);
    let log = self::log(&place, "letter-2");
    let replies = events(&log, &["assistant"]);
    assert_eq!(replies.len(), 2);
    for reply in replies {
        assert_eq!(reply["error"], "model call failed: too many requests");
        assert_eq!(reply["success"], false);
    }
    let log = self::log(&place, "letter-1");
    let fetch = events(&log, &["tool_result"]).into_iter().find(|event| event["tool"] == "fetch").unwrap();
    assert_eq!((&fetch["error"], &fetch["success"]), (&json!("404 not found"), &json!(false)));
}

#[test]
fn agent_139_140_checkpoints_of_a_step_are_there_in_the_order_of_their_making() {
    let log = log(&Place::with([supervised()]), "report-4");
    let checkpoints = events(&log, &["checkpoint"]);
    let seen: Vec<(&str, &str)> = checkpoints
        .iter()
        .map(|event| (event["meta"]["ckpt_type"].as_str().unwrap(), event["goal"].as_str().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [("pre", "research"), ("post", "research"), ("supervise", "research"), ("supervise", "research")]
    );
    let ids: Vec<&str> = checkpoints.iter().map(|event| event["meta"]["ckpt_id"].as_str().unwrap()).collect();
    let of_the_step = ["commit:0", "post:0", "supervise:0", "supervise#2:0"];
    assert_eq!(ids, of_the_step.map(|id| format!("main/research/{id}")));
    assert_eq!(checkpoints[0]["meta"]["commitment"], "read the notes");
    assert_eq!(checkpoints[1]["content"], r#"{"met_commitment":true}"#);
    assert_eq!(checkpoints[2]["meta"]["correction"], "name the sources");
    assert_eq!(checkpoints[3]["meta"]["guidance"], "only if marked");
    assert_eq!(
        (&checkpoints[3]["meta"]["human"], &checkpoints[3]["meta"]["source"]),
        (&json!(true), &json!("ben"))
    );
}

#[test]
fn agent_140_steps_stand_in_the_order_of_their_first_checkpoint() {
    let outline = json!({"name": "main", "kind": "workflow", "children": [
        {"name": "zeal", "kind": "goal"}, {"name": "care", "kind": "goal"}, {"name": "mind", "kind": "goal"},
    ]});
    let reply = || Reply::text("{}");
    let prompt = [Message::user("Well?")];
    let run = Run::new("side-by-side", "w")
        .made_of(outline)
        .model(("main/zeal/commit", 0), &prompt, reply())
        .model(("main/mind/commit", 0), &prompt, reply())
        .model(("main/care/commit", 0), &prompt, reply())
        .model(("main/mind/post", 0), &prompt, reply())
        .model(("main/zeal/post", 0), &prompt, reply())
        .completes(json!({}));
    let log = log(&Place::with([run]), "side-by-side");
    let steps: Vec<&str> =
        events(&log, &["checkpoint"]).iter().map(|event| event["goal"].as_str().unwrap()).collect();
    assert_eq!(steps, ["zeal", "mind", "care", "mind", "zeal"]);
}

#[test]
fn agent_141_ids_of_checkpoints_never_collide_whatever_steps_are_called() {
    let outline = json!({"name": "main", "kind": "goal"});
    let reply = || Reply::text("{}");
    let prompt = [Message::user("Well?")];
    let run = Run::new("odd-names", "w")
        .made_of(outline)
        .model(("main/%2e%2e%2fup/commit", 0), &prompt, reply())
        .model(("main/critic/commit", 0), &prompt, reply())
        .model(("main/critic#2/commit", 0), &prompt, reply())
        .model(("main/critic#2/commit", 1), &prompt, reply())
        .completes(json!({}));
    let log = log(&Place::with([run]), "odd-names");
    let mut ids: Vec<&str> = events(&log, &["checkpoint"])
        .iter()
        .map(|event| event["meta"]["ckpt_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 4);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[test]
fn agent_144_an_event_of_fifteen_megabytes_is_told() {
    let long = "x".repeat(15_000_000);
    let run = Run::new("large", "w")
        .begin_tool(("main/read", 0), "read", json!({"path": "large.txt"}))
        .end_tool(("main/read", 0), &long)
        .completes(json!({}));
    let log = log(&Place::with([run]), "large");
    assert_eq!(events(&log, &["tool_result"])[0]["content"].as_str().unwrap().len(), long.len());
}

#[test]
fn agent_146_a_run_that_is_not_there_is_an_error() {
    let output = Place::with([letter()]).convoke(&["replay", "poem", "--jsonl"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(3), ""));
    assert!(stderr(&output).contains("there is no run `poem`"));
}

#[test]
fn agent_148_what_was_written_before_a_crash_is_there_and_what_has_no_end_is_said_so() {
    let place = Place::with([crashed()]);
    let log = self::log(&place, "payment-9");
    assert_eq!(events(&log, &["assistant"]).len(), 1);
    assert_eq!(events(&log, &["tool_call"]).len(), 1);
    assert!(events(&log, &["tool_result"]).is_empty());
    let warning = events(&log, &["warning"])[0];
    assert!(warning["content"].as_str().unwrap().contains("was begun and has no end"), "{warning}");
    assert_eq!(log.last().unwrap()["status"], "running");

    let log = self::log(&Place::with([interrupted()]), "payment-9");
    let calls = events(&log, &["tool_call", "tool_result"]);
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[1]["corr_id"], calls[2]["corr_id"], "a result belongs to its own call");
    assert_ne!(calls[0]["corr_id"], calls[1]["corr_id"]);
}

#[test]
fn agent_153_goals_have_durations_and_replies_latencies() {
    let place = Place::with([supervised()]);
    let log = log(&place, "report-4");
    let ends = events(&log, &["goal_end"]);
    assert_eq!((&ends[0]["goal"], &ends[0]["duration_ms"]), (&json!("research"), &json!(63_880)));
    assert_eq!(events(&log, &["assistant"])[0]["meta"]["latency_ms"], 800);
    assert_eq!(events(&log, &["subagent_end"])[0]["duration_ms"], 870);
    let order: Vec<&str> = log.iter().filter_map(|line| line["type"].as_str()).take(6).collect();
    assert_eq!(order, ["workflow_start", "goal_start", "user", "assistant", "phase_commit", "checkpoint"]);
    let shown = stdout(&place.convoke(&["replay", "report-4"]));
    assert!(shown.contains("scripted · 800 ms"), "{shown}");
    let page = stdout(&place.convoke(&["replay", "report-4", "--html", "-"]));
    let goal = page.lines().find(|line| line.contains("data-step=\"main/research\">research")).unwrap();
    assert!(goal.contains("<span>1 min 03 s</span>"), "{goal}");
}

#[test]
fn a_log_may_stop_early_and_is_one_form_among_others() {
    let place = Place::with([letter()]);
    let output = stdout(&place.convoke(&["replay", "letter-1", "--jsonl", "--at", "1"]));
    let last: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "assistant");
    for both in [["--jsonl", "--json"], ["--jsonl", "--html"], ["--json", "--html"], ["--jsonl", "--full"]] {
        let output = place.convoke(&[&["replay", "letter-1"], &both[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{both:?}");
    }
}
