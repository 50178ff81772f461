//! `convoke eval`: scenarios run against Agentfiles, packs and graphs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Output;

use insta::assert_snapshot;
use serde_json::Value;

use crate::place::{Place, stderr, stdout};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const PACK: &str = include_str!("../../../../examples/packs/support.pack.yaml");

/// A pack that only talks, with evals of its own.
const TALK: &str = r#"{
  "id": "talk", "name": "Talk", "version": "1.0.0", "template_engine": {"version": "v1", "syntax": "{{variable}}"},
  "tools": {"look_up": {"name": "look_up", "description": "Looks something up", "parameters": {"type": "object", "properties": {}}}},
  "evals": [
    {"id": "greets", "type": "contains", "trigger": "every_turn", "params": {"patterns": ["hello"]}, "groups": ["tone"]},
    {"id": "brief", "type": "max_length", "trigger": "on_session_complete", "params": {"max": 20}, "threshold": {"min_score": 1}},
    {"id": "kind", "type": "toxicity", "trigger": "every_turn"}
  ],
  "prompts": {"talk": {"id": "talk", "name": "Talk", "version": "1.0.0", "system_template": "Be kind.",
    "evals": [{"id": "greets", "type": "contains", "trigger": "every_turn", "params": {"patterns": ["hello", "you"]}}]}}
}"#;

/// A scenario with this as its `spec`.
fn scenario(name: &str, spec: &str) -> String {
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!("kind: Scenario\nmetadata: {{name: {name}}}\nspec:\n{indented}")
}

fn talk(place: &Place, spec: &str) {
    place.write("talk.pack.json", TALK);
    place.write("talk.scenario.yaml", scenario("talk", spec));
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}{}", stdout(output), stderr(output)))
}

