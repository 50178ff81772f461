//! Changes to a `convoke.toml`: MCP servers that are added, and agreed to.
//!
//! Files are changed where they must be and nowhere else: comments, order and spacing stay.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use crate::{NewFile, replace_file};

/// An MCP server that is to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewServer {
    /// One that is started.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Its variables.
        variables: Vec<(String, String)>,
    },
    /// One that is somewhere.
    Address {
        /// Where.
        url: String,
        /// The headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// The reasons why a file was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A name has other letters than it may.
    #[error("`{name}` cannot be a server's name")]
    Name {
        /// The name.
        name: String,
    },
    /// An address is not one.
    #[error("`{url}` is not an address")]
    Address {
        /// What was given.
        url: String,
    },
    /// There is such a server.
    #[error("{} has a server `{name}` already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The server.
        name: String,
    },
    /// A section is written in a way that cannot be added to.
    #[error("`{section}` in {} is written in a way that cannot be added to", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The section.
        section: &'static str,
    },
    /// It is no TOML.
    #[error("{} is not valid TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be read, made or written.
    #[error("{} cannot be {done}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was to be done with it.
        done: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// Writes an MCP server into a file, which is made if it is not there.
///
/// # Errors
/// If the server cannot be written down like this, or the file cannot be changed.
pub fn add_mcp_server(path: &Path, name: &str, server: &NewServer) -> Result<(), EditError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(EditError::Name { name: name.to_owned() });
    }
    let mut document = read(path)?;
    let servers = section(section(document.as_table_mut(), "mcp", path)?, "servers", path)?;
    if servers.contains_key(name) {
        return Err(EditError::Exists { path: path.to_owned(), name: name.to_owned() });
    }
    servers.insert(name, Item::Table(written(server)?));
    write(path, &document)
}

/// Agrees to an MCP server of a folder's file, by its fingerprint, in the user's own file.
///
/// # Errors
/// If the file cannot be changed.
pub fn trust_mcp_server(path: &Path, fingerprint: &str) -> Result<(), EditError> {
    let mut document = read(path)?;
    let mcp = section(document.as_table_mut(), "mcp", path)?;
    let trusted = mcp.entry("trusted").or_insert_with(|| value(Array::new()));
    trusted.as_array_mut().ok_or_else(|| shape(path, "mcp.trusted"))?.push(fingerprint);
    write(path, &document)
}

/// Everything that is said of a server.
fn written(server: &NewServer) -> Result<Table, EditError> {
    let mut table = Table::new();
    let (pairs, key) = match server {
        NewServer::Address { url, headers } => {
            let is_address = url
                .parse::<http::Uri>()
                .is_ok_and(|uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https")));
            if !is_address {
                return Err(EditError::Address { url: url.clone() });
            }
            table.insert("url", value(url));
            (headers, "headers")
        }
        NewServer::Command { words, variables } => {
            let (command, arguments) = words
                .split_first()
                .map_or(("", words.as_slice()), |(command, rest)| (command.as_str(), rest));
            table.insert("command", value(command));
            if !arguments.is_empty() {
                table.insert("args", value(arguments.iter().collect::<Array>()));
            }
            (variables, "env")
        }
    };
    if !pairs.is_empty() {
        let pairs: InlineTable = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        table.insert(key, value(pairs));
    }
    Ok(table)
}

fn read(path: &Path) -> Result<DocumentMut, EditError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(EditError::Io { path: path.to_owned(), done: "read", source }),
    };
    text.parse().map_err(|_| EditError::Syntax { path: path.to_owned() })
}

fn write(path: &Path, document: &DocumentMut) -> Result<(), EditError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| EditError::Io {
            path: folder.to_owned(),
            done: "made",
            source,
        })?;
    }
    replace_file(path, document.to_string().as_bytes(), NewFile::Private).map_err(|source| EditError::Io {
        path: path.to_owned(),
        done: "written",
        source,
    })
}

/// A table in a table. One that is made here has no line of its own.
fn section<'t>(outer: &'t mut Table, name: &'static str, path: &Path) -> Result<&'t mut Table, EditError> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    outer.entry(name).or_insert_with(made).as_table_mut().ok_or_else(|| shape(path, name))
}

fn shape(path: &Path, section: &'static str) -> EditError {
    EditError::Shape { path: path.to_owned(), section }
}
