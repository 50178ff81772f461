//! Draws the tree: a pure function of what is known, the room there is, and the time.

use convoke_core::Timestamp;
use convoke_text::columns;

use super::clip::{Item, Line, fitting};
use super::symbol::symbol;
use crate::lines::Rich;
use crate::progress::{NodeState, ProgressNode, RunProgress};
use crate::{Tone, human, text};

/// Narrower than this, only the time is beside the names.
const WIDE: usize = 60;

/// Of what is being said, so many lines are shown.
const SAID: usize = 4;

/// Less room than this is treated as if it were this.
const LOWEST: usize = 3;

/// The room there is, and the time.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    /// How many columns there are.
    pub width: usize,
    /// How many lines there are.
    pub height: usize,
    /// The time.
    pub now: Timestamp,
    /// Whether what is being said is shown below the tree.
    pub says: bool,
    /// How many tokens of how many a model in the process has read of prompts, while it reads.
    pub reading: Option<(u64, u64)>,
    /// What Ctrl-C does.
    pub interrupt: &'static str,
}

/// Returns the picture: never wider nor higher than the canvas.
#[must_use]
pub fn draw(progress: &RunProgress, canvas: Canvas) -> Vec<Rich> {
    let height = canvas.height.max(LOWEST);
    let said = if canvas.says { message_lines(progress, canvas) } else { Vec::new() };
    // What is going on comes before what is said about it.
    let said = if said.len() + LOWEST + SAID <= height { said } else { Vec::new() };
    let (lines, left_out) = fitting(progress, height - 1 - said.len());
    let mut picture = rows(progress, &lines, canvas);
    if left_out > 0 {
        picture.push(Rich::new(Tone::Faint, format!("… and {left_out} more")));
    }
    picture.extend(said);
    picture.push(summary(progress, canvas));
    picture.iter().map(|line| line.cut(canvas.width)).collect()
}

fn rows(progress: &RunProgress, lines: &[Line], canvas: Canvas) -> Vec<Rich> {
    let right: Vec<[String; 3]> = lines.iter().map(|line| right(progress, line.item, canvas)).collect();
    let mut widths = [0; 3];
    for cells in &right {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = columns::width(cell).max(*width);
        }
    }
    let lines = lines.iter().zip(&right);
    lines
        .map(|(line, right)| aligned(left(progress, line, canvas.now), right, widths, canvas.width))
        .collect()
}

fn aligned(left: Rich, right: &[String; 3], widths: [usize; 3], width: usize) -> Rich {
    let mut cells = Rich::default();
    // The text may reach into columns that are empty.
    let empty = right.iter().take_while(|cell| cell.is_empty()).count();
    for (cell, column) in right.iter().zip(widths).skip(empty).filter(|(_, column)| *column > 0) {
        let space = column.saturating_sub(columns::width(cell)) + 2;
        cells = cells.with(Tone::Faint, format!("{}{cell}", " ".repeat(space)));
    }
    if cells.width() == 0 {
        return left;
    }
    left.fit(width.saturating_sub(cells.width())).then(cells)
}

fn left(progress: &RunProgress, line: &Line, now: Timestamp) -> Rich {
    match line.item {
        Item::Many { state, count } => {
            let (tone, sign) = symbol(state, now);
            let word = match state {
                NodeState::Done => "done",
                NodeState::Skipped => "skipped",
                _ => "to come",
            };
            line.branch.clone().with(tone, sign).with(Tone::Faint, format!(" {count} {word}"))
        }
        Item::Row(row) => {
            let row = &progress.nodes()[row];
            let (tone, sign) = symbol(row.state, now);
            let name = match row.state {
                NodeState::Waiting | NodeState::Skipped => Tone::Faint,
                _ => Tone::Strong,
            };
            let left = line.branch.clone().with(tone, sign).with(name, format!(" {}", row.name));
            let details = details(row, now);
            if details.is_empty() { left } else { left.with(Tone::Faint, format!("  {details}")) }
        }
    }
}

/// What there is to say about a node, besides its name and its numbers.
fn details(row: &ProgressNode, now: Timestamp) -> String {
    let mut details = Vec::new();
    if row.iteration > 0 && (row.state == NodeState::Running || row.iteration > 1) {
        details.push(format!("iteration {}", row.iteration));
    }
    if row.attempt > 1 {
        details.push(format!("try {}", row.attempt));
    }
    match row.state {
        NodeState::Running => {
            // The newest of each kind of thing: what goes on inside of a part says more than the part.
            if let Some((_, activity)) = row.activities.last() {
                details.push(activity.words(now));
            }
            if row.activities.len() > 1 {
                details.push(format!("+{}", row.activities.len() - 1));
            }
        }
        NodeState::Person if row.note.is_empty() => details.push("waits".to_owned()),
        _ => {}
    }
    if !row.note.is_empty() {
        details.push(row.note.clone());
    }
    details.join(" · ")
}

fn right(progress: &RunProgress, item: Item, canvas: Canvas) -> [String; 3] {
    let Item::Row(index) = item else { return Default::default() };
    let row = &progress.nodes()[index];
    let took = row.elapsed(canvas.now);
    let time = match row.state {
        NodeState::Waiting | NodeState::Skipped => String::new(),
        NodeState::Done if progress.is_resumed() && !row.is_live => "before".to_owned(),
        _ => human::duration(took),
    };
    if canvas.width < WIDE {
        return [String::new(), String::new(), time];
    }
    // The last line has the numbers of the whole.
    if index == 0 {
        return [String::new(), String::new(), time];
    }
    [row.used.tokens(), row.used.cost(), time]
}

fn summary(progress: &RunProgress, canvas: Canvas) -> Rich {
    let (settled, goals) = progress.goals();
    let used = &progress.root().used;
    let mut parts = Vec::new();
    // A conversation has none.
    if goals > 0 {
        parts.push(format!("{settled} of {}", human::count(goals as u64, "goal")));
    }
    if used.calls > 0 {
        parts.push(human::count(used.calls, "model call"));
        parts.push(format!("{} tokens", used.tokens()));
        parts.push(used.cost());
    }
    if let Some((read, all)) = canvas.reading.filter(|_| progress.ended().is_none()) {
        parts.push(format!("reading {read} of {all} tokens"));
    }
    let hint = if progress.ended().is_none() { format!("  {}", canvas.interrupt) } else { String::new() };
    let line = Rich::plain(parts.join(" · "));
    if line.width() + hint.len() <= canvas.width { line.with(Tone::Faint, hint) } else { line }
}

/// The end of what is being said.
fn message_lines(progress: &RunProgress, canvas: Canvas) -> Vec<Rich> {
    let Some(said) = progress.message() else { return Vec::new() };
    let clean = text::clean(said.text.trim_end());
    let lines = columns::wrap(&clean, Some(canvas.width.saturating_sub(2)));
    let name = Rich::new(Tone::Faint, format!("{}:", progress.nodes()[said.node].name));
    let shown = lines.iter().skip(lines.len().saturating_sub(SAID));
    let shown = shown.map(|line| Rich::new(Tone::Faint, format!("  {line}")));
    std::iter::once(name).chain(shown).collect()
}
