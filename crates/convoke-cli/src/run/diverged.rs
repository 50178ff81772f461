//! A run that does not fit what is to go on with it: what has changed, in the words of the file.

use std::collections::HashMap;

use convoke_core::Divergence;
use convoke_goals::agentfile::Agentfile;
use convoke_goals::agentfile::model::{Persona, Text};
use convoke_history::History;
use convoke_host::Manifest;

use super::result::Source;
use crate::session::Session;
use crate::shell;
use crate::terminal::text;

/// How much of a text is shown.
const SHOWN: usize = 60;

/// What has changed, as far as the file that the run began with says it.
pub(super) fn in_words(divergence: &Divergence, began: Option<&Manifest>, source: Source<'_>) -> String {
    let before = began.filter(|began| !began.has_same_file(source.manifest));
    let place = divergence.path.to_string();
    let Some(before) = before else {
        return format!(
            "at `{place}` the run asks for something else than it did before, although its file is the same: it was begun by \
             another version of this program, or with other settings"
        );
    };
    let files = before.agentfile().zip(source.definition.agentfile());
    let changes = files.map(|(before, now)| changes(&before, now)).unwrap_or_default();
    let changed = match changes.is_empty() {
        true => "the file has changed".to_owned(),
        false => changes.join("; "),
    };
    format!(
        "{changed}. What was done already does not fit that: at `{place}` the run had asked for something else"
    )
}

/// What can be done about it.
pub(super) fn otherwise(
    session: &Session<'_>,
    divergence: &Divergence,
    history: &History,
    resume: &str,
) -> String {
    let is_it = |effect: &&convoke_history::Effect| {
        effect.path == divergence.path && effect.ordinal == divergence.ordinal
    };
    let fork = history.effects.iter().find(is_it).map(|effect| {
        let id = shell::quoted(history.record.id.as_str());
        session.command(&format!("fork {id} --at {}", effect.first_seq()))
    });
    match fork {
        Some(fork) => format!(
            "go on with the file as it was, `{resume}`; or have a run that does this part anew, `{fork}`, and resume that \
             with --changed-file"
        ),
        None => format!("go on with the file as it was, `{resume}`"),
    }
}

/// What of the goals and agents that both files have is different.
fn changes(before: &Agentfile, now: &Agentfile) -> Vec<String> {
    let mut changes = Vec::new();
    for goal in &now.goals {
        if let Some(old) = before.goals.iter().find(|old| old.name == goal.name) {
            changes.extend(changed(
                "goal",
                &goal.name,
                Some(written(before, &old.text)),
                Some(written(now, &goal.text)),
            ));
        }
    }
    for agent in &now.agents {
        if let Some(old) = before.agents.iter().find(|old| old.name == agent.name) {
            changes.extend(changed(
                "agent",
                &agent.name,
                prompt(before, &old.persona),
                prompt(now, &agent.persona),
            ));
        }
    }
    changes
}

fn prompt(file: &Agentfile, persona: &Persona) -> Option<String> {
    match persona {
        Persona::Prompt(text) | Persona::Skill { text, .. } => Some(written(file, text)),
        _ => None,
    }
}

fn changed(kind: &str, name: &str, before: Option<String>, now: Option<String>) -> Option<String> {
    let (before, now) = (before?, now?);
    let shown = |text: &str| text::cut(&text::one_line(text), SHOWN);
    (before != now).then(|| {
        format!(
            "the text of {kind} `{}` has changed: \"{}\" → \"{}\"",
            text::one_line(name),
            shown(&before),
            shown(&now)
        )
    })
}

/// A text as the file has it.
fn written(file: &Agentfile, text: &Text) -> String {
    let names: HashMap<&str, String> =
        file.variables.iter().map(|variable| (&*variable.name, format!("${}", variable.name))).collect();
    text.template.fill(|variable| names.get(&*file.variable(*variable).name).map_or("", |name| &**name))
}
