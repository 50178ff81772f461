//! Which layer everything is in. Boxes are in even layers; between them there is room for the texts of arrows.

use super::Size;

/// Something that takes room in a layer: a box, or a point that an arrow goes through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vertex {
    pub(super) size: Size,
    /// How much room it takes across.
    pub(super) room: f64,
}

/// An arrow between two boxes, by their numbers.
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
    pub(super) through: Vec<usize>,
    /// The one its text is at.
    pub(super) label: usize,
    /// Whether the arrow leads upwards.
    pub(super) is_reversed: bool,
}

/// Boxes and points of arrows, in layers.
#[derive(Debug)]
pub(super) struct Layers {
    /// The boxes, and after them the points.
    pub(super) vertices: Vec<Vertex>,
    /// The layer of each.
    pub(super) layer: Vec<usize>,
    /// What is in each layer, from left to right.
    pub(super) order: Vec<Vec<usize>>,
    /// What each leads to in the next layer.
    pub(super) below: Vec<Vec<usize>>,
    /// What leads to each from the layer before.
    pub(super) above: Vec<Vec<usize>>,
    /// A chain for every link; `None` if it leads back to where it begins.
    pub(super) chains: Vec<Option<Chain>>,
}

impl Layers {
    pub(super) fn new(boxes: &[Vertex], links: &[Link]) -> Self {
        let reversed = leads_back(boxes.len(), links);
        let downwards: Vec<(usize, usize)> = links
            .iter()
            .zip(&reversed)
            .map(|(link, is_reversed)| if *is_reversed { (link.to, link.from) } else { (link.from, link.to) })
            .collect();
        let layer = longest_ways(boxes.len(), &downwards);
        let count = layer.iter().max().map_or(0, |last| last + 1);
        let mut layers = Self {
            vertices: boxes.to_vec(),
            order: vec![Vec::new(); count],
            below: vec![Vec::new(); boxes.len()],
            above: vec![Vec::new(); boxes.len()],
            chains: Vec::new(),
            layer,
        };
        for number in 0..boxes.len() {
            layers.order[layers.layer[number]].push(number);
        }
        for ((link, (upper, lower)), is_reversed) in links.iter().zip(downwards).zip(reversed) {
            let chain = (upper != lower).then(|| layers.lead(upper, lower, link.label, is_reversed));
            layers.chains.push(chain);
        }
        layers
    }

    /// Leads an arrow downwards, through a point in every layer on its way.
    fn lead(&mut self, upper: usize, lower: usize, label: Size, is_reversed: bool) -> Chain {
        let layers = self.layer[upper] + 1..self.layer[lower];
        // Both are in even layers, so there is always one between them.
        let labelled = layers.start;
        let mut through = Vec::new();
        let mut last = upper;
        for layer in layers {
            let size = if layer == labelled { label } else { Size::default() };
            let vertex = self.vertices.len();
            self.vertices.push(Vertex { size, room: size.width });
            self.layer.push(layer);
            self.order[layer].push(vertex);
            self.below.push(Vec::new());
            self.above.push(Vec::new());
            self.join(last, vertex);
            through.push(vertex);
            last = vertex;
        }
        self.join(last, lower);
        Chain { label: through.first().copied().unwrap_or(upper), through, is_reversed }
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }
}

/// Which links lead back to a box on the way to their beginning, going from box to box in declared order.
fn leads_back(boxes: usize, links: &[Link]) -> Vec<bool> {
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

/// The layer of each box: below everything that leads to it, as near to that as can be.
fn longest_ways(boxes: usize, downwards: &[(usize, usize)]) -> Vec<usize> {
    let mut outgoing = vec![Vec::new(); boxes];
    let mut waits_for = vec![0_usize; boxes];
    for (upper, lower) in downwards.iter().filter(|(upper, lower)| upper != lower) {
        outgoing[*upper].push(*lower);
        waits_for[*lower] += 1;
    }
    let mut layer = vec![0; boxes];
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
    layer
}
