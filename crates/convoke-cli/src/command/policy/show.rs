//! `convoke policy show`

use convoke_tools::policy::{EffectiveSetting, KEYS, ONLY_THE_USER, RulePlace};
use serde_json::json;

use super::PolicyChoice;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone, text};

pub(super) fn run(arguments: &Arguments, which: &PolicyChoice, output: &mut Output) -> Result<(), Failure> {
    let policies = host::load(arguments)?.policies(which.policy.as_deref())?;
    if arguments.json {
        let all =
            policies.iter().map(|policy| json!({"source": policy.source(), "settings": policy.settings()}));
        return output.json(&all.collect::<Vec<_>>());
    }
    let mut built_in: Vec<EffectiveSetting> = Vec::new();
    for policy in policies.iter() {
        let (own, others): (Vec<_>, Vec<_>) =
            policy.settings().into_iter().partition(|setting| setting.place != RulePlace::BuiltIn);
        // What every policy has is told once.
        built_in.extend(others.into_iter().filter(|setting| !built_in.contains(setting)).collect::<Vec<_>>());
        if !own.is_empty() {
            output.line(&Rich::plain(text::clean(policy.source())))?;
            print(&own, output)?;
            output.plain("")?;
        }
    }
    let heading =
        if policies.files().is_empty() { "the defaults" } else { "built in, where no file says otherwise" };
    output.plain(heading)?;
    // Settings of a kind stay together, whichever policy had them first.
    built_in.sort_by_key(|setting| KEYS.iter().position(|key| key.path == setting.key));
    print(&built_in, output)?;
    if policies.bounded().is_some() {
        output.note(&format!(
            "the folder's policy cannot let through more than the defaults do, {ONLY_THE_USER}"
        ));
    } else if policies.files().len() > 1 {
        output.note("of several policies, the strictest decides");
    }
    if let Some(note) = policies.opens_in_vain() {
        output.note(&note);
    }
    Ok(())
}

/// A line for each value, and for each list with its patterns from one place.
fn print(settings: &[EffectiveSetting], output: &mut Output) -> Result<(), Failure> {
    let width = settings.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
    let same = |first: &EffectiveSetting, second: &EffectiveSetting| {
        first.key == second.key && first.place == second.place
    };
    for group in settings.chunk_by(same) {
        let values: Vec<&str> = group.iter().map(|setting| setting.value.as_str()).collect();
        let line = Rich::plain(format!("  {:width$}  ", text::clean(&group[0].key)))
            .with(Tone::Accent, text::clean(&values.join(", ")));
        let line = match &group[0].place {
            RulePlace::File { name, line: at } => {
                line.with(Tone::Faint, text::clean(&format!("  ({name}:{at})")))
            }
            RulePlace::BuiltIn => line,
        };
        line.wrap(output.width(), width + 4).iter().try_for_each(|line| output.line(line))?;
    }
    Ok(())
}
