//! The layers: which one everything is in. Between two boxes there is always a layer in which the texts of arrows have room.

use super::Size;

/// Where a vertex belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Rank {
    /// Above all others.
    First,
    /// Where its arrows say.
    #[default]
    Free,
    /// Below all others.
    Last,
}

/// Something that takes room in a layer: a box, the title or a port of a group, or a point that an arrow goes through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vertex {
    pub(super) size: Size,
    /// How much room it takes across.
    pub(super) room: f64,
    pub(super) rank: Rank,
}

/// An arrow between two vertices, by their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The number of the arrow in the diagram.
    pub(super) arrow: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Size,
}

/// The points an arrow goes through, from top to bottom.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) upper: usize,
    pub(super) lower: usize,
    pub(super) through: Vec<usize>,
    /// The one its text is at: the one next to where it begins.
    pub(super) label: Option<usize>,
    /// Whether the arrow leads upwards.
    pub(super) is_reversed: bool,
}

/// What a vertex is connected with in the next layer, or in the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    pub(super) vertex: usize,
    /// How far from the middle of the neighbour the arrow is.
    pub(super) offset: f64,
    /// How far from the middle of the vertex itself it is.
    pub(super) own_offset: f64,
    /// How much it matters that the arrow is straight there: most where it passes by others.
    pub(super) weight: f64,
}

/// Boxes and points of arrows, in layers.
#[derive(Debug)]
pub(super) struct Layers {
    /// What was given, and after that the points of arrows.
    pub(super) vertices: Vec<Vertex>,
    /// The layer of each.
    pub(super) layer: Vec<usize>,
    /// What is in each layer, from left to right.
    pub(super) order: Vec<Vec<usize>>,
    /// What each leads to in the next layer.
    pub(super) below: Vec<Vec<Neighbour>>,
    /// What leads to each from the layer before.
    pub(super) above: Vec<Vec<Neighbour>>,
    /// A chain for every link; `None` if it leads back to where it begins.
    pub(super) chains: Vec<Option<Chain>>,
}

impl Layers {
    /// Puts vertices into layers. Links that are reversed lead upwards. `offset` says how far from the middle of a vertex an arrow
    /// begins or ends.
    pub(super) fn new(
        vertices: &[Vertex],
        links: &[Link],
        reversed: &[bool],
        offset: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let downwards: Vec<(usize, usize)> = links
            .iter()
            .zip(reversed)
            .map(|(link, is_reversed)| if *is_reversed { (link.to, link.from) } else { (link.from, link.to) })
            .collect();
        let layer = ranked(vertices, &downwards);
        let count = layer.iter().max().map_or(0, |last| last + 1);
        let mut layers = Self {
            vertices: vertices.to_vec(),
            order: vec![Vec::new(); count],
            below: vec![Vec::new(); vertices.len()],
            above: vec![Vec::new(); vertices.len()],
            chains: Vec::new(),
            layer,
        };
        for number in 0..vertices.len() {
            layers.order[layers.layer[number]].push(number);
        }
        for ((link, (upper, lower)), is_reversed) in links.iter().zip(downwards).zip(reversed) {
            let offsets = (offset(upper, link.arrow), offset(lower, link.arrow));
            let chain =
                (upper != lower).then(|| layers.lead(upper, lower, offsets, link.label, *is_reversed));
            layers.chains.push(chain);
        }
        layers
    }

    /// Leads an arrow downwards, through a point in every layer on its way.
    fn lead(
        &mut self,
        upper: usize,
        lower: usize,
        offsets: (f64, f64),
        label: Size,
        is_reversed: bool,
    ) -> Chain {
        let layers = self.layer[upper] + 1..self.layer[lower];
        let labelled = if is_reversed { layers.end.saturating_sub(1) } else { layers.start };
        let mut through = Vec::with_capacity(layers.len());
        let mut at_label = None;
        let mut last = (upper, offsets.0);
        for layer in layers {
            let size = if layer == labelled { label } else { Size::default() };
            let vertex = self.vertices.len();
            self.vertices.push(Vertex { size, room: size.width, rank: Rank::Free });
            self.layer.push(layer);
            self.order[layer].push(vertex);
            self.below.push(Vec::new());
            self.above.push(Vec::new());
            self.join(last, (vertex, 0.0), if last.0 == upper { 2.0 } else { 8.0 });
            if layer == labelled {
                at_label = Some(vertex);
            }
            through.push(vertex);
            last = (vertex, 0.0);
        }
        self.join(last, (lower, offsets.1), if last.0 == upper { 1.0 } else { 2.0 });
        Chain { upper, lower, through, label: at_label, is_reversed }
    }

