//! Graphs: what is wrong with them, what they are, and what becomes of runs of them.

use insta::assert_snapshot;
use serde_json::Value;

use crate::place::{Place, at_home, stderr, stdout};

const TRIAGE: &str = include_str!("../../../../examples/graphs/triage.graph.yaml");
const PROPOSAL: &str = include_str!("../../../../examples/graphs/proposal.graph.yaml");
const READER: &str = include_str!("../../../../examples/graphs/reader.graph.yaml");

fn place() -> Place {
    let place = Place::empty();
    place.write("triage.graph.yaml", TRIAGE);
    place.write("triage.toml", include_str!("../../../../examples/graphs/triage.toml"));
    place.write("proposal.graph.yaml", PROPOSAL);
    place.write("proposal.toml", include_str!("../../../../examples/graphs/proposal.toml"));
    place.write("reader.graph.yaml", READER);
    place.write("reader.toml", include_str!("../../../../examples/graphs/reader.toml"));
    place
}

#[test]
fn the_examples_are_valid_and_drawn() {
    let place = place();
    let valid = place.convoke(&["validate", "triage.graph.yaml", "proposal.graph.yaml", "reader.graph.yaml"]);
    assert!(valid.status.success() && !stderr(&valid).contains("warning"), "{}", stderr(&valid));
    assert_snapshot!("graph_inspect", place.seen(&["inspect", "reader.graph.yaml"]));
    assert_snapshot!("graph_mermaid", place.seen(&["inspect", "--format", "mermaid", "reader.graph.yaml"]));
    let json: Value =
        serde_json::from_slice(&place.convoke(&["--json", "inspect", "reader.graph.yaml"]).stdout).unwrap();
    assert_eq!(json["metadata"]["has_cycles"], true);
}

#[test]
fn everything_that_is_wrong_with_a_graph_is_said_in_its_place() {
    let place = Place::empty();
    let broken = READER
        .replace("max_count", "max_cuont")
        .replace("condition: tool_pending", "condition: tool_pending ==")
        .replace("{from: enough, to: out}", "{from: enough, to: uot}")
        .replace("type: template", "type: tempalte");
    place.write("reader.graph.yaml", broken);
    assert_snapshot!("graph_broken", place.seen(&["validate", "reader.graph.yaml"]));
    place.write("half.graph.json", "{\"name\": \"x\", \"nodes\": [");
    assert_eq!(place.convoke(&["validate", "half.graph.json"]).status.code(), Some(1));
}

#[test]
fn a_graph_is_recognised_by_what_is_in_it() {
    let place = Place::empty();
    place.write("flow.txt", TRIAGE);
    assert!(stdout(&place.convoke(&["validate", "flow.txt"])).contains("Valid"));
}

