//! Rules that the table of shapes cannot state: fields that depend on each other, and values of several shapes.

use super::Verdict;
use super::field::Shape;
use super::table::{BUDGET, INLINE_SKILL, SKILL_FOLDER};
use crate::finding::{Finding, child};
use crate::pack::dialect::{BOTH, Dialect, V1_4, V1_5};
use crate::pack::document::{Content, Node};

/// A skill is a path, a folder with more to say, or written in place.
pub(super) fn skill(verdict: &mut Verdict, node: &Node, path: &str) {
    match &node.content {
        Content::Text(_) => {}
        Content::Map(_) if ["path", "dir"].iter().any(|name| node.get(name).is_some()) => {
            verdict.object(&SKILL_FOLDER, node, path);
        }
        Content::Map(_) => verdict.object(&INLINE_SKILL, node, path),
        _ => {
            let wanted = "a path, or an object with a `path` or with `instructions`";
            verdict.wrong_type(node, path, wanted, Content::Text(String::new()));
        }
    }
}

/// Only 1.4.0 says what a budget is; to 1.5.0 it may be anything. What is no budget limits nothing, so it is a mistake.
pub(super) fn budget(verdict: &mut Verdict, node: &Node, path: &str) {
    let before = verdict.refusals.len();
    verdict.visit(&Shape::Fields(&BUDGET), node, path);
    let refusals = verdict.refusals.split_off(before);
    let by_schema = refusals.into_iter().filter(|refusal| refusal.dialect == Dialect::V1_4);
    verdict.refusals.extend(by_schema);
}

/// What a state needs, by what it is. To 1.4.0 every state has a prompt, which the table says.
pub(super) fn state(verdict: &mut Verdict, node: &Node, path: &str) {
    let is_terminal = node.get("terminal").is_some_and(|node| node.content == Content::Bool(true));
    if !is_terminal && node.get("on_event").is_none() {
        verdict.note(V1_5, path, "a state that is not terminal needs `on_event`");
    }
    let is_composed = node.get("orchestration").and_then(Node::text) == Some("composition");
    let needed = if is_composed { "composition" } else { "prompt_task" };
    if node.get(needed).is_none() {
        verdict.note(V1_5, path, &format!("such a state needs `{needed}`"));
    }
}

/// A step's input is a text or an object.
pub(super) fn step_input(verdict: &mut Verdict, node: &Node, path: &str) {
    if !matches!(node.content, Content::Text(_) | Content::Map(_)) {
        verdict.wrong_type(node, path, "a text or an object", Content::Text(String::new()));
    }
}

/// What a step needs, and what it cannot have, by its kind.
pub(super) fn step(verdict: &mut Verdict, node: &Node, path: &str) {
    let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
    let (needed, others): (&[&str], &[&str]) = match kind {
        "prompt" => (&["prompt_task"], &["input", "output_schema"]),
        "agent" => (&["prompt_task", "termination"], &["input", "tools", "output_schema"]),
        "tool" => (&["tool"], &["args"]),
        "branch" => (&["predicate", "then"], &["else"]),
        "parallel" => (&["branches", "reduce"], &[]),
        _ => {
            // It is looked at as a prompt, which needs least.
            if node.get("prompt_task").is_none() {
                verdict.gaps.add(child(path, "prompt_task"), Content::Text(String::new()));
            }
            return;
        }
    };
    for name in needed.iter().filter(|name| node.get(name).is_none()) {
        let message = format!("a step of kind `{kind}` needs `{name}`");
        verdict.refuse(BOTH, Finding::error("missing-field", path, message));
        let field = super::table::STEP.field(name);
        verdict.gaps.add(child(path, name), field.map_or(Content::Null, |field| super::empty(&field.shape)));
    }
    let known = [needed, others, &["id", "kind", "description", "depends_on", "modifiers"]].concat();
    for entry in node.entries() {
        let name = entry.name.as_str();
        // What no step has is told as that.
        if super::table::STEP.field(name).is_some() && !known.contains(&name) {
            let message = format!("a step of kind `{kind}` has no `{name}`");
            verdict.note(V1_4, path, &message);
            verdict.findings.push(Finding::error("misplaced-field", child(path, name), message));
        }
    }
    let ends = |name: &str| node.get("termination").and_then(|end| end.get(name)).is_some();
    if kind == "agent" && node.get("termination").is_some() && !ends("max_steps") && !ends("tool_called") {
        let finding =
            Finding::error("missing-field", child(path, "termination"), "this agent would never end");
        verdict.refuse(BOTH, finding.help("write \"max_steps\", \"tool_called\", or both"));
    }
}
