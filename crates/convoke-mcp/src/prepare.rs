//! A server's configuration with everything looked up, and what of it must not be shown.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::config::{ServerConfig, Transport};
use crate::error::McpError;
use crate::secret::Secrets;
use crate::template::{TemplateError, expand};

/// Looks variables up.
pub(crate) type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What every program may see of our environment.
const USUAL: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

/// The shortest word of a header that counts as a secret by itself: `Bearer` and `Basic` do not.
const SHORTEST_WORD: usize = 8;

/// How to reach a server, with everything looked up.
pub(crate) enum Means<'a> {
    Process(Launch<'a>),
    Address { url: String, headers: BTreeMap<String, String> },
}

/// How to start a server.
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a str,
    pub(crate) arguments: &'a [String],
    pub(crate) folder: Option<&'a Path>,
    /// All variables that it sees.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Looks up what a configuration names.
///
/// # Errors
/// If a variable is not set, or a value makes no sense.
pub(crate) fn prepare<'a>(
    config: &'a ServerConfig,
    variables: &Variables,
) -> Result<(Means<'a>, Secrets), McpError> {
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
            environment.extend(own);
            Means::Process(Launch { command, arguments, folder: folder.as_deref(), environment })
        }
        Transport::Http { url, headers } => {
            let headers = fill_all(headers)?;
            let words = headers.values().flat_map(|value| value.split_whitespace());
            let words = words.filter(|word| word.len() >= SHORTEST_WORD).map(str::to_owned);
            given.borrow_mut().extend(headers.values().cloned().chain(words));
            Means::Address { url: fill("url", url)?, headers }
        }
    };
    Ok((means, Secrets::new(given.take())))
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
