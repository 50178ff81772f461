//! `convoke run`: inputs, results, exit codes.

use assert_cmd::cargo::cargo_bin_cmd;
use insta::assert_snapshot;
use serde_json::json;

use crate::place::{Place, stderr, stdout};
use crate::workshop::{AGENTFILE, RESULT, RUN, Running, document, steady, unwatched, workshop};

#[test]
fn the_result_is_what_the_last_goal_came_to_and_nothing_else() {
    let place = workshop(&unwatched());
    assert_snapshot!(steady(&place.seen(&RUN)));
    let shown = stdout(&place.convoke(&["show", "letter-1"]));
    assert!(shown.contains("workflow  letter") && shown.contains("completed"), "{shown}");
}

#[test]
fn agent_198_199_200_the_file_defaults_to_agentfile_and_standard_output_has_only_the_result() {
    let place = workshop(&unwatched());
    place.write("Agentfile", unwatched());
    let output = place.convoke(&["run", "-m", "scripted/script.toml", "-i", "topic=looms", "-i", "words=3"]);
    assert_eq!(stdout(&output), format!("{RESULT}\n"), "{}", stderr(&output));
    assert!(stderr(&output).contains("goal collect: done"), "{}", stderr(&output));
    let quiet = place.convoke(&["run", "-q", "-m", "scripted/script.toml", "-i", "topic=looms"]);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (format!("{RESULT}\n"), String::new()));
}

/// A file whose only goal says what it was given.
fn echo(inputs: &str, text: &str) -> Place {
    let place = Place::empty();
    place.write("Agentfile", format!("NAME echo\n{inputs}\nGOAL say \"{text}\"\nRUN main USING say\n"));
    place.write("script.toml", "[[rule]]\nreply = \"Said.\"\n");
    place
}

fn inputs_of(place: &Place, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["run", "--dry-run", "--json", "-m", "scripted/script.toml"];
    all.extend(arguments);
    let output = place.convoke(&all);
    assert!(output.status.success(), "{}", stderr(&output));
    document(&output)["inputs"].clone()
}

#[test]
fn agent_054_198_inputs_come_as_words_from_files_and_as_json_and_arrive_as_they_are() {
    let place = echo("INPUT a\nINPUT n:int DEFAULT 4\nINPUT list:[string] DEFAULT \"x\"", "$a $n $list");
    let odd = "x=1, \"y\",\n'z' $a @b";
    assert_eq!(
        inputs_of(&place, &["-i", &format!("a={odd}"), "-i", "list=a,b"]),
        json!({"a": odd, "n": 4, "list": ["a", "b"]})
    );
    place.write("a.txt", "from a file\n");
    place.write("all.json", r#"{"a": "other", "n": 7, "list": ["p, q"]}"#);
    assert_eq!(
        inputs_of(&place, &["--inputs", "all.json", "-i", "a=@a.txt"]),
        json!({"a": "from a file\n", "n": 7, "list": ["p, q"]}),
        "what is said alone goes before the file"
    );
    assert_eq!(inputs_of(&place, &["-i", "a=@@b"])["a"], "@b");
    let mut command = cargo_bin_cmd!("convoke");
    let arguments = ["run", "--dry-run", "--json", "-m", "scripted/script.toml", "--inputs", "-"];
    command.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data()).args(arguments);
    let output = command.write_stdin(r#"{"a": "piped"}"#).output().unwrap();
    assert_eq!(document(&output)["inputs"]["a"], "piped", "{}", stderr(&output));
}

#[test]
fn standard_input_is_the_file_or_an_input_and_not_both() {
    let place = Place::empty();
    for (file, input) in [("-", "a=@-"), ("/dev/stdin", "a=@-"), ("-", "a=@/dev/stdin")] {
        let mut command = cargo_bin_cmd!("convoke");
        command.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data());
        command.args(["run", file, "-m", "scripted/rehearsal", "-i", input]);
        let agentfile = "NAME x\nINPUT a\nTOOLS none\nGOAL g \"Say $a\"\nRUN m USING g\n";
        let output = command.write_stdin(agentfile).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{file} {input}");
        assert!(stderr(&output).contains("a: standard input can be read only once"), "{}", stderr(&output));
    }
}

