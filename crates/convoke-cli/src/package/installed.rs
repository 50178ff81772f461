//! `convoke packages`, `convoke uninstall`, and installed packages that are named like files.

use std::path::{Path, PathBuf};

use convoke_package::InstalledVersion;
use serde_json::{Value, json};

use super::arguments::Uninstall;
use super::places;
use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Align, Column, Ink, Output, Rich, Table};

/// Lists what is installed.
pub(super) fn list(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let home = places::packages()?;
    let all = convoke_package::installed(&home)?;
    if arguments.json {
        return output.json(&all.iter().map(as_json).collect::<Vec<_>>());
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
            (Ink::Strong, one_line(&found.name)),
            (Ink::Plain, one_line(&found.version)),
            (Ink::Faint, one_line(&found.path.display().to_string())),
        ]);
    }
    table.lines(output.width()).iter().try_for_each(|line| output.line(line))
}

/// Removes what is installed.
pub(super) fn remove(arguments: &Arguments, wanted: &Uninstall, output: &mut Output) -> Result<(), Failure> {
    let found = find(&wanted.package)?;
    if found.is_empty() {
        return Err(Failure::not_found(format!("no package `{}` is installed", one_line(&wanted.package)))
            .hint("`convoke packages` lists those that are"));
    }
    for version in &found {
        version.remove()?;
        if !arguments.json {
            let title = format!(" {} {}", one_line(&version.name), one_line(&version.version));
            output.line(&Rich::plain("removed").with(Ink::Strong, title))?;
        }
    }
    match arguments.json {
        true => output.json(&found.iter().map(as_json).collect::<Vec<_>>()),
        false => Ok(()),
    }
}

/// Puts the files of installed packages where a command names a package and no file.
pub(crate) fn name_files(command: &mut Command) {
    match command {
        Command::Run(run) => name_file(&mut run.file),
        Command::Inspect(inspect) => name_file(&mut inspect.file),
        Command::Validate(validate) => validate.files.iter_mut().for_each(name_file),
        _ => {}
    }
}

fn name_file(path: &mut PathBuf) {
    let Some(name) = path.to_str().filter(|_| is_bare(path) && !path.exists()) else { return };
    // Whoever has no home has no packages; then there is no such file, which is said where it is read.
    if let Some(newest) = find(name).unwrap_or_default().into_iter().next() {
        *path = newest.path.join("Agentfile");
    }
}

/// Whether a path is nothing but a name.
fn is_bare(path: &Path) -> bool {
    let mut parts = path.components();
    matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None))
}

/// What is installed of `NAME[@VERSION]`, the newest first.
fn find(wanted: &str) -> Result<Vec<InstalledVersion>, Failure> {
    let (name, version) = match wanted.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (wanted, None),
    };
    Ok(convoke_package::versions(places::packages()?, name, version)?)
}

fn as_json(found: &InstalledVersion) -> Value {
    json!({"name": found.name, "version": found.version, "path": found.path})
}
