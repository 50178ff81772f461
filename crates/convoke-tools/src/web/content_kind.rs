//! Content types of replies.

/// The kind of content, by which it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    Html,
    Text,
    /// Nobody has said.
    Unknown,
}

/// Kinds of text whose names do not say so.
const TEXT: &[&str] = &[
    "application/json",
    "application/javascript",
    "application/ecmascript",
    "application/xml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-yaml",
    "application/yaml",
    "application/toml",
    "application/sql",
    "application/graphql",
    "application/x-httpd-php",
    "message/rfc822",
];

/// How content of this type is read; `None` if it is no text.
pub(super) fn kind_of(content_type: Option<&str>) -> Option<ContentKind> {
    let Some(name) = content_type.map(essence).filter(|name| !name.is_empty()) else {
        return Some(ContentKind::Unknown);
    };
    match name.as_str() {
        "text/html" | "application/xhtml+xml" => Some(ContentKind::Html),
        // What servers say of files they know nothing about.
        "application/octet-stream" => None,
        name if name.starts_with("text/") || TEXT.contains(&name) => Some(ContentKind::Text),
        // An image in SVG is text, but nothing one could read.
        name if name.starts_with("image/") => None,
        name if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml") => {
            Some(ContentKind::Text)
        }
        _ => None,
    }
}

/// The type without its parameters, in lower case.
pub(super) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The charset among the parameters.
pub(super) fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// What content looks like that nobody has named.
pub(super) fn guess(content: &[u8]) -> Option<ContentKind> {
    let is_wide = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
    if content.contains(&0) && !is_wide {
        return None;
    }
    let start = String::from_utf8_lossy(&content[..content.len().min(512)]).trim_start().to_ascii_lowercase();
    let is_html = ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| start.starts_with(tag));
    Some(if is_html { ContentKind::Html } else { ContentKind::Text })
}
