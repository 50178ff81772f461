//! Conversations and goals that are remembered, by name, on every surface.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::place::{Place, at_home, stderr, stdout};

/// Knows the cat's name if somebody tells it what was said.
const ANSWERS: &str = r#"
[[rule]]
when.any_contains = "Write one summary"
reply = "Ann has a cat called Ada."
[[rule]]
when = { any_contains = "cat is called Ada", user_contains = "name of my cat" }
reply = "Ada."
[[rule]]
when = { system_contains = "In short:\n    Ann has a cat called Ada.", user_contains = "recap" }
reply = "A cat called Ada."
[[rule]]
reply = "Noted."
"#;

fn place() -> Place {
    let place = Place::empty();
    place.write("answers.toml", ANSWERS);
    place
}

fn convoke(place: &Place, arguments: &[&str]) -> String {
    let output = at_home(place, &[], arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).trim_end().to_owned()
}

fn chat(place: &Place, options: &[&str], words: &str) -> String {
    convoke(place, &[&["chat", "-m", "scripted/answers.toml"], options, &[words]].concat())
}

#[test]
fn a_chat_with_a_memory_knows_what_was_said_in_earlier_ones_and_no_other_does() {
    let place = place();
    assert_eq!(chat(&place, &["--memory"], "My cat is called Ada."), "Noted.");
    assert_eq!(chat(&place, &["--memory"], "What is the name of my cat?"), "Ada.");
    assert_eq!(chat(&place, &["--memory=chat"], "What is the name of my cat?"), "Ada.");
    assert_eq!(chat(&place, &["--memory=work"], "What is the name of my cat?"), "Noted.");
    assert_eq!(chat(&place, &[], "What is the name of my cat?"), "Noted.");
    let seen = place.seen_with(
        &["memory", "show", "chat"],
        &[("COLUMNS", "80"), ("HOME", place.path().to_str().unwrap())],
    );
    assert_snapshot!("memory_show", seen);
    assert_snapshot!("memory_unknown", place.seen(&["memory", "remove", "nothing"]));
    assert_eq!(convoke(&place, &["memory", "remove", "work"]), "work: 2 messages forgotten");
    let known: Value = serde_json::from_str(&convoke(&place, &["--json", "memory", "list"])).unwrap();
    assert_eq!(
        (&known[0]["name"], &known[0]["messages"], &known[1]),
        (&"chat".into(), &6.into(), &Value::Null)
    );
    let last = known[0]["last"].as_str().expect("times are texts in every document");
    assert!(last.starts_with("20") && last.ends_with('Z'), "{last}");
    let misspelt = stderr(&at_home(&place, &[], &["memory", "show", "chta"]));
    assert!(misspelt.contains("did you mean `chat`?"), "{misspelt}");
}

#[test]
fn a_memory_belongs_to_the_whole_project() {
    let place = place();
    place.write("convoke.toml", "");
    std::fs::create_dir_all(place.path().join("docs/drafts")).unwrap();
    let within = |words: &str| {
        let output = assert_cmd::cargo::cargo_bin_cmd!("convoke")
            .current_dir(place.path().join("docs/drafts"))
            .env_clear()
            .envs([("HOME", place.path().to_str().unwrap()), ("XDG_DATA_HOME", place.data())])
            .args(["chat", "-m", "scripted/../../answers.toml", "--memory", words])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).trim_end().to_owned()
    };
    assert_eq!(chat(&place, &["--memory"], "My cat is called Ada."), "Noted.");
    assert_eq!(within("What is the name of my cat?"), "Ada.");
}

#[test]
fn what_has_become_long_is_summed_up_in_a_journaled_call() {
    let place = place();
    chat(&place, &["--memory"], "My cat is called Ada.");
    for number in 0..14 {
        chat(&place, &["--memory"], &format!("Train {number} is late."));
    }
    assert_eq!(chat(&place, &["--memory"], "recap"), "A cat called Ada.");
    let runs: Vec<Value> =
        serde_json::from_str(&convoke(&place, &["--json", "runs", "--limit", "0"])).unwrap();
    let summing_up = runs.iter().filter(|run| run["spent"]["model_calls"] == 2).count();
    assert_eq!(summing_up, 1, "{}", runs[0]);
}

