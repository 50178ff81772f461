//! Chooses the lines of a tree that are shown where not all of them fit.
//!
//! What is going on, has failed or waits for somebody is shown as long as there is room for it at all; what is over, and
//! what has not begun, is put together in one line where it must be.

use crate::Tone;
use crate::lines::Rich;
use crate::progress::{NodeState, RunProgress};

/// What stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Row(usize),
    /// Several nodes that stand beside each other and at the same point.
    Many {
        state: NodeState,
        count: usize,
    },
}

/// A line, and what stands before it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) branch: Rich,
    pub(super) item: Item,
}

/// The lines of a tree, at most so many, and how many were left out.
pub(super) fn fitting(progress: &RunProgress, height: usize) -> (Vec<Line>, usize) {
    for level in [Level::Everything, Level::WithoutSettledParts, Level::Together] {
        let mut lines = Vec::new();
        walk(progress, 0, level, None, &mut lines);
        if lines.len() <= height {
            return (lines, 0);
        }
        if level == Level::Together {
            return leave_out(progress, lines, height);
        }
    }
    (Vec::new(), 0)
}

/// How much is shown of what is over or has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Everything,
    WithoutSettledParts,
    Together,
}

fn walk(progress: &RunProgress, row: usize, level: Level, margin: Option<&str>, lines: &mut Vec<Line>) {
    if margin.is_none() {
        lines.push(Line { branch: Rich::default(), item: Item::Row(row) });
    }
    let items = below(progress, row, level);
    for (index, item) in items.iter().enumerate() {
        let is_last = index + 1 == items.len();
        let margin = margin.unwrap_or_default();
        let (branch, inner) = match is_last {
            true => (format!("{margin}└─ "), format!("{margin}   ")),
            false => (format!("{margin}├─ "), format!("{margin}│  ")),
        };
        lines.push(Line { branch: Rich::new(Tone::Faint, branch), item: *item });
        if let Item::Row(child) = *item {
            walk(progress, child, level, Some(&inner), lines);
        }
    }
}

fn below(progress: &RunProgress, row: usize, level: Level) -> Vec<Item> {
    let is_quiet = |state: NodeState| state.is_settled() || state == NodeState::Waiting;
    let children = &progress.nodes()[row].children;
    if progress.nodes()[row].state == NodeState::Skipped {
        return Vec::new();
    }
    if level != Level::Everything && row > 0 && is_quiet(progress.nodes()[row].state) {
        return Vec::new();
    }
    if level != Level::Together {
        return children.iter().copied().map(Item::Row).collect();
    }
    let mut items: Vec<Item> = Vec::new();
    for child in children {
        let state = progress.nodes()[*child].state;
        match items.last_mut() {
            Some(Item::Many { state: before, count }) if is_quiet(state) && *before == state => *count += 1,
            _ if is_quiet(state) => items.push(Item::Many { state, count: 1 }),
            _ => items.push(Item::Row(*child)),
        }
    }
    // One alone is shown as itself.
    let mut index = 0;
    for item in &mut items {
        match *item {
            Item::Many { count: 1, .. } => {
                *item = Item::Row(children[index]);
                index += 1;
            }
            Item::Many { count, .. } => index += count,
            Item::Row(_) => index += 1,
        }
    }
    items
}

/// Leaves out what matters least, the last of it first. One line is kept for saying so.
fn leave_out(progress: &RunProgress, mut lines: Vec<Line>, height: usize) -> (Vec<Line>, usize) {
    let weight = |line: &Line| match line.item {
        Item::Row(0) => 4,
        Item::Row(row) => match progress.nodes()[row].state {
            NodeState::Failed | NodeState::Person => 3,
            NodeState::Running | NodeState::Stopped => 2,
            _ => 1,
        },
        Item::Many { .. } => 0,
    };
    let mut surplus = (lines.len() + 1).saturating_sub(height);
    let left_out = surplus;
    for least in 0..4 {
        let mut index = lines.len();
        while surplus > 0 && index > 0 {
            index -= 1;
            if weight(&lines[index]) == least {
                lines.remove(index);
                surplus -= 1;
            }
        }
    }
    (lines, left_out)
}
