//! `convoke mcp add`, `convoke mcp trust`
//!
//! Files are changed where they must be and nowhere else: comments, order and spacing stay.

use std::path::{Path, PathBuf};

use convoke_config::Config;
use convoke_host::ConfiguredServers;
use serde_json::json;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::arguments::{Arguments, McpAdd};
use crate::failure::Failure;
use crate::files;
use crate::shell;
use crate::terminal::{Output, Rich, Tone, text};

/// Writes a server into a file.
pub(super) fn add(
    arguments: &Arguments,
    config: &Config,
    wanted: &McpAdd,
    output: &mut Output,
) -> Result<(), Failure> {
    let name = &wanted.name;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(Failure::usage(format!("`{}` cannot be a server's name", text::one_line(name)))
            .hint("letters, digits, `_` and `-` can"));
    }
    let path = if wanted.user { own_file(config)? } else { folders_file(config) };
    let mut document = read(&path)?;
    let servers = table(table(document.as_table_mut(), "mcp", &path)?, "servers", &path)?;
    if servers.contains_key(name) {
        return Err(Failure::failed(format!("{} has a server `{name}` already", path.display()))
            .hint("choose another name, or change what the file says"));
    }
    servers.insert(name, Item::Table(server(wanted)?));
    write(&path, &document)?;
    if arguments.json {
        output.json(&json!({"server": name, "written": path}))?;
    } else {
        let line = Rich::new(Tone::Good, "added").with(Tone::Strong, format!(" {name}"));
        output.line(&line.with(Tone::Plain, format!(" to {}", path.display())))?;
    }
    output.note(&match wanted.user {
        true => "`convoke mcp list` starts it and says how it is".to_owned(),
        false => format!("it is not started before you have agreed to it: `convoke mcp trust {name}`"),
    });
    Ok(())
}

/// Everything that is said of a server.
fn server(wanted: &McpAdd) -> Result<Table, Failure> {
    let mut server = Table::new();
    match (&wanted.url, &*wanted.command) {
        (Some(url), _) => {
            let is_address = url
                .parse::<http::Uri>()
                .is_ok_and(|uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https")));
            if !is_address {
                return Err(Failure::usage(format!("`{}` is no address", text::one_line(url)))
                    .hint("write it with http:// or https:// before it"));
            }
            server.insert("url", value(url));
            values(&wanted.header, "headers", &mut server)?;
        }
        (None, [_, ..]) if !wanted.header.is_empty() => {
            return Err(Failure::usage("`--header` is for a server with an address: a command has none")
                .hint("leave `--header` out, or name the address with `--url`; a command has variables: `--env`"));
        }
        (None, [command, given @ ..]) => {
            server.insert("command", value(command));
            if !given.is_empty() {
                server.insert("args", value(given.iter().collect::<Array>()));
            }
            values(&wanted.env, "env", &mut server)?;
        }
        (None, []) => return Err(Failure::usage("say what to start after `--`, or where it is with --url")),
    }
    Ok(server)
}

/// A table of `NAME=VALUE`.
fn values(given: &[String], key: &str, server: &mut Table) -> Result<(), Failure> {
    if given.is_empty() {
        return Ok(());
    }
    let mut table = toml_edit::InlineTable::new();
    for pair in given {
        // What stands there may be a secret, and is not shown.
        let (name, text) = pair
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::usage("a variable or a header is given as NAME=VALUE"))?;
        table.insert(name, text.into());
    }
    server.insert(key, value(table));
    Ok(())
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
    let mut document = read(&path)?;
    let mcp = table(document.as_table_mut(), "mcp", &path)?;
    let trusted = mcp.entry("trusted").or_insert_with(|| value(Array::new()));
    trusted.as_array_mut().ok_or_else(|| by_hand(&path, "mcp.trusted"))?.push(&server.fingerprint);
    write(&path, &document)?;
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

fn read(path: &Path) -> Result<DocumentMut, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::failed(format!("{} cannot be read: {error}", path.display()))),
    };
    text.parse().map_err(|_| Failure::failed(format!("{} is not valid TOML", path.display())))
}

fn write(path: &Path, document: &DocumentMut) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::failed(format!("{} cannot be made: {error}", folder.display())))?;
    }
    files::replace(path, &document.to_string())
}

/// A table in a table. One that is made here has no line of its own.
fn table<'t>(outer: &'t mut Table, name: &str, path: &Path) -> Result<&'t mut Table, Failure> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    outer.entry(name).or_insert_with(made).as_table_mut().ok_or_else(|| by_hand(path, name))
}

fn by_hand(path: &Path, what: &str) -> Failure {
    Failure::failed(format!("`{what}` in {} is written in a way that cannot be added to", path.display()))
        .hint(format!(
            "write it as a section, or change it by hand: {}",
            shell::quoted(&path.display().to_string())
        ))
}
