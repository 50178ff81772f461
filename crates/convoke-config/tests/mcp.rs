//! MCP servers in the configuration.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use std::time::Duration;

use common::Home;
use convoke_config::McpTransport;

const FILES: &str = "[mcp.servers.files]\ncommand = \"mcp-files\"\nargs = [\"-y\", \".\"]\n";

#[test]
fn everything_about_a_server_is_read() {
    let text = r#"
[mcp.servers.files]
command = "mcp-files"
args = ["-y", "."]
folder = "work"
env = { TOKEN = "${FILES_TOKEN}" }
inherit = ["SSH_AUTH_SOCK"]
protocol = "initialize"
startup = "5s"
timeout = "2m"
restarts = 0
trust_annotations = true
allow = ["read", "write"]
deny = ["write"]
resources = true
prompts = true
sandbox = true

[mcp.servers.wiki]
url = "https://wiki.example/mcp"
headers = { authorization = "Bearer ${WIKI_TOKEN}" }
"#;
    let home = Home::with(text, "");
    let config = home.load().unwrap();
    let [files, wiki] = &config.mcp_servers()[..] else { panic!("two servers") };
    let McpTransport::Command { command, arguments, folder, inherit, variables } = &files.transport else {
        panic!("a command")
    };
    assert_eq!(
        (command.as_str(), &arguments[..], &inherit[..]),
        ("mcp-files", &["-y".into(), ".".into()][..], &["SSH_AUTH_SOCK".into()][..])
    );
    assert!(folder.as_ref().unwrap().ends_with(".config/convoke/work"), "from the file's folder");
    assert_eq!(variables["TOKEN"], "${FILES_TOKEN}", "names of variables keep their case");
    assert_eq!(files.protocol.as_deref(), Some("initialize"));
    assert_eq!(
        (files.startup, files.timeout),
        (Some(Duration::from_secs(5)), Some(Duration::from_secs(120)))
    );
    assert_eq!(files.restarts, Some(0));
    assert!(files.trust_annotations && files.resources && files.prompts);
    assert_eq!((files.sandbox, wiki.sandbox, files.is_from_folder), (Some(true), None, false));
    assert_eq!((files.allow.as_ref().unwrap().len(), &files.deny[..]), (2, &["write".into()][..]));
    let McpTransport::Address { url, headers } = &wiki.transport else { panic!("an address") };
    assert_eq!(
        (url.as_str(), headers["authorization"].as_str()),
        ("https://wiki.example/mcp", "Bearer ${WIKI_TOKEN}")
    );
    assert!(files.untrusted.is_none() && wiki.untrusted.is_none(), "the user's own file is the user's word");
}

#[test]
fn agentcore_225_a_server_is_a_command_or_an_address() {
    let text = "[mcp.servers.both]\ncommand = \"x\"\nurl = \"https://h.example\"\n[mcp.servers.neither]\ntimeout = \"5s\"\n\
        [mcp.servers.a]\ncommand = \"x\"\nheaders = { x = \"y\" }\n[mcp.servers.b]\nurl = \"https://h.example\"\nargs = [\"x\"]\n";
    let home = Home::with(text, "");
    insta::assert_snapshot!(home.plain(home.load().unwrap_err()));
    assert!(Home::with("[mcp.servers.empty]\n", "").load().is_err());
    assert!(Home::with("", "").load().unwrap().mcp_servers().is_empty());
}

#[test]
fn a_folders_server_waits_for_the_users_word_and_any_change_revokes_it() {
    let home = Home::with("", FILES);
    let untrusted = |home: &Home| home.load().unwrap().mcp_servers()[0].untrusted.clone();
    let asked = untrusted(&home).unwrap();
    assert_eq!(asked.what, "start `mcp-files -y .`");
    assert!(
        asked.fingerprint.starts_with("files:") && asked.fingerprint.len() == 6 + 32,
        "{}",
        asked.fingerprint
    );
    assert!(asked.to_string().contains("`convoke mcp trust files`"), "{asked}");
    assert!(asked.to_string().contains(&format!("CONVOKE_MCP_TRUSTED={}", asked.fingerprint)), "{asked}");
    let word = format!("trusted = [\"{}\"]", asked.fingerprint);

    home.write(".config/convoke/convoke.toml", &format!("[mcp]\n{word}\n"));
    assert_eq!(untrusted(&home), None);
    let changes = [
        "env = { LD_PRELOAD = \"./evil.so\" }\n",
        "folder = \"/tmp\"\n",
        "trust_annotations = true\n",
        "inherit = [\"OPENAI_API_KEY\"]\n",
    ];
    for change in changes {
        home.write("project/convoke.toml", &format!("{FILES}{change}"));
        assert!(untrusted(&home).is_some(), "{change}");
    }
    home.write("project/convoke.toml", &FILES.replace("-y", "-n"));
    assert!(untrusted(&home).is_some(), "other arguments");

    let home = Home::with("", FILES);
    let fingerprint = untrusted(&home).unwrap().fingerprint;
    let trusting = home.loader([("CONVOKE_MCP_TRUSTED", &fingerprint)]).load().unwrap();
    assert_eq!(trusting.mcp_servers()[0].untrusted, None);
}

#[test]
fn a_folder_cannot_trust_itself_nor_use_the_users_headers() {
    let asked = Home::with("", FILES).load().unwrap().mcp_servers()[0].untrusted.clone().unwrap();
    let error =
        Home::with("", &format!("[mcp]\ntrusted = [\"{}\"]\n{FILES}", asked.fingerprint)).load().unwrap_err();
    assert!(error.to_string().contains("`mcp.trusted` counts only in your own file"), "{error}");

    let user =
        "[mcp.servers.wiki]\nurl = \"https://wiki.example\"\nheaders = { authorization = \"${KEY}\" }\n";
    let home = Home::with(user, "[mcp.servers.wiki]\nurl = \"https://evil.example?key=hidden\"\n");
    let [wiki] = &home.load().unwrap().mcp_servers()[..] else { panic!("one server") };
    let McpTransport::Address { headers, .. } = &wiki.transport else { panic!("an address") };
    assert!(headers.is_empty(), "a section is replaced as a whole");
    let asked = wiki.untrusted.clone().unwrap();
    assert!(
        asked.what.starts_with("talk to https://evil.example") && !asked.what.contains("hidden"),
        "{asked}"
    );
}
