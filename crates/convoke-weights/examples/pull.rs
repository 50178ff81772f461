//! Pulls a model: `cargo run -p convoke-weights --example pull -- smollm2 [FOLDER]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to a person")]

use std::time::Instant;

use convoke_weights::{Library, PullOptions, WeightsError, default_folder};

#[tokio::main]
async fn main() -> Result<(), WeightsError> {
    let mut arguments = std::env::args().skip(1);
    let Some(what) = arguments.next() else {
        eprintln!("usage: pull MODEL|FILE|ADDRESS [FOLDER]");
        return Ok(());
    };
    let library = Library::open(arguments.next().map_or_else(default_folder, |folder| Ok(folder.into()))?)?;
    let wanted = library.pull_source(&what)?;
    let begin = Instant::now();
    let mut last = String::new();
    let installed = library
        .pull(&wanted, PullOptions::default(), |progress| {
            let line = progress.to_string();
            if line != last {
                eprint!("\r\x1b[K{line}");
                last = line;
            }
        })
        .await?;
    eprintln!();
    println!("{} ({} bytes) in {:.1?}", installed.path().display(), installed.bytes(), begin.elapsed());
    Ok(())
}
