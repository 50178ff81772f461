//! Reads settings from the environment and the command line.

use std::path::Path;

use convoke_models::Environment;
use convoke_models::choose::Service;
use convoke_text::nearest;

use super::from_text;
use super::text::Base;
use crate::problem::{Problem, Problems};
use crate::schema::{KEYS, Key};
use crate::{Origin, Setting};

/// Variables of ours that are no settings.
const OTHERS: &[&str] = &[
    "CONVOKE_CONFIG",
    "CONVOKE_CREDENTIALS",
    "CONVOKE_FORBID_LIVE_MODELS",
    "CONVOKE_MODELS",
    "CONVOKE_RECORD",
];

/// What the environment says.
pub(crate) fn variables(environment: &Environment, problems: &mut Problems) -> Vec<Setting> {
    let home = environment.get("HOME");
    let base = Base { folder: Path::new(""), home: home.as_deref().map(Path::new) };
    let mut settings = Vec::new();
    for key in KEYS {
        let set = key.variables.iter().find_map(|name| Some((*name, environment.get(name)?)));
        let Some((variable, text)) = set else { continue };
        match from_text(key.kind, &text, base) {
            Ok(value) => settings.push(Setting {
                name: key.path.to_owned(),
                key,
                value,
                origin: Origin::Variable(variable.to_owned()),
                place: None,
            }),
            Err(invalid) => {
                let message = format!("the environment variable {variable}: {}", invalid.message);
                // What is not ours may be meant for others, who understand it.
                let problem = match variable.starts_with("CONVOKE_") {
                    true => Problem::error(message),
                    false => Problem::warning(message),
                };
                problems.push(match invalid.meant {
                    Some(meant) => problem.help(format!("did you mean `{meant}`?")),
                    None => problem,
                });
            }
        }
    }
    misspelt(environment, problems);
    settings
}

/// A variable that nobody reads and that is nearly one that somebody does.
fn misspelt(environment: &Environment, problems: &mut Problems) {
    let keys = Service::ALL.iter().flat_map(|service| service.key_variables);
    let known: Vec<_> =
        KEYS.iter().flat_map(|key| key.variables).chain(OTHERS).chain(keys).copied().collect();
    let ours = |name: &String| name.starts_with("CONVOKE_") && !known.contains(&name.as_str());
    for name in environment.names().into_iter().filter(ours) {
        if let Some(near) = nearest(&name, known.iter().copied()) {
            problems.push(
                Problem::warning(format!("nothing reads the environment variable {name}"))
                    .help(format!("did you mean {near}?")),
            );
        }
    }
}

/// What a flag says: `--store` sets `store.path`.
pub(crate) fn flag(flag: &str, key: &'static Key, text: &str, problems: &mut Problems) -> Option<Setting> {
    // The shell has seen to `~` already.
    match from_text(key.kind, text, Base { folder: Path::new(""), home: None }) {
        Ok(value) => {
            let origin = Origin::Flag(flag.to_owned());
            Some(Setting { name: key.path.to_owned(), key, value, origin, place: None })
        }
        Err(problem) => {
            problems.push(Problem::error(format!("{flag}: {}", problem.message)));
            None
        }
    }
}
