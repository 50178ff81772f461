//! Conversations with packs that a limit cuts short, and what clients send to them: nothing of it is lost without a word.

use serde_json::{Value, json};

use crate::place::{Place, stderr};
use crate::workshop::document;

/// What every pack here begins with.
const HEAD: &str =
    "id: t\nname: T\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: \"{{variable}}\"}\n";

/// Lists files as long as it may, and gives up then.
const LOOKS: &str = "[[rule]]\nwhen = { offers_tool = \"ls\" }\n\
    reply = { text = \"looking\", tool_calls = [{ name = \"ls\", arguments = { path = \".\" } }] }\n\n\
    [[rule]]\nreply = \"gave up\"\n";

/// Pays as long as it may, and says so then.
const PAYS: &str = "[[rule]]\nwhen = { offers_tool = \"pay\" }\n\
    reply = { tool_calls = [{ name = \"pay\" }] }\n\n[[rule]]\nreply = \"my last answer\"\n";

const PAY: &str = "tools: {pay: {name: pay, description: b, parameters: {type: object, properties: {}}}}\n";

fn place(pack: &str, script: &str) -> Place {
    let place = Place::empty();
    place.write("t.pack.yaml", format!("{HEAD}{pack}"));
    place.write("s.toml", script);
    place
}

fn run(place: &Place, more: &[&str]) -> std::process::Output {
    let run = ["run", "t.pack.yaml", "-m", "scripted/s.toml", "--no-input", "--quiet", "--output", "json"];
    place.convoke(&[&run[..], &["-i", "message=x"], more].concat())
}

/// A pack whose only state has tools, and is left by an event if `leads`.
fn state(policy: &str, leads: bool) -> String {
    let ends = if leads { "on_event: {Go: b}" } else { "terminal: true" };
    format!(
        "prompts: {{a: {{id: a, name: A, version: 1.0.0, system_template: A, tools: [ls]{policy}}}}}\n\
         workflow: {{version: 2, entry: a, states: {{a: {{prompt_task: a, {ends}}}, b: {{prompt_task: a, terminal: true}}}}}}\n"
    )
}

/// A pack whose composition lets an agent work with a tool.
fn composed(tool: &str, steps: u32) -> String {
    format!(
        "prompts: {{p: {{id: p, name: P, version: 1.0.0, system_template: P, tools: [{tool}]}}}}\n\
         tools: {{{tool}: {{name: {tool}, description: b}}}}\n\
         compositions: {{c: {{version: 1, output: a, steps: [{{id: a, kind: agent, tools: [{tool}], prompt_task: p, \
         input: go, termination: {{max_steps: {steps}}}}}]}}}}\n"
    )
}

fn cut_short(output: &std::process::Output, part: &str) -> String {
    let document = document(output);
    let reason = document["cut_short"][part].as_str().unwrap_or_default().to_owned();
    let note = format!("`{part}` was cut short: {reason}");
    let told = stderr(output);
    assert_eq!(told.matches(&note).count(), 1, "{document}\n{told}");
    assert!(!reason.is_empty(), "{document}");
    reason
}

#[test]
fn a_turn_of_a_conversation_that_a_limit_cut_short_is_told_once_and_is_in_the_result() {
    let place_of = place(&state("", false), LOOKS);
    for limit in ["1 calls", "2 turns", "1 tool-calls"] {
        let ran = run(&place_of, &["--budget", limit]);
        assert_eq!(ran.status.code(), Some(0), "{limit}: {}", stderr(&ran));
        assert_eq!(cut_short(&ran, "a"), "what it may use was used up", "{limit}");
    }
    let few = place(&state(", tool_policy: {max_rounds: 1}", false), LOOKS);
    assert_eq!(cut_short(&run(&few, &[]), "a"), "it reached its limit of 1 turn");
    let done = run(&place(&state("", false), "[[rule]]\nreply = \"done\"\n"), &[]);
    assert_eq!(document(&done)["cut_short"], json!({}));
}

#[test]
fn a_budget_that_leaves_a_state_without_its_transition_says_so() {
    let ran = run(&place(&state("", true), LOOKS), &["--budget", "0 tool-calls"]);
    assert_eq!(ran.status.code(), Some(5), "{}", stderr(&ran));
    let why = cut_short(&ran, "a");
    assert!(why.ends_with("so it had no `workflow__transition` to leave the state with"), "{why}");
}

