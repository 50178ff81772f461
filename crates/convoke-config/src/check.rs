//! Checks that involve several keys.

use std::collections::BTreeMap;

use convoke_models::choose::header;
use convoke_text::nearest;

use crate::problem::{Problem, Problems};
use crate::schema::path;
use crate::section::{Profile, UnknownProfile};
use crate::{Setting, Value};

/// Two keys of one layer of which only one can hold.
pub(crate) fn contradictions(layer: &[Setting], problems: &mut Problems) {
    let find = |name: &str| layer.iter().find(|setting| setting.name == name);
    if let (Some(_), Some(profile)) = (find(path::SUPERVISION_MODEL), find(path::SUPERVISION_PROFILE)) {
        problems.push(
            Problem::error("`supervision` has a model and a profile")
                .at(profile.place.clone())
                .help("keep one of them"),
        );
    }
}

/// A supervisor's profile that is not configured.
pub(crate) fn unknown_profile(
    settings: &[Setting],
    profiles: &BTreeMap<String, Profile>,
    problems: &mut Problems,
) {
    let setting = settings.iter().find(|setting| setting.name == path::SUPERVISION_PROFILE);
    let Some((setting, Value::Text(name))) = setting.map(|setting| (setting, &setting.value)) else { return };
    if profiles.contains_key(name) {
        return;
    }
    let known = profiles.keys().map(String::as_str);
    let error = UnknownProfile::new(name, known.clone());
    let problem = Problem::error(format!("`supervision.profile`: {error}")).at(setting.place.clone());
    problems.push(match nearest(name, known) {
        Some(near) if setting.place.is_some() => problem.replace("write it so", format!("\"{near}\"")),
        _ => problem,
    });
}

/// Secrets that stand in a file that others may read.
pub(crate) fn open_secrets(settings: &[Setting], problems: &mut Problems) {
    for setting in settings.iter().filter(|setting| setting.origin.is_file()) {
        let Value::Headers(headers) = &setting.value else { continue };
        for (name, _) in
            headers.iter().filter(|(name, value)| header::names_secret(name) && !header::has_variables(value))
        {
            // A folder's file takes nothing from the environment.
            let place =
                if setting.origin.folder_file().is_some() { "in your own convoke.toml" } else { "here" };
            problems.push(
                Problem::warning(format!("`{}`: there seems to be a secret in `{name}`", setting.name))
                    .at(setting.place.clone())
                    .help(format!(
                        "put it into an environment variable, and write \"${{NAME_OF_IT}}\" {place}"
                    )),
            );
        }
    }
}
