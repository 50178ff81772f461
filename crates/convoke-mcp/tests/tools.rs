//! Tests of tools: names, descriptions, annotations, results.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use common::{Log, call, fake, started, told};
use convoke_core::{EventKind, Origin, Repeat, ToolEffect, ToolEffects};
use convoke_mcp::{McpError, McpServers, Protocol, ServerConfig, ServerStatus};
use serde_json::json;

#[tokio::test]
async fn agentcore_137_tools_are_offered_under_names_that_say_whose_they_are() {
    let servers = started([fake("srv1")]).await;
    let tools = servers.tools::<String>([]);
    let echo = tools.get("mcp_srv1_echo").unwrap();
    assert_eq!(echo.spec().definition.description, "[MCP:srv1] Says it again.");
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    assert_eq!(echo.spec().definition.parameters, schema);
    assert_eq!(tools.names().next(), Some("mcp_srv1_echo"), "in the server's order");
    servers.close().await;

    let servers = started([fake("srv1").args(["--only", "read_file"])]).await;
    let tools = servers.tools::<String>([]);
    assert_eq!(tools.names().collect::<Vec<_>>(), ["mcp_srv1_read_file"]);
    let described = &tools.get("mcp_srv1_read_file").unwrap().spec().definition.description;
    assert!(described.contains("[MCP:srv1]"), "{described}");
}

#[tokio::test]
async fn agentcore_138_the_server_gets_its_own_name_for_the_tool() {
    let log = Log::new();
    let servers = started([log.of(fake("srv1"))]).await;
    assert_eq!(call(&servers, "srv1", "hello", json!({})).await, ("hello world".into(), false));
    let asked = log.until_method("tools/call").await;
    assert_eq!(asked["params"]["name"], "hello");
    assert!(asked["params"]["_meta"]["convoke/idempotencyKey"].is_string(), "{asked}");
}

#[tokio::test]
async fn agentcore_139_141_names_are_looked_up_and_never_taken_apart() {
    let servers = started([fake("a_b").args(["--only", "c"]), fake("a").args(["--only", "b_c"])]).await;
    let table = servers.table(["read"]);
    let rows: Vec<(&str, &str)> = table.iter().map(|row| (row.server.as_str(), row.tool.as_str())).collect();
    assert_eq!(rows, [("a_b", "c"), ("a", "b_c")]);
    assert_eq!(table[0].exposed, "mcp_a_b_c");
    assert_ne!(table[1].exposed, table[0].exposed);
    let error = servers.tool("a", "c").await.err().unwrap();
    assert_eq!(error.to_string(), "MCP server `a` offers no tool `c`; it offers: b_c");
    let error = servers.tool("b", "c").await.err().unwrap();
    assert_eq!(error.to_string(), "there is no MCP server `b`; there are: a_b, a");
}

#[tokio::test]
async fn agentcore_141_each_name_leads_to_the_server_and_the_tool_it_was_made_of() {
    let (one, other) = (Log::new(), Log::new());
    let configs = [one.of(fake("a_b")).args(["--only", "c"]), other.of(fake("a")).args(["--only", "b_c"])];
    let servers = started(configs).await;
    let tools = servers.tools::<String>([]);
    let names: Vec<&str> = tools.names().collect();
    for (name, log, own_name) in [(names[0], &one, "c"), (names[1], &other, "b_c")] {
        let tool = tools.get(name).unwrap().clone();
        let workflow = convoke_core::Workflow::new(common::Calling { tool, arguments: json!({}) });
        let _ = convoke_core::Runtime::new().start(&workflow, None).await.unwrap();
        assert_eq!(log.until_method("tools/call").await["params"]["name"], own_name, "{name}");
        let calls = log.methods().into_iter().filter(|method| method == "tools/call").count();
        assert_eq!(calls, 1, "{name}");
    }
}

