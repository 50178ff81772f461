//! The first Agentfile, and one of a goal that needs none.

use super::{ProjectPlan, Watcher};

/// What the example is about.
const EXAMPLE: &str = "\
# Nothing here takes files or commands. Without this line, goals may use every tool there is.
TOOLS none

INPUT topic DEFAULT \"hand looms\"

GOAL collect \"Name the five facts about $topic that somebody who has never heard of it should know first\" -> facts:[string]
GOAL brief \"Write a briefing on $topic in three short paragraphs. Use these facts and invent none: $facts\"

RUN main USING collect, brief
";

/// The text of the first Agentfile.
pub(super) fn text(plan: &ProjectPlan) -> String {
    let mut file = "# What is to be achieved, and in which order. Try it:  convoke run\n".to_owned();
    if plan.goal.is_none() {
        file.push_str("# With something else to write about:  convoke run --input topic=\"sailing ships\"\n");
    }
    file.push_str(&format!("NAME {}\n\n", plan.name));
    match plan.watcher {
        Watcher::Nobody => {}
        Watcher::Model => file.push_str("# A model looks at what comes of every goal.\nSUPERVISED\n\n"),
        Watcher::Person => file.push_str(
            "# A person approves, revises or rejects what comes of every goal.\nSUPERVISED HUMAN\n\n",
        ),
    }
    match &plan.goal {
        None => file.push_str(EXAMPLE),
        Some(goal) => {
            let goal = escaped(goal);
            file.push_str(&format!(
                "GOAL work \"{goal}\"\nGOAL check \"Correct what is wrong or missing in this, and give the whole text again: $work\"\n\n\
                 RUN main USING work, check\n"
            ));
        }
    }
    file
}

/// An Agentfile of one goal, whatever is in the text of it.
pub(crate) fn of_goal(goal: &str) -> String {
    format!("NAME inline-goal\nGOAL goal \"{}\"\nRUN run-goal USING goal\n", escaped(goal))
}

/// A text that the language reads back as it is, but for control characters that mean nothing.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '$' => escaped.push_str("$$"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use convoke_goals::agentfile::load::NoFiles;
    use convoke_goals::agentfile::{Source, format, read};

    use super::*;

    #[test]
    fn a_goal_without_a_file_says_what_was_written() {
        for goal in ["Say \"hi\" for $5 and $name\\", "one\n\ttwo $$ ${x} # ```", "\u{7}x"] {
            let source = Source::new("--goal", of_goal(goal));
            let (file, diagnostics) = read(&source, &NoFiles);
            let file = file.unwrap_or_else(|| panic!("{goal}: {diagnostics:?}"));
            assert_eq!(file.goals[0].text.template.fill(|_| "VARIABLE"), goal.replace('\u{7}', " "));
        }
    }

    #[test]
    fn whatever_is_answered_the_file_is_valid_and_well_formatted() {
        for goal in [None, Some("Say \"hi\" for $5 and $name\\"), Some("C:\\new \u{7} # ``` ${x} -> y")] {
            for watcher in [Watcher::Nobody, Watcher::Model, Watcher::Person] {
                let goal = goal.map(str::to_owned);
                let text = text(&ProjectPlan { goal, watcher, ..ProjectPlan::usual("plan") });
                let source = Source::new("Agentfile", text.clone());
                let (file, diagnostics) = read(&source, &NoFiles);
                assert!(file.is_some() && diagnostics.is_empty(), "{text}\n{diagnostics:?}");
                assert_eq!(format(&text).unwrap_or_default(), text);
            }
        }
    }
}