/// What a user sees, but for how long it took.
fn timeless(seen: &str) -> String {
    let mut lines = Vec::new();
    for line in seen.lines() {
        let mut line = line.to_owned();
        for (before, after) in [("time=\"", "\""), ("seconds\": ", ",")] {
            let mut from = 0;
            while let Some(at) = line[from..].find(before).map(|at| from + at + before.len()) {
                let end = line[at..].find(after).map_or(line.len(), |end| at + end);
                line.replace_range(at..end, "[TIME]");
                from = at;
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[test]
fn every_example_passes_in_its_folder() {
    let cases = [
        ("packs/support.pack.yaml", "packs/support-scenarios"),
        ("packs/triage.pack.yaml", "packs/triage-scenarios"),
        ("agentfiles/daily-plan.agent", "agentfiles/scenarios/daily-plan.scenario.yaml"),
        ("agentfiles/press-release.agent", "agentfiles/scenarios/press-release.scenario.yaml"),
        ("graphs/proposal.graph.yaml", "graphs/scenarios"),
    ];
    let mut tried = 0;
    for (file, scenarios) in cases {
        let place = Place::empty();
        let scenarios = Path::new(EXAMPLES).join(scenarios);
        tried += if scenarios.is_dir() { std::fs::read_dir(&scenarios).unwrap().count() } else { 1 };
        let file = Path::new(EXAMPLES).join(file);
        let done = place.convoke(&["eval", file.to_str().unwrap(), scenarios.to_str().unwrap()]);
        assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    }
    let folders =
        ["agentfiles/scenarios", "graphs/scenarios", "packs/support-scenarios", "packs/triage-scenarios"];
    let there = folders.map(|folder| std::fs::read_dir(Path::new(EXAMPLES).join(folder)).unwrap().count());
    assert_eq!(tried, there.iter().sum::<usize>(), "a scenario of the examples is not tried");
}

#[test]
fn a_table_says_what_held_and_what_did_not() {
    let place = Place::empty();
    talk(
        &place,
        "turns:
  - role: user
    content: Good morning
    assertions:
      - {type: content_includes, params: {patterns: [hello]}, message: one greets}
      - {type: tools_called, params: {tools: [look_up]}}
assertions:
  - {type: llm_judge, params: {criteria: It is polite.}}
model: {replies: [Good morning to you.]}
judge: {replies: [{json: {score: 0.4, reason: It is curt.}}]}",
    );
    let seen = place.seen(&["eval", "talk.pack.json", "talk.scenario.yaml", "--id", "e"]);
    assert_snapshot!("eval_failed", seen);
    // Nothing is run again, and what is said of it is the same.
    assert_eq!(seen, place.seen(&["eval", "talk.pack.json", "talk.scenario.yaml", "--id", "e"]));
    let shown = stdout(&place.convoke(&["runs", "--json"]));
    let runs: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(runs.as_array().map(Vec::len), Some(2), "one run, and one of the judge: {shown}");
}

#[test]
fn json_and_junit_say_the_same() {
    let place = Place::empty();
    talk(
        &place,
        "description: Somebody is greeted.
turns: [{content: Good morning, assertions: [{type: contains, params: {patterns: [hello]}}]}]
model: {replies: [Hello you.], price: {input: 1.0, output: 1.0}}
trials: 2",
    );
    let json = place.seen(&[
        "eval",
        "talk.pack.json",
        ".",
        "--id",
        "e",
        "--output",
        "json",
        "--junit",
        "report.xml",
    ]);
    assert_snapshot!("eval_json", timeless(&json));
    assert_snapshot!("eval_junit", timeless(&place.read("report.xml")));
    let junit = place.convoke(&["eval", "talk.pack.json", ".", "--id", "e", "--output", "junit"]);
    assert_eq!(timeless(&stdout(&junit)), timeless(&place.read("report.xml")));
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_run() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [Hello you.]}");
    std::fs::create_dir(place.path().join("folder")).unwrap();
    for (file, why) in
        [("no/folder/report.xml", "there is no folder no/folder"), ("folder", "it is a folder")]
    {
        let lost = place.convoke(&["eval", "talk.pack.json", ".", "--junit", file]);
        assert_eq!(lost.status.code(), Some(1));
        assert!(stderr(&lost).contains(why), "{}", stderr(&lost));
    }
    assert!(!place.file().exists(), "nothing was run");
    let nothing = stderr(&place.convoke(&["eval", "talk.pack.json", ".", "--require", "0"]));
    assert!(nothing.contains("with 0 nothing could fail"), "{nothing}");
}

#[test]
fn calls_that_a_client_executes_count_as_used_and_against_the_budget() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    let spec = "task_type: solve
inputs: {customer: ada}
tools: {look_up_order: nothing}
turns: [{content: Hi}]
model:
  replies:
    - {tool_calls: [{name: look_up_order, arguments: {number: '7'}}]}
    - {tool_calls: [{name: look_up_order, arguments: {number: '8'}}]}
    - All is well.
assertions: [ASSERTED]";
    let eval = |asserted: &str, budget: &[&str]| {
        place.write("a.scenario.yaml", scenario("a", &spec.replace("ASSERTED", asserted)));
        let all = [&["eval", "support.pack.yaml", "."][..], budget].concat();
        place.convoke_with(&all, &[("COLUMNS", "200")])
    };
    let done = eval("{type: usage, params: {max_tool_calls: 1}}", &["--id", "e"]);
    assert!(stdout(&done).contains("usage: it used 2 tool calls"), "{}{}", stdout(&done), stderr(&done));
    let done = eval("{type: usage, params: {max_tool_calls: 2}}", &["--id", "e"]);
    assert!(done.status.success(), "{}", stdout(&done));
    let budget = ["--budget", "1 tool-calls"];
    let last = eval("{type: usage, params: {max_tool_calls: 1}}", &budget);
    assert!(!stdout(&last).contains("✗ usage"), "{}{}", stdout(&last), stderr(&last));
    // What one reply asks for is asked for together, or not at all.
    let both = "    - {tool_calls: [{name: look_up_order, arguments: {number: '7'}}, {name: look_up_order, arguments: {number: '8'}}]}\n";
    let (before, rest) = spec.split_once("    - {").unwrap();
    let spec = format!("{before}{both}    - All is well.\n{}", &rest[rest.find("assertions").unwrap()..]);
    let eval = |asserted: &str| {
        place.write("a.scenario.yaml", scenario("a", &spec.replace("ASSERTED", asserted)));
        let all = [&["eval", "support.pack.yaml", ".", "--id", "f"][..], &budget].concat();
        place.convoke_with(&all, &[("COLUMNS", "200")])
    };
    let done = eval("");
    let why = "the run is budget_exhausted: too little of the budget of the run is left for the next calls";
    assert!(stdout(&done).contains(why), "{}{}", stdout(&done), stderr(&done));
    let asserted =
        "{type: status, params: {is: budget_exhausted}}, {type: usage, params: {max_model_calls: 1}}";
    let seen = stdout(&eval(asserted));
    assert!(!seen.contains("✗ status") && !seen.contains("✗ usage"), "{seen}");
}

#[test]
fn a_call_that_was_refused_is_not_one_that_was_made() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    // What its schema does not allow is refused before a client hears of it.
    let spec = "task_type: solve
inputs: {customer: ada}
turns: [{content: Hi}]
model: {replies: [{tool_calls: [{name: look_up_order, arguments: {number: 7}}]}, All is well.]}
assertions:
  - {type: tools_not_called, params: {tools: [look_up_order]}}
  - {type: tool_call_count, params: {max: 0}}
  - {type: usage, params: {max_tool_calls: 0}}";
    place.write("a.scenario.yaml", scenario("a", spec));
    let done = place.convoke(&["eval", "support.pack.yaml", "."]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
}

#[test]
fn what_a_composition_gave_is_not_what_was_said_last() {
    let place = Place::empty();
    let folder = Path::new(EXAMPLES).join("packs");
    let text = std::fs::read_to_string(folder.join("triage-scenarios/complaint.scenario.yaml")).unwrap();
    let turns = |assertion: &str| {
        text.replace("      assertions:\n", &format!("      assertions:\n        - {assertion}\n"))
    };
    let eval = |assertion: &str| {
        place.write("a.scenario.yaml", turns(assertion));
        place.convoke(&["eval", folder.join("triage.pack.yaml").to_str().unwrap(), "a.scenario.yaml"])
    };
    let done = eval("{type: composition_output, params: {contains: It came twice and broken}}");
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    let done = eval("{type: composition_output, params: {contains: sorry}}");
    assert!(stdout(&done).contains("the composition gave"), "{}{}", stdout(&done), stderr(&done));
}

#[test]
fn a_tool_that_nobody_has_is_noticed_where_it_is_not_to_be_called() {
    let place = Place::empty();
    let spec = |tool: &str| {
        format!(
            "turns: [{{content: Hi}}]\nmodel: {{replies: [Hello you.]}}
assertions: [{{type: tools_not_called, params: {{tools: [{tool}]}}}}]"
        )
    };
    talk(&place, &spec("look_upp"));
    let near = stderr(&place.convoke(&["eval", "talk.pack.json", "."]));
    assert!(near.contains("did you mean `look_up`?") && near.contains("talk.scenario.yaml:"), "{near}");
    talk(&place, &spec("delete_everything"));
    let far = stdout(&place.convoke_with(&["eval", "talk.pack.json", "."], &[("COLUMNS", "400")]));
    assert!(far.contains("there is no tool or agent `delete_everything`"), "{far}");
    assert!(far.contains("look_up"), "those there are are named: {far}");
    talk(&place, &spec("write"));
    assert!(place.convoke(&["eval", "talk.pack.json", "."]).status.success(), "the host has it");
}

#[test]
fn an_input_that_the_pack_refuses_is_found_in_its_place_before_anything_is_run() {
    let place = Place::empty();
    let pack = r#""prompts": {"talk": {"variables": [{"name": "customer", "type": "string", "required": true, "validation": {"min_length": 2}}], "#;
    place.write("talk.pack.json", TALK.replace(r#""prompts": {"talk": {"#, pack));
    for (name, customer) in [("a", "ada"), ("b", "a"), ("c", "cid")] {
        let spec = format!(
            "inputs:\n  customer: {customer}\nturns: [{{content: Hi}}]\nmodel: {{replies: [Hello you.]}}"
        );
        place.write(&format!("{name}.scenario.yaml"), scenario(name, &spec));
    }
    let done = place.convoke(&["eval", "talk.pack.json", "."]);
    let seen = stderr(&done);
    assert!(seen.contains("b.scenario.yaml:5:"), "{seen}{}", stdout(&done));
    assert!(seen.contains("`customer` has 1 characters, at least 2 are needed"), "{seen}");
    assert!(!done.status.success() && !place.file().exists(), "nothing was run: {seen}");
}

#[test]
fn a_scenario_that_cannot_be_begun_fails_alone_and_is_in_the_report() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [Hello you.]}");
    let bad = "tools: {delete_everything: x}\nturns: [{content: Hi}]\nmodel: {replies: [Hello you.]}";
    place.write("a.scenario.yaml", scenario("a", bad));
    let done = place.convoke(&["eval", "talk.pack.json", ".", "--output", "json", "--junit", "r.xml"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    let report = report(&done);
    let (a, talk) = (&report["scenarios"][0], &report["scenarios"][1]);
    assert_eq!((&a["passed"], &talk["passed"]), (&Value::Bool(false), &Value::Bool(true)), "{report}");
    assert_eq!(a["runs"][0]["status"], "not_begun");
    let why = a["runs"][0]["assertions"][0]["found"].as_str().unwrap();
    assert!(why.contains("there is no tool `delete_everything`") && why.contains("look_up"), "{why}");
    assert!(place.read("r.xml").contains("delete_everything"), "{}", place.read("r.xml"));
    let seen = stdout(&place.convoke(&["eval", "talk.pack.json", "."]));
    assert!(seen.contains("a  it was not begun") && seen.contains("1 of 2 passed"), "{seen}");
}

#[test]
fn what_was_scripted_and_not_used_is_told() {
    let place = Place::empty();
    talk(
        &place,
        "turns: [{content: Hi, assertions: [{type: llm_judge, params: {criteria: kind}}]}]
model: {replies: [Hello you., And another thing.]}
answers: [approve]
tools: {look_up: nothing}
judge: {replies: [{json: {score: 1, reason: a}}, {json: {score: 1, reason: b}}]}",
    );
    let wide = [("COLUMNS", "200")];
    let done = place.convoke_with(&["eval", "talk.pack.json", ".", "--junit", "r.xml"], &wide);
    let seen = stdout(&done);
    for said in [
        "✗ replies: 1 was not given, the first of them `And another thing.`",
        "✗ answers: 1 was not asked for",
        "! talk: `tools` has results of look_up, which was not called",
        "! talk: of the replies of the judge, 1 was not asked for",
    ] {
        assert!(seen.contains(said), "{said}: {seen}{}", stderr(&done));
    }
    assert_eq!(done.status.code(), Some(1));
    assert!(place.read("r.xml").contains("note: `tools` has results of look_up"), "{}", place.read("r.xml"));
}

#[test]
fn two_evals_under_one_name_at_once_both_end_with_a_report() {
    let place = Place::empty();
    talk(
        &place,
        "turns: [{content: Hi}, {content: And?}, {content: And?}]
model: {replies: [{text: One., delay: 300ms}, {text: Two., delay: 300ms}, {text: Three., delay: 300ms}]}
assertions:
  - {type: contains, of: conversation, params: {patterns: [One., Two., Three.]}}
  - {type: llm_judge, params: {criteria: kind}}
judge: {replies: [{json: {score: 1, reason: a}, delay: 300ms}]}",
    );
    let begin = || {
        std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
            .args(["eval", "talk.pack.json", ".", "--id", "e", "--output", "json"])
            .current_dir(place.path())
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [begin(), begin()];
    let reports = both.map(|one| {
        let output = one.wait_with_output().unwrap();
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        report(&output)["scenarios"][0]["runs"].clone()
    });
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0][0]["usage"]["model_calls"], 3, "nothing was asked twice");
}

#[test]
fn a_limit_on_money_that_holds_for_nothing_is_told() {
    let place = Place::empty();
    talk(&place, "task_type: talk\nturns: [{content: Hi}]\nmodel: {replies: [hello you]}");
    let done = place.convoke(&["eval", "talk.pack.json", ".", "--budget", "0.01 usd", "--json"]);
    let run = &report(&done)["scenarios"][0]["runs"][0];
    assert!(run["notes"].to_string().contains("the limit on money cannot be kept"), "{run}");
    assert_eq!(run["duration_seconds"], run["seconds"]);
    for (option, nothing) in [("--budget", "0 calls"), ("--timeout", "0s")] {
        let refused = place.convoke(&["eval", "talk.pack.json", ".", option, nothing]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    }
}

#[test]
fn results_of_a_workflow_that_is_a_tool_can_be_scripted() {
    let place = Place::empty();
    place.write(
        "desk.pack.json",
        r#"{"id": "desk", "name": "Desk", "version": "1.0.0", "template_engine": {"version": "v1", "syntax": "{{variable}}"},
  "prompts": {"desk": {"id": "desk", "name": "Desk", "version": "1.0.0", "system_template": "Be kind.", "tools": ["look_up"]}},
  "tools": {"look_up": {"name": "look_up", "description": "Looks up",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}}},
  "metadata": {"convoke": {"workflows": {"look_up": "look.agent"}}}}"#,
    );
    place
        .write("look.agent", "NAME look\nINPUT what\nGOAL look \"Look up {{what}}.\"\nRUN main USING look\n");
    place.write(
        "a.scenario.yaml",
        scenario(
            "a",
            "turns: [{content: Where is it?}]
tools: {look_up: [{when: {what: parcel}, result: in Oslo}]}
model:
  rules:
    - {when: {tool_result_contains: in Oslo}, reply: It is in Oslo.}
    - {when: {system_contains: Be kind}, reply: {tool_calls: [{name: look_up, arguments: {what: parcel}}]}}
assertions:
  - {type: contains, params: {patterns: [It is in Oslo]}}
  - {type: tools_called, params: {tools: [look_up]}}
  - {type: usage, params: {max_model_calls: 2, max_tool_calls: 1}}",
        ),
    );
    let done = place.convoke(&["eval", "desk.pack.json", "a.scenario.yaml"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
}

#[test]
fn evals_that_a_pack_declares_are_honoured() {
    let place = Place::empty();
    talk(
        &place,
        "turns: [{content: Good morning}]\nmodel: {replies: [\"Hello, it is a very long morning.\"]}",
    );
    let done = place.convoke(&["eval", "talk.pack.json", ".", "--output", "json"]);
    let report = report(&done);
    let found: Vec<(&str, &Value, &Value)> = report["scenarios"][0]["runs"][0]["assertions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), &one["passed"], &one["score"]))
        .collect();
    let score = |score: f64| Value::from(score);
    assert_eq!(
        found,
        [
            ("greets", &Value::Null, &score(0.5)),
            ("kind", &Value::Null, &Value::Null),
            ("brief", &Value::Bool(false), &score(0.0)),
        ],
        "the prompt's `greets` stands for the pack's"
    );
    assert!(!done.status.success(), "a threshold of the pack was missed");
    let only = place.convoke(&["eval", "talk.pack.json", ".", "--group", "fast-running", "--output", "json"]);
    assert!(!only.status.success());
    let none = place.convoke(&["eval", "talk.pack.json", ".", "--group", "long-running"]);
    assert!(none.status.success(), "{}{}", stdout(&none), stderr(&none));
    place.write("talk.pack.json", TALK.replace(r#""min_score": 1"#, r#""min_score": 0"#));
    let sure = stdout(&place.convoke_with(&["eval", "talk.pack.json", "."], &[("COLUMNS", "200")]));
    assert!(
        sure.contains("! talk: the eval `brief` of the pack cannot fail: every score is at least 0"),
        "{sure}"
    );
}

#[test]
fn a_group_of_no_eval_and_replies_for_no_scenario_are_refused_before_anything_is_run() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [Hello you.]}");
    let refused = |more: &[&str]| {
        let done = place.convoke(&[&["eval", "talk.pack.json", "."], more].concat());
        assert!(!done.status.success() && !place.file().exists(), "{}{}", stdout(&done), stderr(&done));
        stderr(&done)
    };
    let near = refused(&["--group", "defualt"]);
    assert!(near.contains("no eval of talk.pack.json is of the group `defualt`"), "{near}");
    assert!(near.contains("did you mean `default`?"), "{near}");
    let far = refused(&["--group", "default", "--group", "tone"]);
    assert!(far.contains("there are: default, fast-running, long-running"), "the prompt's has none: {far}");
    place.write("replies.yaml", "scenarios: {takl: {turns: {1: Hello.}}}\ndefaultResponse: Hello.");
    let near = refused(&["--replies", "replies.yaml"]);
    assert!(near.contains("for `takl`") && near.contains("did you mean `talk`?"), "{near}");
    place.write("replies.yaml", "scenarios: {}");
    assert!(refused(&["--replies", "replies.yaml"]).contains("the file of replies has none"));
    place.write("replies.yaml", "defaultResponse: Hello.");
    let all = place.convoke(&["eval", "talk.pack.json", ".", "--replies", "replies.yaml"]);
    assert!(all.status.success(), "{}{}", stdout(&all), stderr(&all));
}

#[test]
fn replies_beside_others_that_are_for_no_scenario_are_noticed() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]");
    place.write("greet.scenario.yaml", scenario("greet", "turns: [{content: Hi}]"));
    let eval = |replies: &str, files: &[&str]| {
        place.write("replies.yaml", replies);
        let words = [&["eval", "talk.pack.json", "--replies", "replies.yaml"][..], files].concat();
        place.convoke(&words)
    };
    let hello = "{turns: {1: Hello you.}}";
    let misspelt =
        eval(&format!("scenarios: {{talk: {hello}, geret: {hello}}}\ndefaultResponse: Hello."), &["."]);
    assert!(!misspelt.status.success() && !place.file().exists(), "{}", stdout(&misspelt));
    let why = "the replies for `geret` are for no scenario here; did you mean `greet`?";
    assert!(stderr(&misspelt).contains(why), "{}", stderr(&misspelt));
    // A file may have replies for more than is run, also for what is called alike.
    let part =
        eval(&format!("scenarios: {{talk: {hello}, talk2: {hello}, buy: {hello}}}"), &["talk.scenario.yaml"]);
    assert!(part.status.success(), "{}{}", stdout(&part), stderr(&part));
    let told = "of `--replies`, what is for no scenario here is not used: talk2, buy";
    assert!(stderr(&part).contains(told), "{}", stderr(&part));
}

#[test]
fn repeated_runs_have_a_pass_rate() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi, assertions: [{type: contains, params: {patterns: [hello]}}]}]");
    place.write("model.toml", "[[rule]]\nreply = [\"Hello you.\", \"Go away.\"]\n");
    // Each run opens the script anew, so every one of them is greeted.
    let seen = place.seen(&[
        "eval",
        "talk.pack.json",
        ".",
        "--id",
        "e",
        "--repeat",
        "3",
        "--jobs",
        "2",
        "--model",
        "scripted/model.toml",
    ]);
    assert!(seen.contains("3/3") && seen.contains("--- exit 0"), "{seen}");
    place.write("model.toml", "[[rule]]\nreply = \"Go away.\"\n");
    let bad = ["eval", "talk.pack.json", ".", "--repeat", "3", "--model", "scripted/model.toml"];
    let seen = stdout(&place.convoke(&bad));
    assert_eq!(seen.matches("`hello` is missing").count(), 1, "what failed alike is said once: {seen}");
    assert!(seen.contains("(3 times)") && seen.contains("0/3"), "{seen}");
    let rate =
        place.convoke(&["eval", "talk.pack.json", ".", "--repeat", "0", "--model", "scripted/model.toml"]);
    assert!(stderr(&rate).contains("1..=1000"), "{}", stderr(&rate));
}

