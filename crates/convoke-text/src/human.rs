//! Formats numbers for people: durations, tokens, money, bytes, counts.
//!
//! ```
//! use std::time::Duration;
//!
//! use convoke_text::human;
//!
//! assert_eq!(human::duration(Duration::from_secs(185)), "3 min 05 s");
//! assert_eq!(human::dollars(12_345), "$0.0123");
//! assert_eq!(human::count(2, "model call"), "2 model calls");
//! ```

pub use crate::duration::rounded as duration;

/// `320`, `12.3k`, `1.2M`.
#[must_use]
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// `$0.0123`, `$1.23`: an amount in millionths of a dollar, rounded; what is more than nothing never becomes nothing.
#[must_use]
pub fn dollars(micros: u64) -> String {
    match micros {
        0 => "$0".to_owned(),
        1..100 => "<$0.0001".to_owned(),
        100..999_950 => format!("$0.{:04}", (micros + 50) / 100),
        _ => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// `98 MB`, `1.1 GB`.
#[must_use]
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", count / 1_000_000),
        _ => format!("{}.{} GB", count / 1_000_000_000, count % 1_000_000_000 / 100_000_000),
    }
}

/// `1,234,567`
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `2nd time`
#[must_use]
pub fn ordinal(number: usize) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix} time")
}

/// `1 model call`, `2 model calls`.
#[must_use]
pub fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped_and_small_ones_counted() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_234), grouped(1_234_567)],
            ["0", "999", "1,234", "1,234,567"]
        );
        assert_eq!(
            [ordinal(2), ordinal(3), ordinal(11), ordinal(21)],
            ["2nd time", "3rd time", "11th time", "21st time"]
        );
    }
}
