//! Agentfiles: what is wrong with them, how they are written, what they say.

use insta::assert_snapshot;

use crate::place::{Place, stderr, stdout};

/// What a user sees of a broken file.
fn broken(text: &str) -> String {
    let place = Place::empty();
    place.write("plan.agent", text);
    place.seen(&["validate", "plan.agent"])
}

macro_rules! broken {
    ($($name:ident: $text:expr;)*) => {
        $(#[test] fn $name() { assert_snapshot!(broken($text)); })*
    };
}

broken! {
    no_closing_quote: "NAME plan\nGOAL sort \"Sort my tasks\n  by urgency.\"\nRUN main USING sort\n";
    no_closing_triple_quote: "NAME plan\nGOAL sort \"\"\"\nSort my tasks\nRUN main USING sort\n";
    a_misspelt_statement: "NAME plan\nGAOL sort \"Sort my tasks\"\nRUN main USING sort\n";
    small_letters: "name plan\ngoal sort \"Sort my tasks\"\nrun main using sort\n";
    a_misspelt_goal: "NAME plan\nGOAL analyze \"Look\"\nRUN main USING analyse\n";
    a_misspelt_agent: "NAME plan\nAGENT critic \"You are a critic.\"\nGOAL look \"Look\" USING critc\nRUN main USING look\n";
    a_misspelt_variable: "NAME plan\nINPUT tasks\nGOAL sort \"Sort $taks by urgency\"\nRUN main USING sort\n";
    no_name_and_no_run: "GOAL sort \"Sort my tasks\"\n";
    no_run_for_five_goals: "NAME plan\nGOAL a \"A\"\nGOAL b \"B\"\nGOAL c \"C\"\nGOAL d \"D\"\nGOAL e \"E\"\n";
    a_workflow_instead_of_a_name: "WORKFLOW plan\nGOAL sort \"Sort my tasks\"\nRUN main USING sort\n";
    a_misspelt_tool: "NAME plan\nGOAL sort \"Sort my tasks\" TOOLS raed, weather, mcp_files_raed, web_search\nRUN main USING sort\n";
    the_manifest_of_a_swarm: "# ours\nnats:\n  url: nats://localhost:4222\nagents:\n  - name: one\n    agentfile: one.agent\n    type: manager\n";
    some_other_yaml: "---\nname: plan\nsteps:\n  - GOAL\n";
    a_goal_without_a_text: "NAME plan\nGOAL sort\n  Sort my tasks, please.\nRUN main USING sort\n";
    a_goal_without_a_name: "NAME plan\nGOAL \"Sort my tasks\"\nRUN main USING sort\n";
    a_default_without_the_word: "NAME plan\nINPUT hours=\"4\"\nGOAL sort \"Sort for $hours hours\"\nRUN main USING sort\n";
    a_convergence_without_a_limit: "NAME plan\nCONVERGE polish \"Polish\"\nRUN main USING polish\n";
    a_limit_that_is_no_number: "NAME plan\nINPUT rounds DEFAULT \"a few\"\nCONVERGE polish \"Polish\" WITHIN $rounds\nRUN main USING polish\n";
    a_value_that_comes_later: "NAME plan\nGOAL write \"Write about $facts\"\nGOAL dig \"Dig\" -> facts\nRUN main USING write, dig\n";
    a_value_that_may_be_skipped: "NAME plan\nGOAL sort \"Sort\" -> kind:bug|wish\nGOAL fix \"Fix\" -> patch WHEN $kind IS bug\nGOAL tell \"Explain $patch\"\nRUN main USING sort, fix, tell\n";
    a_condition_that_is_never_true: "NAME plan\nGOAL sort \"Sort\" -> kind:bug|wish\nGOAL fix \"Fix\" WHEN $kind IS bugs\nRUN main USING sort, fix\n";
    two_goals_of_a_name: "NAME plan\nGOAL sort \"Sort\"\nGOAL sort \"Sort again\"\nRUN main USING sort\n";
    nobody_watches_what_a_person_should: "NAME plan\nSUPERVISED HUMAN\nGOAL pay \"Pay the bill\" UNSUPERVISED\nRUN main USING pay\n";
    a_missing_file: "NAME plan\nAGENT critic FROM agents/critic.md\nGOAL look \"Look\" USING critic\nRUN main USING look\n";
    a_secret_with_a_default: "NAME plan\nINPUT key SECRET DEFAULT \"hunter2\"\nGOAL call \"Call with $key\"\nRUN main USING call\n";
    goals_in_parallel_that_need_each_other: "NAME plan\nGOAL a \"Look\" -> seen\nGOAL b \"Judge $seen\"\nRUN main PARALLEL USING a, b\n";
    an_unknown_security_mode: "NAME plan\nSECURITY Paranoid\nGOAL a \"Look\"\nRUN main USING a\n";
    a_time_without_a_unit: "NAME plan\nGOAL a \"Look\" TIMEOUT 5\nRUN main USING a\n";
    a_type_of_another_language: "NAME plan\nGOAL a \"Look\" -> count:integer\nRUN main USING a\n";
    typographic_quotes: "NAME plan\nGOAL a “Look”\nRUN main USING a\n";
    an_arrow_without_a_space: "NAME plan\nAGENT b \"You.\"\nGOAL a \"Look\" USING b->seen\nRUN main USING a\n";
    a_clause_of_another_statement: "NAME plan\nGOAL a \"Look\" WITHIN 3 REQUIRES \"fast\"\nRUN main \"Look\" USING a\n";
    an_old_version_and_then: "NAME plan\nVERSION 1.0.0\nGOAL a \"Look\"\nGOAL b \"Tell\"\nRUN main USING a THEN b\n";
    many_mistakes_at_once: "INPUT x\nINPUT x\nGOAL a \"Look at $y\" USING nobody\nCONVERGE b \"Again\" WITHIN 0\nRUN main USIGN a, c\n";
}

#[test]
fn a_valid_file_is_said_to_be_valid() {
    let place = Place::empty();
    place.write("Agentfile", "NAME plan\nGOAL a \"Look\"\nRUN main USING a\n");
    place.write("warned.agent", "NAME plan\nINPUT x\nGOAL a \"Look\"\nRUN main USING a\n");
    assert_snapshot!("valid", place.seen(&["validate"]));
    assert_snapshot!("valid_warned", place.seen(&["validate", "Agentfile", "warned.agent"]));
}

#[test]
fn agent_199_validate_says_valid_or_why_not() {
    let place = Place::empty();
    place.write("good.agent", "NAME plan\nGOAL a \"Look\"\nRUN main USING a\n");
    place.write("bad.agent", "NAME plan\nGOAL a \"Look\"\n");
    let good = place.convoke(&["validate", "good.agent"]);
    assert_eq!(good.status.code(), Some(0));
    assert!(stdout(&good).contains("Valid"));
    let bad = place.convoke(&["validate", "bad.agent"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stderr(&bad).contains("the file has no `RUN`"));
    assert_eq!(place.convoke(&["valdate", "good.agent"]).status.code(), Some(2));
}

#[test]
fn several_files_are_checked_and_all_are_told() {
    let place = Place::empty();
    place.write("a.agent", "NAME a\n");
    place.write("b.agent", b"NAME \xff\n");
    place.write("c.agent", "NAME c\nGOAL a \"Look\"\nRUN main USING a\n");
    assert_snapshot!("several", place.seen(&["validate", "a.agent", "b.agent", "c.agent"]));
    assert_snapshot!("several_json", place.seen(&["--json", "validate", "a.agent", "c.agent"]));
    assert_snapshot!("validate_missing", place.seen(&["validate", "nothing.agent"]));
    assert_snapshot!("validate_folder", place.seen(&["validate", "."]));
}

#[test]
fn nothing_in_a_file_controls_the_terminal() {
    let seen = broken(
        "NAME plan\nGOAL a \"\u{1b}[31mLook $\u{1b}[2J\" \u{1b}]0;x\u{7} USING \u{9b}b\nRUN main USING a\u{202e}\n",
    );
    assert!(!seen.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{seen:?}");
    let place = Place::empty();
    place.write("Agentfile", "NAME plan\nGOAL a \"\u{1b}[31mLook\"\nRUN main USING a\n");
    for format in ["text", "mermaid", "svg", "json"] {
        let seen = place.seen(&["inspect", "--format", format]);
        assert!(!seen.contains('\u{1b}') && seen.ends_with("--- exit 0\n"), "{seen:?}");
    }
}

#[test]
fn colours_are_there_if_they_are_asked_for() {
    let place = Place::empty();
    place.write("Agentfile", "NAME plan\n");
    assert!(stderr(&place.convoke(&["--color", "always", "validate"])).contains("\u{1b}["));
    assert!(!stderr(&place.convoke(&["validate"])).contains("\u{1b}["));
}

#[test]
fn files_are_formatted_in_place() {
    let place = Place::empty();
    let ugly = "NAME   plan\n\n\nGOAL a SUPERVISED \"Look\" # why\nRUN main USING a,a";
    place.write("a.agent", ugly);
    assert_snapshot!("fmt_check", place.seen(&["fmt", "--check", "a.agent"]));
    assert_eq!(place.read("a.agent"), ugly);
    assert_snapshot!("fmt", place.seen(&["fmt", "a.agent"]));
    assert_snapshot!("fmt_written", place.read("a.agent"));
    assert_snapshot!("fmt_again", place.seen(&["fmt", "a.agent"]));
    assert_snapshot!("fmt_check_again", place.seen(&["fmt", "--check", "a.agent"]));
}

#[test]
fn a_broken_file_is_not_formatted() {
    let place = Place::empty();
    place.write("a.agent", "NAME   plan\nGOAL a\n");
    assert_snapshot!("fmt_broken", place.seen(&["fmt", "a.agent"]));
    assert_eq!(place.read("a.agent"), "NAME   plan\nGOAL a\n");
}

#[test]
fn standard_input_is_a_file_too() {
    let place = Place::empty();
    let run = |arguments: &[&str], input: &str| {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("convoke");
        let output = command
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .args(arguments)
            .write_stdin(input)
            .output()
            .unwrap();
        (output.status.code(), stdout(&output))
    };
    let text = "NAME   plan\nGOAL a  \"Look\"\nRUN main USING a";
    assert_eq!(
        run(&["fmt", "-"], text),
        (Some(0), "NAME plan\nGOAL a \"Look\"\nRUN main USING a\n".to_owned())
    );
    assert_eq!(run(&["fmt", "--check", "-"], text).0, Some(1));
    assert_eq!(run(&["validate", "-"], text), (Some(0), "✓ Valid standard input\n".to_owned()));
    assert!(run(&["inspect", "-"], text).1.starts_with("plan\n"));
    drop(place);
}

#[test]
fn a_file_is_shown_as_a_tree_as_json_and_as_a_chart() {
    let place = Place::empty();
    place.write("agents/critic.md", "You are a critic of $topic.");
    place.write(
        "Agentfile",
        "NAME essay\nSECURITY paranoid\nINPUT topic\nINPUT rounds:int DEFAULT 3\nAGENT critic FROM agents/critic.md REQUIRES \"deep\"\n\
         GOAL write \"Write about $topic\" -> draft BUDGET 5000 tokens, 0.25 usd\n\
         CONVERGE polish \"Polish $draft\" USING critic WITHIN $rounds SUPERVISED HUMAN\nRUN main USING write, polish TIMEOUT 1h\n",
    );
    assert_snapshot!("inspect", place.seen(&["inspect"]));
    assert_snapshot!("inspect_mermaid", place.seen(&["inspect", "Agentfile", "--format", "mermaid"]));
    assert_snapshot!("inspect_json", place.seen(&["inspect", "--format", "json"]));
    assert_eq!(
        stdout(&place.convoke(&["inspect", "--json"])),
        stdout(&place.convoke(&["inspect", "--format", "json"]))
    );
    place.write("Agentfile", "NAME essay\n");
    assert_snapshot!("inspect_broken", place.seen(&["inspect"]));
}

#[test]
fn agent_051_paths_are_relative_to_the_agentfile_and_not_to_where_the_command_is_run() {
    let place = Place::empty();
    let agentfile = "NAME n\nAGENT a FROM agents/a.md\nGOAL g \"x\" USING a\nRUN r USING g\n";
    place.write("agents/a.md", "You are the wrong one.");
    place.write("work/agents/a.md", "You are the right one.");
    place.write("work/Agentfile", agentfile);
    place.write("script.toml", "[[rule]]\nreply = \"Done.\"\n");
    let done = place.convoke(&["run", "work/Agentfile", "-m", "scripted/script.toml", "--id", "n-1"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let told = stdout(&place.convoke(&["show", "n-1", "--full"]));
    assert!(told.contains("You are the right one.") && !told.contains("wrong one"), "{told}");
    place.write("elsewhere/Agentfile", agentfile);
    let missing = place.convoke(&["validate", "elsewhere/Agentfile"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("`agents/a.md` was not found"), "{}", stderr(&missing));
}

#[test]
fn agent_046_skills_are_looked_for_where_they_are_kept() {
    let place = Place::empty();
    place.write("kept/review/SKILL.md", "---\nname: review\ndescription: Reviews.\n---\nLook.\n");
    place.write("work/Agentfile", "NAME n\nAGENT a FROM review\nGOAL g \"x\" USING a\nRUN r USING g\n");
    assert_eq!(place.convoke(&["validate", "work/Agentfile"]).status.code(), Some(1));
    assert_eq!(place.convoke(&["validate", "work/Agentfile", "--skills", "kept"]).status.code(), Some(0));
    assert!(
        stdout(&place.convoke(&["inspect", "work/Agentfile", "--skills", "kept"])).contains("skill review")
    );
    let output = place.convoke_with(
        &["validate", "work/Agentfile", "--skills", "~/kept"],
        &[("HOME", place.path().to_str().unwrap())],
    );
    assert_eq!(output.status.code(), Some(0), "a leading `~` is the user's home");
}

#[test]
fn a_mode_that_nothing_acts_on_is_said_to_have_no_effect() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"Looked.\"\n");
    for (mode, is_said) in [("paranoid", true), ("default", false), ("research \"our own servers\"", false)] {
        place.write("Agentfile", format!("NAME look\nSECURITY {mode}\nGOAL a \"Look\"\nRUN main USING a\n"));
        for arguments in [&["validate"][..], &["run", "-m", "scripted/script.toml"]] {
            let output = place.convoke(arguments);
            assert!(output.status.success(), "{}", stderr(&output));
            let told = stderr(&output);
            let said = told.contains("`SECURITY paranoid` has no effect yet");
            assert_eq!(said, is_said, "{mode}, {arguments:?}: {told}");
        }
    }
}

#[test]
fn configurations_and_policies_are_called_what_they_are() {
    let place = Place::empty();
    place.write("agent.toml", "[agent]\nid = \"x\"\n\n[llm]\nmodel = \"claude\"\nmax_tokens = 100\n");
    place.write(
        "policy.toml",
        "default_deny = true\n\n[bash]\nenabled = true\nallowlist = [\n  \"ls *\",\n]\n",
    );
    for (file, told) in [
        ("agent.toml", "`convoke config import agent.toml`"),
        ("policy.toml", "`convoke policy import policy.toml`"),
    ] {
        let output = place.convoke(&["validate", file]);
        assert!(
            stderr(&output).contains(told) && stderr(&output).contains(": 1 error"),
            "{}",
            stderr(&output)
        );
    }
    place.write("t.agent", "NAME t\nTOOLS read, none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    let output = place.convoke(&["validate", "t.agent"]);
    assert!(stderr(&output).contains("`none` stands alone"), "{}", stderr(&output));
    place.write("u.agent", "NAME  u\nGOAL g \"Say hello\"\nRUN m USING g\n");
    let unformatted = place.convoke(&["fmt", "--check", "u.agent"]);
    assert!(stderr(&unformatted).contains("`convoke fmt u.agent`"), "{}", stderr(&unformatted));
    let mut piped = assert_cmd::cargo::cargo_bin_cmd!("convoke");
    let piped = piped.args(["fmt", "--check", "-"]).write_stdin("NAME  u\n").output().unwrap();
    assert!(stderr(&piped).contains("`convoke fmt -`"), "{}", stderr(&piped));
}

#[test]
fn a_pack_or_a_graph_is_not_formatted_as_an_agentfile_and_that_is_all_that_is_said() {
    let place = Place::empty();
    place.write("a.graph.yaml", "name: a\nentry: b\nnodes: [{id: b, type: answer}]\n");
    place.write("a.pack.yaml", "id: a\nprompts: {}\ntemplate_engine: {}\n");
    for (file, kind) in [("a.graph.yaml", "graph"), ("a.pack.yaml", "pack")] {
        let output = place.convoke(&["fmt", file]);
        let told = format!("error: {file} is a {kind}; only Agentfiles are formatted\n");
        assert!(stderr(&output).starts_with(&told), "{}", stderr(&output));
        let document: serde_json::Value =
            serde_json::from_str(&stdout(&place.convoke(&["--json", "fmt", file]))).unwrap();
        assert!(document[0]["error"].as_str().unwrap().contains(kind), "{document}");
    }
}

#[test]
fn what_is_no_agentfile_is_said_once_whoever_reads_it() {
    let place = Place::empty();
    place.write(
        "swarm.yaml",
        "name: research\nagents:\n  - name: a\n    prompt: |\n      x\ntopology: mesh\n",
    );
    place.write("swarm.json", "{\"name\": \"research\", \"agents\": []}\n");
    place.write("program", "\u{7f}ELF\0\0\n");
    for (file, what) in [
        ("swarm.yaml", "this is the manifest of a swarm"),
        ("swarm.json", "this is JSON"),
        ("program", "this is not text"),
    ] {
        for command in ["validate", "fmt", "inspect", "run"] {
            let output = place.convoke(&[command, file]);
            let told = stderr(&output) + &stdout(&output);
            assert_eq!(output.status.code(), Some(1), "{command} {file}");
            assert!(told.contains(what) && told.matches("error[").count() == 1, "{command}: {told}");
        }
    }
}

#[test]
fn a_run_is_drawn_with_what_became_of_its_goals() {
    let place = Place::empty();
    place.write(
        "Agentfile",
        "NAME plan\nINPUT kind:bug|wish\nGOAL warn \"Warn\" WHEN $kind IS bug\nGOAL praise \"Praise\"\nRUN main USING warn, praise\n",
    );
    let run =
        place.convoke(&["run", "--id", "one", "-m", "scripted/rehearsal", "-i", "kind=wish", "--no-input"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let chart = stdout(&place.convoke(&["show", "one", "--format", "mermaid"]));
    assert!(chart.contains("n3[\"praise<br/>✓ "), "{chart}");
    assert!(chart.contains("class n2 untouched") && chart.contains("class n1,n3 done"), "{chart}");
    assert!(chart.contains("linkStyle 0,1 stroke-opacity"), "{chart}");
    let svg = stdout(&place.convoke(&["show", "one", "--format", "svg"]));
    assert!(svg.starts_with("<svg ") && svg.contains("<title>plan</title>"), "{svg}");
}
