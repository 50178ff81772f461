//! `convoke packages`, `convoke uninstall`, and installed packages that are named like files.

use convoke_config::Environment;
use convoke_host::{FailureReport, installed_packages, other_versions, package_named, trust_store};
use serde_json::json;

use super::arguments::Uninstall;
use super::home;
use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Output, Rich, Tone};

/// Lists what is installed.
pub(super) fn list(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let home = home()?;
    let all = convoke_package::installed(&home)?;
    if all.is_empty() && !arguments.json {
        let home = home.display();
        output.note(&format!("no package is installed in {home}; `convoke install FILE` installs one"));
        return Ok(());
    }
    output.show(&*all)
}

/// Removes what is installed.
pub(super) fn remove(arguments: &Arguments, wanted: &Uninstall, output: &mut Output) -> Result<(), Failure> {
    let home = home()?;
    let found = installed_packages(&home, &wanted.package)?;
    if found.is_empty() {
        let failure =
            FailureReport::not_found(format!("no package `{}` is installed", one_line(&wanted.package)));
        if let Some(others) = other_versions(&home, &wanted.package) {
            return Err(failure.hint(others).into());
        }
        let all = convoke_package::installed(&home)?;
        let names = all.iter().map(|one| &*one.name);
        return Err(failure.meant(&wanted.package, names, "`convoke packages` lists those that are").into());
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
    // That keys cannot be read is said where the file is.
    let trust = trust_store(&Environment::process()).unwrap_or_default();
    for path in files {
        if let Some(newest) = package_named(&home, path) {
            if let Some(concern) = newest.concern(&trust) {
                output.note(&format!("{} {}: {concern}", newest.name, newest.version));
            }
            *path = newest.path.join("Agentfile");
        }
    }
}