#[tokio::test]
async fn agent_076_an_underscore_belongs_to_the_server_or_to_the_tool_as_it_was_configured() {
    let log = Log::new();
    let underscored = log.of(fake("file_system")).args(["--only", "read_file"]);
    let servers = started([fake("filesystem").args(["--only", "read_file"]), underscored]).await;
    let table = servers.table::<String>([]);
    let whose = |exposed: &str| {
        let row = table.iter().find(|row| row.exposed == exposed).unwrap();
        (row.server.as_str(), row.tool.as_str())
    };
    assert_eq!(whose("mcp_filesystem_read_file"), ("filesystem", "read_file"));
    assert_eq!(whose("mcp_file_system_read_file"), ("file_system", "read_file"));
    call(&servers, "file_system", "read_file", json!({})).await;
    assert_eq!(log.until_method("tools/call").await["params"]["name"], "read_file");
}

#[tokio::test]
async fn a_built_in_tool_keeps_its_name() {
    let servers = started([fake("srv").args(["--only", "echo"])]).await;
    let names = |taken: &str| servers.tools([taken]).names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names("other"), ["mcp_srv_echo"]);
    let [name] = &names("mcp_srv_echo")[..] else { panic!("one tool") };
    assert!(name.starts_with("mcp_srv_echo_"), "{name}");
    assert_eq!(names("mcp_srv_echo"), std::slice::from_ref(name), "the same every time");
}

#[tokio::test]
async fn agentcore_139_142_a_failure_is_a_failure_and_a_refusal_says_why() {
    let servers = started([fake("srv")]).await;
    assert_eq!(call(&servers, "srv", "fail", json!({})).await, ("it broke".into(), true));
    let (content, failed) = call(&servers, "srv", "refuse", json!({})).await;
    assert_eq!(content, "MCP server `srv` refused `refuse`: not today (code -32602)");
    assert!(failed);
    let (content, failed) = call(&servers, "srv", "echo", json!({})).await;
    assert_eq!((content.as_str(), failed), ("invalid arguments: missing: text", true));
}

#[tokio::test]
async fn agentcore_140_results_say_where_they_come_from() {
    let servers = started([fake("srv")]).await;
    let tool = servers.tool("srv", "echo").await.unwrap();
    assert_eq!(tool.origin(&json!({})), Origin::Mcp("srv/echo".into()));
    assert_eq!(tool.origin(&json!({})).to_string(), "MCP tool `srv/echo`");
}

#[tokio::test]
async fn structured_content_and_pictures_come_as_text() {
    let servers = started([fake("srv")]).await;
    assert_eq!(call(&servers, "srv", "sum", json!({"a": 1, "b": 2})).await.0, r#"{"sum":3}"#);
    let (picture, _) = call(&servers, "srv", "picture", json!({})).await;
    assert_eq!(picture, "[image, image/png, 4 bytes: left out, because a tool's result is text]");
}

#[tokio::test]
async fn annotations_count_only_if_the_server_is_believed() {
    let servers = started([fake("believed").trust_annotations(), fake("doubted")]).await;
    let spec = async |server: &str, tool: &str| servers.tool(server, tool).await.unwrap().spec().clone();
    let echo = spec("believed", "echo").await;
    assert_eq!((echo.effects, echo.repeat), (ToolEffects::from(ToolEffect::Reads), Repeat::Safe));
    assert_eq!(spec("believed", "sum").await.repeat, Repeat::Safe);
    for (server, tool) in [("doubted", "echo"), ("believed", "hello")] {
        let spec = spec(server, tool).await;
        let worst = ToolEffects::from([ToolEffect::Network, ToolEffect::Irreversible]);
        assert_eq!((spec.effects, spec.repeat), (worst, Repeat::Never), "{server}/{tool}");
    }
}

#[tokio::test]
async fn every_page_of_a_list_is_turned() {
    let servers = started([fake("srv").args(["--pages"])]).await;
    let tools = servers.tools::<String>([]);
    assert_eq!(tools.len(), 18);
    assert!(tools.get("mcp_srv_spawn").is_some(), "the last one");
}

#[tokio::test]
async fn progress_is_told_as_events_of_the_call() {
    let servers = started([fake("srv")]).await;
    let (events, given) = told(&servers, "srv", "steps", json!({})).await;
    assert_eq!(given, ("done".into(), false));
    let progress: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Custom { name, value } if name == "mcp.progress" => {
                Some((event.path.to_string(), value.clone()))
            }
            _ => None,
        })
        .collect();
    let step = |number: i32| {
        let message = format!("step {number}");
        let value = json!({"server": "srv", "progress": f64::from(number), "total": 2.0, "message": message});
        ("calling/mcp_srv_steps".to_owned(), value)
    };
    assert_eq!(progress, [step(1), step(2)]);
}

