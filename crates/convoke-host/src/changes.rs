//! Finds what has changed in an Agentfile since a run of it began.

use std::collections::HashMap;

use convoke_goals::agentfile::Agentfile;
use convoke_goals::agentfile::model::{Persona, Text};

/// A text of a goal or an agent that is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedText {
    /// `goal` or `agent`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The text as it was.
    pub before: String,
    /// The text as it is.
    pub now: String,
}

/// The texts of goals and agents that both files have and that differ.
#[must_use]
pub fn changed_texts(before: &Agentfile, now: &Agentfile) -> Vec<ChangedText> {
    let goals = now.goals.iter().filter_map(|goal| {
        let old = before.goals.iter().find(|old| old.name == goal.name)?;
        changed("goal", &goal.name, written(before, &old.text), written(now, &goal.text))
    });
    let agents = now.agents.iter().filter_map(|agent| {
        let old = before.agents.iter().find(|old| old.name == agent.name)?;
        changed("agent", &agent.name, prompt(before, &old.persona)?, prompt(now, &agent.persona)?)
    });
    goals.chain(agents).collect()
}

fn changed(kind: &'static str, name: &str, before: String, now: String) -> Option<ChangedText> {
    (before != now).then(|| ChangedText { kind, name: name.to_owned(), before, now })
}

fn prompt(file: &Agentfile, persona: &Persona) -> Option<String> {
    match persona {
        Persona::Prompt(text) | Persona::Skill { text, .. } => Some(written(file, text)),
        _ => None,
    }
}

/// A text as the file has it.
fn written(file: &Agentfile, text: &Text) -> String {
    let names: HashMap<&str, String> =
        file.variables.iter().map(|variable| (&*variable.name, format!("${}", variable.name))).collect();
    text.template.fill(|variable| names.get(&*file.variable(*variable).name).map_or("", |name| &**name))
}
