//! Bytes as hexadecimal digits.

use std::fmt::Write;

/// Bytes as lower-case hexadecimal digits, two each.
///
/// ```
/// assert_eq!(convoke_text::hex(&[0, 10, 255]), "000aff");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
