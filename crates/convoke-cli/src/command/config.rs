//! `convoke config`

use std::path::Path;

use convoke_config::{import, is_listed};
use convoke_host::view::{Places, Settings};
use convoke_host::{FileProblems, HostError};
use serde_json::json;

use crate::arguments::{Arguments, ConfigCommand};
use crate::configuration;
use crate::failure::Failure;
use crate::files;
use crate::terminal::{Output, Rich, Tone};

pub(crate) fn run(
    arguments: &Arguments,
    command: &ConfigCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show { section } => show(arguments, section.as_deref(), output),
        ConfigCommand::Path => path(arguments, output),
        ConfigCommand::Import { file, output: to } => translate(arguments, file, to, output),
    }
}

fn translate(arguments: &Arguments, file: &Path, to: &Path, output: &mut Output) -> Result<(), Failure> {
    let (name, text) = files::read(file)?;
    let imported = import::translate(&text, &name).map_err(|error| Failure::failed(error.to_string()))?;
    let is_shown = to == Path::new("-");
    if !is_shown {
        files::write_new(to, &imported.text)?;
    }
    if arguments.json {
        let written = (!is_shown).then_some(to);
        return output.json(&json!({"written": written, "text": imported.text, "notes": imported.notes}));
    }
    match is_shown {
        true => output.block(&imported.text)?,
        false => {
            output.line(&Rich::new(Tone::Good, "wrote").with(Tone::Plain, format!(" {}", to.display())))?
        }
    }
    output.notes(&imported.notes);
    Ok(())
}

fn show(arguments: &Arguments, section: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let settings = Settings::of(&config, section)?;
    output.show(&settings)?;
    // Who asks for a part has not asked about the rest, and a document has it all.
    if !arguments.json && section.is_none() && !config.warnings().is_empty() {
        output.problems(&FileProblems::Configuration(config.warnings().clone()));
    }
    if !arguments.json
        && is_listed("telemetry.endpoint", section)
        && let Err(error) = config.telemetry()
    {
        output.note(&error.to_string());
    }
    match settings.unreadable_keys {
        Some(error) => Err(HostError::from(error).into()),
        None => Ok(()),
    }
}

fn path(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let locations = &configuration::loader(arguments).locations();
    let store = Some(&*arguments.store).filter(|store| !store.as_os_str().is_empty());
    output.show(&Places { locations, store })
}
