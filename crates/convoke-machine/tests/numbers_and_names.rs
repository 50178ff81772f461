//! Numbers and names in packs: whole numbers however they are written, digits that are lost, and names that cannot be used.

mod packs;

use convoke_machine::finding::Finding;
use convoke_machine::pack::read;
use packs::{errors, findings, prompt, valid, with};
use serde_json::{Value, json};

/// A workflow of one state that others move on from, and its end.
fn waiting(orchestration: &str, event: &str) -> Value {
    json!({"version": 2, "entry": "w", "states": {
        "w": {"prompt_task": "chat", "orchestration": orchestration, "on_event": {event: "z"}},
        "z": {"prompt_task": "chat", "terminal": true}}})
}

#[track_caller]
fn only(pack: &Value) -> Finding {
    let mut found = findings(pack);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn a_whole_number_may_have_a_point() {
    let agent = json!({"id": "a", "kind": "agent", "prompt_task": "chat", "termination": {"max_steps": 2.0},
        "modifiers": {"retry": {"max_attempts": 3e0}}});
    let pack = valid(&with(&[
        ("/prompts/chat/parameters", json!({"max_tokens": 5.0, "top_k": 6.0})),
        ("/prompts/chat/tool_policy", json!({"max_rounds": 7.0})),
        (
            "/prompts/chat/variables",
            json!([{"name": "v", "type": "string", "required": true, "validation": {"min_length": 2.0}}]),
        ),
        (
            "/prompts/chat/validators",
            json!([{"type": "max_length", "enabled": true, "params": {"max_characters": 9.0}}]),
        ),
        ("/compositions", json!({"c": {"version": 1.0, "steps": [agent], "engine": {"concurrency": 2.0}}})),
        (
            "/workflow",
            json!({"version": 2.0, "entry": "s",
            "engine": {"budget": {"max_tool_calls": 4.0, "max_wall_time_sec": 1e2}},
            "states": {"s": {"prompt_task": "chat", "on_event": {"Done": "e"}, "max_visits": 2.0},
                "e": {"orchestration": "composition", "composition": "c", "terminal": true}}}),
        ),
    ]));
    let chat = &pack.model().prompts["chat"];
    assert_eq!((chat.parameters.max_tokens, chat.parameters.top_k), (Some(5), Some(6)));
    assert_eq!(chat.tool_policy.as_ref().unwrap().max_rounds, 7);
    assert_eq!(chat.variables[0].validation.min_length, Some(2));
    let workflow = pack.model().workflow.as_ref().unwrap();
    assert_eq!((workflow.version, workflow.states["s"].max_visits), (2, 2));
    let budget = pack.workflow().unwrap().budget();
    assert_eq!((budget.max_tool_calls, budget.max_wall_time_sec), (Some(4), Some(100)));
    let written = pack.document().at("/workflow/states/s/max_visits").unwrap().to_value();
    assert_eq!(written.to_string(), "2.0", "the document stays as it is");
}

#[test]
fn a_number_that_is_too_large_is_told_so_however_large_it_is() {
    for number in ["4294967296", "9223372036854775807", "9223372036854775808", "1e30"] {
        let mut workflow = waiting("external", "Done");
        workflow["states"]["w"]["max_visits"] = serde_json::from_str(number).unwrap();
        let said = findings(&with(&[("/workflow", workflow)]));
        assert!(
            said.iter().any(|finding| finding.message.contains("must be at most 4294967295")),
            "{said:#?}"
        );
    }
}

#[test]
fn a_number_with_more_digits_than_are_kept_is_warned_about_in_its_place() {
    let text = with(&[("/metadata", json!({"big": 1, "part": 2, "fine": 0.25}))]).to_string();
    let text = text.replace("\"big\":1", "\"big\":12345678901234567890123456789");
    let text = text.replace("\"part\":2", "\"part\":0.12345678901234567890123");
    let (pack, found) = read(&text);
    assert!(pack.is_some(), "{found:#?}");
    let said: Vec<_> = found.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    assert_eq!(said, [("inexact-number", "/metadata/big"), ("inexact-number", "/metadata/part")]);
    let place = found[0].place.clone().unwrap();
    assert_eq!(&text[place], "12345678901234567890123456789");
    let yaml = "x_big: 12345678901234567890123456789\n";
    let (_, found) = read(yaml);
    assert!(
        found.iter().any(|finding| finding.code == "inexact-number" && finding.path == "/x_big"),
        "{found:#?}"
    );
}

#[test]
fn a_tool_cannot_have_a_name_that_is_made_here() {
    for name in ["workflow__transition", "workflow__set_artifact", "a2a__chat", "skill__x"] {
        let tool = json!({(name): {"name": name, "description": "d"}});
        let found = only(&with(&[("/tools", tool)]));
        assert_eq!((found.code, found.is_error()), ("reserved-name", true), "{found:?}");
        assert_eq!(found.path, format!("/tools/{name}"));
    }
    valid(&with(&[("/tools", json!({"mcp__github__search": {"name": "s", "description": "d"}}))]));
}

#[test]
fn an_event_that_others_send_has_a_name_that_can_be_sent() {
    let long = "L".repeat(201);
    for event in ["", "convoke:cancel", "tool_results", "tool_results/a", &long] {
        for orchestration in ["external", "hybrid"] {
            let pack = with(&[("/workflow", waiting(orchestration, event))]);
            assert_eq!(errors(&pack), ["bad-event-name"], "{event} {orchestration}");
            let found = findings(&pack);
            let found = found.iter().find(|finding| finding.is_error()).unwrap();
            assert_eq!(&pack.to_string()[found.place.clone().unwrap()], format!("\"{event}\""));
            let event = event.replace('/', "~1");
            assert_eq!(found.path, format!("/workflow/states/w/on_event/{event}"));
        }
        valid(&with(&[("/workflow", waiting("internal", event))]));
    }
    valid(&with(&[("/workflow", waiting("external", "Approved"))]));
}

#[test]
fn an_undeclared_variable_is_told_where_it_is_used() {
    let mut chat = prompt("You talk.");
    chat["model_overrides"] = json!({
        "a/b": {"system_template": "You are {{who}}."},
        "small": {"system_template_suffix": "Be {{how}}."},
    });
    let found = findings(&with(&[("/prompts/chat", chat)]));
    let mut said: Vec<_> = found.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            ("undeclared-variable", "/prompts/chat/model_overrides/a~1b/system_template"),
            ("undeclared-variable", "/prompts/chat/model_overrides/small/system_template_suffix"),
        ]
    );
}

