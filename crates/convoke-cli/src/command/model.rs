//! `convoke model`

use convoke_host::models::library;
use convoke_weights::{CatalogueEntry, InstalledModel, ModelInfo, ModelKind, PullOptions, WeightsError};
use serde_json::{Value, json};

use crate::arguments::{Arguments, ModelCommand};
use crate::failure::Failure;
use crate::human;
use crate::terminal::{Align, Column, Output, Rich, Table, Tone};
use crate::weights;

pub(crate) async fn run(
    arguments: &Arguments,
    command: &ModelCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    let library = library()?;
    match command {
        ModelCommand::List => {
            let installed = library.list()?;
            let catalogue = library.catalogue().entries();
            if !arguments.json {
                return list(&installed, catalogue, output);
            }
            output.json(&json!({
                "catalogue": catalogue.iter().map(entry_json).collect::<Vec<_>>(),
                "installed": installed.iter().map(installed_json).collect::<Vec<_>>(),
            }))
        }
        ModelCommand::Pull { what, name } => {
            let wanted = library.pull_source(what)?;
            let options = PullOptions::default();
            let options = match name {
                Some(name) => options.name(name),
                None => options,
            };
            let installed = weights::pull(&library, &wanted, options).await?;
            if arguments.json {
                return output.json(&installed_json(&installed));
            }
            output.plain(&format!("{}  {}", installed.name, installed.path().display()))
        }
        ModelCommand::Rm { name } => {
            library.remove(name).map_err(|error| match error {
                WeightsError::NotInstalled { name } => {
                    Failure::not_found(format!("there is no model `{name}` on this machine"))
                        .hint("`convoke model list` shows those that are")
                }
                other => other.into(),
            })?;
            if arguments.json {
                output.json(&json!({"removed": name}))
            } else {
                output.plain(&format!("removed {name}"))
            }
        }
        ModelCommand::Info { name } => {
            let info = library.info(name)?;
            if info.entry.is_none() && info.installed.is_none() {
                return Err(Failure::not_found(format!(
                    "there is no model `{name}` here or in the catalogue"
                ))
                .hint("`convoke model list` shows what there is"));
            }
            if arguments.json {
                return output.json(&json!({
                    "catalogue": info.entry.as_ref().map(entry_json),
                    "installed": info.installed.as_ref().map(installed_json),
                }));
            }
            print_info(&info, output)
        }
    }
}

fn list(
    installed: &[InstalledModel],
    catalogue: &[CatalogueEntry],
    output: &mut Output,
) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::new("name", Align::Left),
        Column::new("kind", Align::Left),
        Column::new("size", Align::Right),
        Column::new("licence", Align::Left),
        Column::new("here", Align::Left),
    ]);
    let mut row = |name: String, kind: ModelKind, bytes: u64, licence: &str, is_here: bool| {
        table.row([
            (Tone::Strong, name),
            (Tone::Plain, self::kind(kind).to_owned()),
            (Tone::Plain, human::bytes(bytes)),
            (Tone::Plain, licence.to_owned()),
            if is_here { (Tone::Good, "yes".to_owned()) } else { (Tone::Faint, "no".to_owned()) },
        ]);
    };
    for entry in catalogue {
        let is_here = installed.iter().any(|model| model.name == entry.name);
        let name = if entry.is_default { format!("{} (default)", entry.name) } else { entry.name.clone() };
        row(name, entry.kind, entry.bytes(), &entry.licence, is_here);
    }
    for model in installed.iter().filter(|model| catalogue.iter().all(|entry| entry.name != model.name)) {
        let licence = model.licence.as_deref().unwrap_or(human::UNKNOWN);
        row(model.name.clone(), model.kind, model.bytes(), licence, true);
    }
    output.table(&table)
}

fn kind(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Chat => "chat",
        ModelKind::Embedding => "embedding",
        _ => human::UNKNOWN,
    }
}

fn entry_json(entry: &CatalogueEntry) -> Value {
    json!({
        "name": entry.name,
        "aliases": entry.aliases,
        "title": entry.title,
        "kind": entry.kind,
        "default": entry.is_default,
        "licence": entry.licence,
        "context_tokens": entry.context_tokens,
        "bytes": entry.bytes(),
    })
}

fn installed_json(installed: &InstalledModel) -> Value {
    json!({
        "name": installed.name,
        "title": installed.title,
        "kind": installed.kind,
        "licence": installed.licence,
        "context_tokens": installed.context_tokens,
        "origin": installed.origin,
        "bytes": installed.bytes(),
        "path": installed.path(),
    })
}

fn print_info(info: &ModelInfo, output: &mut Output) -> Result<(), Failure> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(entry) = &info.entry {
        rows.push(("name", entry.name.clone()));
        rows.push(("what", entry.title.clone()));
        rows.push(("licence", entry.licence.clone()));
        rows.push(("context", format!("{} tokens", entry.context_tokens)));
        rows.push(("size", human::bytes(entry.bytes())));
    }
    match &info.installed {
        Some(installed) => {
            if info.entry.is_none() {
                rows.push(("name", installed.name.clone()));
                rows.push(("size", human::bytes(installed.bytes())));
            }
            rows.push(("file", installed.path().display().to_string()));
            rows.push(("from", installed.origin.clone()));
            rows.extend(
                installed.files.iter().map(|file| ("sha256", format!("{}  {}", file.sha256, file.name))),
            );
        }
        None => {
            let name = info.entry.as_ref().map_or("", |entry| &*entry.name);
            rows.push(("file", format!("not here; `convoke model pull {name}` fetches it")));
        }
    }
    for (label, value) in rows {
        output.line(&Rich::new(Tone::Faint, format!("{label:9}")).with(Tone::Plain, value))?;
    }
    Ok(())
}
