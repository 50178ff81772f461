//! Reads one configuration file into settings.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use convoke_text::diagnostic::within;
use convoke_text::keyed::read_file;
use toml::de::DeTable;

use super::text::Base;
use super::walk::{FileProblem, Walk, strings};
use crate::problem::{Problem, Problems, SourceLocation, SourceText};
use crate::{FileScope, Origin, Setting};

/// So many mistakes of one file are told; of the others only their number.
const MOST_SHOWN: usize = 50;

/// What a file says.
pub(crate) fn file(
    path: &Path,
    scope: FileScope,
    home: Option<&Path>,
    problems: &mut Problems,
) -> Vec<Setting> {
    let name = path.display().to_string();
    let text = match read_file(path, "configuration") {
        Ok(text) => text,
        Err(why) => {
            problems.push(Problem::error(format!("{name} cannot be read: {why}")));
            return Vec::new();
        }
    };
    let (table, faults) = DeTable::parse_recoverable(&text);
    if !faults.is_empty() {
        let source = Arc::new(SourceText::hiding_values(&name, &text));
        let mut told = Vec::new();
        for fault in faults {
            let span = fault.span().unwrap_or(0..0);
            // One slip may be stumbled over twice.
            if told.contains(&span.start) || told.len() >= MOST_SHOWN {
                continue;
            }
            told.push(span.start);
            let place = SourceLocation { source: Arc::clone(&source), span: within(span, &text) };
            problems
                .push(Problem::error(format!("not valid TOML: {}", fault.message().trim())).at(Some(place)));
        }
        return Vec::new();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut walk = Walk::new(Base { folder, home });
    walk.table(table.get_ref(), "", "");
    let mut secrets = Vec::new();
    table.get_ref().values().for_each(|value| strings(value, &mut secrets));
    let harmless: HashSet<usize> = walk.harmless.iter().map(|place| place.start).collect();
    secrets.retain(|place| !harmless.contains(&place.start));
    let source = Arc::new(SourceText::hiding(&name, &text, &secrets));
    let place = |span| Some(SourceLocation { source: Arc::clone(&source), span });
    let more = walk.problems.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        problems.push(Problem::error(format!("{name}: there are {more} more mistakes")));
    }
    for problem in walk.problems.into_iter().take(MOST_SHOWN) {
        let FileProblem { span, message, label, advice, replacement } = problem;
        let mut problem = Problem::error(message).at(place(span)).label(label);
        if let Some(replacement) = replacement {
            problem =
                problem.replace(format!("did you mean `{}`?", replacement.trim_matches('"')), replacement);
        }
        problems.push(advice.into_iter().fold(problem, Problem::help));
    }
    let settings = walk.found.into_iter().map(|found| Setting {
        name: found.name,
        key: found.key,
        value: found.value,
        origin: Origin::File { path: path.to_owned(), line: source.line(found.span.start), scope },
        place: place(found.span),
    });
    settings.collect()
}
