//! `convoke mcp add`, `convoke mcp trust`

use std::path::PathBuf;

use convoke_config::{Config, NewServer, add_mcp_server, trust_mcp_server};
use convoke_host::ConfiguredServers;
use serde_json::json;

use crate::arguments::{Arguments, McpAdd};
use crate::failure::Failure;
use crate::terminal::{Output, Rich, Tone, text};

/// Writes a server into a file.
pub(super) fn add(config: &Config, wanted: &McpAdd, output: &mut Output) -> Result<(), Failure> {
    let name = &wanted.name;
    let path = if wanted.user { own_file(config)? } else { folders_file(config) };
    add_mcp_server(&path, name, &server(wanted)?)?;
    let line = Rich::new(Tone::Good, "added").with(Tone::Strong, format!(" {name}"));
    let line = line.with(Tone::Plain, format!(" to {}", path.display()));
    output.give(&json!({"server": name, "written": path}), line)?;
    output.note(&match wanted.user {
        true => "`convoke mcp list` starts it and says how it is".to_owned(),
        false => format!("it is not started before you have agreed to it: `convoke mcp trust {name}`"),
    });
    Ok(())
}

/// Everything that is said of a server.
fn server(wanted: &McpAdd) -> Result<NewServer, Failure> {
    match (&wanted.url, &*wanted.command) {
        (Some(url), _) => Ok(NewServer::Address { url: url.clone(), headers: pairs(&wanted.header)? }),
        (None, [_, ..]) if !wanted.header.is_empty() => Err(Failure::usage(
            "`--header` is for a server with an address: a command has none",
        )
        .hint("leave `--header` out, or name the address with `--url`; a command has variables: `--env`")),
        (None, [_, ..]) => {
            Ok(NewServer::Command { words: wanted.command.clone(), variables: pairs(&wanted.env)? })
        }
        (None, []) => Err(Failure::usage("say what to start after `--`, or where it is with --url")),
    }
}

/// The parts of each `NAME=VALUE`. What stands there may be a secret, and is not shown.
fn pairs(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |pair: &String| {
        let parts = pair.split_once('=').filter(|(name, _)| !name.is_empty());
        let parts = parts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        parts.ok_or_else(|| Failure::usage("a variable or a header is given as NAME=VALUE"))
    };
    given.iter().map(pair).collect()
}

/// Agrees to a server of the folder's file.
pub(super) fn trust(
    arguments: &Arguments,
    config: &Config,
    configured: &ConfiguredServers,
    name: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(server) = configured.untrusted.iter().find(|server| server.name == name) else {
        if configured.trusted.iter().any(|server| server.name == name) {
            output.note(&format!("`{name}` may be started already"));
            return Ok(());
        }
        let names: Vec<&str> = configured.untrusted.iter().map(|server| server.name.as_str()).collect();
        let failure = Failure::not_found(format!("there is no MCP server `{}`", text::one_line(name)));
        return Err(match names.is_empty() {
            true => failure.hint("`convoke mcp list` lists those there are"),
            false => failure.hint(format!("those that you have not agreed to are {}", names.join(", "))),
        });
    };
    let path = own_file(config)?;
    trust_mcp_server(&path, &server.fingerprint)?;
    if arguments.json {
        return output.json(&json!({"server": name, "fingerprint": server.fingerprint, "written": path}));
    }
    let line = Rich::new(Tone::Good, "trusted").with(Tone::Strong, format!(" {name}"));
    output.line(&line.with(Tone::Plain, format!(" of {}", server.file.display())))?;
    output.note(&format!(
        "it may {} now; that is kept in {}, and ends when anything is changed about the server",
        text::one_line(&server.what),
        path.display()
    ));
    Ok(())
}

/// The user's own file, there or not.
fn own_file(config: &Config) -> Result<PathBuf, Failure> {
    config.locations().user.clone().ok_or_else(|| {
        Failure::failed("there is no place for your own convoke.toml: home directory unavailable")
            .hint("set HOME")
    })
}

/// The file that is used here, or the one that could be.
fn folders_file(config: &Config) -> PathBuf {
    let places = config.locations();
    let used = places.named.clone().or_else(|| places.folder.clone());
    used.unwrap_or_else(|| PathBuf::from(convoke_config::FILE))
}
