//! `convoke inspect`

use convoke_goals::agentfile::outline;

use crate::arguments::{Arguments, Inspect, OutlineFormat};
use crate::configuration;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::terminal::Output;
use crate::terminal::text::clean;

pub(crate) fn run(arguments: &Arguments, wanted: &Inspect, output: &mut Output) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let skills = configuration::skills(&config, &wanted.skills, output)?;
    let checked = host::of(arguments, config)?.load_with(&wanted.file, &skills)?;
    if let Some(note) = &checked.concern {
        output.note(note);
    }
    let Some(file) = checked.agentfile() else {
        tell(&checked.source, &checked.diagnostics, output);
        let invalid =
            checked.valid().err().map_or_else(|| Failure::failed("there is nothing to show"), Failure::from);
        return Err(invalid.hint("only a file without errors can be shown"));
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