#[test]
fn a_single_round_in_which_no_state_can_be_left_is_a_warning() {
    let warned = |pack: &str| stderr(&place(pack, "").convoke(&["validate", "t.pack.yaml"]));
    let one = warned(&state(", tool_policy: {max_rounds: 1}", true));
    assert!(one.contains("the model never leaves state `a`") && one.contains("write at least 2"), "{one}");
    for fine in
        [state(", tool_policy: {max_rounds: 2}", true), state(", tool_policy: {max_rounds: 1}", false)]
    {
        assert!(!warned(&fine).contains("never leaves"), "{fine}");
    }
}

#[test]
fn an_agent_of_a_composition_answers_in_its_last_step_whoever_has_its_tools() {
    let own = run(&place(&composed("ls", 2), LOOKS), &["-i", "composition=c"]);
    assert_eq!(document(&own)["result"], "gave up");
    assert_eq!(cut_short(&own, "a"), "it reached its limit of 2 turns");
    let at_once = run(&place(&composed("pay", 1), PAYS), &["-i", "composition=c"]);
    assert_eq!(document(&at_once)["result"], "my last answer");
    let place = place(&composed("pay", 2), PAYS);
    let waits = run(&place, &["-i", "composition=c", "--id", "m"]);
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    assert!(place.convoke(&["send", "m", "tool_results/a", r#"{"content":"r"}"#]).status.success());
    let done = place.convoke(&["resume", "m", "--output", "json", "--quiet"]);
    assert_eq!(document(&done)["result"], "my last answer", "{}", stderr(&done));
    assert_eq!(cut_short(&done, "a"), "it reached its limit of 2 turns");
}

/// A run that waits for the result of a payment, at `R`.
fn paying() -> Place {
    let pack = "prompts: {a: {id: a, name: A, version: 1.0.0, system_template: A, tools: [pay]}}\n\
        workflow: {version: 2, entry: a, states: {a: {prompt_task: a, terminal: true}}}\n";
    let script = "[[rule]]\nwhen = { has_tool_result = true }\nreply = \"paid\"\n\n\
        [[rule]]\nreply = { tool_calls = [{ name = \"pay\" }] }\n";
    let place = place(&format!("{pack}{PAY}"), script);
    let waits = run(&place, &["--id", "R"]);
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    place
}

fn send(place: &Place, more: &[&str]) -> (Option<i32>, String) {
    let sent = place.convoke(&[&["send", "R", "tool_results"], more].concat());
    (sent.status.code(), stderr(&sent))
}

#[test]
fn a_result_with_a_field_that_results_do_not_have_is_not_sent() {
    let place = paying();
    for field in ["is_eror", "isError"] {
        let (code, told) = send(&place, &[&format!(r#"{{"content": "x", "{field}": true}}"#)]);
        assert!(code == Some(1) && told.contains(&format!("a result has no `{field}`")), "{told}");
        assert!(told.contains("`is_error`") && told.contains("nothing was sent"), "{told}");
    }
}

#[test]
fn a_second_result_of_a_call_is_refused_and_the_same_key_is_none() {
    let place = paying();
    let (first, second) = (r#"{"content": "paid 1"}"#, r#"{"content": "paid 2"}"#);
    assert_eq!(send(&place, &[first, "--key", "k"]).0, Some(0));
    let (code, told) = send(&place, &[second]);
    let why = "every call that waits for a result has been sent one: nothing was sent";
    assert!(code == Some(1) && told.contains(why), "{told}");
    let (code, told) = send(&place, &[first, "--key", "k"]);
    assert!(code == Some(0) && told.contains("was sent this before"), "{told}");
    let done = place.convoke(&["resume", "R", "--output", "json"]);
    assert_eq!(document(&done)["result"], "paid", "{}", stderr(&done));
    let (code, told) = send(&place, &[first]);
    assert!(
        code == Some(1) && told.contains("takes no mail") && !told.contains("says what it waits for"),
        "{told}"
    );
}

#[test]
fn a_workflow_that_ran_out_of_time_says_which_limit_that_was() {
    let pack =
        state("", true).replace("version: 2,", "version: 2, engine: {budget: {max_wall_time_sec: 1}},");
    let slow = LOOKS.replace("text = \"looking\",", "text = \"looking\", delay = \"1200ms\",");
    assert_ne!(slow, LOOKS);
    let why = cut_short(&run(&place(&pack, &slow), &[]), "t");
    assert_eq!(why, "workflow budget exhausted: max_wall_time_sec reached limit 1");
}

#[test]
fn a_workflow_that_entered_a_state_too_often_says_so_and_has_not_just_completed() {
    let pack = "prompts: {p: {id: p, name: P, version: 1.0.0, system_template: P}}\n\
         workflow:\n  version: 2\n  entry: w\n  states: {w: {prompt_task: p, max_visits: 1, on_event: {Again: w}}}\n";
    let again = "reply = { text = \"once more\", tool_calls = [{ name = \"workflow__transition\", \
         arguments = { event = \"Again\" } }] }";
    let place = place(pack, &format!("[[rule]]\n{again}\n"));
    let ran = run(&place, &[]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let why = "max visits exceeded: state \"w\" visited 1 times (max 1)";
    assert_eq!(cut_short(&ran, "w"), why);
    assert!(stderr(&ran).contains(&format!("note: `w` was cut short: {why}")), "{}", stderr(&ran));
    let scenario = |is: &str| {
        let asserted = if is.is_empty() {
            String::new()
        } else {
            format!(", assertions: [{{type: status, params: {{is: {is}}}}}]")
        };
        let text = format!(
            "kind: Scenario\nmetadata: {{name: again}}\nspec: {{turns: [{{content: hello}}], model: scripted/s.toml{asserted}}}\n"
        );
        place.write("again.scenario.yaml", &text);
        place.convoke(&["eval", "t.pack.yaml", "again.scenario.yaml"])
    };
    let failed = scenario("");
    let told = String::from_utf8_lossy(&failed.stdout).into_owned() + &stderr(&failed);
    assert!(failed.status.code() == Some(1) && told.contains("the run is max_visits_exceeded"), "{told}");
    let asserted = scenario("max_visits_exceeded");
    assert_eq!(asserted.status.code(), Some(0), "{}", stderr(&asserted));
}

#[test]
fn no_more_calls_count_than_the_budget_of_a_workflow_let_happen() {
    let twice =
        "{id: a, kind: tool, tool: ls, args: {path: .}}, {id: b, kind: tool, tool: ls, args: {path: .}}";
    let pack = format!(
        "prompts: {{p: {{id: p, name: P, version: 1.0.0, system_template: P}}}}\n\
         tools: {{ls: {{name: ls, description: l}}}}\n\
         compositions: {{c: {{version: 1, steps: [{twice}]}}}}\n\
         workflow:\n  version: 2\n  entry: w\n  engine: {{budget: {{max_tool_calls: 1}}}}\n  states:\n    \
         w: {{orchestration: composition, composition: c, on_event: {{Done: e}}}}\n    e: {{prompt_task: p, terminal: true}}\n"
    );
    let ran = run(&place(&pack, "[[rule]]\nreply = \"x\"\n"), &[]);
    assert_eq!(cut_short(&ran, "t"), "workflow budget exhausted: max_tool_calls 1 reached limit 1");
}

#[test]
fn words_that_say_nothing_are_refused_unless_no_model_is_told_them() {
    let place = place(&state("", false), LOOKS);
    for nothing in ["message=", "message=  "] {
        let refused = place.convoke(&["run", "t.pack.yaml", "-m", "scripted/s.toml", "-i", nothing]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains("`message` says nothing"), "{}", stderr(&refused));
    }
    let composed = self::place(&composed("ls", 2), LOOKS);
    let run = ["run", "t.pack.yaml", "-m", "scripted/s.toml", "-i", "composition=c", "-i", "message="];
    let ran = composed.convoke(&run);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
}

#[test]
fn an_input_that_a_composition_cannot_take_is_not_to_be_resumed() {
    let pack = "prompts: {p: {id: p, name: P, version: 1.0.0, system_template: P}}\n\
        compositions: {c: {version: 1, input_schema: s.json, steps: [{id: a, kind: prompt, prompt_task: p, input: \"${input.n}\"}]}}\n";
    let place = place(pack, "[[rule]]\nreply = \"x\"\n");
    place.write("s.json", json!({"type": "object"}).to_string());
    for (given, why) in [("text", "does not fit s.json"), ("{}", "input.n")] {
        let message = format!("message={given}");
        let run = ["run", "t.pack.yaml", "-m", "scripted/s.toml", "-i", "composition=c", "-i", &message];
        let failed = place.convoke(&run);
        let told = stderr(&failed);
        assert!(failed.status.code() == Some(1) && told.contains(why), "{told}");
        assert!(told.contains("begin anew with another input") && told.contains("--changed-file"), "{told}");
        assert!(!told.contains("once the cause is mended"), "{told}");
    }
}

#[test]
fn a_group_that_there_is_none_of_is_refused_before_anything_is_promised() {
    let place = place(&state("", false), LOOKS);
    place.write(
        "a.scenario.yaml",
        "kind: Scenario\nmetadata: {name: a}\nspec: {turns: [{role: user, content: x}], model: {replies: [hello]}}\n",
    );
    let refused = place.convoke(&["eval", "t.pack.yaml", "a.scenario.yaml", "--group", "zzz"]);
    let told = stderr(&refused);
    assert!(
        !refused.status.success() && told.contains("`zzz`") && !told.contains("goes on with it"),
        "{told}"
    );
}

/// The document of a run is one, whatever was told beside it.
#[test]
fn what_was_told_when_it_happened_is_among_the_notes() {
    let ran = run(&place(&state("", false), LOOKS), &["--budget", "1 calls"]);
    let notes = document(&ran)["notes"].as_array().cloned().unwrap_or_default();
    let is_it = |note: &&Value| note.as_str().is_some_and(|note| note.contains("`a` was cut short"));
    assert_eq!(notes.iter().filter(is_it).count(), 1, "{notes:?}");
}

#[test]
fn conversations_side_by_side_are_each_sent_the_results_of_their_own_calls() {
    let place = Place::empty();
    for name in ["one", "two"] {
        let look = "tools: {look: {name: look, description: l}}\n";
        let prompt = format!(
            "prompts: {{p: {{id: p, name: P, version: 1.0.0, system_template: YOU ARE {name}, tools: [look]}}}}\n"
        );
        place.write(
            &format!("{name}.pack.yaml"),
            HEAD.replace("id: t", &format!("id: {name}")) + look + &prompt,
        );
    }
    let goals =
        "GOAL one FROM one.pack.yaml\nGOAL two FROM two.pack.yaml\nRUN both PARALLEL USING one, two\n";
    place.write("g.agent", format!("NAME g\nINPUT message\n{goals}"));
    let call = |what: &str| format!("{{ name = \"look\", arguments = {{ what = \"{what}\" }} }}");
    place.write(
        "s.toml",
        format!(
            "[[rule]]\nwhen.has_tool_result = true\nreply = \"thanks\"\n\n\
             [[rule]]\nwhen.system_contains = \"YOU ARE two\"\nreply = {{ tool_calls = [{}, {}] }}\n\n\
             [[rule]]\nreply = {{ tool_calls = [{}] }}\n",
            call("a"),
            call("b"),
            call("c")
        ),
    );
    let run = ["run", "g.agent", "-m", "scripted/s.toml", "--id", "R", "-i", "message=x", "--output", "json"];
    let waits = document(&place.convoke(&run));
    let of = |waits: &Value, what: &str| {
        let awaited = waits["awaits"].as_array().cloned().unwrap_or_default().into_iter();
        let mut calls = awaited.flat_map(|awaited| {
            let calls = awaited["expected"]["calls"].as_array().cloned().unwrap_or_default();
            calls.into_iter().map(move |call| (awaited["channel"].clone(), call))
        });
        let found = calls.find(|(_, call)| call["arguments"]["what"] == what);
        found.map(|(channel, call)| (channel.as_str().unwrap().to_owned(), call["call_id"].clone()))
    };
    let [(of_a, a), (_, b), (of_c, c)] = ["a", "b", "c"].map(|what| of(&waits, what).unwrap());
    assert!(of_a != of_c && a == c, "{waits:#}");
    // Two calls have one id, so it has to be said whose is meant; the other id is clear.
    let send = |channel: &str, id: &Value, content: &str| {
        let result = json!({"call_id": id, "content": content}).to_string();
        place.convoke(&["send", "R", channel, &result])
    };
    assert_eq!(send("tool_results", &a, "?").status.code(), Some(1));
    let sent = send("tool_results", &b, "seen b");
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    let waits = document(&place.convoke(&["resume", "R", "--output", "json"]));
    assert!(of(&waits, "b").is_none() && of(&waits, "a").is_some() && of(&waits, "c").is_some(), "{waits:#}");
    assert_eq!(send(&of_c, &c, "seen c").status.code(), Some(0));
    assert_eq!(send(&of_a, &a, "seen a").status.code(), Some(0));
    let done = place.convoke(&["resume", "R", "--output", "json"]);
    assert_eq!(document(&done)["status"], "completed", "{}", stderr(&done));
    let told = String::from_utf8(place.convoke(&["replay", "R", "--full"]).stdout).unwrap();
    for content in ["seen a", "seen b", "seen c"] {
        assert!(told.contains(&format!("look: {content}")), "{told}");
    }
}
