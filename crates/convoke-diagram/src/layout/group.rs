//! The layout of one group: what is directly in it, after what is in the groups below it.

use super::layers::{Layers, Link, Rank, Vertex, leads_back};
use super::route::{Ends, loop_beside};
use super::{LAYER_GAP, LOOP, Layout, PADDING, Placed, Point, Size, Way};
use super::{box_size, label_size, order, place, shown_label, shown_lines, text_size};
use crate::diagram::{Arrow, Diagram, ItemId};

/// Where an arrow crosses the frame of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Port {
    /// The number of the arrow.
    arrow: usize,
    /// Whether the arrow begins in the group.
    leaves: bool,
    /// Whether it crosses the upper edge of the frame; the lower one otherwise.
    above: bool,
}

/// Lays out what is in a group, or in none. The corner is that of what is in its frame.
pub(super) fn laid_out(diagram: &Diagram, parent: Option<ItemId>, ports: &[Port]) -> Layout {
    let members = Members { diagram, parent, children: diagram.children(parent) };
    let mut links = members.links();
    let mut reversed = leads_back(members.children.len(), &links);
    let inner_ports = members.inner_ports(&links, &reversed, ports);
    let mut inner: Vec<Layout> = members
        .children
        .iter()
        .zip(&inner_ports)
        .map(|(id, ports)| match diagram.is_group(*id) {
            true => laid_out(diagram, Some(*id), ports),
            false => Layout::default(),
        })
        .collect();
    let mut vertices = members.vertices(&inner, &links);
    let title = parent.map(|group| {
        let size = text_size(&shown_lines(diagram.item(group)));
        vertices.push(Vertex { size, room: size.width, rank: Rank::First });
        (group, vertices.len() - 1)
    });
    let first_port = vertices.len();
    for (number, port) in ports.iter().enumerate() {
        let rank = if port.above { Rank::First } else { Rank::Last };
        vertices.push(Vertex { rank, ..Vertex::default() });
        let arrow = &diagram.arrows()[port.arrow];
        let Some(child) = members.child_of(if port.leaves { arrow.from } else { arrow.to }) else { continue };
        let ends = (child, first_port + number);
        let (from, to) = if port.leaves { ends } else { (ends.1, ends.0) };
        links.push(Link { arrow: port.arrow, from, to, label: Size::default() });
        reversed.push(port.leaves == port.above);
    }
    let offset = |vertex: usize, arrow: usize| {
        let Some(inner) = inner.get(vertex) else { return 0.0 };
        let at = crossing_end(inner, &inner_ports[vertex], arrow);
        at.map_or(0.0, |at| at.x - inner.size.width / 2.0)
    };
    let mut layers = Layers::new(&vertices, &links, &reversed, offset);
    order::settle(&mut layers);
    let x = place::across(&layers);
    let rows = rows(&layers, &x);
    let placed = |vertex: usize| {
        let middle = Point { x: x[vertex], y: rows[layers.layer[vertex]].middle };
        Placed { middle, size: vertices[vertex].size }
    };
    let places: Vec<Placed> = (0..members.children.len()).map(placed).collect();
    let height = rows.last().map_or(0.0, Row::bottom);
    let right = (0..layers.vertices.len()).map(|vertex| x[vertex] + layers.vertices[vertex].room / 2.0);
    let mut whole = Layout {
        size: Size { width: right.fold(0.0, f64::max), height },
        items: members.children.iter().copied().zip(places.iter().copied()).collect(),
        titles: title.into_iter().map(|(group, vertex)| (group, placed(vertex))).collect(),
        ..Layout::default()
    };
    for (inner, placed) in inner.iter_mut().zip(&places) {
        let crossings = std::mem::take(&mut inner.crossings);
        let corner = Point { x: placed.left() + PADDING, y: placed.top() + PADDING };
        let moved = |points: Vec<Point>| points.into_iter().map(|point| point.moved(corner)).collect();
        let size = inner.size;
        whole.absorb(std::mem::take(inner), corner);
        inner.crossings = crossings.into_iter().map(|(arrow, points)| (arrow, moved(points))).collect();
        inner.size = size;
    }
    // Where the end of an arrow is that is not free to be anywhere at the edge of its box.
    let fixed = |vertex: usize, arrow: usize| {
        if vertex >= first_port {
            let y = if vertices[vertex].rank == Rank::First { -PADDING } else { height + PADDING };
            return Some(Point { x: x[vertex], y });
        }
        crossing_end(inner.get(vertex)?, inner_ports.get(vertex)?, arrow)
    };
    let ends = Ends::new(&layers, &links, &x, &places, fixed);
    for (number, link) in links.iter().enumerate() {
        let Some(chain) = &layers.chains[number] else {
            let same = |other: &&Link| (other.from, other.to) == (link.from, link.from);
            let (nth, count) =
                (links[..number].iter().filter(same).count(), links.iter().filter(same).count());
            whole.ways.insert(link.arrow, loop_beside(places[link.from], link.label, nth, count));
            continue;
        };
        let (middle, label) = ends.way(number, chain, &rows, link.label);
        let part = |vertex: usize| inner.get(vertex).and_then(|inner| inner.crossings.get(&link.arrow));
        let mut points = part(link.from).cloned().unwrap_or_default();
        points.extend(middle);
        points.extend(part(link.to).into_iter().flatten());
        if link.from >= first_port || link.to >= first_port {
            whole.crossings.insert(link.arrow, points);
        } else {
            whole.ways.insert(link.arrow, Way { points, label });
        }
    }
    whole
}

