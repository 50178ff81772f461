//! The layout of diagrams: in layers from top to bottom, each group by itself and then as one box of what is around it.
//!
//! - `layers`: which layer a box is in, and which points its arrows go through, so that arrows and their texts have room;
//! - `order`: which of a layer comes first, so that few arrows cross;
//! - `place`: how far to the right, so that arrows are straight;
//! - `group`: a group by these three; arrows that come from outside enter it through ports in its frame;
//! - `route`: the ways of arrows, once everything has its place.

mod group;
mod layers;
mod order;
mod place;
mod route;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::diagram::{Arrow, Diagram, Item, ItemId, Shape};
use crate::label;

/// The height of a line of text.
pub(crate) const LINE: f64 = 18.0;
/// How far text stays away from what is around it, and what is in a group from its frame.
pub(crate) const PADDING: f64 = 14.0;
/// How far a layer stays away from the next one.
const LAYER_GAP: f64 = 20.0;
/// The height that an arrow from a box to itself takes.
const LOOP: f64 = 24.0;

/// How large something is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A place in the picture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    fn moved(self, by: Point) -> Point {
        Point { x: self.x + by.x, y: self.y + by.y }
    }
}

/// Something in the picture, by its middle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Placed {
    pub(crate) middle: Point,
    pub(crate) size: Size,
}

impl Placed {
    pub(crate) fn left(&self) -> f64 {
        self.middle.x - self.size.width / 2.0
    }

    pub(crate) fn right(&self) -> f64 {
        self.middle.x + self.size.width / 2.0
    }

    pub(crate) fn top(&self) -> f64 {
        self.middle.y - self.size.height / 2.0
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.middle.y + self.size.height / 2.0
    }

    fn moved(self, by: Point) -> Placed {
        Placed { middle: self.middle.moved(by), ..self }
    }
}

/// The way of an arrow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Way {
    /// The points it goes through, in its own direction. Of an arrow from a box to itself, those between the ends are drawn near
    /// to, not through.
    pub(crate) points: Vec<Point>,
    /// Where its text is.
    pub(crate) label: Placed,
}

/// A picture: every box and every arrow at its place.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) size: Size,
    pub(crate) items: BTreeMap<ItemId, Placed>,
    /// The titles of groups.
    pub(crate) titles: BTreeMap<ItemId, Placed>,
    /// By the number of the arrow. Those from a group to what is in it are not drawn.
    pub(crate) ways: BTreeMap<usize, Way>,
    /// The points of arrows that begin or end outside, as far as they are inside.
    crossings: BTreeMap<usize, Vec<Point>>,
}

impl Layout {
    /// Takes in what was laid out by itself, except what crosses its frame.
    fn absorb(&mut self, inner: Layout, corner: Point) {
        self.items.extend(inner.items.into_iter().map(|(id, placed)| (id, placed.moved(corner))));
        self.titles.extend(inner.titles.into_iter().map(|(id, placed)| (id, placed.moved(corner))));
        self.ways.extend(inner.ways.into_iter().map(|(number, way)| {
            let points = way.points.into_iter().map(|point| point.moved(corner)).collect();
            (number, Way { points, label: way.label.moved(corner) })
        }));
    }
}

/// Puts everything at its place.
pub(crate) fn layout(diagram: &Diagram) -> Layout {
    group::laid_out(diagram, None, &[])
}

/// What is written at an arrow, with how often it was taken.
pub(crate) fn shown_label(arrow: &Arrow) -> String {
    let label = label::shortened(&arrow.label);
    match arrow.taken {
        Some(times) if times > 1 => format!("{label} ×{times}").trim_start().to_owned(),
        _ => label,
    }
}

fn label_size(label: &str) -> Size {
    if label.is_empty() {
        return Size::default();
    }
    Size { width: label::width(label) + 8.0, height: LINE }
}

/// A line of a box as it is drawn.
pub(crate) struct ShownLine {
    pub(crate) text: String,
    pub(crate) style: LineStyle,
}

/// How a line of a box is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LineStyle {
    /// The name of something.
    Name,
    /// What else is said of it.
    Usual,
    /// What became of it.
    Note,
}

/// The lines in a box, or of the title of a group, with what is said of the run.
pub(crate) fn shown_lines(item: &Item) -> Vec<ShownLine> {
    let styled = |style: LineStyle| move |text: String| ShownLine { text, style };
    let first = if item.shape == Shape::Input { LineStyle::Usual } else { LineStyle::Name };
    let (names, others) = item.lines.split_at(item.lines.len().min(1));
    let note = (!item.note.is_empty()).then(|| label::shortened(&item.note));
    let lines = label::lines(names).into_iter().map(styled(first));
    lines
        .chain(label::lines(others).into_iter().map(styled(LineStyle::Usual)))
        .chain(note.map(styled(LineStyle::Note)))
        .collect()
}

/// The size of lines of text.
fn text_size(lines: &[ShownLine]) -> Size {
    // Bold letters are wider.
    let width =
        |line: &ShownLine| label::width(&line.text) * if line.style == LineStyle::Name { 1.1 } else { 1.0 };
    Size { width: lines.iter().map(width).fold(0.0, f64::max), height: lines.len() as f64 * LINE }
}

/// The size of a box with this many arrows back to itself.
fn box_size(item: &Item, loops: usize) -> Size {
    let text = text_size(&shown_lines(item));
    let size = match item.shape {
        Shape::Start | Shape::End => Size { width: 22.0, height: 22.0 },
        Shape::Box => Size { width: text.width + 2.0 * PADDING, height: text.height + PADDING },
        Shape::Input | Shape::Rounded | Shape::Decision => {
            Size { width: text.width + 3.0 * PADDING, height: text.height + PADDING }
        }
    };
    Size { height: size.height.max(loops as f64 * LOOP + PADDING), ..size }
}