#[test]
fn a_report_is_compared_with_an_earlier_one() {
    let place = Place::empty();
    let spec = "turns: [{content: Hi, assertions: [{type: contains, params: {patterns: [hello]}}]}]\nmodel: {replies: [REPLY]}";
    talk(&place, &spec.replace("REPLY", "Hello you."));
    let earlier = place.convoke(&["eval", "talk.pack.json", ".", "--id", "one", "--output", "json"]);
    place.write("earlier.json", &earlier.stdout);
    talk(&place, &spec.replace("REPLY", "Go away."));
    place.write("new.scenario.yaml", scenario("new", &spec.replace("REPLY", "Hello.")));
    assert_snapshot!(
        "eval_compared",
        place.seen(&["eval", "talk.pack.json", ".", "--id", "two", "--compare", "earlier.json"])
    );
    place.write("earlier.json", "{}");
    let bad = stderr(&place.convoke(&["eval", "talk.pack.json", ".", "--compare", "earlier.json"]));
    assert!(
        bad.contains("earlier.json is not a report of an eval") && bad.contains("--output json"),
        "{bad}"
    );
}

#[test]
fn files_that_are_wrong_are_refused_before_anything_is_run() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    place.write(
        "scenarios/a.scenario.yaml",
        scenario(
            "a",
            "pack: ../other.pack.json
task_type: intke
inputs: {custmer: ada}
tools: {look_up_ordr: x}
turns:
  - {content: Hello, expect_state: intke}
  - {event: Aproved}
assertions:
  - {type: contains, of: artifacts.attemts, params: {patterns: [a]}}
  - {type: state_is, params: {state: closed}}",
        ),
    );
    assert_snapshot!("eval_refused", place.seen(&["eval", "support.pack.yaml", "scenarios"]));
    place.write(
        "scenarios/a.scenario.yaml",
        scenario("a", "turns: [{content: Hello, expect_state: intke}]\nmodel: {replies: [a]}"),
    );
    place.write("scenarios/b.scenario.yaml", scenario("a", "inputs: {customer: ada}\nmodel: {replies: [a]}"));
    assert_snapshot!("eval_misfits", place.seen(&["eval", "support.pack.yaml", "scenarios"]));
    place.write("empty/readme.txt", "nothing");
    let none = stderr(&place.convoke(&["eval", "support.pack.yaml", "empty"]));
    assert!(none.contains("there are no scenarios in empty") && none.contains(".scenario.yaml"), "{none}");
    assert!(!place.file().exists(), "nothing was run");
}

