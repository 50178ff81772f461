//! `convoke inspect`

use convoke_diagram::Diagram;
use convoke_goals::agentfile::outline;
use convoke_host::Definition;

use super::drawing::{draw, lines, only_diagrams_go_to_files};
use crate::arguments::{Arguments, Inspect, OutlineFormat};
use crate::configuration;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::terminal::Output;

pub(crate) fn run(arguments: &Arguments, wanted: &Inspect, output: &mut Output) -> Result<(), Failure> {
    only_diagrams_go_to_files(wanted.format, arguments.json, wanted.output.as_deref())?;
    let host = host::load(arguments)?;
    let skills = configuration::skills(host.config(), &wanted.skills, output)?;
    let checked = host.load_with(&wanted.file, &skills)?;
    output.notes(&checked.concern);
    if checked.definition.is_none() {
        tell(&checked.source, &checked.diagnostics, output);
    }
    let definition =
        checked.checked().map_err(|invalid| invalid.hint("only a file without errors can be shown"))?;
    match wanted.format {
        OutlineFormat::Json => json(&*definition, output),
        _ if arguments.json => json(&*definition, output),
        OutlineFormat::Text => lines(&definition.outline_text(), output),
        OutlineFormat::Mermaid | OutlineFormat::Svg => {
            draw(&diagram(&*definition)?, wanted.format, wanted.output.as_deref(), output)
        }
    }
}

fn diagram(definition: &dyn Definition) -> Result<Diagram, Failure> {
    let none = || Failure::failed("there is no diagram of this file").hint("use --format text");
    definition.diagram().ok_or_else(none)
}

/// What an Agentfile does is written in the order of its documentation.
fn json(definition: &dyn Definition, output: &mut Output) -> Result<(), Failure> {
    match definition.agentfile() {
        Some(file) => output.json(&outline::to_json(file)),
        None => output.json(&definition.outline()),
    }
}
