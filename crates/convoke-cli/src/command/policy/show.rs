//! `convoke policy show`

use convoke_tools::policy::{Effective, RulePlace};
use serde_json::{Value, json};

use super::Which;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::policies::{ONLY_YOU, Policies};
use crate::terminal::{Ink, Output, Rich, text};

pub(super) fn run(arguments: &Arguments, which: &Which, output: &mut Output) -> Result<(), Failure> {
    let policies = Policies::load(arguments, which.policy.as_deref(), output)?;
    if arguments.json {
        let all: Vec<Value> = policies
            .iter()
            .map(|policy| {
                let settings: Vec<Value> = policy.settings().iter().map(as_json).collect();
                json!({"source": policy.source(), "settings": settings})
            })
            .collect();
        return output.json(&all);
    }
    for (index, policy) in policies.iter().enumerate() {
        if index > 0 {
            output.plain("")?;
        }
        output.line(&Rich::plain(text::clean(policy.source())))?;
        print(&policy.settings(), output)?;
    }
    if policies.bounded().is_some() {
        output.note(&format!("the folder's policy cannot let through more than the defaults do, {ONLY_YOU}"));
    } else if policies.files.len() > 1 {
        output.note("of several policies, the strictest decides");
    }
    if let Some(note) = policies.opens_in_vain() {
        output.note(&note);
    }
    Ok(())
}

/// A line for each value, and for each list with its patterns from one place.
fn print(settings: &[Effective], output: &mut Output) -> Result<(), Failure> {
    let width = settings.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
    let same = |first: &Effective, second: &Effective| first.key == second.key && first.place == second.place;
    for group in settings.chunk_by(same) {
        let values: Vec<&str> = group.iter().map(|setting| setting.value.as_str()).collect();
        let place = match &group[0].place {
            RulePlace::File { name, line } => format!("{name}:{line}"),
            RulePlace::BuiltIn => "built in".to_owned(),
        };
        let line = Rich::plain(format!("  {:width$}  ", text::clean(&group[0].key)))
            .with(Ink::Accent, text::clean(&values.join(", ")))
            .with(Ink::Faint, text::clean(&format!("  ({place})")));
        output.line(&line)?;
    }
    Ok(())
}

fn as_json(setting: &Effective) -> Value {
    let (file, line) = match &setting.place {
        RulePlace::File { name, line } => (Some(name.to_string()), Some(*line)),
        RulePlace::BuiltIn => (None, None),
    };
    json!({"key": setting.key, "value": setting.value, "file": file, "line": line})
}
