//! `convoke inspect`

use convoke_goals::agentfile::outline;

use crate::agentfiles::{check, counted, tell};
use crate::arguments::{Arguments, Inspect, OutlineFormat};
use crate::configuration;
use crate::failure::Failure;
use crate::terminal::Output;
use crate::terminal::text::clean;

pub(crate) fn run(arguments: &Arguments, wanted: &Inspect, output: &mut Output) -> Result<(), Failure> {
    let skills = configuration::skills(&configuration::load(arguments)?, &wanted.skills, output)?;
    let checked = check(&wanted.file, &skills)?;
    if let Some(note) = &checked.note {
        output.note(note);
    }
    let Some(file) = &checked.file else {
        tell(&checked.source, &checked.diagnostics, output);
        let found = counted(checked.diagnostics.errors(), checked.diagnostics.warnings());
        return Err(Failure::failed(format!("the Agentfile is not valid: {found}"))
            .hint("only a file without errors can be shown"));
    };
    match wanted.format {
        OutlineFormat::Json => output.json(&outline::to_json(file)),
        _ if arguments.json => output.json(&outline::to_json(file)),
        OutlineFormat::Text => lines(&outline::to_text(file), output),
        OutlineFormat::Mermaid => lines(&outline::to_mermaid(file), output),
    }
}

/// Texts of the file are in it: nothing in them may move the cursor.
fn lines(text: &str, output: &mut Output) -> Result<(), Failure> {
    text.lines().try_for_each(|line| output.plain(&clean(line)))
}