#[test]
fn agent_054_055_everything_that_is_wrong_with_inputs_is_said_at_once() {
    let place = echo("INPUT a\nINPUT n:int\nINPUT key SECRET\nINPUT kind:bug|wish", "$a $n $key $kind");
    place.write("bad.json", r#"{"n": "7", "kind": "praise"}"#);
    assert_snapshot!(place.seen(&["run", "-m", "scripted/script.toml"]));
    assert_snapshot!(place.seen(&["run", "-i", "n=three", "-i", "nn=1", "-i", "key", "-i", "kind=@nowhere"]));
    assert_snapshot!(place.seen(&["run", "--inputs", "bad.json", "-i", "a=1", "-i", "key=k"]));
    place.write("list.json", "[1]");
    assert_snapshot!(place.seen(&["run", "--inputs", "list.json", "-i", "a=@-", "-i", "n=@-"]));
    assert!(!place.file().exists(), "nothing was started");
}

#[test]
fn standard_input_is_called_that() {
    let place = workshop(&unwatched());
    let output = place.convoke(&["run", "letter.agent", "--inputs", "-", "-m", "scripted/script.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard input must be a JSON object"), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_not_valid_is_explained_and_not_run() {
    let place = Place::empty();
    place.write("Agentfile", "NAME x\nGOAL a \"Say $b\"\nRUN main USING c\n");
    assert_snapshot!(place.seen(&["run", "-m", "scripted/script.toml"]));
    assert_snapshot!(place.seen(&["run", "nowhere.agent"]));
}

#[test]
fn what_cannot_be_had_here_is_said_before_anything_is_done() {
    let place = Place::empty();
    place.write(
        "Agentfile",
        "NAME x\nAGENT a \"A\" REQUIRES \"fast\"\nGOAL b \"Say\" USING a MODEL \"antropic/claude\"\nRUN main USING b\n",
    );
    place.write("script.toml", "[[rule]]\nreply = \"Said.\"\n");
    place.write("convoke.toml", "model = \"scripted/script.toml\"\n");
    assert_snapshot!(place.seen(&["run"]));
    assert_snapshot!(place.seen(&["run", "-m", "scripted/nowhere.toml"]));
    assert!(!place.file().exists());
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let place = workshop(AGENTFILE);
    assert_snapshot!(place.seen(&[
        "run",
        "letter.agent",
        "--dry-run",
        "-i",
        "topic=looms",
        "-m",
        "scripted/script.toml"
    ]));
    assert!(!place.file().exists());
}

#[test]
fn a_dry_run_is_one_line_where_lines_are_wanted() {
    let place = workshop(AGENTFILE);
    let words = ["run", "letter.agent", "--dry-run", "-i", "topic=looms", "-m", "scripted/script.toml"];
    let told = stdout(&place.convoke(&[&words[..], &["--output", "ndjson"]].concat()));
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&told).unwrap()["dry_run"], true);
}

#[test]
fn json_has_everything_a_program_wants_to_know() {
    let place = workshop(&unwatched());
    let mut arguments = RUN.to_vec();
    arguments.extend(["--output", "json", "-q"]);
    let mut whole = document(&place.convoke(&arguments));
    assert_eq!(whole["spent"]["model_calls"], 7);
    assert!(whole["spent"]["cost_usd"].as_f64() > Some(0.0), "{whole}");
    assert!(whole["spent"]["cost_usd"].as_f64() < Some(1.0), "in dollars: {whole}");
    whole["spent"] = json!("…");
    insta::assert_json_snapshot!(whole);
}

#[test]
fn every_event_is_a_line_and_the_last_one_is_the_result() {
    let place = workshop(&unwatched());
    let (events, code, _) = Running::start(&place, &RUN).finish();
    assert_eq!(code, Some(0));
    assert_eq!(events[0]["type"], "run_started");
    assert_eq!(events[0]["resumed"], false, "a new run begins");
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("result"), &json!("completed")));
    assert_eq!(last["outputs"]["send"], RESULT);
    let text = serde_json::to_string(&events).unwrap();
    assert!(!text.contains("You are a clerk"), "the file is not part of any event");
}

#[test]
fn agent_062_a_goal_that_fails_ends_the_run_and_what_was_done_is_kept() {
    let place = workshop(&unwatched());
    let script = place.read("script.toml").replace(
        "reply = \"Dear Ann, looms sing and weave. Ben\"",
        "error = { status = 400, message = \"no ink\" }",
    );
    place.write("script.toml", &script);
    let failed = place.convoke(&RUN);
    assert_eq!((failed.status.code(), stdout(&failed)), (Some(1), String::new()));
    let told = stderr(&failed);
    assert!(told.contains("no ink") && told.contains("convoke resume letter-1"), "{told}");
    place.write("script.toml", crate::workshop::SCRIPT);
    let resumed = place.convoke(&["resume", "letter-1", "--output", "json"]);
    let whole = document(&resumed);
    assert_eq!((&whole["status"], &whole["outputs"]["send"]), (&json!("completed"), &json!(RESULT)));
    assert!(stderr(&resumed).contains("goal collect: done before"), "{}", stderr(&resumed));
}