#[test]
fn an_agentfile_takes_no_turns() {
    let place = Place::empty();
    place.write("plan.agent", "NAME plan\nGOAL plan \"Plan the day.\"\nRUN main USING plan\n");
    place.write(
        "a.scenario.yaml",
        scenario(
            "a",
            "turns: [{content: Hello}]\nassertions: [{type: state_is, params: {state: a}}]\ntask_type: x",
        ),
    );
    assert_snapshot!("eval_agentfile_turns", place.seen(&["eval", "plan.agent", "a.scenario.yaml"]));
}

#[test]
fn a_run_begins_in_the_state_of_its_task() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    place.write(
        "a.scenario.yaml",
        scenario(
            "a",
            "task_type: solve
inputs: {customer: ada}
turns: [{content: Hello, assertions: [{type: spoke_in_state, params: {state: solve}}]}]
assertions:
  - {type: path_is, params: {states: [solve]}}
  - {type: guardrail_triggered, params: {validator: banned_words}}
  - {type: content_excludes, params: {patterns: [guarantee]}}
model: {replies: [I guarantee it.]}",
        ),
    );
    let done = place.convoke(&["eval", "support.pack.yaml", "a.scenario.yaml"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
}

#[test]
fn scenarios_of_promptkit_run_with_the_replies_of_its_mock_provider() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    place.write(
        "flow.scenario.yaml",
        "apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Scenario
metadata: {name: flow}
spec:
  id: flow
  task_type: intake
  variables: {customer: ada}
  turns:
    - role: user
      content: Order 7 never came.
      assertions:
        - {type: tools_called, params: {tool_names: [workflow__transition]}}
        - {type: transitioned_to, params: {state: solve}}
    - {role: user, content: It is here now.}
    - role: user
      content: Thanks!
      assertions: [{type: workflow_complete, params: {}}]
  conversation_assertions:
    - {type: workflow_transition_order, params: {sequence: [solve, goodbye]}}
",
    );
    place.write(
        "mock-responses.yaml",
        "scenarios:
  flow:
    turns:
      1: {response: One moment., tool_calls: [{name: workflow__transition, arguments: {event: Understood, context: late}}]}
      2: I have looked into it.
      3: {tool_calls: [{name: workflow__transition, arguments: {event: Solved, context: it came}}]}
      4: Good to hear.
",
    );
    let arguments = ["eval", "support.pack.yaml", "flow.scenario.yaml", "--replies", "mock-responses.yaml"];
    let done = place.convoke(&arguments);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    place.write("mock-responses.yaml", "scenarios: {flow: {turns: {1: a, 3: b}, defaultRespone: c}}");
    assert_snapshot!("eval_replies_refused", place.seen(&arguments));
}