#[tokio::test]
async fn agentcore_246_denied_tools_are_hidden_and_closed_servers_say_so() {
    let config = fake("srv").deny(["echo"]).allow(["echo", "hello", "nothing"]);
    let servers = McpServers::builder().server(config).server(fake("other")).start().await.unwrap();
    let names =
        |servers: &McpServers| servers.tools::<String>([]).names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(&servers)[0], "mcp_srv_hello");
    assert!(!names(&servers).contains(&"mcp_srv_echo".to_owned()));
    assert!(matches!(servers.tool("srv", "echo").await, Err(McpError::UnknownTool { .. })));
    assert_eq!(servers.warnings(), ["MCP server `srv` has no tool `nothing`, which its configuration names"]);

    let hello = convoke_core::Workflow::new(common::Calling {
        tool: servers.tool("srv", "hello").await.unwrap(),
        arguments: json!({}),
    });
    servers.disconnect("srv").await.unwrap();
    assert_eq!(servers.reports()[0].status, ServerStatus::Closed);
    assert!(names(&servers).iter().all(|name| name.starts_with("mcp_other_")));
    let given = convoke_core::Runtime::new().start(&hello, None).await.unwrap().completed().unwrap();
    assert_eq!(given, Some(("MCP server `srv` is closed".into(), true)));
    servers.close().await;
    assert_eq!(servers.reports()[1].status, ServerStatus::Closed);

    let twice = McpServers::builder().server(fake("srv")).server(fake("srv")).start().await;
    assert_eq!(
        twice.err().unwrap().to_string(),
        "there are two MCP servers called `srv`; rename one of them"
    );
}

#[tokio::test]
async fn one_broken_server_does_not_stop_the_others() {
    let servers = McpServers::builder()
        .server(ServerConfig::stdio("missing", "there-is-no-such-command"))
        .server(fake("dying").args(["--die-at-start"]).variable("SECRET", "${THE_KEY}"))
        .server(fake("hanging").args(["--hang"]).startup(std::time::Duration::from_millis(300)))
        .server(fake("keyless").variable("TOKEN", "${NOT_SET}"))
        .server(fake("good"))
        .variables(|name| match name {
            "THE_KEY" => Some("very-secret-value".into()),
            "PATH" => std::env::var(name).ok(),
            _ => None,
        })
        .start()
        .await
        .unwrap();
    let warnings = servers.warnings();
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
    assert!(warnings[0].contains("`there-is-no-such-command`"), "{}", warnings[0]);
    assert!(warnings[1].contains("It wrote: no such luck: (hidden)"), "{}", warnings[1]);
    assert!(warnings[2].contains("was not ready within 300ms"), "{}", warnings[2]);
    assert!(warnings[3].contains("the variable NOT_SET is not set, and `TOKEN` needs it"), "{}", warnings[3]);
    assert!(warnings.iter().all(|warning| warning.ends_with("Its tools are missing")));
    assert_eq!(call(&servers, "good", "echo", json!({"text": "hi"})).await.0, "hi");
}

