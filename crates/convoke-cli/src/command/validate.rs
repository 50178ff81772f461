//! `convoke validate`

use convoke_goals::agentfile::diagnostic;
use convoke_host::counted;
use serde::Serialize;

use crate::arguments::{Arguments, Validate};
use crate::configuration;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone};

/// A file that could not be read, beside others that could.
#[derive(Serialize)]
struct UnreadFile {
    file: String,
    valid: bool,
    /// Why not.
    error: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum FileReport<'a, T> {
    Checked(T),
    Unread(&'a UnreadFile),
}

pub(crate) fn run(arguments: &Arguments, wanted: &Validate, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let skills = configuration::skills(host.config(), &wanted.skills, output)?;
    let mut all = Vec::new();
    let mut unread = None;
    let mut title = None;
    let (mut invalid, mut errors, mut warnings) = (0, 0, 0);
    for path in &wanted.files {
        let checked = match host.load_with(path, &skills) {
            Err(error) if arguments.json => {
                let failure = Failure::from(error);
                let (file, error) = (path.display().to_string(), failure.message());
                all.push(Err(UnreadFile { file, valid: false, error }));
                unread.get_or_insert(failure);
                continue;
            }
            checked => checked?,
        };
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
            all.push(Ok(checked));
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
    // Where nothing could be read, the error is all there is to say.
    if all.iter().any(Result::is_ok) {
        let results = all.iter().map(|result| match result {
            Ok(checked) => FileReport::Checked(diagnostic::to_json(&checked.source, &checked.diagnostics)),
            Err(unread) => FileReport::Unread(unread),
        });
        output.json(&results.collect::<Vec<_>>())?;
    }
    if let Some(failure) = unread {
        return Err(failure);
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
