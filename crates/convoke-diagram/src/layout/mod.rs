//! Where everything is put: in layers from top to bottom, each group by itself and then as one box of what is around it.
//!
//! - `layers`: which layer a box is in, and which points its arrows go through, so that arrows and their texts have room;
//! - `order`: which of a layer comes first, so that few arrows cross;
//! - `place`: how far to the right, so that arrows are straight.

mod layers;
mod order;
mod place;

use std::collections::BTreeMap;

use crate::diagram::{Arrow, Diagram, ItemId, Shape};
use crate::label;
use layers::{Layers, Link, Vertex};

/// The width of a column of text.
pub(crate) const COLUMN: f64 = 7.6;
/// The height of a line of text.
pub(crate) const LINE: f64 = 18.0;
/// How far text stays away from what is around it.
const PADDING: f64 = 14.0;
/// How far a layer stays away from the next one.
const LAYER_GAP: f64 = 16.0;

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

/// A box in the picture, by its middle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Placed {
    pub(crate) middle: Point,
    pub(crate) size: Size,
}

/// The way of an arrow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Way {
    /// The points it goes through, in its own direction.
    pub(crate) points: Vec<Point>,
    /// The middle of its text.
    pub(crate) label: Point,
}

/// A picture: every box and every arrow at its place.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) size: Size,
    pub(crate) items: BTreeMap<ItemId, Placed>,
    /// By the number of the arrow. Those from a group to what is in it are not drawn.
    pub(crate) ways: BTreeMap<usize, Way>,
}

/// Puts everything at its place.
pub(crate) fn layout(diagram: &Diagram) -> Layout {
    let mut laid = group(diagram, None);
    for (number, way) in &mut laid.ways {
        let arrow = &diagram.arrows()[*number];
        attach(way, laid.items[&arrow.from], laid.items[&arrow.to]);
    }
    laid
}

/// Lays out what is directly in a group, after what is in the groups below it.
fn group(diagram: &Diagram, parent: Option<ItemId>) -> Layout {
    let children = diagram.children(parent);
    let inner: Vec<Option<Layout>> =
        children.iter().map(|id| diagram.is_group(*id).then(|| group(diagram, Some(*id)))).collect();
    let links = links(diagram, parent, &children);
    let vertices = children.iter().zip(&inner).enumerate().map(|(number, (id, inner))| {
        let size = match inner {
            Some(inner) => framed(diagram, *id, inner.size),
            None => size(diagram, *id),
        };
        // An arrow back to where it came from is drawn beside the box.
        let loops = links.iter().filter(|link| link.from == number && link.to == number);
        let beside = loops.map(|link| link.label.width + 2.0 * PADDING).fold(0.0, f64::max);
        Vertex { size, room: size.width + 2.0 * beside }
    });
    let vertices: Vec<Vertex> = vertices.collect();
    let mut layers = Layers::new(&vertices, &links);
    order::settle(&mut layers);
    let x = place::across(&layers);
    let y = down(&layers);
    let middle = |vertex: usize| Point { x: x[vertex], y: y[layers.layer[vertex]].0 };
    let mut whole = Layout::default();
    for (number, (id, inner)) in children.iter().zip(inner).enumerate() {
        let placed = Placed { middle: middle(number), size: vertices[number].size };
        whole.items.insert(*id, placed);
        if let Some(inner) = inner {
            let corner = Point {
                x: placed.middle.x - inner.size.width / 2.0,
                y: placed.middle.y + placed.size.height / 2.0 - PADDING - inner.size.height,
            };
            whole.absorb(inner, corner);
        }
    }
    for (link, chain) in links.iter().zip(&layers.chains) {
        let way = match chain {
            None => loop_beside(whole.items[&children[link.from]], link.label),
            Some(chain) => {
                let mut points = Vec::new();
                for vertex in &chain.through {
                    let (at, half) = (middle(*vertex), layers.vertices[*vertex].size.height / 2.0);
                    points.extend([Point { y: at.y - half, ..at }, Point { y: at.y + half, ..at }]);
                }
                if chain.is_reversed {
                    points.reverse();
                }
                Way { points, label: middle(chain.label) }
            }
        };
        whole.ways.insert(link.arrow, way);
    }
    let bottom = y.last().map_or(0.0, |(middle, height)| middle + height / 2.0);
    let right = (0..layers.vertices.len()).map(|vertex| x[vertex] + layers.vertices[vertex].room / 2.0);
    whole.size = Size { width: right.fold(0.0, f64::max), height: bottom };
    whole
}

