//! Packs of our own, of every feature: those that are right run, those that are wrong are refused for the right reasons.

use std::path::Path;

use serde_json::Value;

use crate::place::{Place, stderr, stdout};

const PACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fixtures/packs");

fn file(name: &str) -> String {
    let endings = ["pack.yaml", "pack.json"];
    let files = endings.map(|ending| Path::new(PACKS).join(format!("{name}.{ending}")));
    let found = files.iter().find(|file| file.exists());
    found.unwrap_or_else(|| panic!("no pack {name}")).display().to_string()
}

/// What was found, as severities and codes.
fn found(name: &str) -> Vec<(String, String)> {
    let output = Place::empty().convoke(&["--json", "validate", &file(name)]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report[0]["diagnostics"].as_array().unwrap().iter();
    all.map(|one| (text(&one["severity"]), text(&one["code"]))).collect()
}

/// Runs a pack with its replies; gives the exit code and what was said last.
fn run(place: &Place, name: &str, id: &str, inputs: &[&str]) -> (Option<i32>, String) {
    let model = format!("scripted/{PACKS}/{name}.replies.toml");
    let file = file(name);
    let mut words = vec!["run", &file, "-m", &model, "--no-input", "--output", "json", "--id", id];
    inputs.iter().for_each(|input| words.extend(["-i", input]));
    said(place.convoke(&words))
}

fn said(output: std::process::Output) -> (Option<i32>, String) {
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", stdout(&output), stderr(&output)));
    let asked = &document["questions"][0]["question"]["subject"]["said"];
    let said = document["result"].as_str().or(asked.as_str()).unwrap_or_default().to_owned();
    (output.status.code(), said)
}

fn resumed(place: &Place, id: &str) -> (Option<i32>, String) {
    said(place.convoke(&["resume", id, "--no-input", "--output", "json"]))
}

fn sent(place: &Place, words: &[&str]) {
    let output = place.convoke(words);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn packs_that_are_right_have_no_errors() {
    for name in ["library", "kiosk", "moderation", "digest", "crew", "workshop", "elder", "choice"] {
        let errors: Vec<_> = found(name).into_iter().filter(|(severity, _)| severity == "error").collect();
        assert_eq!(errors, [], "{name}");
    }
}

#[test]
fn variables_fragments_overrides_and_rules_of_a_prompt_hold() {
    let place = Place::empty();
    let ask = |id: &str, words: &str| {
        run(&place, "library", id, &["count=3", "mood=strict", &format!("message={words}")])
    };
    let cut = "Read Middlemarch; it is a long book with a great many people";
    assert_eq!(ask("a", "What shall I read?"), (Some(5), cut.to_owned()));
    assert_eq!(ask("b", "Tell me how it ends."), (Some(5), "I will not tell you how it ends.".to_owned()));
    assert_eq!(ask("c", "My password is x."), (Some(5), "Keep it to yourself.".to_owned()));
    let model = format!("scripted/{PACKS}/library.replies.toml");
    let wrong = place.convoke(&["run", &file("library"), "-m", &model, "-i", "count=30", "-i", "mood=loose"]);
    assert_eq!(wrong.status.code(), Some(2));
    for said in ["`mood` must be one of \"kind\", \"strict\"", "`count` is 30, at most 9 is allowed"] {
        assert!(stderr(&wrong).contains(said), "{}", stderr(&wrong));
    }
    // What has no value, or a name or a type that does not fit, is said at once with what breaks a rule.
    let inputs =
        ["-i", "count=30", "-i", "adult=perhaps", "-i", "modo=kind", "-i", "library={\"name\": \"x\"}"];
    let words = ["run", &file("library"), "-m", &model, "--no-input"];
    let wrong = stderr(&place.convoke(&[&words[..], &inputs].concat()));
    for said in [
        "`modo` is not an input: did you mean `mood`?",
        "adult: ",
        "`count` is 30, at most 9 is allowed",
        "`{{library.rooms[0]}}` has no value, so the prompt cannot be written",
    ] {
        assert!(wrong.contains(said), "{said}: {wrong}");
    }
}

#[test]
fn a_rule_that_is_left_out_is_told_of_however_little_else_is() {
    let place = Place::empty();
    let pack = std::fs::read_to_string(file("library")).unwrap();
    place.write("library.pack.yaml", pack.replace("words: [spoiler]", "wrods: [spoiler]"));
    let model = format!("scripted/{PACKS}/library.replies.toml");
    let words = ["run", "library.pack.yaml", "-m", &model, "--no-input", "--quiet", "-i", "count=3"];
    let told = stderr(&place.convoke(&[&words[..], &["-i", "message=hello"]].concat()));
    let why = "a validator is left out: ";
    assert!(told.contains(why) && told.contains("/prompts/recommend/validators/0"), "{told}");
}

#[test]
fn a_client_is_told_which_calls_wait_and_what_to_send() {
    let place = Place::empty();
    let model = format!("scripted/{PACKS}/kiosk.replies.toml");
    let words = ["run", &file("kiosk"), "-m", &model, "--no-input", "--id", "k", "-i", "message=A paper"];
    let waits = place.convoke(&words);
    assert_eq!(waits.status.code(), Some(5));
    let command = "convoke send k tool_results '{\"call_id\": \"";
    let told = stderr(&waits);
    assert!(told.contains("run k waits for a client:") && told.contains(command), "{told}");
    assert!(told.contains("? price_of {\"item\":\"paper\"}") && !told.contains("add `--resume`"), "{told}");
    for shown in [stdout(&place.convoke(&["show", "k"])), stdout(&place.convoke(&["questions"]))] {
        assert!(shown.contains(command) && shown.contains("? price_of"), "{shown}");
    }
    let shown: Value = serde_json::from_slice(&place.convoke(&["show", "k", "--json"]).stdout).unwrap();
    assert_eq!(shown["awaits"][0]["channel"], "tool_results");
    let call = &shown["awaits"][0]["expected"]["calls"][0];
    assert_eq!((&call["tool"], &call["arguments"]["item"]), (&"price_of".into(), &"paper".into()));
    // What is no result is refused, and the run waits as before.
    for (payload, why) in [
        ("\"2 euros\"", "a result is an object with its `content`: nothing was sent"),
        ("{\"content\": 2, \"call_id\": \"other\"}", "no call `other` waits for its result; there are `"),
        ("{\"content\": 2, \"is_error\": 1}", "`is_error` is true or false, not 1"),
    ] {
        let refused = place.convoke(&["send", "k", "tool_results", payload]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    }
    assert_eq!(resumed(&place, "k").0, Some(5));
    let id = call["call_id"].as_str().unwrap();
    sent(
        &place,
        &[
            "send",
            "k",
            "tool_results",
            &format!("{{\"call_id\": \"{id}\", \"content\": {{\"price\": \"2 euros\"}}}}"),
        ],
    );
    assert_eq!(resumed(&place, "k"), (Some(5), "It is 2 euros.".to_owned()));
    assert!(!stdout(&place.convoke(&["questions"])).contains("tool_results"));
}

#[test]
fn a_result_without_an_id_belongs_to_the_call_that_waits_when_it_is_sent() {
    let place = Place::empty();
    assert_eq!(run(&place, "kiosk", "k", &["message=A paper"]).0, Some(5));
    let send = || place.convoke(&["send", "k", "tool_results", r#"{"content": "2 euros"}"#]);
    assert!(send().status.success());
    let run_id = "k".parse().unwrap();
    let mail = crate::place::wait(place.store().mail(&run_id, "tool_results", 0, 9)).unwrap();
    let result = mail[0].read::<Value>().unwrap();
    assert!(mail.len() == 1 && result["call_id"].is_string(), "{result}");
    // A second one is not sent; a program may put it there all the same.
    let second = convoke_core::store::NewMail::json("tool_results", &result).unwrap();
    assert!(crate::place::wait(place.store().post(&run_id, second)).unwrap().is_new);
    assert_eq!(resumed(&place, "k"), (Some(5), "It is 2 euros.".to_owned()));
    // Nothing waits for a result now, and the one that was sent twice answers no later call.
    let early = send();
    let why = "no call waits for its result on `tool_results`: nothing was sent";
    assert!(early.status.code() == Some(1) && stderr(&early).contains(why), "{}", stderr(&early));
    sent(&place, &["answer", "k", "--text", "Another one"]);
    let waits = place.convoke(&["resume", "k", "--no-input"]);
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    assert!(
        stderr(&waits).contains("it was sent before the calls were made that wait now"),
        "{}",
        stderr(&waits)
    );
    assert!(stdout(&place.convoke(&["questions"])).contains("? price_of"));
}

/// A pack whose model asks a client for two things at once, and then for a third.
fn two_calls(place: &Place) -> [&'static str; 6] {
    place.write(
        "shop.pack.json",
        r#"{"id": "shop", "name": "Shop", "version": "1.0.0",
            "template_engine": {"version": "v1", "syntax": "{{variable}}"},
            "tools": {"look": {"name": "look", "description": "Looks"}},
            "prompts": {"sell": {"id": "sell", "name": "Sell", "version": "1.0.0", "system_template": "Sell.", "tools": ["look"]}}}"#,
    );
    place.write(
        "shop.toml",
        r#"[[rule]]
when.tool_result_contains = "last"
reply = "All is here."
[[rule]]
when.has_tool_result = true
reply = { tool_calls = [{ id = "c", name = "look", arguments = {} }] }
[[rule]]
reply = { tool_calls = [{ id = "a", name = "look", arguments = {} }, { id = "b", name = "look", arguments = {} }] }
"#,
    );
    ["run", "shop.pack.json", "-m", "scripted/shop.toml", "--no-input", "--id=s"]
}

#[test]
fn a_result_without_an_id_belongs_to_the_only_call_that_has_none_yet() {
    let place = Place::empty();
    let waits = place.convoke(&[&two_calls(&place)[..], &["-i", "message=look"]].concat());
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    let send = |payload: &str| place.convoke(&["send", "s", "tool_results", payload]);
    let both = stderr(&send(r#"{"content": 1}"#));
    assert!(both.contains("`a` (look), `b` (look)"), "{both}");
    assert!(send(r#"{"call_id": "a", "content": 1}"#).status.success());
    assert!(send(r#"{"content": 2}"#).status.success(), "`b` is the only one that has no result");
    let none = send(r#"{"content": 3}"#);
    assert_eq!(none.status.code(), Some(1));
    let why = "every call that waits for a result has been sent one: nothing was sent";
    assert!(stderr(&none).contains(why), "{}", stderr(&none));
    let run_id = "s".parse().unwrap();
    let mail = crate::place::wait(place.store().mail(&run_id, "tool_results", 0, 9)).unwrap();
    let ids: Vec<Value> = mail.iter().map(|mail| mail.read::<Value>().unwrap()["call_id"].clone()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn calls_that_a_client_executes_count_against_the_budget_of_a_run() {
    let place = Place::empty();
    let words = two_calls(&place);
    let run = |id: &str, budget: &str| {
        let more = [id, "-i", "message=look", "--budget", budget];
        place.convoke(&[&words[..5], &more].concat())
    };
    let refused = run("--id=one", "1 tool-calls");
    assert_eq!(refused.status.code(), Some(7), "{}", stderr(&refused));
    let told = stderr(&refused);
    assert!(told.contains("is left for the next calls: 1 of 1 tool calls, and they are 2"), "{told}");
    assert!(!told.contains("a client is to make this call"), "{told}");
    // They count once, however often the run is gone on with.
    let waits = run("--id=two", "2 tool-calls");
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    for id in ["a", "b"] {
        sent(
            &place,
            &["send", "two", "tool_results", &format!(r#"{{"call_id": "{id}", "content": "here"}}"#)],
        );
        let code = if id == "a" { 5 } else { 7 };
        let goes_on = place.convoke(&["resume", "two", "--no-input"]);
        assert_eq!(goes_on.status.code(), Some(code), "{id}: {}", stderr(&goes_on));
    }
    let shown: Value = serde_json::from_slice(&place.convoke(&["show", "two", "--json"]).stdout).unwrap();
    assert_eq!(shown["run"]["spent"]["tool_calls"], 2, "{shown}");
    let raised = place.convoke(&["resume", "two", "--no-input", "--budget", "3 tool-calls"]);
    assert_eq!(raised.status.code(), Some(5), "{}", stderr(&raised));
    sent(&place, &["send", "two", "tool_results", r#"{"content": "the last"}"#]);
    assert_eq!(resumed(&place, "two"), (Some(5), "All is here.".to_owned()));
}

#[test]
fn an_event_that_was_passed_over_is_told_once() {
    let place = Place::empty();
    place.write(
        "desk.pack.json",
        r#"{"id": "desk", "name": "Desk", "version": "1.0.0",
            "template_engine": {"version": "v1", "syntax": "{{variable}}"},
            "prompts": {"p": {"id": "p", "name": "P", "version": "1.0.0", "system_template": "Wait."}},
            "workflow": {"version": 2, "entry": "desk", "states": {
                "desk": {"prompt_task": "p", "orchestration": "external", "on_event": {"SentBack": "desk", "Accepted": "end"}},
                "end": {"prompt_task": "p", "terminal": true}}}}"#,
    );
    place.write("m.toml", "[[rule]]\nreply = \"Hm.\"\n");
    let waits = place.convoke(&["run", "desk.pack.json", "-m", "scripted/m.toml", "--no-input", "--id", "d"]);
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    for event in ["SentBack", "Accepted"] {
        sent(&place, &["send", "d", event]);
    }
    let told = stderr(&place.convoke(&["resume", "d", "--no-input"]));
    let once = "`Accepted` is passed over: it was sent before `desk` was entered";
    assert_eq!(told.matches(once).count(), 1, "{told}");
}

#[test]
fn whoever_goes_on_with_a_composition_that_failed_asks_its_client_again() {
    let place = Place::empty();
    let inputs = ["composition=make", "message={\"page\": \"tomorrow\"}"];
    assert_eq!(run(&place, "digest", "d", &inputs).0, Some(5));
    sent(&place, &["send", "d", "tool_results/final", r#"{"content": "no such page", "is_error": true}"#]);
    let failed = place.convoke(&["resume", "d", "--no-input"]);
    assert!(
        failed.status.code() == Some(1)
            && stderr(&failed).contains("a client reported that `fetch` failed: no such page")
            && !stderr(&failed).contains("not what is expected"),
        "{}",
        stderr(&failed)
    );
    for channel in ["tool_results/final", "Made"] {
        let refused = place.convoke(&["send", "d", channel, r#"{"content": "kept"}"#]);
        assert_eq!(refused.status.code(), Some(1), "{channel}: {}", stderr(&refused));
    }
    assert_eq!(
        place.convoke(&["resume", "d", "--no-input"]).status.code(),
        Some(5),
        "the client is asked again"
    );
    sent(&place, &["send", "d", "tool_results/final", r#"{"content": "kept"}"#]);
    assert_eq!(resumed(&place, "d"), (Some(0), "kept".to_owned()));
}

#[test]
fn loops_redirects_artifacts_and_events_of_others_hold() {
    let place = Place::empty();
    assert_eq!(run(&place, "moderation", "m", &["message=look"]), (Some(5), "It is removed.".to_owned()));
    sent(&place, &["answer", "m", "--text", "I appeal"]);
    assert_eq!(resumed(&place, "m").0, Some(5));
    // An event that the state does not have is not sent, and it is said what it waits for.
    let other = place.convoke(&["send", "m", "Settled"]);
    let why = "it waits for Reopened or Upheld, not for `Settled`: nothing was sent";
    assert!(other.status.code() == Some(1) && stderr(&other).contains(why), "{}", stderr(&other));
    sent(&place, &["send", "m", "Upheld", "\"by the board\""]);
    assert_eq!(resumed(&place, "m"), (Some(0), "It stays removed.".to_owned()));
    let shown = stdout(&place.convoke(&["show", "m"]));
    assert!(
        shown.contains("read: 2 visits") && shown.contains("read → decide instead of read, on More"),
        "{shown}"
    );
}

#[test]
fn a_composition_waits_for_its_clients_and_its_steps_are_evaluated() {
    let place = Place::empty();
    assert_eq!(run(&place, "digest", "d", &["message={\"page\": \"today\"}"]).0, Some(5));
    sent(&place, &["send", "d", "tool_results/long", "{\"content\": \"take an umbrella\"}"]);
    assert_eq!(resumed(&place, "d").0, Some(5));
    sent(&place, &["send", "d", "tool_results/final", "{\"content\": \"kept\"}"]);
    assert_eq!(resumed(&place, "d"), (Some(0), "It is on the shelf.".to_owned()));
    let replies = std::fs::read_to_string(format!("{PACKS}/digest.replies.toml")).unwrap();
    place.write("digest.replies.toml", replies);
    let scenario = "kind: Scenario
metadata: {name: today}
spec:
  inputs: {message: '{\"page\": \"today\"}'}
  tools: {fetch: [{when: {page: weather}, result: take an umbrella}, {result: kept}]}
  assertions:
    - {type: composition_step_output, params: {step: long, contains: umbrella}}
    - {type: composition_branch_taken, params: {branch: is_news, expected: both}}
    - {type: json_path, of: result, params: {path: a.b, exists: false}}
  model: scripted/digest.replies.toml
";
    place.write("today.scenario.yaml", scenario);
    let done = place.convoke(&["eval", &file("digest"), "today.scenario.yaml", "--output", "json"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let asserted = report["scenarios"][0]["runs"][0]["assertions"].as_array().unwrap();
    let brief = asserted.iter().find(|one| one["name"] == "brief of step short").unwrap();
    assert_eq!((&brief["passed"], &brief["score"]), (&true.into(), &1.0.into()));
}

#[test]
fn of_several_prompts_one_is_chosen() {
    let place = Place::empty();
    let chosen = run(&place, "choice", "c", &["prompt=mend", "thing=a chair", "message=hello"]);
    assert_eq!(chosen, (Some(5), "It has four legs again.".to_owned()));
    sent(&place, &["answer", "c", "--text", "And now?"]);
    assert_eq!(resumed(&place, "c"), chosen, "it stays with it");
    let model = format!("scripted/{PACKS}/choice.replies.toml");
    for (inputs, why) in [
        (&["-i", "message=hello"][..], "give the prompt that is talked with, `-i prompt=NAME`: cook, mend"),
        (&["-i", "prompt=mned"], "there is no prompt `mned`; there are cook, mend"),
        (&["-i", "prompt=mend", "-i", "dish=soup"], "`thing`"),
    ] {
        let mut words = vec!["run", "choice", "-m", &model, "--no-input"];
        let file = file("choice");
        words[1] = &file;
        words.extend(inputs);
        let refused = place.convoke(&words);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    }
}

#[test]
fn agents_skills_and_the_elder_form_hold() {
    let place = Place::empty();
    assert_eq!(
        run(&place, "crew", "c", &["ship=Argo", "message=hello"]),
        (Some(5), "Land ahead, and soup.".to_owned())
    );
    assert_eq!(run(&place, "workshop", "w", &["message=go"]), (Some(0), "One chair, please.".to_owned()));
    assert_eq!(run(&place, "elder", "e", &["message=loud"]), (Some(5), "Hush.".to_owned()));
    assert_eq!(run(&place, "elder", "f", &["message=go"]), (Some(0), "Goodbye.".to_owned()));
}

#[test]
fn packs_that_are_wrong_are_refused_for_what_is_wrong() {
    let cases: [(&str, &[&str]); 6] = [
        (
            "lost",
            &[
                "unknown-version",
                "unknown-entry",
                "unknown-prompt",
                "unknown-orchestration",
                "unknown-persistence",
                "unknown-target",
                "unexpected-composition",
                "unknown-fallback",
            ],
        ),
        (
            "tangle",
            &[
                "cycle",
                "nested-step",
                "unknown-name",
                "unknown-name",
                "unknown-name",
                "bad-reference",
                "missing-field",
                "bad-predicate",
                "unknown-name",
            ],
        ),
        ("strangers", &["unknown-entry", "no-workflow", "unknown-prompt"]),
        ("quarrel", &["artifact-conflict", "wrong-type", "unknown-budget"]),
        (
            "slips",
            &[
                "bad-value",
                "bad-value",
                "fragment-cycle",
                "unknown-fragment",
                "bad-pattern",
                "bad-default",
                "unknown-validator",
                "wrong-type",
            ],
        ),
        (
            "spaces",
            &[
                "bad-value",
                "missing-field",
                "bad-value",
                "bad-value",
                "missing-field",
                "missing-field",
                "wrong-type",
            ],
        ),
    ];
    for (name, codes) in cases {
        let errors =
            found(name).into_iter().filter(|(severity, _)| severity == "error").map(|(_, code)| code);
        assert_eq!(errors.collect::<Vec<_>>(), codes, "{name}");
        let place = Place::empty();
        let run = place.convoke(&["run", &file(name), "-m", "scripted/rehearsal", "--no-input"]);
        assert!(!run.status.success() && !place.file().exists(), "{name} was run: {}", stderr(&run));
    }
}

/// A pack whose composition `write` runs in a state that something comes after, and whose step is tried three times.
const COMPOSED: &str = r#"
id: composed
name: composed
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts:
  chat: {id: chat, name: chat, version: 1.0.0, system_template: "You write."}
compositions:
  write:
    version: 1
    steps: [{id: first, kind: prompt, prompt_task: chat, modifiers: {retry: {max_attempts: 3}}}]
workflow:
  version: 2
  entry: work
  states:
    work: {orchestration: composition, composition: write, on_event: {Done: end}}
    end: {prompt_task: chat, terminal: true}
"#;

/// The exit code, and all that was told.
fn told(output: std::process::Output) -> (Option<i32>, String) {
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn a_composition_that_fails_as_a_function_fails_its_run_whatever_state_runs_it() {
    let place = Place::empty();
    place.write("c.pack.yaml", COMPOSED);
    place.write("bad.toml", "[[rule]]\nerror = {status = 400, message = \"bad request\"}\n");
    let inputs = ["-i", "composition=write", "-i", "message=x", "-m", "scripted/bad.toml"];
    let (code, told) = told(place.convoke(&[&["run", "c.pack.yaml"], &inputs[..]].concat()));
    assert!(
        code == Some(1) && told.contains("bad request") && !told.contains("What next?"),
        "{code:?} {told}"
    );
}

#[test]
fn a_step_that_is_tried_again_is_waited_for_and_nobody_is_said_to_be_asked() {
    let place = Place::empty();
    place.write("c.pack.yaml", COMPOSED);
    let busy = "[[rule]]\ntimes = 2\nerror = {status = 503, message = \"busy\"}\n";
    place.write("busy.toml", format!("{busy}[[rule]]\nreply = \"written\"\n"));
    let inputs = ["-i", "composition=write", "-i", "message=x", "-m", "scripted/busy.toml"];
    let (code, told) = told(place.convoke(&[&["run", "c.pack.yaml"], &inputs[..]].concat()));
    assert!(code == Some(0) && told.contains("written"), "{code:?} {told}");
}

#[test]
fn a_workflow_that_ends_by_its_own_budget_is_said_to_be_cut_short() {
    let place = Place::empty();
    let looping = COMPOSED.replace(
        "{orchestration: composition, composition: write, on_event: {Done: end}}",
        "{prompt_task: chat, on_event: {Again: work, Done: end}}",
    ) + "  engine: {budget: {max_total_visits: 3}}\n";
    place.write("c.pack.yaml", looping);
    let again = "{name = \"workflow__transition\", arguments = {event = \"Again\", context = \"on\"}}";
    place.write("s.toml", format!("[[rule]]\nreply = {{tool_calls = [{again}]}}\n"));
    let run = ["run", "c.pack.yaml", "-i", "message=x", "-m", "scripted/s.toml", "-q"];
    let (code, told) = told(place.convoke(&run));
    let why = "`composed` was cut short: ";
    assert!(code == Some(0) && told.contains(why) && told.contains("max_total_visits"), "{code:?} {told}");
    let document = place.convoke(&[&run[..], &["--output", "json"]].concat());
    let document: serde_json::Value = serde_json::from_slice(&document.stdout).unwrap();
    assert!(document["cut_short"]["composed"].as_str().unwrap().contains("max_total_visits"), "{document}");
}

/// Both have looked before either has sent anything.
#[test]
fn of_two_results_that_are_sent_for_one_call_at_the_same_moment_one_is_kept() {
    use convoke_host::HostError;
    use convoke_host::store::{result_key, send};

    let place = Place::empty();
    let waits = place.convoke(&[&two_calls(&place)[..], &["-i", "message=look"]].concat());
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    let (store, run) = (place.store(), "s".parse().unwrap());
    let history = crate::place::wait(convoke_history::History::load(&*store, &run)).unwrap();
    let send = |id: &str, content: u8, key: Option<&str>| {
        let result = serde_json::json!({"call_id": id, "content": content});
        let mut mail = convoke_core::store::NewMail::json("tool_results", &result).unwrap();
        mail.key = key.map(str::to_owned);
        crate::place::wait(send(&*store, &run, mail, result_key(&history, "tool_results", &result)))
    };
    assert!(send("a", 1, Some("mine")).unwrap().is_new);
    for (content, key) in [(2, None), (1, None), (2, Some("theirs")), (1, Some("theirs too"))] {
        let refused = send("a", content, key).unwrap_err();
        assert!(matches!(refused, HostError::ResultSent { .. }), "{refused}");
        assert!(refused.to_string().contains("has been sent a result by somebody else"), "{refused}");
    }
    assert!(!send("a", 1, Some("mine")).unwrap().is_new, "the same sender asks once more");
    assert!(send("b", 2, None).unwrap().is_new);
    assert_eq!(crate::place::wait(store.mail(&run, "tool_results", 0, 9)).unwrap().len(), 2);
    assert_eq!(resumed(&place, "s").0, Some(5));
    sent(&place, &["send", "s", "tool_results", r#"{"call_id": "c", "content": "the last"}"#]);
    assert_eq!(resumed(&place, "s"), (Some(5), "All is here.".to_owned()));
}

/// Nothing can be typed while a client is waited for, but that somebody leaves.
#[cfg(target_os = "linux")]
#[test]
fn who_waits_for_a_client_can_leave_as_between_turns() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    let talk: Vec<&str> = two_calls(&place).into_iter().filter(|word| *word != "--no-input").collect();
    for words in [&[&talk[..], &["-i", "message=look"]].concat()[..], &["resume", "s"]] {
        let mut terminal = Terminal::with_results(&place, words);
        terminal.wait_for("a client is to make this call");
        terminal.types("hello?");
        terminal.types_no_more();
        let (seen, _, code) = terminal.finish();
        assert_eq!(code, Some(5), "{seen}");
        assert!(seen.contains("waits for a client") && seen.contains("resume s"), "{seen}");
    }
}
