//! A progress bar for model files that are fetched.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use convoke_host::models::{Download, DownloadObserver};
use convoke_host::view::download_line;
use convoke_weights::{InstalledModel, Library, Progress, PullOptions, PullSource, Stage};

use crate::failure::Failure;
use crate::terminal::Spinner;

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
        self.waiting.say(download_line(progress, self.before, self.began.elapsed()));
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