#[test]
fn a_budget_that_is_used_up_can_be_raised() {
    let place = workshop(&unwatched());
    let mut arguments = RUN.to_vec();
    arguments.extend(["--budget", "3 calls", "-q"]);
    let stopped = place.convoke(&arguments);
    assert_eq!(stopped.status.code(), Some(7), "{}", stderr(&stopped));
    assert!(stderr(&stopped).contains("resume letter-1 --budget"), "{}", stderr(&stopped));
    assert_eq!(place.convoke(&["resume", "letter-1", "-q"]).status.code(), Some(7), "the limit is kept");
    let raised = place.convoke(&["resume", "letter-1", "--budget", "20 calls"]);
    assert_eq!(stdout(&raised), format!("{RESULT}\n"), "{}", stderr(&raised));
}

#[test]
fn a_limit_that_makes_no_sense_is_explained() {
    let place = workshop(AGENTFILE);
    assert_snapshot!(place.seen(&["run", "letter.agent", "--budget", "3 euros"]));
}

#[test]
fn an_id_stands_for_one_run() {
    let place = workshop(&unwatched());
    assert!(place.convoke(&RUN).status.success());
    assert_snapshot!(place.seen(&RUN));
}

#[test]
fn a_misspelt_input_is_an_error_that_says_which_one_was_meant() {
    let place = echo("INPUT hours:int DEFAULT 4", "$hours");
    let output = place.convoke(&["run", "-m", "scripted/script.toml", "-i", "hour=3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`hour` is not an input: did you mean `hours`?"), "{}", stderr(&output));
    assert!(!place.file().exists(), "nothing was started");
}

#[test]
fn an_input_without_an_end_is_refused() {
    let place = echo("INPUT a", "$a");
    place.write("large.txt", "x".repeat(8 * 1024 * 1024 + 1));
    for input in ["a=@/dev/zero", "a=@large.txt"] {
        let output = place.convoke(&["run", "-m", "scripted/script.toml", "-i", input]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("more than 8 MiB"), "{}", stderr(&output));
    }
}