#[test]
fn what_nobody_answers_fails_with_what_is_missing() {
    let place = Place::empty();
    place.write("support.pack.yaml", PACK);
    let look = "tool_calls: [{name: look_up_order, arguments: {number: '7'}}]";
    let spec = format!(
        "task_type: solve\ninputs: {{customer: ada}}\nturns: [{{content: Hi}}]\nmodel: {{replies: [{{{look}}}]}}"
    );
    place.write("a.scenario.yaml", scenario("a", &spec));
    let again = || {
        stdout(&place.convoke_with(&["eval", "support.pack.yaml", ".", "--id", "e"], &[("COLUMNS", "200")]))
    };
    let seen = again();
    assert!(seen.contains("`tools` does not say what a call gives: look_up_order"), "{seen}");
    assert_eq!(seen, again());
    let waits: Value = serde_json::from_slice(&place.convoke(&["runs", "--json"]).stdout).unwrap();
    assert_eq!(waits[0]["status"], "cancelled", "nobody is asked about it any more");
    place.write(
        "a.scenario.yaml",
        scenario("a", &format!("{spec}\nassertions: [{{type: status, params: {{is: suspended}}}}]")),
    );
    let done = place.convoke(&["eval", "support.pack.yaml", ".", "--id", "e"]);
    assert!(done.status.success(), "{}", stdout(&done));
}

