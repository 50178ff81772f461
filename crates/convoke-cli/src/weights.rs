//! Model files: where they are, and how they are fetched while somebody watches.

use std::io::{self, IsTerminal};
use std::time::Duration;

use convoke_weights::{
    Installed, Library, Progress, PullOptions, Stage, Wanted, WeightsError, default_folder,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// The library of model files on this machine.
pub(crate) fn library() -> Result<Library, Failure> {
    Ok(Library::open(default_folder()?)?)
}

/// Pulls a model, with a bar if somebody watches.
pub(crate) async fn pull(
    library: &Library,
    wanted: &Wanted,
    options: PullOptions,
) -> Result<Installed, Failure> {
    let watched = io::stderr().is_terminal();
    let bar = if watched { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.enable_steady_tick(Duration::from_millis(120));
    let pulled = library.pull(wanted, options, |progress| show(&bar, &progress)).await;
    bar.finish_and_clear();
    Ok(pulled?)
}

fn show(bar: &ProgressBar, progress: &Progress) {
    // Both are texts of ours, written correctly.
    let style = |template: &str| {
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    };
    let part =
        if progress.parts > 1 { format!(" {}/{}", progress.part, progress.parts) } else { String::new() };
    let message = format!("{}{part}", progress.stage);
    if bar.message() != message {
        match progress.total {
            Some(total) if progress.stage != Stage::Finding => {
                bar.set_style(style("{msg:20} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}"));
                bar.set_length(total);
                bar.reset_eta();
            }
            _ => bar.set_style(style("{spinner} {msg:20} {bytes}")),
        }
        bar.set_message(message);
    }
    bar.set_position(progress.bytes);
}

impl From<WeightsError> for Failure {
    fn from(error: WeightsError) -> Self {
        Self::failed(error.to_string())
    }
}
