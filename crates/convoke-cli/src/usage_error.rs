//! Reports command lines that are not valid.

use std::io::Write;

use convoke_host::FailureReport;
use serde_json::json;

use crate::failure::error_json;
use crate::terminal::Documents;

/// Says what is wrong with the command line, also as JSON if that was asked for, and ends the process.
pub(crate) fn exit(error: &clap::Error) -> ! {
    let mut report = json!({"error": error_json(Some(&report_of(&error.to_string())))});
    // Whoever does not read it is told on standard error.
    let _ = match documents().filter(|_| error.use_stderr()) {
        Some(Documents::One) => writeln!(std::io::stdout(), "{report:#}"),
        Some(Documents::Lines) => {
            report["type"] = "error".into();
            writeln!(std::io::stdout(), "{report}")
        }
        None => Ok(()),
    };
    error.exit()
}

/// As what results are wanted, by the words of a command line that cannot be read.
fn documents() -> Option<Documents> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let asks_for = |format: &str| {
        let next = words.windows(2).any(|pair| pair[0] == "--output" && pair[1] == format);
        next || words.contains(&format!("--output={format}"))
    };
    match (asks_for("ndjson"), asks_for("json") || words.iter().any(|word| word == "--json")) {
        (true, _) => Some(Documents::Lines),
        (false, is_json) => is_json.then_some(Documents::One),
    }
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
