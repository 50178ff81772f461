//! Accounts of hand-made journals, in each of their forms.

use convoke_core::{RunStatus, Timestamp, Transcript};
use serde_json::json;

use super::*;
use crate::History;
use crate::tests::{Journal, record};

/// A run that asked a model and called two tools, the second of which failed.
fn history() -> History {
    let mut journal = Journal::default();
    journal.model(("main/draft", 0), &Transcript::from("hello"), "<b>hi</b>", None);
    journal.begin_tool(("main/search", 0), "search").end_tool(("main/search", 0), "found", false);
    journal.begin_tool(("main/fetch", 0), "fetch").end_tool(("main/fetch", 0), "404", true);
    journal.history(record(RunStatus::Completed))
}

fn gist() -> Gist {
    let inputs = json!({"topic": "looms", "count": 3}).as_object().cloned().unwrap_or_default();
    Gist::new(Some("plan.agent".to_owned()), inputs, Some("done".into()))
}

#[test]
fn an_effect_is_one_item_with_its_numbers_what_it_is_about_and_its_texts() {
    let (history, gist) = (history(), gist());
    let items = record_items(&history, &gist, None);
    let titles: Vec<_> = items.iter().map(|item| (&*item.title, item.number())).collect();
    let numbered = |title, number: &str| (title, number.to_owned());
    assert_eq!(
        titles,
        [
            numbered("started", ""),
            numbered("model", "#1"),
            numbered("tool", "#2–3"),
            numbered("tool", "#4–5"),
            numbered("completed", ""),
        ]
    );
    assert_eq!(items[3].kinds, [ItemKind::Tool, ItemKind::Failure]);
    let texts: Vec<_> = items[1].blocks.iter().map(|block| (block.label(), block.text())).collect();
    assert_eq!(texts, [("user", "hello"), ("reply", "<b>hi</b>")]);
    assert_eq!(items[4].blocks, [TextBlock::new("result", "done")], "what it came to is at its end");
    assert_eq!(record_items(&history, &gist, Some(3)).len(), 3, "up to and including that entry");
}

#[test]
fn every_form_has_what_the_filter_keeps() {
    let (history, gist, now) = (history(), gist(), Timestamp::from_micros(0));
    let items = record_items(&history, &gist, None);
    let failures = Filter::new(None, &[ItemKind::Failure], None);
    assert!(failures.is_active() && !Filter::default().is_active());

    let document = json!(RecordView::new(&history, &gist, &items, &failures, now));
    assert_eq!(document["events"].as_array().map(Vec::len), Some(2), "its beginning and its end");
    assert_eq!(document["events"][1]["about"], json!(["tool", "failure"]));
    assert_eq!((&document["result"], &document["inputs"]["count"]), (&json!("done"), &json!(3)));

    let page =
        |filter| Page { history: &history, gist: &gist, items: &items, filter, now, diagram: None }.html();
    assert!(page(&failures).contains("404") && !page(&failures).contains("hello"));
    let whole = page(&Filter::default());
    assert!(whole.contains("&lt;b&gt;hi&lt;/b&gt;") && !whole.contains("<b>hi"), "nothing said is markup");
    assert!(whole[..1_024].contains(PAGE_MARK));

    let nowhere = Filter::new(Some("main/gone"), &[], None);
    assert_eq!(nowhere.path_to_nothing(&items), Some("main/gone"));
}

#[test]
fn a_session_log_has_a_header_numbered_events_and_a_footer() {
    let log = session_log(&history(), &gist(), None);
    assert_eq!(log[0]["inputs"], json!({"topic": "looms", "count": "3"}), "the format has texts only");
    let types: Vec<_> = log[1..log.len() - 1].iter().filter_map(|line| line["type"].as_str()).collect();
    let expected = [
        "workflow_start",
        "user",
        "assistant",
        "tool_call",
        "tool_result",
        "tool_call",
        "tool_result",
        "workflow_end",
    ];
    assert_eq!(types, expected);
    assert_eq!(log.last().map(|line| &line["status"]), Some(&json!("complete")));
}

#[test]
fn making_a_run_is_not_taking_it_up() {
    let mut record = record(RunStatus::Completed);
    record.epoch = 2;
    assert_eq!(gist().times_taken_up(&record), 1, "a run of a file is made before it begins");
    assert_eq!(Gist::default().times_taken_up(&record), 2);
}
