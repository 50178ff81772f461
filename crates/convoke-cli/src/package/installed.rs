//! `convoke packages`, `convoke uninstall`, and installed packages that are named like files.

use std::path::Path;

use convoke_host::{SimilarPackage, installed_packages, package_named, similar_package};
use serde_json::json;

use super::arguments::Uninstall;
use super::home;
use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Align, Column, Output, Rich, Table, Tone};

/// Lists what is installed.
pub(super) fn list(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let home = home()?;
    let all = convoke_package::installed(&home)?;
    if arguments.json {
        return output.json(&json!(all));
    }
    if all.is_empty() {
        output.note(&format!(
            "no package is installed in {}; `convoke install FILE` installs one",
            home.display()
        ));
        return Ok(());
    }
    let left = |title| Column::new(title, Align::Left);
    let mut table = Table::new([left("PACKAGE"), left("VERSION"), left("FOLDER")]);
    for found in &all {
        table.row([
            (Tone::Strong, one_line(&found.name)),
            (Tone::Plain, one_line(&found.version)),
            (Tone::Faint, one_line(&found.path.display().to_string())),
        ]);
    }
    output.table(&table)
}

/// Removes what is installed.
pub(super) fn remove(arguments: &Arguments, wanted: &Uninstall, output: &mut Output) -> Result<(), Failure> {
    let home = home()?;
    let found = installed_packages(&home, &wanted.package)?;
    if found.is_empty() {
        let all = convoke_package::installed(&home)?;
        return Err(Failure::not_found(format!("no package `{}` is installed", one_line(&wanted.package)))
            .meant(
                &wanted.package,
                all.iter().map(|one| &*one.name),
                "`convoke packages` lists those that are",
            ));
    }
    for version in &found {
        version.remove()?;
        if !arguments.json {
            let title = format!(" {} {}", one_line(&version.name), one_line(&version.version));
            output.line(&Rich::plain("removed").with(Tone::Strong, title))?;
        }
    }
    match arguments.json {
        true => output.json(&json!(found)),
        false => Ok(()),
    }
}

/// Puts the files of installed packages where a command names a package and no file. That nobody vouches for one is noted.
pub(crate) fn name_files(command: &mut Command, output: &mut Output) {
    let files = match command {
        Command::Run(run) => std::slice::from_mut(&mut run.file),
        Command::Inspect(inspect) => std::slice::from_mut(&mut inspect.file),
        Command::Validate(validate) => &mut *validate.files,
        _ => return,
    };
    // Whoever has no home has no packages; then there is no such file, which is said where it is read.
    let Ok(home) = home() else { return };
    for path in files {
        if let Some(newest) = package_named(&home, path) {
            if let Some(concern) = newest.concern() {
                output.note(&format!("{} {}: {concern}", newest.name, newest.version));
            }
            *path = newest.path.join("Agentfile");
        }
    }
}

/// What is installed under nearly this name, where no file has it.
pub(crate) fn meant(path: &Path) -> Option<String> {
    Some(match similar_package(&home().ok()?, path)? {
        SimilarPackage::Versions { name, versions } => {
            format!("of the package {name} there is {} here", versions.join(", "))
        }
        SimilarPackage::Named(name) => format!("did you mean the package `{name}`?"),
        _ => return None,
    })
}