impl Layout {
    /// Takes in what was laid out by itself.
    fn absorb(&mut self, inner: Layout, corner: Point) {
        let moved = |placed: Placed| Placed { middle: placed.middle.moved(corner), ..placed };
        self.items.extend(inner.items.into_iter().map(|(id, placed)| (id, moved(placed))));
        self.ways.extend(inner.ways.into_iter().map(|(number, way)| {
            let points = way.points.into_iter().map(|point| point.moved(corner)).collect();
            (number, Way { points, label: way.label.moved(corner) })
        }));
    }
}

/// The arrows whose ends are in different children of a group, or are the same child, as arrows between those.
fn links(diagram: &Diagram, parent: Option<ItemId>, children: &[ItemId]) -> Vec<Link> {
    let child_of = |id: ItemId| {
        let ancestry = diagram.ancestry(id);
        let child = ancestry.iter().find(|ancestor| diagram.item(**ancestor).parent == parent)?;
        children.iter().position(|known| known == child)
    };
    let link = |(number, arrow): (usize, &Arrow)| {
        let (from, to) = (child_of(arrow.from)?, child_of(arrow.to)?);
        let is_here = from != to || (arrow.from == arrow.to && arrow.from == children[from]);
        is_here.then(|| Link { arrow: number, from, to, label: label_size(&shown_label(arrow)) })
    };
    diagram.arrows().iter().enumerate().filter_map(link).collect()
}

/// What is written at an arrow, with how often it was taken.
pub(crate) fn shown_label(arrow: &Arrow) -> String {
    match arrow.taken {
        Some(times) if times > 1 => format!("{} ×{times}", arrow.label).trim_start().to_owned(),
        _ => arrow.label.clone(),
    }
}

fn label_size(label: &str) -> Size {
    if label.is_empty() {
        return Size::default();
    }
    Size { width: label::columns(label) as f64 * COLUMN + PADDING, height: LINE + 4.0 }
}

fn text_size(lines: &[String]) -> Size {
    let columns = lines.iter().map(|line| label::columns(line)).max().unwrap_or_default();
    Size { width: columns as f64 * COLUMN, height: lines.len() as f64 * LINE }
}

fn size(diagram: &Diagram, id: ItemId) -> Size {
    let item = diagram.item(id);
    let text = text_size(&label::lines(&item.lines));
    match item.shape {
        Shape::Start | Shape::End => Size { width: 22.0, height: 22.0 },
        Shape::Decision => Size { width: text.width + 4.0 * PADDING, height: text.height + 3.0 * PADDING },
        Shape::Input | Shape::Rounded => {
            Size { width: text.width + 3.0 * PADDING, height: text.height + PADDING }
        }
        Shape::Box => Size { width: text.width + 2.0 * PADDING, height: text.height + PADDING },
    }
}

/// The size of a group, with its title above what is in it.
fn framed(diagram: &Diagram, id: ItemId, inner: Size) -> Size {
    let title = text_size(&label::lines(&diagram.item(id).lines));
    Size {
        width: inner.width.max(title.width) + 2.0 * PADDING,
        height: title.height + inner.height + 2.5 * PADDING,
    }
}

/// The middle and the height of every layer.
fn down(layers: &Layers) -> Vec<(f64, f64)> {
    let mut top = 0.0;
    let heights = layers
        .order
        .iter()
        .map(|layer| layer.iter().map(|vertex| layers.vertices[*vertex].size.height).fold(0.0, f64::max));
    heights
        .map(|height| {
            let middle = top + height / 2.0;
            top += height + LAYER_GAP;
            (middle, height)
        })
        .collect()
}

/// An arrow from a box to itself, to the right of it.
fn loop_beside(around: Placed, label: Size) -> Way {
    let right = around.middle.x + around.size.width / 2.0;
    let (above, below) =
        (around.middle.y - around.size.height / 4.0, around.middle.y + around.size.height / 4.0);
    let far = right + PADDING;
    let points = [(right, below), (far, below), (far, above), (right, above)];
    let middle = Point { x: far + label.width / 2.0, y: around.middle.y };
    Way { points: points.map(|(x, y)| Point { x, y }).into(), label: middle }
}

/// Leads an arrow from the edge of the box it begins at to the edge of the one it ends at.
fn attach(way: &mut Way, from: Placed, to: Placed) {
    let (Some(first), Some(last)) = (way.points.first().copied(), way.points.last().copied()) else { return };
    let is_loop = from == to;
    if !is_loop {
        way.points.insert(0, edge_of(from, first));
        way.points.push(edge_of(to, last));
    }
}

/// Where a box is left upwards or downwards for a point.
fn edge_of(placed: Placed, point: Point) -> Point {
    let reach = (placed.size.width / 2.0 - PADDING).max(0.0);
    let x = placed.middle.x + ((point.x - placed.middle.x) / 2.0).clamp(-reach, reach);
    let half = placed.size.height / 2.0;
    let y = if point.y < placed.middle.y { placed.middle.y - half } else { placed.middle.y + half };
    Point { x, y }
}
