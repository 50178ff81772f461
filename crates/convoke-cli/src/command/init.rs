//! `convoke init`

use std::io::{self, IsTerminal};
use std::path::Path;

use convoke_host::{ProjectPlan, is_project};
use convoke_text::shell_quoted;
use serde_json::json;

use crate::arguments::{Arguments, Init};
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone};
use crate::wizard::Wizard;

/// What to do if nothing can be written.
const ANOTHER: &str = "name a folder that you can write to";

pub(crate) async fn run(arguments: &Arguments, wanted: &Init, output: &mut Output) -> Result<(), Failure> {
    let folder = &*wanted.folder;
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!("{} cannot be written: {error}", folder.display())).hint(ANOTHER)
    })?;
    if is_project(folder) {
        return Err(Failure::failed(format!(
            "{} has an Agentfile and a convoke.toml already",
            folder.display()
        ))
        .hint("nothing was changed; name another folder to begin anew"));
    }
    let name =
        folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let usual = ProjectPlan::usual(&name.unwrap_or_default());
    // Whoever cannot be told which model there is can still begin.
    let found = match host::load(arguments).map(|host| host.models()) {
        Ok(Ok(models)) => models.choose(None).await.ok().and_then(|choice| choice.model),
        _ => None,
    };
    let is_asked = !wanted.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let plan = if is_asked {
        let found = found.as_ref().map(ToString::to_string);
        let asked = Wizard::new(io::stdin().lock(), io::stderr()).ask(usual, found.as_deref());
        asked.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::failed("nothing was written: nobody answered"),
            _ => Failure::failed(format!("the terminal cannot be used: {error}")),
        })?
    } else {
        usual
    };
    let project = plan.write(folder).map_err(|error| Failure::failed(error.to_string()).hint(ANOTHER))?;
    for file in &project.kept {
        output.note(&format!("{} is there already and stays as it is", file.display()));
    }
    let written = &project.written;
    if arguments.json {
        output.json(&json!({"written": written}))?;
    } else {
        for file in written {
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
        there => format!("cd {} && ", shell_quoted(&there.display().to_string())),
    };
    match model {
        Some(model) => format!("`{change}convoke run` runs it with {model}"),
        None => format!(
            "no model was found: `convoke doctor` says what to do; then `{change}convoke run` runs it. To see it run without \
             one, with answers made up: `{change}convoke run --model scripted/rehearsal`"
        ),
    }
}