#[test]
fn a_model_that_never_answers_is_given_up() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [{hangs: true}]}");
    let seen = stdout(&place.convoke(&["eval", "talk.pack.json", ".", "--timeout", "300ms"]));
    assert!(seen.contains("completed: the run is timed_out"), "{seen}");
    talk(
        &place,
        "turns: [{content: Hi}]
assertions: [{type: llm_judge, params: {criteria: kind}}]
model: {replies: [Hello you.]}
judge: {replies: [{hangs: true}]}",
    );
    let seen = stdout(&place.convoke(&["eval", "talk.pack.json", ".", "--timeout", "300ms"]));
    assert!(seen.contains("llm_judge: the judge failed"), "{seen}");
}

#[test]
fn every_reply_that_a_judge_gave_counts_as_given() {
    let place = Place::empty();
    let spec = |judge: &str| {
        format!(
            "turns: [{{content: Hi}}]
assertions:
  - {{type: llm_judge, params: {{criteria: kind}}}}
  - {{type: llm_judge, params: {{criteria: short}}}}
model: {{replies: [Hello you.]}}
judge: {{replies: [{judge}]}}"
        )
    };
    let eval = |judge: &str| {
        talk(&place, &spec(judge));
        place.convoke_with(&["eval", "talk.pack.json", "."], &[("COLUMNS", "300")])
    };
    let done = eval("{json: {score: 0.9}}, {json: {score: 0.9, reason: a}}, {json: {score: 0.8, reason: b}}");
    let seen = stdout(&done);
    assert!(done.status.success() && !seen.contains("not asked for"), "{seen}{}", stderr(&done));
    let seen = stdout(&eval("{json: {score: 0.9, reason: a}}, {json: {score: 0.9}}"));
    assert!(seen.contains("`replies` has no more: it has 2, and another is asked for"), "{seen}");
    assert!(!seen.contains("not asked for") && !seen.contains("it is call"), "{seen}");
}

