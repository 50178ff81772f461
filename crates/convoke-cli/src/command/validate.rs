//! `convoke validate`

use convoke_goals::agentfile::diagnostic;
use convoke_host::counted;

use crate::arguments::{Arguments, Validate};
use crate::configuration;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone};

pub(crate) fn run(arguments: &Arguments, wanted: &Validate, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let skills = configuration::skills(host.config(), &wanted.skills, output)?;
    let mut all = Vec::new();
    let mut title = None;
    let (mut invalid, mut errors, mut warnings) = (0, 0, 0);
    for path in &wanted.files {
        let checked = host.load_with(path, &skills)?;
        title =
            Some(if title.is_none_or(|title| title == checked.title()) { checked.title() } else { "file" });
        let found = &checked.diagnostics;
        errors += found.errors();
        warnings += found.warnings();
        invalid += usize::from(found.errors() > 0);
        output.notes(checked.notes());
        let profiles = checked.agentfile().into_iter().flat_map(|file| file.profiles());
        for unknown in profiles.filter_map(|profile| host.config().profile(profile).err()) {
            output.note(&format!("{}: {unknown}; or run it with --model", checked.source.name()));
        }
        if arguments.json {
            all.push(checked);
            continue;
        }
        tell(&checked.source, found, output);
        let name = format!(" {}", checked.source.name());
        let (tone, sign) =
            if found.errors() > 0 { (Tone::Bad, "✗ Invalid") } else { (Tone::Good, "✓ Valid") };
        let counts = match found.is_empty() {
            true => String::new(),
            false => format!(": {}", counted(found.errors(), found.warnings())),
        };
        output.line(&Rich::new(tone, sign).with(Tone::Plain, name).with(Tone::Faint, counts))?;
    }
    if arguments.json {
        let results: Vec<_> =
            all.iter().map(|checked| diagnostic::to_json(&checked.source, &checked.diagnostics)).collect();
        output.json(&results)?;
    }
    if invalid == 0 {
        return Ok(());
    }
    let title = title.unwrap_or("file");
    let files = if wanted.files.len() == 1 {
        format!("the {title} is not valid")
    } else {
        format!("{invalid} of {} {title}s are not valid", wanted.files.len())
    };
    Err(Failure::failed(format!("{files}: {}", counted(errors, warnings))))
}
