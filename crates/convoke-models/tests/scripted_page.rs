//! Tests of the examples in `docs/scripted-model.md`.
use convoke_models::ScriptedModel;

const PAGE: &str = include_str!("../../../docs/scripted-model.md");

fn section(heading: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// The first cells of a section's table, without their quotes.
fn examples(heading: &str) -> Vec<&'static str> {
    let rows = section(heading).lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once("` |").unwrap().0).collect()
}

fn must_be_read(script: &str) {
    if let Err(error) = ScriptedModel::from_toml_str(script) {
        panic!("{error}\n{script}");
    }
}

#[test]
fn every_script_of_the_page_is_one() {
    let scripts: Vec<&str> =
        PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(scripts.len(), 2);
    scripts.into_iter().for_each(must_be_read);
}

#[test]
fn every_condition_reply_and_fault_of_the_page_can_be_written() {
    let conditions = examples("Conditions");
    assert_eq!(conditions.len(), 13, "all there are");
    for condition in conditions {
        must_be_read(&format!("[[rule]]\nwhen.{condition}\nreply = \"x\"\n"));
    }
    for reply in examples("Replies") {
        let is_whole = ["reply", "json", "fits", "tool_calls"].iter().any(|key| reply.starts_with(key));
        let text = if is_whole { "" } else { "reply = \"one two three\"\n" };
        must_be_read(&format!("[[rule]]\n{text}{reply}\n"));
    }
    for fault in examples("Faults") {
        let text = if fault.contains("_after = ") && !fault.starts_with("error") {
            "reply = \"one two three\"\n"
        } else {
            ""
        };
        must_be_read(&format!("[[rule]]\n{text}{fault}\n"));
    }
    must_be_read("[[rule]]\nreply = \"one two three\"\nerror = { status = 500 }\nfail_after = 2\n");
}