#[test]
fn a_log_level_and_a_folder_of_skills_that_are_not_there_are_errors() {
    let place = echo("INPUT a DEFAULT \"x\"", "$a");
    let run = |more: &[&str]| {
        let output = place.convoke(&[&["run", "-m", "scripted/script.toml"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    assert!(run(&["--log", "debgu"]).contains("did you mean `debug`?"));
    assert!(run(&["--log", "bogus"]).contains("there is no level `bogus`"));
    assert!(run(&["--log", "infoo"]).contains("there is no level `infoo` (did you mean `info`?). Write"));
    assert!(run(&["--skills", "nowhere"]).contains("there is no folder nowhere"));
}

#[test]
fn what_is_wrong_is_said_before_a_model_is_fetched() {
    let place = Place::empty();
    place.write(
        "Agentfile",
        "NAME x\nINPUT n:int\nAGENT a \"A $n\" REQUIRES \"fast\"\nGOAL b \"Say\" USING a\nRUN main USING b\n",
    );
    place.write("convoke.toml", "model = \"local/not-there\"\n");
    let input = place.convoke(&["run", "-i", "n=three"]);
    assert!(stderr(&input).contains("n: "), "{}", stderr(&input));
    let profile = stderr(&place.convoke(&["run", "-i", "n=3"]));
    assert!(profile.contains("fast") && !profile.contains("not-there"), "{profile}");
    place.write("Agentfile", "NAME x\nGOAL b \"Say\"\nRUN main USING b\n");
    let forbidden = place.convoke_with(&["run"], &[("CONVOKE_FORBID_LIVE_MODELS", "1")]);
    assert!(stderr(&forbidden).contains("real models are forbidden here"), "{}", stderr(&forbidden));
    let said = place.convoke_with(&["chat", "hi"], &[("CONVOKE_FORBID_LIVE_MODELS", "1")]);
    assert!(stderr(&said).contains("real models are forbidden here"), "{}", stderr(&said));
    assert!(!place.file().exists());
}

#[test]
fn a_limit_on_money_that_cannot_be_kept_is_said() {
    let place = echo("INPUT a DEFAULT \"x\"", "$a");
    let arguments = ["run", "-m", "scripted/script.toml", "--budget", "0.001 usd", "--output", "json"];
    let output = place.convoke(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("the limit on money cannot be kept"), "{}", stderr(&output));
    let notes = document(&output)["notes"].clone();
    assert!(notes[0].as_str().unwrap().contains("no known price"), "{notes}");
    let priced = workshop(&unwatched());
    let mut arguments = RUN.to_vec();
    arguments.extend(["--budget", "0.001 usd"]);
    let stopped = priced.convoke(&arguments);
    let told = stderr(&stopped);
    assert_eq!(stopped.status.code(), Some(7), "{told}");
    assert!(
        told.contains("too little of the budget of the run is left for the next call: $0.00")
            && told.contains(" of $0.001, and the call takes at least $0.00"),
        "{told}"
    );
    assert!(!told.contains("cannot be kept") && !told.contains("(the run)"), "{told}");
}

#[test]
fn a_limit_on_money_that_cannot_be_kept_is_said_wherever_it_stands() {
    let run = ["run", "-m", "scripted/script.toml", "--quiet"];
    let limited = [
        "NAME n\nBUDGET 0.5 usd\nGOAL a \"A\"\nRUN main USING a\n",
        "NAME n\nGOAL a \"A\" BUDGET 0.5 usd\nRUN main USING a\n",
        "NAME n\nGOAL a \"A\"\nRUN main USING a BUDGET 0.5 usd\n",
        "NAME n\nAGENT b \"B\" BUDGET 0.5 usd\nGOAL a \"A\" USING b\nRUN main USING a\n",
        "NAME n\nAGENT b FROM inner.agent\nGOAL a \"A\" USING b\nRUN main USING a\n",
    ];
    for text in limited {
        let place = echo("INPUT a DEFAULT \"x\"", "$a");
        place.write("inner.agent", "NAME i\nINPUT task\nGOAL a \"$task\" BUDGET 0.5 usd\nRUN main USING a\n");
        place.write("Agentfile", text);
        let told = stderr(&place.convoke(&run));
        assert_eq!(told.matches("the limit on money cannot be kept").count(), 1, "{text}: {told}");
        place.write("Agentfile", text.replace(" BUDGET 0.5 usd", "").replace("BUDGET 0.5 usd\n", ""));
        place.write("inner.agent", "NAME i\nINPUT task\nGOAL a \"$task\"\nRUN main USING a\n");
        assert_eq!(stderr(&place.convoke(&run)), "", "{text}");
    }
    let place = echo("INPUT a DEFAULT \"x\"", "$a");
    let chat = ["chat", "-m", "scripted/script.toml", "Hello"];
    assert_eq!(stderr(&place.convoke(&chat)), "");
    place.write("convoke.toml", "[budgets]\ncost_usd = 0.5\n");
    let told = stderr(&place.convoke(&chat));
    assert!(told.contains("the limit on money cannot be kept: scripted has no known price"), "{told}");
    assert!(!told.contains("prices"), "nothing gives a script a price: {told}");
}

#[test]
fn what_a_model_does_not_say_it_used_is_estimated_and_said_so_once() {
    let place = Place::empty();
    place.write("Agentfile", "NAME echo\nGOAL a \"Say a\"\nGOAL b \"Say b\"\nRUN main USING a, b\n");
    place.write("script.toml", "[[rule]]\nreply = { text = \"Said.\", usage = { input_tokens = 0 } }\n");
    let output = place.convoke(&["run", "-m", "scripted/script.toml", "--output", "json", "--id", "echo-1"]);
    let told = stderr(&output);
    assert_eq!(told.matches("a model did not say how many tokens it used").count(), 1, "{told}");
    let result = document(&output);
    assert!(result["notes"][0].as_str().unwrap().contains("they are estimated"), "{result}");
    let spent = &result["spent"];
    assert_eq!((&spent["is_estimated"], &spent["cost_usd"]), (&json!(true), &json!(null)), "{spent}");
    assert!(
        spent["input_tokens"].as_u64().unwrap() > 20 && spent["output_tokens"].as_u64().unwrap() > 2,
        "{spent}"
    );
    let record = stdout(&place.convoke(&["replay", "echo-1", "--json"]));
    assert!(record.contains("\"is_estimated\": true"), "{record}");
    let shown = stdout(&place.convoke(&["show", "echo-1"]));
    assert!(shown.contains("tokens    ≈"), "{shown}");
}

#[test]
fn a_goal_that_wanted_no_tool_is_not_cut_short_where_none_may_be_called() {
    let place = echo("INPUT a DEFAULT \"x\"", "$a");
    let arguments = ["run", "-m", "scripted/script.toml", "--budget", "0 tool-calls", "--output", "json"];
    let output = place.convoke(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stderr(&output).contains("cut short"), "{}", stderr(&output));
    assert_eq!(document(&output)["cut_short"], json!({}));
}

#[test]
fn time_that_is_up_is_told_in_words() {
    let place = crate::run_stop::hanging();
    let mut arguments = RUN.to_vec();
    arguments.extend(["--timeout", "1s"]);
    let stopped = place.convoke(&arguments);
    assert_eq!(stopped.status.code(), Some(7));
    assert!(stderr(&stopped).contains("the run did not finish within 1s"), "{}", stderr(&stopped));
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let place = workshop(AGENTFILE);
    let cases: [(&[&str], i32); 6] = [
        (&["run", "letter.agent", "--json"], 2),
        (&["run", "letter.agent", "--output", "json", "-i", "topic=x", "-m", "nonsense"], 2),
        (&["run", "nowhere.agent", "--output", "ndjson"], 1),
        (&["show", "nobody", "--json"], 4),
        (&["runs", "--status", "done", "--json"], 2),
        (&["chat", "hello", "-m", "scripted/nowhere.toml", "--json"], 1),
    ];
    for (arguments, code) in cases {
        let output = place.convoke(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        let error = document(&output)["error"].clone();
        assert_eq!(error["exit_code"], code, "{arguments:?}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && stderr(&output).contains(message), "{arguments:?}: {message}");
    }
}

#[test]
fn after_a_run_its_inputs_and_its_result_are_shown_as_text() {
    let place = workshop(&unwatched());
    let ran = place.convoke(&RUN);
    assert!(stderr(&ran).contains("run letter-1: `convoke show letter-1` shows"), "{}", stderr(&ran));
    let forms: [&[&str]; 5] = [
        &["show", "letter-1"],
        &["replay", "letter-1"],
        &["replay", "letter-1", "--full"],
        &["replay", "letter-1", "--html", "-"],
        &["replay", "letter-1", "--jsonl"],
    ];
    for form in forms {
        let told = stdout(&place.convoke(form));
        assert!(told.contains("looms") && told.contains(RESULT), "{form:?}: {told}");
        assert!(
            !told.contains("INPUT topic") && !told.contains("model_asked"),
            "{form:?} has the whole file"
        );
    }
    let shown = stdout(&place.convoke(&["show", "letter-1"]));
    assert!(shown.contains("inputs    │ topic: looms\n          │ words: 10\n"), "{shown}");
    assert!(shown.contains(&format!("result    │ {RESULT}\n")), "{shown}");
    let json = document(&place.convoke(&["show", "letter-1", "--json"]));
    assert_eq!((&json["inputs"]["words"], &json["result"]), (&json!(10), &json!(RESULT)));
}

#[test]
fn a_goal_runs_without_a_file_and_says_what_was_written() {
    let place = Place::empty();
    let script = "[[rule]]\nwhen.user_contains = \"Say \\\"hi\\\" for $5 to $nobody\"\nreply = \"hi\"\n";
    place.write("script.toml", script);
    let goal = "Say \"hi\" for $5 to $nobody";
    let ran = place.convoke(&["run", "--goal", goal, "-m", "scripted/script.toml", "--id", "g-1"]);
    assert_eq!((stdout(&ran).as_str(), ran.status.code()), ("hi\n", Some(0)), "{}", stderr(&ran));
    let json = place.convoke(&["run", "--goal", goal, "-m", "scripted/script.toml", "--output", "json"]);
    assert_eq!(document(&json)["outputs"]["goal"], "hi");
    assert!(stdout(&place.convoke(&["runs"])).contains("inline-goal"));
    assert!(stdout(&place.convoke(&["show", "g-1"])).contains("hi"));
    for more in [&["Agentfile"][..], &["-i", "a=b"], &["--inputs", "x.json"]] {
        let refused = place.convoke(&[&["run", "--goal", goal][..], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    }
    let empty = place.convoke(&["run", "--goal", " "]);
    assert_eq!(empty.status.code(), Some(2), "{}", stderr(&empty));
}

#[test]
fn a_goal_without_a_file_goes_on_from_the_store_alone() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nerror = { status = 401, message = \"no\" }\n");
    let failed = place.convoke(&["run", "--goal", "Say hi", "-m", "scripted/script.toml", "--id", "g-1"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    place.write("script.toml", "[[rule]]\nreply = \"hi\"\n");
    let changed = place.convoke(&["resume", "g-1", "--changed-file"]);
    assert!(stderr(&changed).contains("`--goal`"), "{}", stderr(&changed));
    assert_eq!(stdout(&place.convoke(&["resume", "g-1"])), "hi\n");
}
