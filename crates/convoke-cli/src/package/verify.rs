//! `convoke verify`

use convoke_history::human;
use convoke_host::{FailureReport, in_words};
use convoke_package::{Package, Verification};
use serde_json::json;

use super::arguments::Verify;
use super::title;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Output, Rich, Tone};

pub(super) fn run(arguments: &Arguments, wanted: &Verify, output: &mut Output) -> Result<(), Failure> {
    let package = Package::open(&wanted.file)?;
    let verification = package.verify(&super::trust(wanted.key.as_deref())?);
    let files = package.list()?;
    if arguments.json {
        output.json(&json!({"manifest": package.manifest(), "signature": verification, "files": files}))?;
    } else {
        let (tone, sign) = if verification.is_verified() {
            (Tone::Good, "✓ Verified")
        } else {
            (Tone::Bad, "✗ Not verified")
        };
        let line = Rich::new(tone, sign).with(Tone::Strong, format!(" {}", one_line(&title(&package))));
        output.line(&line.with(Tone::Plain, format!(": {}", in_words(&verification))))?;
        if !package.manifest().description.is_empty() {
            output.plain(&format!("  {}", one_line(&package.manifest().description)))?;
        }
        for file in &files {
            let run = if file.executable { "  can be run" } else { "" };
            let line = Rich::plain(format!("  {}", one_line(&file.path)));
            output.line(&line.with(Tone::Faint, format!("  {}{run}", human::bytes(file.size))))?;
        }
    }
    let failure = FailureReport::failed(format!("{} is not verified", wanted.file.display()));
    Err(match verification {
        Verification::Verified { .. } => return Ok(()),
        Verification::Unsigned => failure.detail("the package is not signed"),
        Verification::UnknownKey { .. } => failure
            .detail("the key it is signed with is not trusted here")
            .hint("`convoke trust KEY --as NAME` trusts a key; `--key KEY` tries one"),
        Verification::Invalid { reason } => {
            failure.detail(format!("signature verification failed: {reason}"))
        }
    }
    .into())
}
