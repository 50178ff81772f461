//! `convoke policy`

mod arguments;
mod explain;

use std::path::{Path, PathBuf};

use arguments::Explain;
pub(crate) use arguments::PolicyCommand;
use convoke_history::human;
use convoke_host::{BUILT_IN_TOOLS, FileProblems};
use convoke_tools::policy::{Policy, import};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Output, Rich, text};
use crate::{files, host};

pub(crate) fn run(
    arguments: &Arguments,
    command: &PolicyCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        PolicyCommand::Check { files } => check(arguments, files, output),
        PolicyCommand::Explain(explain) => explain::run(arguments, explain, output),
        PolicyCommand::Show(which) => output.show(&host::load(arguments)?.policies(which.policy.as_deref())?),
        PolicyCommand::Import { file, output: to } => translate(arguments, file, to.as_deref(), output),
    }
}

/// Those that were asked for must be there; those that would hold need not.
fn check(arguments: &Arguments, files: &[PathBuf], output: &mut Output) -> Result<(), Failure> {
    let files = match files {
        [] => {
            let files = host::load(arguments)?.policy_files();
            files.folder.into_iter().chain(files.own).collect()
        }
        named => named.to_vec(),
    };
    let mut problems = Vec::new();
    let (mut notes, mut wrong) = (Vec::new(), 0);
    for file in &files {
        let name = file.display().to_string();
        match Policy::load_existing(file) {
            Ok(policy) => {
                let misspelt = policy.misspelt_tools(BUILT_IN_TOOLS);
                if !arguments.json {
                    output.line(&Rich::plain(format!("{}: fine", text::clean(&name))))?;
                    output.notes(&misspelt);
                }
                notes.extend(misspelt);
            }
            Err(errors) => {
                wrong += errors.iter().count();
                if arguments.json {
                    problems.extend(errors.iter().map(|problem| {
                        let mut problem = json!(problem);
                        problem["file"] = name.as_str().into();
                        problem
                    }));
                } else {
                    output.problems(&FileProblems::Policy(errors));
                }
            }
        }
    }
    if arguments.json {
        output.json(&json!({"files": files, "problems": problems, "notes": notes}))?;
    } else if files.is_empty() {
        output.plain("there is no policy.toml: the defaults hold")?;
    }
    match wrong {
        0 => Ok(()),
        wrong => {
            Err(Failure::failed(format!("the policy is not valid: {}", human::count(wrong as u64, "error"))))
        }
    }
}

fn translate(
    arguments: &Arguments,
    file: &Path,
    to: Option<&Path>,
    output: &mut Output,
) -> Result<(), Failure> {
    let (name, text) = files::read(file)?;
    let imported = import::translate(&text, &name).map_err(|errors| {
        output.problems(&FileProblems::Policy(errors));
        Failure::failed(format!("{name} cannot be translated"))
    })?;
    if let Some(to) = to {
        files::write_new(to, &imported.text)?;
    }
    if arguments.json {
        return output.json(&json!({"policy": imported.text, "notes": imported.notes}));
    }
    if to.is_none() {
        output.block(&imported.text)?;
    }
    output.notes(&imported.notes);
    Ok(())
}