#[test]
fn a_judge_that_talks_nonsense_does_not_let_anything_pass() {
    let place = Place::empty();
    for reply in [
        "Great!",
        "{json: {score: 7, reason: a}}",
        "{json: {score: high, reason: a}}",
        "{json: {reason: a}}",
        "{error: {status: 500, message: down}}",
    ] {
        talk(
            &place,
            &format!(
                "turns: [{{content: Hi}}]
assertions: [{{type: llm_judge, params: {{criteria: kind}}}}]
model: {{replies: [Hello you.]}}
judge: {{rules: [{{reply: {reply}}}]}}"
            ),
        );
        let done = place.convoke(&["eval", "talk.pack.json", "."]);
        let seen = stdout(&done);
        assert!(seen.contains("llm_judge: the judge failed") && !done.status.success(), "{reply}: {seen}");
    }
}

#[test]
fn an_eval_that_was_killed_goes_on_under_its_name() {
    let place = Place::empty();
    talk(
        &place,
        "turns: [{content: Hi}, {content: And?}]
assertions: [{type: tool_call_count, params: {max: 0}}, {type: usage, params: {max_model_calls: 2}}]
model: {replies: [Hello you., {text: Bye., delay: 1h}]}",
    );
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .args(["eval", "talk.pack.json", ".", "--id", "e"])
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .spawn()
        .unwrap();
    let runs = || -> Value {
        serde_json::from_slice(&place.convoke(&["runs", "--json"]).stdout).unwrap_or_default()
    };
    let answered = || runs()[0]["spent"]["model_calls"].as_u64().is_some_and(|calls| calls >= 1);
    while !answered() {
        assert!(child.try_wait().unwrap().is_none(), "it is over before it was killed");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = runs()[0]["id"].as_str().unwrap().to_owned();
    // The same replies come at once: how long they take does not make another run of it, if it has been begun.
    let again = place.convoke(&["eval", "talk.pack.json", ".", "--id", "e", "--timeout", "1s"]);
    assert!(stdout(&again).contains(&run), "{}{}", stdout(&again), stderr(&again));
    assert_eq!(runs().as_array().map(Vec::len), Some(1), "it went on with the run that was there");
}

#[test]
#[cfg(unix)]
fn an_eval_that_is_interrupted_says_what_is_done_and_what_is_not() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [Hello you.]}");
    for name in ["slow", "untouched"] {
        let spec = "turns: [{content: Hi}]\nmodel: {replies: [{text: Bye., delay: 1h}]}";
        place.write(&format!("z-{name}.scenario.yaml"), scenario(name, spec));
    }
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .args(["eval", "talk.pack.json", ".", "--id", "e"])
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut all = String::new();
    while !all.contains("✓ talk") {
        assert_ne!(said.read_line(&mut all).unwrap(), 0, "{all}");
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    said.read_to_string(&mut all).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6), "{all}");
    assert!(all.contains("the eval was stopped by Ctrl-C: 1 of 3 runs are done"), "{all}");
    assert!(
        all.contains("not run to their end: slow, untouched") && all.contains("`--id e` goes on"),
        "{all}"
    );
}

