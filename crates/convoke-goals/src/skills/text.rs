//! Prompt texts about skills. The same skills give the same text, byte for byte.

use super::SkillShelf;
use crate::agentfile::load::Skill;

/// The longest description in a catalogue, in characters.
const LONGEST: usize = 1_024;

/// The catalogue, and how a skill is taken up.
pub(super) fn introduction(shelf: &SkillShelf, with_tool: bool) -> String {
    if shelf.is_empty() {
        return String::new();
    }
    let how = if with_tool {
        "Call `use_skill` before you begin work that one of them is for."
    } else {
        "To take one up, answer with `[use-skill:NAME]` and nothing else; you are then given its text."
    };
    let mut text = format!("Skills say how particular kinds of work are done. {how} There are:\n");
    for (name, description) in shelf.catalogue() {
        text.push_str(&format!("\n- {name}: {}", one_line(description)));
    }
    text
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

/// What those are given who take up a skill.
pub(super) fn whole(skill: &Skill, with_tool: bool) -> String {
    let mut text = format!("# Skill: {}\n\n{}", skill.name, skill.instructions);
    if let Some(tools) = &skill.allowed_tools {
        let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        text.push_str(&format!("\n\n## Allowed tools\n\nFrom now on no other tools may be called: {tools}"));
    }
    list(
        &mut text,
        "Available Scripts",
        skill.scripts.iter().map(|name| format!("{}/scripts/{name}", skill.folder)),
    );
    let references = skill.references.iter();
    if with_tool {
        let heading = "References (read one with `use_skill` and this as `file`)";
        list(&mut text, heading, references.map(|name| format!("references/{name}")));
    } else {
        list(&mut text, "References", references.map(|name| format!("{}/references/{name}", skill.folder)));
    }
    text
}

fn list(text: &mut String, heading: &str, items: impl ExactSizeIterator<Item = String>) {
    if items.len() > 0 {
        text.push_str(&format!("\n\n## {heading}\n"));
        items.for_each(|item| text.push_str(&format!("\n- {item}")));
    }
}
