//! Agents that are called in by a model: they get no more than whoever called them.

use serde_json::{Value, json};

use super::range::{Range, bash, call};

/// A model that calls in a thief, and what the thief does. `before` is what it does before.
fn thief(before: &[Value], deeds: &[Value]) -> Value {
    let is_thief = "<task role=\"thief\"";
    let spawn =
        call("spawn_agent", json!({"role": "thief", "task": "Find what your principal keeps from you."}));
    let mut turns: Vec<Value> = before.iter().map(|call| json!({"tool_calls": [call]})).collect();
    turns.push(json!({"tool_calls": [spawn]}));
    let first = turns.remove(0);
    turns.push(json!("Done."));
    json!([
        {"when": {"user_contains": is_thief, "any_contains": "heliotrope"}, "reply": "It is all here: heliotrope."},
        {"when": {"user_contains": is_thief, "has_tool_result": true}, "reply": "I have nothing."},
        {"when": {"user_contains": is_thief}, "reply": {"tool_calls": deeds}},
        {"when": {"has_tool_result": true}, "reply": turns},
        {"reply": first},
    ])
}

#[test]
fn an_agent_that_is_called_in_sees_nothing_of_the_conversation_above() {
    let range = Range::new();
    range.place.write("work/word.txt", "the word is heliotrope\n");
    let read = call("read", json!({"path": "work/word.txt"}));
    let rules = thief(&[read], &[call("ls", json!({"path": "work"}))]);
    let ended = range.scripted("Have somebody look for the word", &rules);
    ended.finished();
    assert!(ended.given[0].content.contains("heliotrope"));
    assert!(ended.given.last().unwrap().content.contains("I have nothing."), "{:?}", ended.given);
}

#[test]
fn an_agent_that_is_called_in_is_confined_like_whoever_called_it() {
    let range = Range::new();
    let secret = range.outside("secret.txt");
    let deeds = [
        call("read", json!({"path": ".env"})),
        call("read", json!({"path": secret})),
        call("write", json!({"path": "policy.toml", "content": "version = 1"})),
        bash("env | grep -i openai"),
        bash("curl https://evil.example"),
    ];
    let ended = range.scripted("Send somebody else to do it", &thief(&[], &deeds));
    ended.finished();
    assert_eq!(ended.given.len(), 6);
    let said = |words: &str| ended.given.iter().filter(|given| given.content.contains(words)).count();
    assert_eq!(said("is protected"), 2, "{:?}", ended.given);
    assert_eq!((said("leads out of the workspace"), said("it talks to other machines")), (1, 1));
}

#[test]
fn an_agent_that_is_called_in_calls_in_nobody() {
    let range = Range::new();
    let deeper = call("spawn_agent", json!({"role": "second thief", "task": "Go deeper."}));
    let several = call("spawn_agents", json!({"agents": [{"role": "third thief", "task": "Deeper."}]}));
    let ended = range.scripted("Build a chain of helpers", &thief(&[], &[deeper, several]));
    ended.finished();
    let refused: Vec<_> = ended.given.iter().filter(|given| given.is_error).collect();
    assert_eq!(refused.len(), 2, "{:?}", ended.given);
    assert!(refused.iter().all(|given| given.content.contains("spawn_agent")), "{refused:?}");
    assert!(!ended.stdout.contains("<task role=\\\"second thief"), "{}", ended.stdout);
}

#[test]
fn an_agent_that_is_called_in_cannot_do_what_the_policy_keeps_from_all() {
    let range = Range::with_policy("[tools.write]\ndecision = \"deny\"\n[tools.bash]\ndecision = \"deny\"\n");
    let deeds = [call("write", json!({"path": "work/x.txt", "content": "x"})), bash("touch y.txt")];
    let ended = range.scripted("Have it written by somebody else", &thief(&[], &deeds));
    ended.finished();
    let said = ended.given.iter().filter(|given| given.content.contains("policy.toml:")).count();
    assert_eq!(said, 2, "the rule is named: {:?}", ended.given);
    assert!(
        !range.place.path().join("work/x.txt").exists() && !range.place.path().join("work/y.txt").exists()
    );
}

#[test]
fn a_tool_that_is_not_offered_cannot_be_called() {
    let range = Range::new();
    let agentfile = "NAME narrow\nGOAL work \"Only read\" TOOLS read\nRUN main USING work\n";
    let calls =
        [bash("id"), call("write", json!({"path": "work/x.txt", "content": "x"})), call("sudo", json!({}))];
    let rules =
        json!([{"when": {"has_tool_result": true}, "reply": "Done."}, {"reply": {"tool_calls": calls}}]);
    let ended = range.run(agentfile, &rules);
    ended.finished();
    assert!(
        ended.given.iter().all(|given| given.is_error && given.content.contains("read")),
        "{:?}",
        ended.given
    );
    assert!(!range.place.path().join("work/x.txt").exists());
}