#[test]
fn tools_of_this_host_give_what_a_scenario_says_and_touch_nothing() {
    let place = Place::empty();
    place.write("look.agent", "NAME look\nGOAL look \"Read the note.\"\nRUN main USING look\n");
    let spec = |tools: &str| {
        format!(
            "tools: {tools}
assertions:
  - {{type: contains, params: {{patterns: [all is well]}}}}
  - {{type: tool_calls_with_args, params: {{tool_name: read, args: {{path: note.txt}}}}}}
model:
  rules:
    - {{when: {{tool_result_contains: from the scenario}}, reply: The note says that all is well.}}
    - reply: {{tool_calls: [{{name: read, arguments: {{path: note.txt}}}}]}}"
        )
    };
    place.write("note.txt", "from the disk");
    let eval = |tools: &str| {
        place.write("a.scenario.yaml", scenario("a", &spec(tools)));
        place.convoke(&["eval", "look.agent", "a.scenario.yaml"])
    };
    let done = eval("{read: [{when: {path: note.txt}, result: from the scenario}]}");
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    let missing = eval("{read: [{when: {path: other.txt}, result: from the scenario}]}");
    let seen = stdout(&missing);
    assert!(seen.contains("`tools` does not say what a call gives:"), "{seen}{}", stderr(&missing));
    let unknown = eval("{reed_organ: x}");
    assert!(stdout(&unknown).contains("there is no tool `reed_organ`"), "{}", stdout(&unknown));
}

#[test]
fn a_scenario_may_have_more_turns_than_a_generation() {
    let place = Place::empty();
    let turns: String = (1..=60)
        .map(|turn| {
            format!("  - {{content: number {turn}, assertions: [{{type: contains, params: {{patterns: [hello]}}}}]}}\n")
        })
        .collect();
    talk(
        &place,
        &format!(
            "turns:\n{turns}model: {{rules: [{{reply: Hello you.}}]}}\nassertions: [{{type: usage, params: {{max_model_calls: 60}}}}]"
        ),
    );
    let done = place.convoke(&["eval", "talk.pack.json", "talk.scenario.yaml", "--output", "json"]);
    let report = report(&done);
    assert!(done.status.success(), "{}", stderr(&done));
    let asserted = report["scenarios"][0]["runs"][0]["assertions"].as_array().unwrap();
    let of_turns = asserted.iter().filter(|one| one["name"] == "contains" && one["passed"] == true);
    assert_eq!(of_turns.count(), 60);
}

/// Answers one request as a service of chat completions does.
fn answer_one() -> (String, std::thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answered = std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "it hung up: {head}");
        }
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        let mut body = vec![0; length.trim().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let delta = r#"{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello you."},"finish_reason":"stop"}]}"#;
        let events = format!("data: {delta}\n\ndata: [DONE]\n\n");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            events.len()
        );
        reader.get_mut().write_all((head + &events).as_bytes()).unwrap();
    });
    (url, answered)
}

#[test]
fn a_model_is_recorded_once_and_played_back_from_then_on() {
    let place = Place::empty();
    talk(
        &place,
        "turns: [{content: Hi, assertions: [{type: contains, params: {patterns: [hello you]}}]}]
model: {cassette: tape.json, name: compatible/m}",
    );
    let (url, answered) = answer_one();
    place.write("convoke.toml", format!("[services.compatible]\nbase_url = \"{url}\"\n"));
    let trusted = ("CONVOKE_TRUSTED_HOSTS", "127.0.0.1");
    let eval = ["eval", "talk.pack.json", "."];
    let nothing = place.convoke_with(&eval, &[trusted]);
    assert!(!nothing.status.success() && !place.path().join("tape.json").exists(), "{}", stdout(&nothing));
    let recorded = place.convoke_with(&eval, &[trusted, ("CONVOKE_RECORD", "1")]);
    assert!(recorded.status.success(), "{}{}", stdout(&recorded), stderr(&recorded));
    answered.join().unwrap();
    let played = place.convoke_with(&eval, &[trusted]);
    assert!(played.status.success(), "nobody is there to answer any more: {}", stdout(&played));
}

#[test]
fn a_script_does_not_judge_itself() {
    let place = Place::empty();
    talk(&place, "turns: [{content: Hi}]\nmodel: {replies: [Hello you.]}");
    let judged = "\"type\": \"llm_judge\", \"params\": {\"criteria\": \"It is kind.\"}";
    place.write("talk.pack.json", TALK.replace("\"type\": \"toxicity\"", judged));
    let wide = [("COLUMNS", "200")];
    let done = place.convoke_with(&["eval", "talk.pack.json", "."], &wide);
    let seen = stdout(&done);
    assert!(seen.contains("kind not to be had: a script replies, and nobody says who judges"), "{seen}");
    assert!(done.status.success(), "it was to be measured only: {seen}");
    place.write("judge.toml", "[[rule]]\njson = { score = 0.25, reason = \"It is short.\" }\n");
    let done = place.convoke_with(&["eval", "talk.pack.json", ".", "--judge", "scripted/judge.toml"], &wide);
    assert!(stdout(&done).contains("talk: kind 0.25"), "{}", stdout(&done));
}