#[test]
fn a_state_that_an_agent_begins_in_can_be_reached() {
    let state = |more: Value| {
        let mut state = json!({"prompt_task": "chat"});
        state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        state
    };
    let mut pack = with(&[(
        "/workflow",
        json!({"version": 2, "entry": "a", "states": {
            "a": state(json!({"terminal": true})),
            "b": state(json!({"on_event": {"Go": "c"}})),
            "c": state(json!({"terminal": true})),
        }}),
    )]);
    let unreachable =
        |pack: &Value| findings(pack).iter().map(|finding| finding.path.clone()).collect::<Vec<_>>();
    assert_eq!(unreachable(&pack), ["/workflow/states/b", "/workflow/states/c"]);
    pack["agents"] = json!({"entry": "chat", "members": {"chat": {"state": "b"}}});
    assert_eq!(unreachable(&pack), [""; 0]);
}

#[test]
fn a_blocked_name_that_no_tool_of_the_prompt_has_is_told() {
    let mut pack = with(&[("/tools", json!({"delete": {"name": "delete", "description": "Deletes"}}))]);
    pack["prompts"]["chat"]["tools"] = json!(["delete", "read_*"]);
    pack["prompts"]["chat"]["tool_policy"] =
        json!({"blocklist": ["delte", "delete", "de*", "read_all", "*", "mcp__a__b"]});
    let found = only(&pack);
    assert_eq!((found.code, &*found.path), ("unknown-tool", "/prompts/chat/tool_policy/blocklist/0"));
    assert!(
        found.message.starts_with("`delte` is none of the prompt's tools") && !found.is_error(),
        "{found:?}"
    );
}

#[test]
fn a_long_composition_is_checked_in_time_that_grows_with_its_length() {
    let step = |index: usize| match index.checked_sub(1) {
        Some(before) => {
            json!({"id": format!("s{index}"), "kind": "prompt", "prompt_task": "chat", "input": format!("${{s{before}.output}}")})
        }
        None => json!({"id": "s0", "kind": "prompt", "prompt_task": "chat", "input": "${input}"}),
    };
    let steps: Vec<Value> = (0..4000).map(step).collect();
    let pack = with(&[("/compositions", json!({"long": {"version": 1, "steps": steps}}))]);
    let began = std::time::Instant::now();
    assert!(errors(&pack).is_empty());
    // It took half a minute where every name was compared with every other one.
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_number_that_would_be_wrong_in_quotes_too_is_not_to_be_put_in_quotes() {
    let found = |version: Value| only(&with(&[("/version", version)]));
    let short = found(json!(1.0));
    assert_eq!((short.code, short.help), ("wrong-type", None));
    assert!(short.message.contains("a text (write three numbers: 1.0.0,"), "{}", short.message);
    let id = only(&with(&[
        ("/prompts/chat/tool_policy", json!({"blocklist": [1]})),
        ("/prompts/chat/tools", json!(["*"])),
    ]));
    assert_eq!(id.help.as_deref(), Some("write \"1\", in quotes"));
}
