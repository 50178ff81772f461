//! Reports command lines that are not valid.

use std::io::Write;

use convoke_host::FailureReport;
use serde_json::json;

use crate::failure::error_json;

/// Says what is wrong with the command line, also as JSON if that was asked for, and ends the process.
pub(crate) fn exit(error: &clap::Error) -> ! {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let report = json!({"error": error_json(Some(&report_of(&error.to_string())))});
        // Whoever does not read it is told on standard error.
        let _ = writeln!(std::io::stdout(), "{report:#}");
    }
    error.exit()
}

/// What is wrong with a command line, out of what is said of it to people: the message in the first line, then indented
/// lines with more about it, some of which say what to do; usage after that.
fn report_of(words: &str) -> FailureReport {
    let mut lines = words.trim_start_matches("error: ").lines().map(str::trim_end);
    let failure = FailureReport::usage(lines.next().unwrap_or_default());
    lines.filter_map(|line| line.strip_prefix("  ")).fold(failure, |failure, line| {
        match line.strip_prefix("tip: ") {
            Some(tip) => failure.hint(tip),
            None => failure.detail(line.trim_start()),
        }
    })
}