#[test]
fn a_graph_classifies_and_answers() {
    let place = place();
    let run = |query: &str| {
        let query = format!("query={query}");
        let done = place.convoke(&["run", "triage.graph.yaml", "-i", &query, "-m", "scripted/triage.toml"]);
        assert!(done.status.success(), "{}", stderr(&done));
        let told = stderr(&done);
        assert!(told.contains("node classify: begins") && told.contains("node classify: done"), "{told}");
        assert!(!told.contains("node out"), "what only computes is not told: {told}");
        stdout(&done).trim().to_owned()
    };
    assert_eq!(run("Where is my order?"), "It left our house this morning.");
    assert_eq!(
        run("It is broken."),
        "We are sorry. A new one is on its way.\nThis is urgent, so a person has been told."
    );
    assert_eq!(run("Hello."), "Thank you for writing to The Loom Shop. Somebody will read this soon.");
    let refused = place.convoke(&["run", "triage.graph.yaml", "-i", "qeury=x", "-m", "scripted/triage.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("did you mean `query`?"), "{}", stderr(&refused));
}

#[test]
fn a_graph_loops_over_tools_and_says_what_it_lacks() {
    let place = place();
    place.write("notes.md", "A folder about looms.\n");
    let done =
        place.convoke(&["run", "reader.graph.yaml", "-i", "query=What?", "-m", "scripted/reader.toml"]);
    assert_eq!(
        (done.status.code(), stdout(&done).trim()),
        (Some(0), "It is about looms."),
        "{}",
        stderr(&done)
    );
    let short =
        ["run", "reader.graph.yaml", "-i", "query=What?", "-i", "rounds=1", "-m", "scripted/reader.toml"];
    assert_eq!(stdout(&place.convoke(&short)).trim(), "It was not found in 1 rounds.");
    place.write("lacking.graph.yaml", READER.replace("[ls, read]", "[lss, read]"));
    let lacking =
        place.convoke(&["run", "lacking.graph.yaml", "-i", "query=x", "-m", "scripted/reader.toml"]);
    assert_eq!(lacking.status.code(), Some(1));
    assert!(stderr(&lacking).contains("node `think`: there is no tool `lss`"), "{}", stderr(&lacking));
}

#[test]
fn a_graph_waits_for_a_person_and_goes_on_in_another_process() {
    let place = place();
    let begun = place.convoke(&[
        "run",
        "proposal.graph.yaml",
        "-i",
        "idea=a library of tools",
        "-m",
        "scripted/proposal.toml",
        "--id",
        "tools",
        "--no-input",
    ]);
    assert_eq!(begun.status.code(), Some(5), "{}", stderr(&begun));
    assert!(stdout(&place.convoke(&["questions"])).contains("Is this proposal fit to be sent?"));
    let again = place.convoke(&["resume", "tools", "--no-input"]);
    assert_eq!(again.status.code(), Some(5), "nobody has answered");
    let revised = place.convoke(&["answer", "tools", "--revise", "Shorter, please.", "--resume"]);
    assert_eq!(revised.status.code(), Some(5), "{}", stderr(&revised));
    let done = place.convoke(&["answer", "tools", "--approve", "--resume"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stdout(&done).contains("a deposit and a fund for repairs"), "{}", stdout(&done));
    let shown = stdout(&place.convoke(&["show", "tools"]));
    for part in ["idea: a library of tools", "draft#2", "revise: Shorter, please.", "result    │ We propose"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let runs: Value = serde_json::from_slice(&place.convoke(&["--json", "runs"]).stdout).unwrap();
    let run = runs.as_array().map_or(&runs["runs"][0], |runs| &runs[0]);
    assert_eq!((run["status"].as_str(), run["workflow"].as_str()), (Some("completed"), Some("proposal")));
}

const NESTING: &str = r#"
name: nesting
entry: plan
inputs: [{name: tasks}]
nodes:
  - id: plan
    type: workflow
    config: {file: daily-plan.agent, inputs: {tasks: "${board.tasks}"}, output_key: plan}
  - id: shout
    type: workflow
    config: {file: inner.graph.yaml, inputs: {query: "${board.plan}"}}
  - {id: out, type: answer}
edges:
  - {from: plan, to: shout}
  - {from: shout, to: out}
"#;

#[test]
fn goals_and_graphs_run_within_a_graph_and_go_on_from_the_store_alone() {
    let place = Place::empty();
    place.write("nesting.graph.yaml", NESTING);
    place.write("daily-plan.agent", include_str!("../../../../examples/agentfiles/daily-plan.agent"));
    place.write("inner.graph.yaml", "name: inner\nentry: a\nnodes:\n  - {id: ask, type: approval, config: {prompt: Good?}}\n  - {id: a, type: answer, config: {template: '<{{.query}}>'}}\nedges:\n  - {from: a, to: ask}\n");
    let run = [
        "run",
        "nesting.graph.yaml",
        "-i",
        "tasks=mail",
        "-m",
        "scripted/rehearsal",
        "--id",
        "nest",
        "--no-input",
    ];
    let begun = place.convoke(&run);
    assert_eq!(begun.status.code(), Some(5), "{}", stderr(&begun));
    std::fs::remove_file(place.path().join("inner.graph.yaml")).unwrap();
    let done = place.convoke(&["answer", "nest", "--approve", "--resume"]);
    assert!(done.status.success() && stdout(&done).starts_with('<'), "{}\n{}", stdout(&done), stderr(&done));
}

#[test]
fn what_is_wrong_with_a_file_that_a_graph_runs_is_said() {
    let place = Place::empty();
    place.write("nesting.graph.yaml", NESTING);
    place.write("daily-plan.agent", "NAME\n");
    let itself =
        "name: inner\nentry: a\nnodes:\n  - {id: a, type: workflow, config: {file: inner.graph.yaml}}\n";
    place.write("inner.graph.yaml", itself);
    let seen = stderr(&place.convoke(&["validate", "nesting.graph.yaml"]));
    assert!(seen.contains("`daily-plan.agent` cannot be run as part of this graph"), "{seen}");
    let seen = stderr(&place.convoke(&["validate", "inner.graph.yaml"]));
    assert!(seen.contains("error[circular]") && seen.contains("inner.graph.yaml:4:"), "{seen}");
    assert!(seen.contains("without end: inner.graph.yaml → inner.graph.yaml"), "{seen}");
}

#[test]
fn graphs_that_run_each_other_in_a_circle_are_told_the_circle() {
    let place = Place::empty();
    for (name, next) in [("a", "b"), ("b", "c"), ("c", "b")] {
        let text = format!(
            "name: {name}\nentry: n\nnodes:\n  - {{id: n, type: workflow, config: {{file: {next}.graph.yaml}}}}\n"
        );
        place.write(&format!("{name}.graph.yaml"), &text);
    }
    for (file, circle) in [
        ("a", "b.graph.yaml → c.graph.yaml → b.graph.yaml"),
        ("b", "b.graph.yaml → c.graph.yaml → b.graph.yaml"),
        ("c", "c.graph.yaml → b.graph.yaml → c.graph.yaml"),
    ] {
        let seen = stderr(&place.convoke(&["validate", &format!("{file}.graph.yaml")]));
        assert!(seen.contains(&format!("these files would run each other without end: {circle}")), "{seen}");
        assert!(seen.contains("1 error") && !seen.contains("shows them"), "{seen}");
    }
}

#[test]
fn circles_through_files_of_other_kinds_are_told_as_circles_and_never_begun() {
    let place = Place::empty();
    let runs = |file: &str| {
        format!("name: g\nentry: n\nnodes:\n  - {{id: n, type: workflow, config: {{file: {file}}}}}\n")
    };
    let pack = |file: &str| {
        format!(
            "id: p\nname: p\nversion: 1.0.0\ntemplate_engine: {{version: v1, syntax: '{{{{variable}}}}'}}\n\
             prompts: {{p: {{id: p, name: p, version: 1.0.0, system_template: hi, tools: [t]}}}}\n\
             tools: {{t: {{name: t, description: t}}}}\nmetadata: {{convoke: {{workflows: {{t: {file}}}}}}}\n"
        )
    };
    place.write("a.graph.yaml", runs("sub/b.agent"));
    place.write("sub/b.agent", "NAME b\nGOAL x FROM c.graph.yaml\nRUN main USING x\n");
    place.write("sub/c.graph.yaml", runs("b.agent"));
    place.write("p.pack.yaml", pack("q.graph.yaml"));
    place.write("q.graph.yaml", runs("r.agent"));
    place.write("r.agent", "NAME r\nGOAL x FROM p.pack.yaml\nRUN main USING x\n");
    for (file, circle) in [
        ("a.graph.yaml", "sub/b.agent → sub/c.graph.yaml → sub/b.agent"),
        ("sub/b.agent", "b.agent → c.graph.yaml → b.agent"),
        ("sub/c.graph.yaml", "c.graph.yaml → b.agent → c.graph.yaml"),
        ("p.pack.yaml", "p.pack.yaml → q.graph.yaml → r.agent → p.pack.yaml"),
        ("q.graph.yaml", "q.graph.yaml → r.agent → p.pack.yaml → q.graph.yaml"),
        ("r.agent", "r.agent → p.pack.yaml → q.graph.yaml → r.agent"),
    ] {
        let seen = stderr(&place.convoke(&["validate", file]));
        let said = format!("error[circular]: these files would run each other without end: {circle}\n");
        assert!(seen.contains(&said) && seen.contains("1 error"), "{file}: {seen}");
        let begun = place.convoke(&["run", file, "-m", "scripted/rehearsal", "--no-input"]);
        assert!(!begun.status.success() && stderr(&begun).contains(&said), "{file}: {}", stderr(&begun));
    }
    assert!(stdout(&place.convoke(&["runs"])).is_empty(), "nothing was begun");
}

#[test]
fn files_that_a_graph_in_a_folder_names_are_beside_it() {
    let place = Place::empty();
    let runs = |file: &str| {
        format!(
            "name: g\nentry: n\nnodes:\n  - {{id: n, type: workflow, config: {{file: {file}, output_key: answer}}}}\n"
        )
    };
    place.write("outer.graph.yaml", runs("sub/inner.graph.yaml"));
    place.write("sub/inner.graph.yaml", runs("./say.graph.yaml"));
    let says = "name: say\nentry: a\nnodes:\n  - {id: a, type: answer, config: {template: 'Said.'}}\n";
    place.write("sub/say.graph.yaml", says);
    for file in ["sub/inner.graph.yaml", "outer.graph.yaml"] {
        let ran = place.convoke(&["run", file]);
        assert!(stdout(&ran).contains("Said."), "{file}: {}{}", stdout(&ran), stderr(&ran));
    }
}

#[test]
fn warnings_about_variables_are_said_beside_errors() {
    let place = Place::empty();
    let text = "name: g\nentry: a\nnodes:\n  - {id: a, type: template, config: {template: 'Hello {{.nmae}}'}}\n  \
        - {id: b, type: template, timeout: soon, config: {template: hi, output_key: answer}}\nedges:\n  \
        - {from: a, to: x}\n  - {from: a, to: b, condition: contry == 1}\n";
    place.write("g.graph.yaml", text);
    let seen = stderr(&place.convoke(&["validate", "g.graph.yaml"]));
    for said in [
        "error[unknown-node]",
        "error[invalid-duration]",
        "warning[unwritten-variable]: `{{.nmae}}` stays as it is",
        "warning[unwritten-variable]: no node writes `contry`",
        "2 errors and 2 warnings",
    ] {
        assert!(seen.contains(said), "{said}: {seen}");
    }
    // What the inputs or a node would be called cannot be known where it cannot be read.
    for broken in [
        text.replace("edges:", "inputs: {contry: {type: string}}\nedges:"),
        text.replace("timeout: soon", "retries: 1").replace("output_key: answer", "output_kye: contry"),
    ] {
        place.write("g.graph.yaml", broken);
        let seen = stderr(&place.convoke(&["validate", "g.graph.yaml"]));
        assert!(seen.contains("error[") && !seen.contains("unwritten-"), "{seen}");
    }
}

#[test]
fn everything_that_is_wrong_with_a_graph_is_said_in_one_call() {
    let place = Place::empty();
    let text = "name: g\nentry: nobody\ncolour: red\nnodes:\n  - {id: w, type: workflow, retries: 5000000000, config: {file: gone.agent}}\n  \
        - id: s\n    type: script\n    config:\n      source: |\n        const a = 1;\n        board.setVar('x', a +);\nedges:\n  \
        - {from: w, to: x}\n";
    place.write("g.graph.yaml", text);
    let seen = stderr(&place.convoke(&["validate", "g.graph.yaml"]));
    for said in [
        "error[unknown-entry]",
        "error[unknown-field]",
        "error[wrong-value]: this is more than there can be: 4294967295",
        "error[bad-workflow]: `gone.agent` cannot be run as part of this graph: there is no such file",
        "error[invalid-script]",
        "g.graph.yaml:11:9",
        "error[unknown-node]",
        "6 errors",
    ] {
        assert!(seen.contains(said), "{said}: {seen}");
    }
}

#[test]
fn a_memory_whose_name_has_a_line_break_is_refused_before_the_run_begins() {
    let place = Place::empty();
    place.write(
        "echo.graph.yaml",
        "name: echo\nentry: a\nnodes:\n  - {id: a, type: answer, config: {keys: [query]}}\n",
    );
    let refused = place.convoke(&["run", "echo.graph.yaml", "-i", "query=x", "-i", "memory=a\nb"]);
    let seen = stderr(&refused);
    assert!(!refused.status.success() && seen.contains("there is a line break in it"), "{seen}");
    assert!(stdout(&place.convoke(&["runs"])).is_empty(), "nothing was begun");
}

const CONFLICT: &str = "name: merge
entry: f
nodes:
  - {id: f, type: passthrough}
  - {id: a, type: assigner, config: {assignments: [{target: x, value: 1}]}}
  - {id: b, type: assigner, config: {assignments: [{target: x, value: 2}]}}
  - {id: j, type: passthrough}
edges: [{from: f, to: a}, {from: f, to: b}, {from: a, to: j}, {from: b, to: j}]
";

#[test]
fn a_join_that_failed_by_a_conflict_is_drawn_as_failed_and_the_hint_says_how_to_go_on() {
    let place = Place::empty();
    place.write("merge.graph.yaml", CONFLICT);
    let failed = stderr(&place.convoke(&["run", "merge.graph.yaml", "--id", "one"]));
    assert!(failed.contains("step `j` failed: branches conflict over variable `x`"), "{failed}");
    assert!(
        failed.contains("change the file, and go on with `convoke resume one --changed-file`"),
        "{failed}"
    );
    let chart = stdout(&place.convoke(&["show", "one", "--format", "mermaid"]));
    assert!(
        chart.contains("j<br/>passthrough<br/>✗ failed") && chart.contains("a<br/>assigner<br/>✓"),
        "{chart}"
    );
    place.write("merge.graph.yaml", CONFLICT.replace("nodes:", "merge: {x: sum}\nanswer_key: x\nnodes:"));
    let resumed = place.convoke(&["resume", "one", "--changed-file"]);
    assert!(resumed.status.success() && stdout(&resumed).trim() == "3", "{}", stderr(&resumed));
}

const WITHDRAWN: &str = "name: withdrawn
entry: f
nodes:
  - {id: f, type: passthrough}
  - {id: a, type: approval, config: {prompt: A?}}
  - {id: b, type: approval, config: {prompt: B?}}
  - {id: q, type: script, config: {source: throw new Error('x')}}
  - {id: j, type: passthrough}
edges: [{from: f, to: a}, {from: f, to: b}, {from: a, to: q}, {from: q, to: j}, {from: b, to: j}]
";

#[test]
fn an_approval_that_was_withdrawn_is_not_drawn_as_done() {
    let place = Place::empty();
    place.write("withdrawn.graph.yaml", WITHDRAWN);
    let asked = stderr(&place.convoke(&["run", "withdrawn.graph.yaml", "--id", "one", "--no-input"]));
    let (_, of_a) = asked.split_once("A?\n    convoke answer one ").unwrap_or_else(|| panic!("{asked}"));
    let question = of_a.split(' ').next().unwrap();
    place.convoke(&["answer", "one", question, "--approve", "--resume"]);
    let chart = stdout(&place.convoke(&["show", "one", "--format", "mermaid"]));
    assert!(chart.contains("a<br/>approval<br/>✓") && chart.contains("q<br/>script<br/>✗ failed"), "{chart}");
    assert!(chart.contains("b<br/>approval<br/>not finished"), "{chart}");
}

#[test]
fn a_node_searches_the_knowledge_of_the_project_and_the_run_is_drawn() {
    let place = Place::empty();
    place.write("docs/leave.md", "Everybody has thirty days of leave a year.\n");
    place.write("flow.graph.yaml", KNOWING);
    let run = ["run", "flow.graph.yaml", "-i", "query=days of leave"];
    let missing = place.convoke(&run);
    let seen = stderr(&missing);
    assert!(
        !missing.status.success() && seen.contains("`convoke knowledge add handbook PATH` makes it"),
        "{seen}"
    );
    assert!(stdout(&place.convoke(&["runs"])).is_empty(), "nothing was begun");
    assert!(place.convoke(&["knowledge", "add", "handbook", "docs"]).status.success());
    let found = place.convoke(&run);
    assert!(stdout(&found).contains("thirty days of leave"), "{}{}", stdout(&found), stderr(&found));
    let drawn = stdout(&place.convoke(&["show", "last", "--format", "mermaid"]));
    assert!(drawn.contains("look") && drawn.contains("knowledge"), "{drawn}");
    // What was found is on record: nothing is searched to tell it again.
    assert!(place.convoke(&["knowledge", "remove", "handbook"]).status.success());
    let told = place.convoke(&["replay", "last"]);
    assert!(told.status.success() && stdout(&told).contains("thirty days"), "{}", stderr(&told));
}

#[test]
fn a_node_that_names_no_collection_where_there_are_several_is_refused_before_the_run_begins() {
    let place = Place::empty();
    place.write("docs/leave.md", "Everybody has thirty days of leave a year.\n");
    place.write("flow.graph.yaml", KNOWING.replace("dataset: handbook, ", ""));
    place.write("later.graph.yaml", ASKING);
    assert!(place.convoke(&["knowledge", "add", "handbook", "docs"]).status.success());
    let run = ["run", "flow.graph.yaml", "-i", "query=days of leave"];
    assert!(stdout(&place.convoke(&run)).contains("thirty days"));
    let later = ["run", "later.graph.yaml", "-i", "query=days of leave", "--id", "later", "--no-input"];
    assert_eq!(place.convoke(&later).status.code(), Some(5));
    assert!(place.convoke(&["knowledge", "add", "laws", "docs"]).status.success());
    let refused = place.convoke(&[&run[..], &["--id", "refused"]].concat());
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("name one of them as `dataset`: handbook, laws"),
        "{}",
        stderr(&refused)
    );
    assert!(!stdout(&place.convoke(&["runs"])).contains("refused"), "nothing was begun");
    // What was found when there was but one is on record.
    let done = place.convoke(&["answer", "later", "--approve", "--resume"]);
    assert!(stdout(&done).contains("thirty days"), "{}{}", stdout(&done), stderr(&done));
}

const ASKING: &str = "name: asking
entry: look
inputs: [{name: query, description: What to look up}]
nodes:
  - {id: look, type: knowledge, config: {output_key: found}}
  - {id: ask, type: approval}
  - {id: out, type: answer, config: {keys: [found]}}
edges:
  - {from: look, to: ask}
  - {from: ask, to: out}
";

const KNOWING: &str = "name: knowing
entry: look
inputs: [{name: query, description: What to look up}]
nodes:
  - {id: look, type: knowledge, config: {dataset: handbook, top_k: 1, output_key: found}}
  - {id: say, type: template, config: {template: 'It says: {{.found}}', output_key: said}}
  - {id: out, type: answer, config: {keys: [said]}}
edges:
  - {from: look, to: say}
  - {from: say, to: out}
  - {from: out, to: __end__}
";

#[test]
fn a_run_is_drawn_with_the_edges_it_took_wherever_it_is() {
    let place = place();
    let run = ["run", "proposal.graph.yaml", "-i", "idea=a library of tools", "-m", "scripted/proposal.toml"];
    place.convoke(&[&run[..], &["--id", "tools", "--no-input"]].concat());
    place.convoke(&["answer", "tools", "--revise", "Shorter, please.", "--resume"]);
    assert_snapshot!("graph_waits", drawn(&place, "tools"));
    place.convoke(&["answer", "tools", "--approve", "--resume"]);
    assert_snapshot!("graph_done", drawn(&place, "tools"));
    assert!(place.convoke(&["replay", "tools", "--html", "tools.html"]).status.success());
    let page = std::fs::read_to_string(place.path().join("tools.html")).unwrap();
    assert!(page.contains("<img src=\"data:image/svg+xml;base64,"));
    let svg = stdout(&place.convoke(&["show", "tools", "--format", "svg"]));
    let arrows = |class: &str| svg.matches(&format!("class=\"dg-arrow {class}\"")).count();
    assert_eq!((arrows("dg-taken"), arrows("dg-untouched")), (12, 3), "{svg}");
}

/// The flow chart of a run. How long things took is not the same every time.
fn drawn(place: &Place, run: &str) -> String {
    let chart = stdout(&place.convoke(&["show", run, "--format", "mermaid"]));
    let lines = chart.lines().map(|line| {
        let Some((before, note)) = line.split_once('✓') else { return line.to_owned() };
        let end = note.find('"').unwrap_or(note.len());
        let facts = note[..end].trim().split(", ").filter(|fact| fact.ends_with("times"));
        format!(
            "{before}✓{}{}",
            facts.map(|fact| format!(" {fact}")).collect::<Vec<_>>().concat(),
            &note[end..]
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_policy_that_rules_fetching_out_is_named_with_what_to_write() {
    let place = Place::empty();
    place.write(
        "page.graph.yaml",
        "name: page\nentry: get\nnodes:\n  - {id: get, type: http, config: {url: 'https://example.com'}}\n  - {id: out, type: answer, config: {keys: [http_response]}}\nedges:\n  - {from: get, to: out}\n",
    );
    let refused = at_home(&place, &[], &["run", "page.graph.yaml"]);
    let seen = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1), "{seen}");
    assert!(seen.contains("node `get`: there is no `web_fetch` here: the policy rules it out"), "{seen}");
    assert!(seen.contains("tools.web_fetch.decision = \"ask\""), "{seen}");
}

#[test]
fn a_run_that_is_done_asks_nobody_about_a_command_that_another_branch_ended() {
    let place = Place::empty();
    place.write(
        "race.graph.yaml",
        "name: race\nentry: start\nnodes:\n\
         - {id: start, type: passthrough}\n\
         - {id: quick, type: tool, config: {tool: bash, arguments: {command: sleep 1}, output_key: a}, cancels: [slow]}\n\
         - {id: slow, type: tool, config: {tool: bash, arguments: {command: sleep 30}, output_key: b}}\n\
         - {id: join, type: answer}\n\
         edges:\n\
         - {from: start, to: quick}\n- {from: start, to: slow}\n\
         - {from: quick, to: join}\n- {from: slow, to: join}\n",
    );
    let ran = place.convoke(&["run", "race.graph.yaml", "--id", "race-1", "--no-input"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let shown = stdout(&place.convoke(&["show", "race-1"]));
    assert!(shown.contains("it may have acted; the run went on without it, and is done"), "{shown}");
    assert!(!shown.contains("when the run is resumed"), "{shown}");
}

#[test]
fn what_another_branch_ended_is_drawn_and_shown_as_that() {
    let place = Place::empty();
    place.write(
        "race.graph.yaml",
        "name: race\nentry: start\nnodes:\n\
         - {id: start, type: passthrough}\n\
         - {id: quick, type: llm, config: {prompt: Quick}, cancels: [slow, late]}\n\
         - {id: slow, type: llm, config: {prompt: Slow}}\n\
         - {id: late, type: approval, config: {prompt: Fine?}}\n\
         - {id: join, type: answer}\n\
         edges:\n\
         - {from: start, to: quick}\n- {from: start, to: slow}\n- {from: start, to: late}\n\
         - {from: quick, to: join}\n- {from: slow, to: join}\n- {from: late, to: join}\n\
         - {from: join, to: __end__}\n",
    );
    place.write(
        "race.toml",
        "[[rule]]\nwhen.last_contains = \"Slow\"\nhangs = true\n\n[[rule]]\nreply = \"Done.\"\ndelay = \"300ms\"\n",
    );
    let ran = place.convoke(&[
        "run",
        "race.graph.yaml",
        "-m",
        "scripted/race.toml",
        "--id",
        "race-1",
        "--no-input",
    ]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let shown = stdout(&place.convoke(&["show", "race-1"]));
    assert_eq!(shown.matches("ended: `quick` was done first").count(), 2, "{shown}");
    assert!(!shown.contains("anew") && !shown.contains("no longer asked"), "{shown}");
    let chart = stdout(&place.convoke(&["show", "race-1", "--format", "mermaid"]));
    assert!(chart.contains("ended: #96;quick#96; was done first"), "{chart}");
    assert!(chart.contains("class n3,n4 cancelled"), "{chart}");
}

/// Two arms that a model answers in, with a rule for what both write; and a guard within a loop.
const MERGED: &str = "name: merged
entry: start
merge: {response: last, usage: last}
nodes:
  - {id: start, type: passthrough}
  - {id: one, type: llm, config: {system_prompt: Say it, prompt: One}}
  - {id: two, type: llm, config: {system_prompt: Say it, prompt: Two}}
  - {id: out, type: answer}
edges:
  - {from: start, to: one}
  - {from: start, to: two}
  - {from: one, to: out}
  - {from: two, to: out}
  - {from: out, to: __end__}
";

const COUNTED: &str = "name: counted
entry: start
nodes:
  - {id: start, type: passthrough}
  - {id: work, type: assigner, config: {assignments: [{target: worked, expression: '(worked ?? 0) + 1'}]}}
  - {id: inner, type: loopguard, config: {max_count: 2}}
  - {id: outer, type: loopguard, config: {max_count: 2}}
  - {id: out, type: answer, config: {keys: [worked]}}
edges:
  - {from: start, to: work}
  - {from: work, to: inner}
  - {from: inner, to: work, condition: not loop_count_exceeded}
  - {from: inner, to: outer}
  - {from: outer, to: start, condition: not loop_count_exceeded}
  - {from: outer, to: out}
";

#[test]
fn a_run_that_keeps_its_rules_is_drawn_with_the_edges_it_took() {
    let place = place();
    place.write("merged.graph.yaml", MERGED);
    place.write("counted.graph.yaml", COUNTED);
    place.write("said.toml", "[[rule]]\nwhen.system_contains = \"Say it\"\nreply = \"Done.\"\n");
    for (graph, edges) in [("merged", "0,1,2,3,4,5"), ("counted", "0,1,2,3,4,5,6")] {
        let file = format!("{graph}.graph.yaml");
        let ran = place.convoke(&["run", &file, "--id", graph, "-m", "scripted/said.toml"]);
        assert!(ran.status.success(), "{}", stderr(&ran));
        let chart = stdout(&place.convoke(&["show", graph, "--format", "mermaid"]));
        assert!(chart.contains(&format!("linkStyle {edges} stroke:")), "{chart}");
    }
}

#[test]
fn of_a_finished_run_whose_nodes_only_compute_nothing_is_still_to_come() {
    let place = place();
    let nodes = "nodes:\n  - {id: hello, type: template, config: {template: Hello, output_key: answer}}\n";
    place.write("greet.graph.yaml", format!("name: greet\nentry: hello\n{nodes}"));
    assert_eq!(stdout(&place.convoke(&["run", "greet.graph.yaml", "--id", "greet"])).trim(), "Hello");
    let shown = stdout(&place.convoke(&["show", "greet"]));
    assert!(
        shown.contains("it called, asked and waited for nothing; what only computes is not listed"),
        "{shown}"
    );
}
