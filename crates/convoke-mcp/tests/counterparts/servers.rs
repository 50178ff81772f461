//! Reference servers: what they offer, one call each, and the odd things only one of them does.

use convoke_core::{Answer, EventKind, Repeat};
use convoke_mcp::{McpServers, Protocol, ServerConfig, ServerStatus};
use serde_json::{Value, json};

use crate::common::{Person, call, call_in, told};
use crate::{counterparts, path};

fn server(place: &std::path::Path, name: &str) -> ServerConfig {
    let command = place.join("node_modules/.bin").join(format!("mcp-server-{name}"));
    ServerConfig::stdio(name, command.to_str().unwrap()).variable("PATH", path(place))
}

async fn started(config: ServerConfig) -> McpServers {
    let servers = McpServers::builder().server(config).start().await.unwrap();
    assert_eq!(servers.warnings(), Vec::<String>::new());
    servers
}

fn protocol(servers: &McpServers) -> String {
    let ServerStatus::Ready { protocol, .. } = servers.reports()[0].status.clone() else {
        panic!("not ready")
    };
    protocol
}

#[tokio::test]
async fn everything() {
    let Some(place) = counterparts() else { return };
    let servers = started(server(&place, "everything").args(["stdio"]).trust_annotations()).await;
    assert_eq!(protocol(&servers), "2025-11-25");
    assert!(servers.tools::<String>([]).len() >= 13, "{:?}", servers.tools::<String>([]));
    assert_eq!(call(&servers, "everything", "echo", json!({"message": "hi"})).await.0, "Echo: hi");
    let (sum, _) = call(&servers, "everything", "get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    let (image, _) = call(&servers, "everything", "get-tiny-image", json!({})).await;
    assert!(image.contains("[image, image/png,") && image.len() < 1000, "{image}");
    let (structured, _) =
        call(&servers, "everything", "get-structured-content", json!({"location": "Chicago"})).await;
    assert!(serde_json::from_str::<Value>(&structured).is_ok(), "said once: {structured}");
    let arguments = json!({"duration": 0.3, "steps": 3});
    let (events, given) = told(&servers, "everything", "trigger-long-running-operation", arguments).await;
    assert!(!given.1, "{}", given.0);
    let progress = events
        .iter()
        .filter(|event| matches!(&event.kind, EventKind::Custom { name, .. } if name == "mcp.progress"));
    assert!(progress.count() >= 2);
    assert!(!servers.resources("everything").await.unwrap().is_empty());
    assert!(servers.prompts("everything").await.unwrap().len() >= 4);
    servers.close().await;
}

#[tokio::test]
async fn everything_asks_a_person() {
    let Some(place) = counterparts() else { return };
    let servers = started(server(&place, "everything").args(["stdio"])).await;
    if servers.tool("everything", "trigger-elicitation-request").await.is_err() {
        panic!("no such tool: {:?}", servers.tools::<String>([]));
    }
    let person = Person::new(|pending| {
        Some(match &pending.question.kind {
            convoke_core::ask::QuestionKind::Choice { options } => Answer::choose(options[0].clone()),
            _ if pending.question.title.contains("name") || pending.question.title.contains("String") => {
                Answer::text("Ann")
            }
            _ => Answer::text(""),
        })
    });
    let outcome =
        call_in(&person.runtime(), &servers, "everything", "trigger-elicitation-request", json!({})).await;
    let (content, failed) = outcome.completed().unwrap().unwrap();
    assert!(!failed && content.contains("Ann"), "{content}\n{:#?}", person.titles());
}

#[tokio::test]
async fn everything_over_http() {
    let Some(place) = counterparts() else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = tokio::process::Command::new(place.join("node_modules/.bin/mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .env("PATH", path(&place))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let listening = async {
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), listening).await.unwrap();
    let servers = started(ServerConfig::http("web", format!("http://127.0.0.1:{port}/mcp"))).await;
    assert_eq!(protocol(&servers), "2025-11-25");
    assert_eq!(call(&servers, "web", "echo", json!({"message": "hi"})).await.0, "Echo: hi");
    servers.close().await;
    child.kill().await.unwrap();
}

#[tokio::test]
async fn filesystem() {
    let Some(place) = counterparts() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("hello.txt"), "hello there").unwrap();
    let servers =
        started(server(&place, "filesystem").args([root.to_str().unwrap()]).trust_annotations()).await;
    assert_eq!(servers.tools::<String>([]).len(), 14);
    let read = |path: &std::path::Path| json!({"path": path.to_str().unwrap()});
    assert_eq!(
        call(&servers, "filesystem", "read_text_file", read(&root.join("hello.txt"))).await.0,
        "hello there"
    );
    let (content, failed) =
        call(&servers, "filesystem", "read_text_file", read(std::path::Path::new("/etc/hostname"))).await;
    assert!(failed, "{content}");
    let spec = async |tool: &str| servers.tool("filesystem", tool).await.unwrap().spec().clone();
    assert_eq!(spec("read_text_file").await.repeat, Repeat::Safe);
    assert_eq!(spec("move_file").await.repeat, Repeat::Never);
    servers.close().await;
}

#[tokio::test]
async fn memory() {
    let Some(place) = counterparts() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.jsonl");
    let servers =
        started(server(&place, "memory").variable("MEMORY_FILE_PATH", file.to_str().unwrap())).await;
    assert_eq!(servers.tools::<String>([]).len(), 9);
    let entities =
        json!({"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes looms"]}]});
    assert!(!call(&servers, "memory", "create_entities", entities).await.1);
    assert!(call(&servers, "memory", "read_graph", json!({})).await.0.contains("likes looms"));
    servers.close().await;
}

#[tokio::test]
async fn time() {
    let Some(place) = counterparts() else { return };
    let command = place.join("python/bin/mcp-server-time");
    let config = ServerConfig::stdio("time", command.to_str().unwrap()).args(["--local-timezone", "UTC"]);
    let servers = started(config.protocol(Protocol::Auto)).await;
    assert_eq!(servers.tools::<String>([]).len(), 2);
    let (now, _) = call(&servers, "time", "get_current_time", json!({"timezone": "Europe/Paris"})).await;
    assert!(now.contains("Europe/Paris"), "{now}");
    servers.close().await;
}
