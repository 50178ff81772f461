//! A run as a tree, with what each part of it spent and took.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use convoke_core::{Segment, StepNote};
use convoke_text::columns;

use super::summary::Summary;
use super::{BlockLines, Rich};
use crate::account::{EffectRenderer, EffectSide, left_out_text};
use crate::{Detail, Effect, History, Spent, Tone, TreeItem, TreeNode, human, text};

/// How wide the left side may become where nobody limits it.
const WIDEST: usize = 100;

/// The columns on the right. What most lines have comes last: the text may reach into columns that are empty.
const TITLES: [&str; 3] = ["tokens", "cost", "took"];

/// Returns the tree in lines. With a renderer, the texts of each effect are below it.
#[must_use]
pub fn tree(history: &History, width: Option<usize>, renderer: Option<EffectRenderer<'_>>) -> Vec<Rich> {
    let (models, ended) = (history.models(), ended(history));
    let mut walk = Walk { history, models, ended, width, renderer, rows: Vec::new() };
    walk.items(history.tree.root(), None);
    Layout::new(&walk.rows, width).lines(&walk.rows)
}

enum Row {
    /// Something that spent tokens or time.
    Part { left: Rich, summary: Option<Summary>, right: [String; 3] },
    /// A line of text below it.
    Text(Rich),
}

/// A step that was ended by another before it left anything else in the journal.
struct Ended {
    /// What it is called below the part that it is in.
    name: String,
    reason: String,
}

/// Those steps, by the paths of the parts that they are in.
fn ended(history: &History) -> HashMap<&str, Vec<Ended>> {
    let parts: HashSet<&str> = history.tree.nodes().map(|node| node.path.as_str()).collect();
    let mut ended: HashMap<&str, Vec<Ended>> = HashMap::new();
    for note in history.notes.iter().filter(|note| note.ordinal == StepNote::LeftOut.ordinal()) {
        let path = note.path.as_str();
        let Some(reason) = note.choice().filter(|_| !parts.contains(path)) else { continue };
        let around = path.match_indices('/').rev().map(|(end, _)| &path[..end]);
        let around = around.into_iter().find(|around| parts.contains(around)).unwrap_or_default();
        let name = path[around.len()..].trim_start_matches('/').split('/');
        let name = name.map(|segment| Segment::of(segment).to_string()).collect::<Vec<_>>().join("/");
        ended.entry(around).or_default().push(Ended { name, reason });
    }
    ended
}

struct Walk<'a> {
    history: &'a History,
    models: Vec<&'a str>,
    ended: HashMap<&'a str, Vec<Ended>>,
    width: Option<usize>,
    renderer: Option<EffectRenderer<'a>>,
    rows: Vec<Row>,
}

impl Walk<'_> {
    /// Everything in a node. `margin` is what stands left of it; the run itself has none.
    fn items(&mut self, node: &TreeNode, margin: Option<&str>) {
        let ended = self.ended.remove(node.path.as_str()).unwrap_or_default();
        let count = node.items.len() + ended.len();
        let beside = |index: usize| {
            let (branch, below) = match margin {
                None => (String::new(), String::new()),
                Some(margin) if index + 1 == count => (format!("{margin}└─ "), format!("{margin}   ")),
                Some(margin) => (format!("{margin}├─ "), format!("{margin}│  ")),
            };
            (Rich::new(Tone::Faint, branch), below)
        };
        for (index, item) in node.items.iter().enumerate() {
            let (branch, below) = beside(index);
            match *item {
                TreeItem::Effect(number) => self.effect(branch, &below, &self.history.effects[number]),
                TreeItem::Node(number) => self.node(branch, &below, self.history.tree.node(number)),
            }
        }
        for (index, Ended { name, reason }) in ended.into_iter().enumerate() {
            let left = beside(node.items.len() + index).0.with(Tone::Strong, text::one_line(&name) + " ");
            let left = left.with(Tone::Faint, left_out_text(&reason));
            self.rows.push(Row::Part { left, summary: None, right: <[String; 3]>::default() });
        }
    }

    fn node(&mut self, branch: Rich, below: &str, node: &TreeNode) {
        let name = text::one_line(&node.name);
        // A part that did one thing is that thing.
        if let [TreeItem::Effect(number)] = *node.items
            && !self.ended.contains_key(node.path.as_str())
        {
            let effect = &self.history.effects[number];
            let left = if is_named_after(effect, &node.name) {
                branch
            } else {
                branch.with(Tone::Strong, name + " ")
            };
            return self.effect(left, below, effect);
        }
        let mut left = branch.with(Tone::Strong, name);
        if node.spent.failures > 0 {
            left = left.with(Tone::Bad, format!(" ({})", human::count(node.spent.failures, "failure")));
        }
        self.rows.push(Row::Part { left, summary: None, right: right(&node.spent, node.duration) });
        self.items(node, Some(below));
    }

    fn effect(&mut self, left: Rich, below: &str, effect: &Effect) {
        let summary = Some(Summary::new(self.history, effect, &self.models));
        let duration = self.history.duration(effect.current());
        self.rows.push(Row::Part { left, summary, right: right(&effect.spent(), duration) });
        let Some(renderer) = &mut self.renderer else { return };
        let margin = Rich::new(Tone::Faint, format!("{below}   "));
        for attempt in &effect.attempts {
            for block in renderer.render(effect, attempt, EffectSide::Both) {
                self.rows.extend(block.lines(&margin, self.width, None).into_iter().map(Row::Text));
            }
        }
    }
}

