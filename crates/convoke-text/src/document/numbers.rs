//! Numbers with more digits than are kept: whole ones beyond 64 bits, and others beyond what a float has.

use serde_json::Number;

use super::{Content, Node};
use crate::finding::{Finding, child};

/// Adds a warning for every number in a document that is read as another one.
pub fn inexact_numbers(node: &Node, text: &str, findings: &mut Vec<Finding>) {
    let mut open = vec![(String::new(), node)];
    while let Some((path, node)) = open.pop() {
        match &node.content {
            Content::Number(number) => {
                let written = text.get(node.place.clone()).unwrap_or_default();
                if !keeps_digits(written, number) {
                    let shown = crate::one_line_of(written, 40);
                    let message = format!("`{shown}` has more digits than are kept: it is read as {number}");
                    let finding = Finding::warning("inexact-number", path, message);
                    findings.push(finding.help("write it as a text, in quotes, if every digit counts"));
                }
            }
            Content::List(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (child(&path, index), item)));
            }
            Content::Map(entries) => {
                open.extend(entries.iter().map(|entry| (child(&path, &entry.name), &entry.node)));
            }
            _ => {}
        }
    }
}

/// Returns whether every number in a valid JSON text keeps all its digits when it is read.
///
/// ```
/// use convoke_text::document::keeps_numbers;
///
/// assert!(keeps_numbers(r#"{"a": 1.50, "b": "12345678901234567890123"}"#));
/// assert!(!keeps_numbers(r#"{"a": 12345678901234567890123}"#));
/// ```
#[must_use]
pub fn keeps_numbers(json: &str) -> bool {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let mut escaped = false;
                let closing = bytes[at + 1..].iter().position(|byte| {
                    let ends = *byte == b'"' && !escaped;
                    escaped = *byte == b'\\' && !escaped;
                    ends
                });
                at += closing.map_or(bytes.len(), |closing| closing + 2);
            }
            b'-' | b'0'..=b'9' => {
                let rest = bytes[at..].iter();
                let length =
                    rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
                let written = &json[at..at + length];
                if serde_json::from_str(written).is_ok_and(|number| !keeps_digits(written, &number)) {
                    return false;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    true
}

/// Whether a number that is read says what is written. What is not written in decimal digits is taken as it is.
fn keeps_digits(written: &str, number: &Number) -> bool {
    if !number.is_f64() {
        return true;
    }
    let (Some(written), Some(read)) = (digits(written), digits(&number.to_string())) else { return true };
    written == read
}

/// The digits of a number without zeros at the ends, and the power of ten of the last of them; nothing if it is no decimal number.
fn digits(number: &str) -> Option<(String, i64)> {
    let number = number.trim_start_matches(['-', '+']);
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kept = all.trim_end_matches('0');
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let zeros = i64::try_from(all.len() - kept.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let kept = kept.trim_start_matches('0').to_owned();
    let power = if kept.is_empty() { 0 } else { exponent.checked_sub(places)?.checked_add(zeros)? };
    Some((kept, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_exact_if_it_is_read_as_it_is_written() {
        for exact in ["0", "-0.0", "1.50", "1e3", "12.5E-2", "0.1", "100000000000000000000", "1e300"] {
            assert!(keeps_numbers(exact), "{exact}");
        }
        for inexact in ["12345678901234567890123", "0.12345678901234567890123", "-12345678901234567890.5"] {
            assert!(!keeps_numbers(inexact), "{inexact}");
        }
        assert!(keeps_numbers(r#"["\\\"", "12345678901234567890123", true]"#));
    }
}
