//! What a run keeps of tools: the descriptions of those that its goals can call, and of no others.

use convoke_core::RunId;
use serde_json::Value;

use crate::place::{Place, stderr, stdout, wait};

const REHEARSED: [&str; 6] = ["run", "-m", "scripted/script.toml", "--id", "work-1", "-q"];

fn place(agentfile: &str) -> Place {
    let place = Place::empty();
    place.write("Agentfile", agentfile);
    place.write("note.txt", "tea at ten");
    place.write(
        "script.toml",
        "[[rule]]\nwhen = { offers_tool = \"read\", has_tool_result = false }\n\
         reply = { tool_calls = [{ name = \"read\", arguments = { path = \"note.txt\" } }] }\n\n\
         [[rule]]\nwhen.tool_result_contains = \"tea at ten\"\nreply = \"It says tea.\"\n\n\
         [[rule]]\nfits = true\n",
    );
    place
}

/// The names of the tools that the run's record describes.
fn kept(place: &Place) -> Vec<String> {
    let run: RunId = "work-1".parse().unwrap();
    let record = wait(place.store().run(&run)).unwrap().unwrap();
    let host: Value = serde_json::to_value(&record.launch.host).unwrap();
    let tools = host["agentfile"]["tools"].as_array().unwrap_or_else(|| panic!("{host}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_keeps_the_descriptions_of_tools_that_its_goals_can_call() {
    let work =
        "NAME work\nGOAL look \"Look\" TOOLS read\nGOAL say \"Say\" TOOLS none\nRUN main USING look, say\n";
    for (agentfile, tools) in
        [(work.to_owned(), vec!["read"]), (work.replace("TOOLS read", "TOOLS none"), vec![])]
    {
        let place = place(&agentfile);
        let output = place.convoke(&REHEARSED);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(kept(&place), tools);
    }
    let place = place("NAME work\nGOAL say \"Say\"\nRUN main USING say\n");
    place.convoke(&REHEARSED);
    assert!(kept(&place).len() > 10, "where nothing is said of tools, all may be called: {:?}", kept(&place));
}

#[test]
fn a_changed_file_may_take_tools_that_the_run_did_not_have() {
    let before = "NAME work\nTOOLS none\nGOAL sign \"Sign\" SUPERVISED HUMAN\nGOAL look \"Look\"\nRUN main USING sign, look\n";
    let place = place(before);
    assert_eq!(place.convoke(&REHEARSED).status.code(), Some(5));
    assert!(kept(&place).is_empty());
    place.convoke(&["answer", "work-1", "--approve"]);
    place.write(
        "Agentfile",
        before
            .replace("\"Look\"", "\"Look\" TOOLS read")
            .replace("TOOLS none\n", "")
            .replace("SUPERVISED HUMAN", "TOOLS none SUPERVISED HUMAN"),
    );
    let done = place.convoke(&["resume", "work-1", "--changed-file", "-q"]);
    assert_eq!(stdout(&done), "It says tea.\n", "{}", stderr(&done));
    assert_eq!(kept(&place), ["read"]);
}
