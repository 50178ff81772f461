//! API keys: in the environment, or in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use convoke_text::nearest;
use serde::Deserialize;

use super::{Environment, Service};
use crate::http::ApiKey;

/// The file's name.
const FILE: &str = "credentials.toml";

/// Names the credentials file.
const CREDENTIALS: &str = "CONVOKE_CREDENTIALS";

/// The section whose key serves every service that has none of its own.
const GENERIC: &str = "llm";

/// The keys of a credentials file.
///
/// ```toml
/// [anthropic]
/// api_key = "…"
/// ```
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    path: Option<PathBuf>,
    keys: BTreeMap<String, ApiKey>,
}

/// The source of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In this environment variable.
    Variable(String),
    /// In this file.
    File(PathBuf),
}

impl fmt::Display for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(formatter, "the environment variable {name}"),
            Self::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// A credentials file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// It is named and not there, or cannot be read.
    #[error("the credentials file {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others could read it.
    #[error("others can read the credentials file {path} (mode {mode:o}); run `chmod 600 {}`", quoted(path))]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has a section for nobody.
    #[error("the credentials file {path} has a section [{section}], which no service is called: {advice}")]
    UnknownSection {
        /// The file.
        path: PathBuf,
        /// The section.
        section: String,
        /// What to write instead.
        advice: String,
    },
    /// It is not what it should be. The file's own text is not shown: there are keys in it.
    #[error(
        "the credentials file {path} makes no sense in line {line}: expected sections such as [anthropic], each with api_key = \"…\""
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
}

/// A path as a shell reads it back.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    if text.bytes().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether a section is for this service.
fn is_of(service: &Service, section: &str) -> bool {
    std::iter::once(service.name)
        .chain(service.aliases.iter().copied())
        .any(|name| plain(name) == plain(section))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    api_key: Option<String>,
}

impl Credentials {
    /// The file that `CONVOKE_CREDENTIALS` names; else `credentials.toml` in the user's configuration folder. None of these being
    /// there is fine. One in the working folder is never read: whoever put it there would have conversations on their account.
    ///
    /// # Errors
    /// A file that is named and missing, that others can read, or that makes no sense.
    pub fn load(environment: &Environment) -> Result<Self, CredentialsError> {
        Self::find(environment).map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    /// The file that is read, if one is; one that is named need not be there.
    #[must_use]
    pub fn find(environment: &Environment) -> Option<PathBuf> {
        let named = environment.get(CREDENTIALS).map(PathBuf::from);
        named.or_else(|| Self::home(environment).filter(|path| path.exists()))
    }

    /// The credentials file of this folder, which is not read; `None` if there is none, or it is the one that is.
    #[must_use]
    pub fn unused_in(folder: &Path, environment: &Environment) -> Option<PathBuf> {
        let file = folder.join(FILE);
        let real = file.canonicalize().ok()?;
        let read = Self::find(environment).and_then(|path| path.canonicalize().ok());
        (read != Some(real)).then_some(file)
    }

    /// Returns where a user's credentials file belongs.
    #[must_use]
    pub fn home(environment: &Environment) -> Option<PathBuf> {
        Some(environment.configuration_folder()?.join(FILE))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        let unreadable = |source| CredentialsError::Unreadable { path: path.to_owned(), source };
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        // Asked of the file that is open: what the path names may change in between.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(CredentialsError::Exposed { path: path.to_owned(), mode });
            }
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        let sections: BTreeMap<String, Section> =
            toml::from_str(&text).map_err(|error| CredentialsError::Malformed {
                path: path.to_owned(),
                line: line_of(&text, error.span().map_or(0, |span| span.start)),
            })?;
        let known =
            |name: &String| plain(name) == GENERIC || Service::ALL.iter().any(|service| is_of(service, name));
        if let Some(unknown) = sections.keys().find(|name| !known(name)) {
            let names: Vec<_> = Service::ALL.iter().map(|service| service.name).chain([GENERIC]).collect();
            let advice = match nearest(unknown, names.iter().copied()) {
                Some(near) => format!("did you mean [{near}]?"),
                None => format!("there are {}", names.join(", ")),
            };
            let (path, section) = (path.to_owned(), unknown.clone());
            return Err(CredentialsError::UnknownSection { path, section, advice });
        }
        let keys = sections.into_iter().filter_map(|(name, section)| {
            let key = ApiKey::new(section.api_key?);
            (!key.is_empty()).then_some((plain(&name), key))
        });
        Ok(Self { path: Some(path.to_owned()), keys: keys.collect() })
    }

    /// The file they are from, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// A service's key, and where it is from: the environment first, then the file's section of that name, then its
    /// `[llm]` section.
    #[must_use]
    pub fn key(&self, service: &Service, environment: &Environment) -> Option<(ApiKey, KeySource)> {
        let in_environment = service.key_variables.iter().find_map(|name| {
            Some((ApiKey::new(environment.get(name)?), KeySource::Variable((*name).to_owned())))
        });
        in_environment.or_else(|| {
            let generic = || self.keys.get(GENERIC).filter(|_| service.needs_key);
            let key = self.own(service).or_else(generic)?;
            Some((key.clone(), KeySource::File(self.path.clone()?)))
        })
    }

    /// The key in a service's own section of the file.
    pub(super) fn own(&self, service: &Service) -> Option<&ApiKey> {
        let mut names = std::iter::once(service.name).chain(service.aliases.iter().copied());
        names.find_map(|name| self.keys.get(&plain(name)))
    }
}

/// `open-router` and `openrouter` are the same section.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| *letter != '-').collect::<String>().to_ascii_lowercase()
}

/// The line that this position of a text is in.
fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|byte| *byte == b'\n').count() + 1
}
