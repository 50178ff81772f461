//! The source of a pull, read from what the user wrote: a catalogue entry, a file or an address that names one.

use std::fmt;
use std::path::{Path, PathBuf};

use convoke_http::address::{is_local, shown};
use url::Url;

use crate::{CatalogueEntry, Digest, WeightsError, name};

/// The source of a pull; see [`Library::pull_source`](crate::Library::pull_source).
#[derive(Clone)]
pub struct PullSource(pub(super) SourceKind);

#[derive(Clone)]
pub(super) enum SourceKind {
    Entry(Box<CatalogueEntry>),
    File(PathBuf),
    Address { url: Url, sha256: Option<Digest> },
}

impl PullSource {
    /// This file, which is copied into the library.
    #[must_use]
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self(SourceKind::File(path.as_ref().to_owned()))
    }

    /// The GGUF file at this address, perhaps with its digest behind: `https://…/model.gguf#sha256=…`. Where nobody vouches
    /// for the connection (`http`), the digest must be there.
    ///
    /// # Errors
    /// [`WeightsError::BadAddress`] with the reason.
    pub fn address(address: &str) -> Result<Self, WeightsError> {
        let mut url = Url::parse(address).map_err(|error| WeightsError::BadAddress {
            // It may carry a password, and cannot be taken apart.
            address: address.split('@').next_back().unwrap_or_default().to_owned(),
            reason: error.to_string(),
        })?;
        let bad = |reason: &str| WeightsError::BadAddress { address: shown(&url), reason: reason.to_owned() };
        let sha256 = match url.fragment() {
            None | Some("") => None,
            Some(fragment) => {
                let digest = fragment
                    .strip_prefix("sha256=")
                    .ok_or_else(|| bad("only #sha256=… can stand behind it"))?;
                Some(digest.parse().map_err(bad)?)
            }
        };
        match url.scheme() {
            "https" => {}
            "http" if is_local(&url) || sha256.is_some() => {}
            "http" => {
                return Err(bad(
                    "use https, or put #sha256=… behind it: http can be tampered with on its way",
                ));
            }
            _ => return Err(bad("it must begin with https://")),
        }
        if !file_name(&url).to_ascii_lowercase().ends_with(".gguf") {
            return Err(bad("it must name a .gguf file"));
        }
        url.set_fragment(None);
        Ok(Self(SourceKind::Address { url, sha256 }))
    }

    /// The name it gets: this one, or else its own.
    pub(super) fn name(&self, given: Option<&str>) -> Result<String, WeightsError> {
        if let Some(given) = given {
            name::check(given)?;
            return Ok(given.to_owned());
        }
        match &self.0 {
            SourceKind::Entry(entry) => Ok(entry.name.clone()),
            SourceKind::File(path) => {
                name::of_file(path.file_name().and_then(|name| name.to_str()).unwrap_or_default())
            }
            SourceKind::Address { url, .. } => name::of_file(file_name(url)),
        }
    }
}

impl fmt::Debug for PullSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SourceKind::Entry(entry) => write!(formatter, "PullSource({})", entry.name),
            SourceKind::File(path) => write!(formatter, "PullSource({})", path.display()),
            SourceKind::Address { url, .. } => write!(formatter, "PullSource({})", shown(url)),
        }
    }
}

/// The last part of an address's path.
pub(super) fn file_name(url: &Url) -> &str {
    url.path().rsplit('/').next().unwrap_or_default()
}
