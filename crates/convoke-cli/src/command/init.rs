//! `convoke init`

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::arguments::{Arguments, Init};
use crate::failure::Failure;
use crate::files;
use crate::host;
use crate::init::{Plan, Wizard, Wizardry, agentfile, name_of, settings};
use crate::shell;
use crate::terminal::{Output, Rich, Tone};

pub(crate) async fn run(arguments: &Arguments, wanted: &Init, output: &mut Output) -> Result<(), Failure> {
    let folder = &*wanted.folder;
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let files = [folder.join("Agentfile"), folder.join(convoke_config::FILE)];
    if files.iter().all(|file| file.exists()) {
        return Err(Failure::failed(format!(
            "{} has an Agentfile and a convoke.toml already",
            folder.display()
        ))
        .hint("nothing was changed; name another folder to begin anew"));
    }
    let name =
        folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let name = name_of(&name.unwrap_or_default());
    // Whoever cannot be told which model there is can still begin.
    let found = match host::load(arguments).map(|host| host.models()) {
        Ok(Ok(models)) => models.choose(None).await.ok().and_then(|choice| choice.model),
        _ => None,
    };
    let is_asked = !wanted.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let plan = if is_asked {
        let found = found.as_ref().map(ToString::to_string);
        match Wizard::new(io::stdin().lock(), io::stderr()).ask(&name, found.as_deref()) {
            Ok(Wizardry::Planned(plan)) => plan,
            Ok(Wizardry::Left) => return Err(Failure::failed("nothing was written: nobody answered")),
            Err(error) => return Err(Failure::failed(format!("the terminal cannot be used: {error}"))),
        }
    } else {
        Plan::usual(name)
    };
    let mut written = write(&files, &plan, output)?;
    written.extend(ignore(&folder.join(".gitignore"))?);
    if arguments.json {
        output.json(&json!({"written": written}))?;
    } else {
        for file in &written {
            output.line(&Rich::new(Tone::Good, "wrote").with(Tone::Plain, format!(" {}", file.display())))?;
        }
    }
    let model = plan.model.clone().or_else(|| found.map(|model| model.to_string()));
    output.note(&next(folder, model.as_deref()));
    Ok(())
}

/// What to do next.
fn next(folder: &Path, model: Option<&str>) -> String {
    let change = match folder {
        here if here == Path::new(".") => String::new(),
        there => format!("cd {} && ", shell::quoted(&there.display().to_string())),
    };
    match model {
        Some(model) => format!("`{change}convoke run` runs it with {model}"),
        None => format!(
            "no model was found: `convoke doctor` says what to do; then `{change}convoke run` runs it. To see it run without \
             one, with answers made up: `{change}convoke run --model scripted/rehearsal`"
        ),
    }
}

/// Writes what is not there yet.
fn write(files: &[PathBuf; 2], plan: &Plan, output: &mut Output) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    for (file, text) in files.iter().zip([agentfile(plan), settings(plan)]) {
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
        match made.and_then(|mut made| made.write_all(text.as_bytes())) {
            Ok(()) => written.push(file.clone()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                output.note(&format!("{} is there already and stays as it is", file.display()));
            }
            Err(error) => return Err(unwritable(file, &error)),
        }
    }
    Ok(written)
}

/// What is not to be shared: keys. Runs, with everything that was said in them, are not kept in the folder.
const IGNORED: [&str; 1] = ["credentials.toml"];

/// Has git leave out what is not to be shared. Gives the file if it was changed; lines it has stay as they are.
fn ignore(file: &Path) -> Result<Option<PathBuf>, Failure> {
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(file, &error)),
    };
    let has = |wanted: &str| before.lines().any(|line| line.trim().trim_start_matches('/') == wanted);
    let missing: Vec<&str> = IGNORED.into_iter().filter(|wanted| !has(wanted)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let break_line = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    files::replace(file, &format!("{before}{break_line}{}\n", missing.join("\n")))?;
    Ok(Some(file.to_owned()))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} cannot be written: {error}", path.display()))
        .hint("name a folder that you can write to")
}
