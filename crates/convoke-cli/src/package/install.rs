//! `convoke install`

use std::collections::BTreeMap;

use convoke_host::{in_words, installed_packages};
use convoke_package::{InstallOptions, Package};
use convoke_text::shell_quoted;
use serde_json::json;

use super::arguments::Install;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Output, Rich, Tone};

pub(super) fn run(arguments: &Arguments, wanted: &Install, output: &mut Output) -> Result<(), Failure> {
    let package = Package::open(&wanted.file)?;
    let home = match &wanted.target {
        Some(target) => target.clone(),
        None => super::home()?,
    };
    let mut options = InstallOptions::default();
    options.trust = super::trust(wanted.key.as_deref())?;
    options.trust_is_given_once = wanted.key.is_some();
    options.allow_unsigned = wanted.allow_unsigned;
    options.replace = wanted.force;
    options.dry_run = wanted.dry_run;
    let installed = package.install(&home, &options)?;
    if arguments.json {
        let dependencies: BTreeMap<_, _> = installed.dependencies.into_iter().collect();
        return output.json(&json!({
            "installed": !wanted.dry_run,
            "name": installed.name,
            "version": installed.version,
            "path": installed.path,
            "signature": installed.verification,
            "dependencies": dependencies,
        }));
    }
    let done = if wanted.dry_run { "would install" } else { "installed" };
    let title = format!(" {} {}", installed.name, installed.version);
    output.line(&Rich::new(Tone::Plain, done).with(Tone::Strong, title).with(
        Tone::Plain,
        format!(", {}: {}", in_words(&installed.verification), installed.path.display()),
    ))?;
    for (name, range) in &installed.dependencies {
        output.note(&format!(
            "it wants {} {} beside it, which is not fetched",
            one_line(name),
            one_line(range)
        ));
    }
    if !wanted.dry_run {
        // Only where packages are kept are they found by name.
        let what = match &wanted.target {
            // Another version of it may be newer.
            None => match installed_packages(&home, &installed.name)?.first() {
                Some(newest) if newest.version != installed.version => {
                    format!("{}@{}", installed.name, installed.version)
                }
                _ => installed.name.clone(),
            },
            Some(_) => installed.path.join("Agentfile").display().to_string(),
        };
        output.note(&format!("`convoke run {}` runs it", shell_quoted(&what)));
    }
    Ok(())
}
