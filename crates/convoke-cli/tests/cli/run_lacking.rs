//! Runs that are done and lack something: the result says so, to people and to programs.

use serde_json::json;

use crate::place::{Place, stderr, stdout};
use crate::workshop::document;

fn place(agentfile: &str, script: &str) -> Place {
    let place = Place::empty();
    place.write("Agentfile", agentfile);
    place.write("script.toml", script);
    place
}

#[test]
fn an_output_that_never_came_is_named_in_the_result_and_said_although_nothing_else_is() {
    let place = place(
        "NAME x\nTOOLS none\nGOAL pick \"Pick\" -> choice:int, reason\nRUN main USING pick\n",
        "[[rule]]\nreply = \"I cannot decide.\"\n",
    );
    let ran = place.convoke(&["run", "--quiet", "--output", "json", "-m", "scripted/script.toml"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(document(&ran)["missing"], json!({"pick": ["choice", "reason"]}));
    let said = "`pick` answered without `choice`, `reason`, which it was to give";
    assert!(stderr(&ran).contains(said), "{}", stderr(&ran));
}

#[test]
fn a_limit_that_was_the_end_of_a_goal_is_named_in_the_result() {
    let script = "[[rule]]\nwhen.offers_tools = false\nreply = \"What I have.\"\n\n\
        [[rule]]\nreply = { tool_calls = [{ name = \"ls\", arguments = { path = \".\" } }] }\n";
    let place = place("NAME x\nGOAL dig \"Dig\" TOOLS ls, glob\nRUN main USING dig\n", script);
    place.write("convoke.toml", "[budgets]\nturns_per_goal = 2\n");
    let ran = place.convoke(&["run", "--quiet", "--output", "json", "-m", "scripted/script.toml"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let reason = "it reached its limit of 2 turns";
    assert_eq!(document(&ran)["cut_short"], json!({"dig": reason}));
    assert!(stderr(&ran).contains(&format!("`dig` was cut short: {reason}")), "{}", stderr(&ran));
}

#[test]
fn a_goal_whose_tools_a_budget_took_away_is_named_in_the_result_and_no_other_is() {
    let place = place(
        "NAME f\nGOAL one \"write one\"\nGOAL two \"write two\"\nRUN main USING one, two\n",
        r#"
[[rule]]
when = { tool_result_of = "write" }
reply = "written"

[[rule]]
when = { offers_tool = "write", user_contains = "write one" }
tool_calls = [{ name = "write", arguments = { path = "one.txt", content = "1" } }]

[[rule]]
when = { offers_tool = "write" }
tool_calls = [{ name = "write", arguments = { path = "two.txt", content = "2" } }]

[[rule]]
reply = "two.txt"
"#,
    );
    for budget in ["3 calls", "3 turns", "1 tool-calls"] {
        let arguments = ["--quiet", "--output", "json", "-m", "scripted/script.toml", "--budget", budget];
        let ran = place.convoke(&[&["run"], &arguments[..]].concat());
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let reason = "what it may use was used up";
        assert_eq!(document(&ran)["cut_short"], json!({"two": reason}), "{budget}");
        assert!(stderr(&ran).contains(&format!("`two` was cut short: {reason}")), "{}", stderr(&ran));
    }
}

#[test]
fn a_goal_that_had_no_answer_at_its_limit_of_turns_names_the_key_that_allows_more() {
    let script = |last: &str| {
        format!(
            "[[rule]]\nwhen.offers_tools = false\nreply = \"{last}\"\n\n\
             [[rule]]\nreply = {{ tool_calls = [{{ name = \"ls\", arguments = {{ path = \".\" }} }}] }}\n"
        )
    };
    let place = place("NAME x\nGOAL dig \"Dig\" TOOLS ls, glob\nRUN main USING dig\n", &script(" "));
    place.write("convoke.toml", "[budgets]\nturns_per_goal = 2\n");
    let ran = place.convoke(&["run", "-m", "scripted/script.toml", "--id", "x-1"]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("raise `budgets.turns_per_goal` in convoke.toml"), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("`convoke resume x-1`"), "{}", stderr(&ran));
    place.write("convoke.toml", "[budgets]\nturns_per_goal = 3\n");
    place.write("script.toml", script("Dug."));
    assert_eq!(place.convoke(&["resume", "x-1"]).status.code(), Some(0));
}

#[test]
fn answers_that_were_not_put_together_are_put_together_by_another_model() {
    let script = |last: &str| {
        format!(
            "[[rule]]\nwhen.system_contains = \"answers of several agents\"\nreply = {last}\n\n[[rule]]\nreply = \"Mine.\"\n"
        )
    };
    let agentfile = "NAME x\nTOOLS none\nAGENT one \"Be one\"\nAGENT two \"Be two\"\n\
                     GOAL a \"Go\" USING one, two\nRUN main USING a\n";
    let place = place(agentfile, &script("{ tool_calls = [{ name = \"ls\", arguments = {} }] }"));
    place.write("other.toml", script("\"Together.\""));
    let ran = place.convoke(&["run", "-m", "scripted/script.toml", "--id", "x-1"]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("could not be put together: the model called a tool"), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("`convoke resume x-1 --model NAME`"), "{}", stderr(&ran));
    assert!(!stderr(&ran).contains("turns_per_goal"), "{}", stderr(&ran));
    let ran = place.convoke(&["resume", "x-1", "--model", "scripted/other.toml"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(stdout(&ran).contains("Together."), "{}", stdout(&ran));
}

#[test]
fn an_agent_of_a_graph_that_was_cut_short_is_named_in_the_result_also_within_another_graph() {
    let script = "[[rule]]\nwhen.offers_tools = false\nreply = \"I could not finish.\"\n\n\
        [[rule]]\nreply = { tool_calls = [{ name = \"ls\", arguments = { path = \".\" } }] }\n";
    let place = place("", script);
    let dig = "{id: dig, type: agent, config: {prompt: go, tool_names: [ls], max_turns: 2}}";
    place.write(
        "flow.graph.yaml",
        format!(
            "name: flow\nentry: inner\ngraphs:\n  below: {{name: below, entry: dig, nodes: [{dig}]}}\n\
             nodes:\n  - {{id: inner, type: graph, config: {{graph: below}}}}\n  - {dig}\n  - {{id: out, type: answer}}\n\
             edges: [{{from: inner, to: dig}}, {{from: dig, to: out}}]\n"
        ),
    );
    let run = ["run", "flow.graph.yaml", "--quiet", "--output", "json", "-m", "scripted/script.toml"];
    let ran = place.convoke(&run);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let reason = "it reached its limit of 2 turns";
    assert_eq!(document(&ran)["cut_short"], json!({"dig": reason, "inner/dig": reason}));
    assert!(stderr(&ran).contains(&format!("`inner/dig` was cut short: {reason}")), "{}", stderr(&ran));
    place.write("one.graph.yaml", format!("name: one\nentry: dig\nnodes:\n  - {dig}\n"));
    let ran = place.convoke(&[
        "run",
        "one.graph.yaml",
        "--quiet",
        "--output",
        "json",
        "-m",
        "scripted/script.toml",
        "--budget",
        "1 calls",
    ]);
    assert_eq!(
        document(&ran)["cut_short"],
        json!({"dig": "what it may use was used up"}),
        "{}",
        stderr(&ran)
    );
}

#[test]
fn what_cut_a_file_short_that_a_graph_runs_is_named_in_the_result() {
    let script = "[[rule]]\nwhen.offers_tools = false\nreply = \"I could not finish.\"\n\n\
        [[rule]]\nreply = { tool_calls = [{ name = \"ls\", arguments = { path = \".\" } }] }\n";
    let place = place("", script);
    place.write("x.agent", "NAME deep\nGOAL dig \"Dig\"\nRUN main USING dig\n");
    place.write("convoke.toml", "[budgets]\nturns_per_goal = 2\n");
    place.write(
        "inner.graph.yaml",
        "name: inner\nentry: run\nnodes:\n  - {id: run, type: workflow, config: {file: x.agent}}\n",
    );
    place.write(
        "flow.graph.yaml",
        "name: flow\nentry: file\nnodes:\n  - {id: file, type: workflow, config: {file: x.agent}}\n  \
         - {id: more, type: workflow, config: {file: inner.graph.yaml, output_key: answer}}\n\
         edges: [{from: file, to: more}]\n",
    );
    let ran = place.convoke(&[
        "run",
        "flow.graph.yaml",
        "--quiet",
        "--output",
        "json",
        "-m",
        "scripted/script.toml",
    ]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let reason = "it reached its limit of 2 turns";
    assert_eq!(document(&ran)["cut_short"], json!({"file/dig": reason, "more/run/dig": reason}));
    assert!(stderr(&ran).contains(&format!("`file/dig` was cut short: {reason}")), "{}", stderr(&ran));
}