/// Whether a part has no name of its own: the scope of a tool call is called like the tool.
fn is_named_after(effect: &Effect, name: &str) -> bool {
    matches!(&effect.current().detail, Detail::Tool { tool, .. } if tool == name)
}

fn right(spent: &Spent, duration: Option<Duration>) -> [String; 3] {
    let tokens = spent.usage.total_tokens();
    [
        if tokens > 0 { human::tokens(tokens) } else { String::new() },
        human::spent_cost(spent),
        duration.map(human::duration).unwrap_or_default(),
    ]
}

/// How wide everything is.
struct Layout {
    left: usize,
    columns: [usize; 3],
}

impl Layout {
    fn new(rows: &[Row], width: Option<usize>) -> Self {
        let mut columns = [0; 3];
        let mut left = 0;
        for row in rows {
            let Row::Part { left: start, summary, right } = row else { continue };
            for (column, text) in columns.iter_mut().zip(right) {
                *column = columns::width(text).max(*column);
            }
            left = whole(start, summary.as_ref(), WIDEST).width().max(left);
        }
        for (column, title) in columns.iter_mut().zip(TITLES).filter(|(column, _)| **column > 0) {
            // A column in which there is nothing is not there; any other has a gap before it.
            *column = title.len().max(*column) + 2;
        }
        let taken: usize = columns.iter().sum();
        Self { left: width.map_or(left, |width| width.saturating_sub(taken)), columns }
    }

    fn lines(&self, rows: &[Row]) -> Vec<Rich> {
        let mut lines = Vec::with_capacity(rows.len() + 1);
        if self.columns.iter().any(|column| *column > 0) {
            let titles = TITLES.into_iter().zip(self.columns);
            let titles = titles.fold(Rich::plain(" ".repeat(self.left)), |line, (title, column)| {
                if column == 0 { line } else { line.with(Tone::Faint, format!("{title:>column$}")) }
            });
            lines.push(titles);
        }
        lines.extend(rows.iter().map(|row| match row {
            Row::Part { left, summary, right } => self.line(left, summary.as_ref(), right),
            Row::Text(text) => text.clone(),
        }));
        lines
    }

    fn line(&self, left: &Rich, summary: Option<&Summary>, right: &[String; 3]) -> Rich {
        let empty = right.iter().take_while(|text| text.is_empty()).count();
        let room = self.left + self.columns[..empty].iter().sum::<usize>();
        let line = whole(left, summary, room).fit(room);
        let cells = right.iter().zip(self.columns).skip(empty).filter(|(_, column)| *column > 0);
        cells.fold(line, |line, (text, column)| {
            line.with(Tone::Plain, " ".repeat(column.saturating_sub(columns::width(text))))
                .with(Tone::Plain, &**text)
        })
    }
}

fn whole(left: &Rich, summary: Option<&Summary>, room: usize) -> Rich {
    match summary {
        Some(summary) => summary.fit(left.clone(), room),
        None => left.cut(room),
    }
}