#[tokio::test]
async fn a_server_sees_what_it_is_given_and_no_more() {
    let config = fake("srv").inherit("LENT").variable("GIVEN", "<${THE_KEY}>");
    let variables = |name: &str| match name {
        "PATH" => std::env::var(name).ok(),
        "HOME" => Some("/home/of/mine".to_owned()),
        "LENT" | "THE_KEY" | "OPENAI_API_KEY" => Some(format!("value of {name}")),
        _ => None,
    };
    let servers = McpServers::builder().server(config.clone()).variables(variables).start().await.unwrap();
    let env = async |name: &str| call(&servers, "srv", "env", json!({"name": name})).await.0;
    // It has them, and gives them back to nobody: neither to a model nor to the journal.
    assert_eq!(env("GIVEN").await, "(hidden)");
    assert_eq!(env("LENT").await, "(hidden)");
    assert_eq!(env("HOME").await, "/home/of/mine");
    assert_eq!(env("THE_KEY").await, "(not set)");
    let (names, _) = call(&servers, "srv", "names", json!({})).await;
    // What `python3` is here may add some of its own.
    assert!(
        !names.contains("OPENAI_API_KEY") && !names.contains("THE_KEY") && !names.contains("CARGO"),
        "{names}"
    );
    assert!(!format!("{config:?}").contains("THE_KEY"), "{config:?}");
}

#[tokio::test]
async fn both_revisions_are_spoken() {
    for (options, expected) in
        [(vec!["--stateless"], "2026-07-28"), (vec![], "2025-11-25"), (vec!["--hang-up"], "2025-11-25")]
    {
        let config = fake("srv").args(options.clone()).protocol(Protocol::Auto);
        let servers = started([config]).await;
        let ServerStatus::Ready { protocol, identity } = servers.reports()[0].status.clone() else {
            panic!("not ready")
        };
        assert_eq!((protocol.as_str(), identity.as_str()), (expected, "fake 1"), "{options:?}");
        assert_eq!(call(&servers, "srv", "echo", json!({"text": "hi"})).await.0, "hi", "{options:?}");
    }
}

#[tokio::test]
async fn changed_tools_are_there_for_whoever_begins_later() {
    for stateless in [false, true] {
        let options: &[&str] = if stateless { &["--stateless"] } else { &[] };
        let servers = started([fake("srv").args(options.iter().copied()).protocol(Protocol::Auto)]).await;
        let before = servers.tools::<String>([]);
        assert!(!servers.refresh().await);
        call(&servers, "srv", "grow", json!({})).await;
        if stateless {
            continue; // it tells only those who subscribe, which the small server does not know
        }
        while !servers.refresh().await {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(before.len(), 18, "those at work keep theirs");
        assert_eq!(servers.tools::<String>([]).len(), 19);
        assert_eq!(call(&servers, "srv", "new", json!({})).await.0, "new");
    }
}

#[tokio::test]
async fn resources_and_prompts_can_be_read_and_offered_as_tools() {
    let servers = started([fake("srv").resources().prompts()]).await;
    let resources = servers.resources("srv").await.unwrap();
    let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["note://one", "note://{name}"]);
    assert_eq!(servers.read_resource("srv", "note://one").await.unwrap(), "[resource note://one]\nthe note");
    let prompts = servers.prompts("srv").await.unwrap();
    assert_eq!((prompts[0].name.as_str(), prompts[0].arguments[0].required), ("greet", true));
    let arguments = json!({"who": "Ann"}).as_object().unwrap().clone();
    assert_eq!(servers.prompt("srv", "greet", arguments).await.unwrap(), "user: Greet Ann.");

    let (listed, _) = call(&servers, "srv", "list_resources", json!({})).await;
    assert!(listed.starts_with(r#"{"uri":"note://one","name":"one""#), "{listed}");
    let (read, _) = call(&servers, "srv", "read_resource", json!({"uri": "note://two"})).await;
    assert_eq!(read, "[resource note://two]\nthe note");
    let (prompt, _) =
        call(&servers, "srv", "get_prompt", json!({"name": "greet", "arguments": {"who": "Bo"}})).await;
    assert_eq!(prompt, "user: Greet Bo.");
    let (problem, failed) = call(&servers, "srv", "read_resource", json!({})).await;
    assert_eq!((problem.as_str(), failed), ("invalid arguments: missing: uri", true));
}
