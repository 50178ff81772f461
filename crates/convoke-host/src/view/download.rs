//! Downloads of model files under way.

use std::time::Duration;

use convoke_history::human;
use convoke_weights::{Progress, Stage};

/// How wide the bar is, in columns.
const BAR: usize = 30;

/// The line that shows how far a download is. Its current step began this long ago, with so many bytes that were here before.
#[must_use]
pub fn download_line(progress: &Progress, before: u64, took: Duration) -> String {
    let Progress { stage, part, parts, bytes, total, .. } = progress;
    let part = if *parts > 1 { format!(" {part}/{parts}") } else { String::new() };
    let total = total.filter(|_| *stage != Stage::Finding);
    let rate = bytes.saturating_sub(before) as f64 / took.as_secs_f64().max(0.001);
    line(&format!("{stage}{part}"), *bytes, total, rate as u64)
}

/// `downloading 2/6      ━━━━━━━━━━                     98 MB/300 MB, 12 MB/s, 16.0 s left`
fn line(what: &str, bytes: u64, total: Option<u64>, rate: u64) -> String {
    let Some(total) = total.filter(|total| *total > 0) else {
        return if bytes > 0 { format!("{what} {}", human::bytes(bytes)) } else { what.to_owned() };
    };
    let done = usize::try_from(bytes.saturating_mul(BAR as u64) / total).map_or(BAR, |done| done.min(BAR));
    let bar = format!("{}{}", "━".repeat(done), " ".repeat(BAR - done));
    let left = total.saturating_sub(bytes).checked_div(rate).map(Duration::from_secs);
    let left = left.map_or(String::new(), |left| format!(", {} left", human::duration(left)));
    let (bytes, total, rate) = (human::bytes(bytes), human::bytes(total), human::bytes(rate));
    format!("{what:20} {bar} {bytes}/{total}, {rate}/s{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_there_is_and_how_long_it_takes() {
        let bar = format!("{}{}", "━".repeat(15), " ".repeat(15));
        assert_eq!(
            line("downloading 2/6", 150_000_000, Some(300_000_000), 10_000_000),
            format!("downloading 2/6      {bar} 150 MB/300 MB, 10 MB/s, 15.0 s left")
        );
        assert_eq!(line("finding", 0, None, 0), "finding");
        assert_eq!(line("checking", 2_000, None, 0), "checking 2 kB");
        assert!(line("downloading", 0, Some(5), 0).ends_with("0 B/5 B, 0 B/s"));
    }
}
