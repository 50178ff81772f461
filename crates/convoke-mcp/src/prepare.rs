//! Resolves a server's configuration: variables expanded, those it inherits chosen, the program found, secrets collected.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_text::template::{TemplateError, expand};

use crate::config::{ServerConfig, Transport};
use crate::error::McpError;
use crate::launch::Launch;
use crate::program::{ProgramNotFound, find, without_workspaces};
use crate::secret::ServerSecrets;

/// Looks variables up.
pub(crate) type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What every program may see of our environment.
const USUAL: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

/// The shortest word of a header that counts as a secret by itself: `Bearer` and `Basic` do not.
const SHORTEST_WORD: usize = 8;

/// The transport to a server, with everything looked up.
pub(crate) enum PreparedTransport {
    Process(Launch),
    Address { url: String, headers: BTreeMap<String, String> },
}

/// Where programs are looked up for whoever has no path.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The path that a server's program is looked up on: the one it is given, or ours.
pub(crate) fn path(config: &ServerConfig, look: &dyn Fn(&str) -> Option<String>) -> String {
    let given = match &config.transport {
        Transport::Stdio { variables, .. } => variables.get("PATH").and_then(|path| expand(path, look).ok()),
        Transport::Http { .. } => None,
    };
    given.or_else(|| look("PATH")).unwrap_or_else(|| PATH.to_owned())
}

/// Looks up what a configuration names. Programs are not looked up in workspaces.
///
/// # Errors
/// If a variable is not set, a value makes no sense, or there is no such program.
pub(crate) fn prepare(
    config: &ServerConfig,
    variables: &Variables,
    workspaces: &[PathBuf],
) -> Result<(PreparedTransport, ServerSecrets), McpError> {
    let given = RefCell::new(Vec::new());
    let give = |name: &str| {
        let value = variables(name)?;
        given.borrow_mut().push(value.clone());
        Some(value)
    };
    let fill = |place: &str, template: &str| filled(&config.name, place, template, &give);
    let fill_all = |templates: &BTreeMap<String, String>| {
        let one = |(name, template): (&String, &String)| Ok((name.clone(), fill(name, template)?));
        templates.iter().map(one).collect::<Result<BTreeMap<_, _>, McpError>>()
    };
    let means = match &config.transport {
        Transport::Stdio { command, arguments, folder, inherit, variables: own } => {
            let found = |name: &&str, value: Option<String>| Some(((*name).to_owned(), value?));
            let mut environment: BTreeMap<String, String> =
                USUAL.iter().filter_map(|name| found(name, variables(name))).collect();
            let inherit = inherit.iter().map(String::as_str).filter(|name| !USUAL.contains(name));
            environment.extend(inherit.filter_map(|name| found(&name, give(name))));
            let own = fill_all(own)?;
            given.borrow_mut().extend(own.values().cloned());
            // Scripts look their interpreters up, and interpreters theirs.
            environment
                .entry("PATH".to_owned())
                .and_modify(|path| *path = without_workspaces(path, workspaces));
            if workspaces.iter().any(|workspace| config.is_started_from(workspace, &**variables)) {
                // What is compiled would lie beside it, and nobody could tell it from what an agent put there.
                environment.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
            }
            environment.extend(own);
            PreparedTransport::Process(Launch {
                server: config.name.clone(),
                program: program(
                    config,
                    command,
                    folder.as_deref(),
                    &path(config, &**variables),
                    workspaces,
                )?,
                arguments: arguments.clone(),
                folder: folder.clone(),
                environment,
            })
        }
        Transport::Http { url, headers } => {
            let headers = fill_all(headers)?;
            let words = headers.values().flat_map(|value| value.split_whitespace());
            let words = words.filter(|word| word.len() >= SHORTEST_WORD).map(str::to_owned);
            given.borrow_mut().extend(headers.values().cloned().chain(words));
            PreparedTransport::Address { url: fill("url", url)?, headers }
        }
    };
    Ok((means, ServerSecrets::new(given.take())))
}

fn program(
    config: &ServerConfig,
    command: &str,
    folder: Option<&Path>,
    path: &str,
    workspaces: &[PathBuf],
) -> Result<PathBuf, McpError> {
    let server = || config.name.clone();
    let not_started = |error: std::io::Error| McpError::NotStarted {
        server: server(),
        command: command.to_owned(),
        reason: error.to_string(),
    };
    let here = std::env::current_dir().map_err(not_started)?;
    let folder = folder.map_or(here.clone(), |folder| here.join(folder));
    find(command, path, &folder, workspaces).map_err(|missing| match missing {
        ProgramNotFound::Nowhere => not_started(rustix::io::Errno::NOENT.into()),
        ProgramNotFound::OnlyInside(found) => {
            McpError::OnlyInWorkspace { server: server(), command: command.to_owned(), found }
        }
    })
}

fn filled(
    server: &str,
    place: &str,
    template: &str,
    look: &dyn Fn(&str) -> Option<String>,
) -> Result<String, McpError> {
    expand(template, look).map_err(|error| match error {
        TemplateError::Missing(variable) => {
            McpError::MissingVariable { server: server.to_owned(), variable, place: place.to_owned() }
        }
        TemplateError::Open => McpError::BadConfig {
            server: server.to_owned(),
            reason: format!("`{place}` has a `${{` without a `}}`; write `$$` for a dollar"),
        },
    })
}