    fn join(&mut self, upper: (usize, f64), lower: (usize, f64), weight: f64) {
        let below = Neighbour { vertex: lower.0, offset: lower.1, own_offset: upper.1, weight };
        let above = Neighbour { vertex: upper.0, offset: upper.1, own_offset: lower.1, weight };
        self.below[upper.0].push(below);
        self.above[lower.0].push(above);
    }
}

/// Which links lead back to a box on the way to their beginning, going from box to box in declared order.
pub(super) fn leads_back(boxes: usize, links: &[Link]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        Under,
        Done,
    }
    let mut outgoing = vec![Vec::new(); boxes];
    for (number, link) in links.iter().enumerate() {
        outgoing[link.from].push(number);
    }
    let mut back = vec![false; links.len()];
    let mut visits = vec![Visit::Not; boxes];
    for start in 0..boxes {
        // A stack of our own: the diagrams of others may be deep.
        let mut stack = if visits[start] == Visit::Not { vec![(start, 0)] } else { Vec::new() };
        while let Some((at, next)) = stack.pop() {
            visits[at] = Visit::Under;
            let Some(number) = outgoing[at].get(next) else {
                visits[at] = Visit::Done;
                continue;
            };
            stack.push((at, next + 1));
            let to = links[*number].to;
            match visits[to] {
                Visit::Not => stack.push((to, 0)),
                Visit::Under => back[*number] = true,
                Visit::Done => {}
            }
        }
    }
    back
}

/// The layer of each vertex: those that are first, then every box below everything that leads to it, then those that are last.
fn ranked(vertices: &[Vertex], downwards: &[(usize, usize)]) -> Vec<usize> {
    let is_free = |vertex: usize| vertices[vertex].rank == Rank::Free;
    let free: Vec<(usize, usize)> = downwards
        .iter()
        .copied()
        .filter(|(upper, lower)| upper != lower && is_free(*upper) && is_free(*lower))
        .collect();
    let first = usize::from(vertices.iter().any(|vertex| vertex.rank == Rank::First));
    let mut layer: Vec<usize> =
        longest_ways(vertices.len(), &free).into_iter().map(|layer| layer + first).collect();
    let last = (0..vertices.len()).filter(|number| is_free(*number)).map(|number| layer[number]).max();
    for (number, vertex) in vertices.iter().enumerate() {
        match vertex.rank {
            Rank::Free => {}
            Rank::First => layer[number] = 0,
            Rank::Last => layer[number] = last.map_or(first, |last| last + 1),
        }
    }
    layer
}

/// The layer of each box: below everything that leads to it, as near to that as can be. What nothing leads to is near to what it
/// leads to itself.
fn longest_ways(boxes: usize, downwards: &[(usize, usize)]) -> Vec<usize> {
    let mut outgoing = vec![Vec::new(); boxes];
    let mut incoming = vec![0_usize; boxes];
    for (upper, lower) in downwards {
        outgoing[*upper].push(*lower);
        incoming[*lower] += 1;
    }
    let mut layer = vec![0; boxes];
    let mut waits_for = incoming.clone();
    let mut ready: Vec<usize> = (0..boxes).filter(|number| waits_for[*number] == 0).collect();
    while let Some(upper) = ready.pop() {
        for lower in &outgoing[upper] {
            layer[*lower] = layer[*lower].max(layer[upper] + 2);
            waits_for[*lower] -= 1;
            if waits_for[*lower] == 0 {
                ready.push(*lower);
            }
        }
    }
    for number in (0..boxes).filter(|number| incoming[*number] == 0) {
        let nearest = outgoing[number].iter().map(|lower| layer[*lower]).min();
        layer[number] = nearest.map_or(0, |nearest| nearest - 2);
    }
    layer
}
