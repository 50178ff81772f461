//! Reads with an end: devices and pipes may have none.

use std::io::{self, ErrorKind, Read};

/// Reads text of at most `most` bytes.
///
/// ```
/// use convoke_text::read_bounded;
///
/// assert_eq!(read_bounded(&b"a loom"[..], 1 << 20)?, "a loom");
/// let error = read_bounded(std::io::repeat(b'a'), 1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "it has more than 1 MiB, or no end");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If it cannot be read, has more than that, or is not text in UTF-8.
pub fn read_bounded(source: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {} MiB, or no end", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}
