//! Times as people write them: `500ms`, `30s`, `5m`, `1h30m`, `2d`.

use std::time::Duration;

/// Reads a time. `None` if it is none.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(rest.len());
        let millis = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        rest = rest[letters..].trim_start();
        total = total.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
    }
    Some(total)
}

/// The shortest way to write it.
pub(crate) fn shown(duration: Duration) -> String {
    let mut millis = duration.as_millis();
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (size, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")] {
        if millis >= size {
            text.push_str(&format!("{}{unit}", millis / size));
            millis %= size;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_in_the_same_way() {
        for text in ["500ms", "30s", "5m", "1h30m", "2d"] {
            assert_eq!(parse(text).map(shown).as_deref(), Some(text));
        }
        assert_eq!(parse("90 s").map(shown), None, "a unit follows its number");
        assert_eq!(parse("1h 30min").map(shown).as_deref(), Some("1h30m"));
        for wrong in ["", "30", "s", "3x", "-3s", "1.5h", "99999999999999999999s", "9999999999999999d"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
