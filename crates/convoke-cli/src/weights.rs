//! A progress bar for model files that are fetched.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use convoke_history::human;
use convoke_host::models::{Download, DownloadObserver};
use convoke_weights::{InstalledModel, Library, Progress, PullOptions, PullSource, Stage};

use crate::failure::Failure;
use crate::terminal::Spinner;

/// How wide the bar is, in columns.
const BAR: usize = 30;

/// What is shown while something is fetched: the line, the step of the download, and when and with how much that began.
struct Bar {
    waiting: Spinner,
    step: Option<(Stage, usize)>,
    began: Instant,
    before: u64,
}

impl Bar {
    fn begin() -> Self {
        let waiting = Spinner::begin(&Stage::Finding.to_string());
        Self { waiting, step: None, began: Instant::now(), before: 0 }
    }

    fn show(&mut self, progress: &Progress) {
        let step = Some((progress.stage, progress.part));
        if self.step != step {
            // A download that is gone on with has its beginning already, and that took no time.
            (self.step, self.began, self.before) = (step, Instant::now(), progress.bytes);
        }
        self.waiting.say(shown(progress, self.before, self.began.elapsed()));
    }
}

/// A bar that shows how fetching goes, if somebody watches.
pub(crate) fn bar() -> DownloadObserver {
    let shown: Mutex<Option<Bar>> = Mutex::new(None);
    Arc::new(move |download| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        match download {
            Download::Progress(progress) => shown.get_or_insert_with(Bar::begin).show(progress),
            _ => drop(shown.take()),
        }
    })
}

/// Pulls a model, with a bar if somebody watches.
pub(crate) async fn pull(
    library: &Library,
    wanted: &PullSource,
    options: PullOptions,
) -> Result<InstalledModel, Failure> {
    let bar = bar();
    let pulled = library.pull(wanted, options, |progress| bar(Download::Progress(&progress))).await;
    bar(Download::Ended);
    Ok(pulled?)
}

fn shown(progress: &Progress, before: u64, took: Duration) -> String {
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
