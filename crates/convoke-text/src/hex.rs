//! Bytes as hexadecimal digits, written and read.

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

/// Reads bytes from hexadecimal digits, two each, small or capital. `None` if it is anything else, a sign for instance.
///
/// ```
/// use convoke_text::unhex;
///
/// assert_eq!(unhex("000aFF"), Some(vec![0, 10, 255]));
/// assert_eq!((unhex("+f"), unhex("abc")), (None, None));
/// ```
#[must_use]
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let byte = |pair: &[u8]| Some(16 * digit(&pair[0])? + digit(&pair[1])?);
    let digits = digits.as_bytes();
    digits.len().is_multiple_of(2).then(|| digits.chunks_exact(2).map(byte).collect())?
}