#[test]
fn goals_of_an_agentfile_conversations_of_a_pack_and_graphs_have_the_same_memory() {
    let place = place();
    chat(&place, &["--memory=ann"], "My cat is called Ada.");
    place.write(
        "Agentfile",
        "NAME n\nMEMORY ann\nGOAL ask \"What is the name of my cat?\"\nRUN r USING ask\n",
    );
    let run =
        |more: &[&str]| convoke(&place, &[&["run", "-m", "scripted/answers.toml", "--quiet"], more].concat());
    assert_eq!(run(&[]), "Ada.");
    let graph = json!({
        "name": "ask", "entry": "llm",
        "nodes": [{"id": "llm", "type": "llm"}, {"id": "out", "type": "answer"}],
        "edges": [{"from": "llm", "to": "out"}],
    });
    place.write("ask.graph.json", graph.to_string());
    let question = ["ask.graph.json", "-i", "query=What is the name of my cat?"];
    assert_eq!(run(&question), "Noted.", "nobody named a memory");
    assert_eq!(run(&[&question[..], &["-i", "memory=ann"]].concat()), "Ada.");
    let pack = include_str!("../../../../examples/packs/support.pack.yaml");
    place.write("support.pack.yaml", pack);
    let message = "message=What is the name of my cat?";
    let opened = at_home(
        &place,
        &[],
        &[
            "run",
            "support.pack.yaml",
            "-m",
            "scripted/answers.toml",
            "-i",
            "customer=ann",
            "-i",
            "memory=ann",
            "-i",
            message,
        ],
    );
    let told = stdout(&opened) + &stderr(&opened);
    assert!(told.contains("Ada."), "{told}");
    let shown = convoke(&place, &["memory", "show", "ann"]);
    assert_eq!(shown.matches("What is the name of my cat?").count(), 3, "{shown}");
    assert_eq!(shown.matches("Ada.\n").count() + usize::from(shown.ends_with("Ada.")), 4, "{shown}");
}

#[test]
fn what_has_become_long_in_graphs_and_packs_is_summed_up_too() {
    let place = place();
    let nodes = r#""nodes": [{"id": "llm", "type": "llm"}, {"id": "out", "type": "answer"}], "edges": [{"from": "llm", "to": "out"}]"#;
    place.write("ask.graph.json", format!(r#"{{"name": "ask", "entry": "llm", {nodes}}}"#));
    place.write(
        "look.pack.json",
        r#"{
            "id": "look", "name": "Look", "version": "1.0.0", "template_engine": {"version": "v1", "syntax": "{{variable}}"},
            "prompts": {"say": {"id": "say", "name": "Say", "version": "1.0.0", "system_template": "Answer."}},
            "compositions": {"one": {"version": 1, "output": "only", "steps": [
                {"id": "only", "kind": "prompt", "prompt_task": "say", "input": "${input}"}
            ]}},
            "workflow": {"version": 2, "entry": "looks", "states": {
                "looks": {"orchestration": "composition", "composition": "one", "terminal": true}
            }}
        }"#,
    );
    for (file, input, name) in [("ask.graph.json", "query", "graph"), ("look.pack.json", "message", "pack")] {
        let memory = format!("memory={name}");
        for number in 0..15 {
            let words = format!("{input}=Train {number} is late, says Ann.");
            let options = ["run", "-m", "scripted/answers.toml", "--quiet", "--no-input", file];
            convoke(&place, &[&options[..], &["-i", &words, "-i", &memory]].concat());
        }
        let shown = convoke(&place, &["memory", "show", name]);
        assert!(shown.contains("Ann has a cat called Ada."), "{file}: {shown}");
    }
}

#[test]
fn an_agentfile_says_its_memory_and_what_is_wrong_with_it() {
    let place = Place::empty();
    place.write(
        "Agentfile",
        "NAME n\nMEMORY\nGOAL g \"x\" MEMORY notes TIMEOUT 1m\nAGENT a \"y\" MEMORY b\nRUN r USING g\n",
    );
    assert_snapshot!("memory_agentfile_wrong", place.seen(&["validate", "Agentfile"]));
    place.write(
        "Agentfile",
        "NAME n\nMEMORY  \"a b\"\nGOAL g \"x\" WHEN $v IS a MEMORY notes\nINPUT v\nRUN r USING g\n",
    );
    convoke(&place, &["fmt", "Agentfile"]);
    assert!(place.read("Agentfile").contains("MEMORY \"a b\"\n"), "{}", place.read("Agentfile"));
    assert!(place.read("Agentfile").contains("MEMORY notes WHEN $v IS a"), "{}", place.read("Agentfile"));
    assert!(convoke(&place, &["inspect", "Agentfile"]).contains("memory notes"));
}
