//! Skills that agents take up, and packages, in `convoke run`.

use crate::place::{Place, stderr, stdout};

#[test]
fn a_skill_that_is_configured_is_taken_up_and_its_limits_hold() {
    let place = Place::empty();
    place.write("Agentfile", "NAME x\nGOAL tidy \"Tidy up\"\nRUN main USING tidy\n");
    place.write(
        "skills/sweeping/SKILL.md",
        "---\nname: sweeping\ndescription: How to sweep.\nallowed-tools: read\n---\nSweep the corners first.\n",
    );
    place.write("convoke.toml", "[skills]\npaths = [\"skills\"]\n");
    place.write(
        "script.toml",
        r#"
[[rule]]
when = { tool_result_of = "write" }
reply = "Swept."

[[rule]]
when = { tool_result_contains = "Sweep the corners first." }
reply = { tool_calls = [{ name = "write", arguments = { path = "x.txt", content = "x" } }] }

[[rule]]
when = { system_contains = "sweeping: How to sweep." }
reply = { tool_calls = [{ name = "use_skill", arguments = { name = "sweeping" } }] }
"#,
    );
    let output = place.convoke(&["run", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&output), "Swept.\n", "{}", stderr(&output));
    assert!(!place.path().join("x.txt").exists(), "the skill allows reading only");
}

#[test]
fn an_agent_made_of_a_skill_runs_the_commands_that_the_skill_allows_as_the_policy_reads_them() {
    let place = Place::empty();
    place.write(
        "Agentfile",
        "NAME x\nAGENT teller FROM history\nGOAL g \"Tell\" USING teller\nRUN main USING g\n",
    );
    place.write(
        "history/SKILL.md",
        "---\nname: history\ndescription: Knows.\nallowed-tools: Bash(git:*)\n---\nTell.\n",
    );
    place.write(
        "script.toml",
        r#"
[[rule]]
when = { tool_result_contains = "is not allowed" }
reply = "Told."

[[rule]]
when = { has_tool_result = true }
reply = { tool_calls = [{ name = "bash", arguments = { command = "git log; touch x.txt" } }] }

[[rule]]
reply = { tool_calls = [{ name = "bash", arguments = { command = "git status 'a b' && git branch" } }] }
"#,
    );
    let output = place.convoke(&["run", "-m", "scripted/script.toml"]);
    let seen = stderr(&output);
    assert_eq!(stdout(&output), "Told.\n", "{seen}");
    assert!(seen.contains("bash(\"command\":\"git status 'a b' && git branch\")"), "{seen}");
    assert_eq!(seen.matches("bash refused").count(), 1, "{seen}");
    assert!(!place.path().join("x.txt").exists(), "the skill allows git only");
}

#[test]
fn a_package_is_run_like_a_file() {
    let place = Place::empty();
    place.write(
        "plan/Agentfile",
        "NAME plan\nAGENT a FROM agents/a.md\nGOAL b \"Say\" USING a\nRUN main USING b\n",
    );
    place.write("plan/agents/a.md", "You are terse.");
    place.write("script.toml", "[[rule]]\nreply = \"Said.\"\n");
    let packed = place.convoke(&["pack", "plan", "-o", "plan.agent"]);
    assert!(packed.status.success(), "{}", stderr(&packed));
    std::fs::remove_dir_all(place.path().join("plan")).unwrap();
    let output = place.convoke(&["run", "plan.agent", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&output), "Said.\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("not signed"), "nobody vouches for it: {}", stderr(&output));
}

#[test]
fn a_folder_of_skills_that_is_not_there_is_said_with_the_one_that_was_meant() {
    let place = Place::empty();
    place.write("skills/review/SKILL.md", "---\nname: review\ndescription: Reviews.\n---\nReview it.\n");
    place.write("convoke.toml", "[skills]\npaths = [\"skils\"]\n");
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    for command in
        [&["validate", "b.agent"][..], &["run", "b.agent", "-m", "scripted/rehearsal"], &["doctor"]]
    {
        let told = stderr(&place.convoke(command));
        assert!(told.contains("there is no folder skils; did you mean skills?"), "{command:?}: {told}");
    }
    let named = place.convoke(&["validate", "b.agent", "--skills", "skils"]);
    assert_eq!(named.status.code(), Some(2));
    assert!(stderr(&named).contains("did you mean skills?"), "{}", stderr(&named));
    place.write("c.agent", "NAME c\nAGENT a FROM reveiw\nGOAL g \"Say hello\" USING a\nRUN m USING g\n");
    let misspelt = place.convoke(&["validate", "c.agent", "--skills", "skills"]);
    assert!(stderr(&misspelt).contains("FROM review"), "{}", stderr(&misspelt));
}
