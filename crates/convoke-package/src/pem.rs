//! Reads and writes PEM: bytes between `-----BEGIN KIND-----` and `-----END KIND-----`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const LINE: usize = 64;

pub(crate) fn encode(kind: &str, bytes: &[u8]) -> String {
    let body = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {kind}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(&format!("-----END {kind}-----\n"));
    text
}

/// The bytes of the one block of this kind.
pub(crate) fn decode(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("-----BEGIN "));
    let first = lines.next().ok_or("it is not a PEM file")?;
    if first != format!("-----BEGIN {kind}-----") {
        let other = first.trim_start_matches("-----BEGIN ").trim_end_matches('-');
        return Err(format!("unsupported key type: it is a {other}, not an {kind}"));
    }
    let end = format!("-----END {kind}-----");
    let mut body = String::new();
    for line in lines {
        if line == end {
            return STANDARD.decode(body).map_err(|_| "its text is damaged".to_owned());
        }
        body.push_str(line);
    }
    Err("it has no end".to_owned())
}