/// Where an arrow crosses the frame of what was laid out.
fn crossing_end(inner: &Layout, ports: &[Port], arrow: usize) -> Option<Point> {
    let port = ports.iter().find(|port| port.arrow == arrow)?;
    let points = inner.crossings.get(&arrow)?;
    if port.leaves { points.last() } else { points.first() }.copied()
}

/// What is directly in a group, or in none.
struct Members<'a> {
    diagram: &'a Diagram,
    parent: Option<ItemId>,
    children: Vec<ItemId>,
}

impl Members<'_> {
    /// The number of the child that an item is, or is in.
    fn child_of(&self, id: ItemId) -> Option<usize> {
        let ancestry = self.diagram.ancestry(id);
        let child = ancestry.iter().find(|ancestor| self.diagram.item(**ancestor).parent == self.parent)?;
        // Children are in the order of their numbers.
        self.children.binary_search(child).ok()
    }

    /// The arrows whose ends are in different children, or are the same child, as arrows between those.
    fn links(&self) -> Vec<Link> {
        let link = |(number, arrow): (usize, &Arrow)| {
            let (from, to) = (self.child_of(arrow.from)?, self.child_of(arrow.to)?);
            let is_here = from != to || (arrow.from == arrow.to && arrow.from == self.children[from]);
            is_here.then(|| Link { arrow: number, from, to, label: label_size(&shown_label(arrow)) })
        };
        self.diagram.arrows().iter().enumerate().filter_map(link).collect()
    }

    /// The ports of every child: where arrows cross its frame that begin or end further inside.
    fn inner_ports(&self, links: &[Link], reversed: &[bool], ports: &[Port]) -> Vec<Vec<Port>> {
        let mut inner = vec![Vec::new(); self.children.len()];
        let mut cross = |port: Port| {
            let arrow = &self.diagram.arrows()[port.arrow];
            let end = if port.leaves { arrow.from } else { arrow.to };
            if let Some(child) = self.child_of(end).filter(|child| self.children[*child] != end) {
                inner[child].push(port);
            }
        };
        for (Link { arrow, .. }, is_reversed) in links.iter().zip(reversed) {
            cross(Port { arrow: *arrow, leaves: true, above: *is_reversed });
            cross(Port { arrow: *arrow, leaves: false, above: !is_reversed });
        }
        ports.iter().for_each(|port| cross(*port));
        // What comes from the same side comes in declared order, as the boxes outside are.
        let outside = |port: &Port| {
            let arrow = &self.diagram.arrows()[port.arrow];
            if port.leaves { arrow.to } else { arrow.from }
        };
        inner.iter_mut().for_each(|ports: &mut Vec<Port>| ports.sort_by_key(outside));
        inner
    }

    fn vertices(&self, inner: &[Layout], links: &[Link]) -> Vec<Vertex> {
        let vertex = |(number, id): (usize, &ItemId)| {
            let loops = || links.iter().filter(|link| (link.from, link.to) == (number, number));
            let size = match self.diagram.is_group(*id) {
                true => Size {
                    width: inner[number].size.width + 2.0 * PADDING,
                    height: (inner[number].size.height + 2.0 * PADDING)
                        .max(loops().count() as f64 * LOOP + PADDING),
                },
                false => box_size(self.diagram.item(*id), loops().count()),
            };
            // An arrow back to where it came from is drawn beside the box.
            let beside = loops().map(|link| link.label.width + 2.0 * PADDING).fold(0.0, f64::max);
            Vertex { size, room: size.width + 2.0 * beside, rank: Rank::Free }
        };
        self.children.iter().enumerate().map(vertex).collect()
    }
}

/// Where a layer is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    middle: f64,
    height: f64,
}

impl Row {
    pub(super) fn top(&self) -> f64 {
        self.middle - self.height / 2.0
    }

    pub(super) fn bottom(&self) -> f64 {
        self.middle + self.height / 2.0
    }
}

/// Where every layer is. Where arrows lead far across, there is more room between two of them.
fn rows(layers: &Layers, x: &[f64]) -> Vec<Row> {
    let mut top = 0.0;
    let row = |layer: &Vec<usize>| {
        let height = layer.iter().map(|vertex| layers.vertices[*vertex].size.height).fold(0.0, f64::max);
        let leads = |vertex: &usize| {
            let at = x[*vertex];
            let below = layers.below[*vertex].iter();
            below
                .map(move |near| (x[near.vertex] + near.offset - near.own_offset - at).abs())
                .fold(0.0, f64::max)
        };
        let across = layer.iter().map(leads).fold(0.0, f64::max);
        let middle = top + height / 2.0;
        top += height + LAYER_GAP + (across / 16.0).min(LAYER_GAP * 1.4);
        Row { middle, height }
    };
    layers.order.iter().map(row).collect()
}
