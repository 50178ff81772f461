//! Horizontal positions: as near to the middle of what something is connected with as its neighbours allow.

use super::layers::Layers;
use super::order::sweeps;

/// How far things of a layer stay away from each other.
const GAP: f64 = 22.0;
/// How often all layers are gone through, downwards and upwards.
const SWEEPS: usize = 24;

/// The middle of everything, across.
pub(super) fn across(layers: &Layers) -> Vec<f64> {
    let mut x = vec![0.0; layers.vertices.len()];
    for layer in &layers.order {
        let mut left = 0.0;
        for vertex in layer {
            let room = layers.vertices[*vertex].room;
            x[*vertex] = left + room / 2.0;
            left += room + GAP;
        }
    }
    let count = layers.order.len();
    let sweeps = sweeps(layers.vertices.len(), SWEEPS);
    for sweep in 0..sweeps {
        let is_down = sweep % 2 == 0;
        // At last everything is drawn to both sides.
        let (above, below) = match sweep + 4 < sweeps {
            true => (is_down, !is_down),
            false => (true, true),
        };
        for step in 0..count {
            let row = if is_down { step } else { count - 1 - step };
            let wanted = |vertex: usize, x: &[f64]| {
                let above = if above { &layers.above[vertex][..] } else { &[] };
                let below = if below { &layers.below[vertex][..] } else { &[] };
                let mut pull = Pull { sum: 0.0, weight: 0.0 };
                for near in above.iter().chain(below) {
                    pull.sum += (x[near.vertex] + near.offset - near.own_offset) * near.weight;
                    pull.weight += near.weight;
                }
                if pull.weight == 0.0 { Pull { sum: x[vertex], weight: 1.0 } } else { pull }
            };
            settle(layers, &layers.order[row], wanted, &mut x);
        }
    }
    gather(layers, &mut x);
    straighten(layers, &mut x);
    let left = (0..x.len())
        .map(|vertex| x[vertex] - layers.vertices[vertex].room / 2.0)
        .fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|x| *x -= left);
    x
}

/// How far two neighbours in a layer stay apart, by their middles.
fn apart(layers: &Layers, one: usize, other: usize) -> f64 {
    (layers.vertices[one].room + layers.vertices[other].room) / 2.0 + GAP
}

/// Puts what nothing is connected with beside what it is next to: it was only ever pushed, or all others went away from it.
fn gather(layers: &Layers, x: &mut [f64]) {
    let is_connected =
        |vertex: &usize| !(layers.above[*vertex].is_empty() && layers.below[*vertex].is_empty());
    let connected =
        (0..x.len()).filter(is_connected).map(|vertex| x[vertex] - layers.vertices[vertex].room / 2.0);
    let left = connected.fold(f64::INFINITY, f64::min);
    for layer in &layers.order {
        let first = layer.iter().position(is_connected);
        let Some(first) = first.or_else(|| {
            let alone = layer.first().filter(|_| left.is_finite())?;
            x[*alone] = left + layers.vertices[*alone].room / 2.0;
            Some(0)
        }) else {
            continue;
        };
        let last = layer.iter().rposition(is_connected).unwrap_or(first);
        for index in (0..first).rev() {
            x[layer[index]] = x[layer[index + 1]] - apart(layers, layer[index], layer[index + 1]);
        }
        for index in last + 1..layer.len() {
            x[layer[index]] = x[layer[index - 1]] + apart(layers, layer[index - 1], layer[index]);
        }
    }
}

/// Puts as many points of an arrow below each other as have room there. What is beside them stays where it is.
fn straighten(layers: &Layers, x: &mut [f64]) {
    let mut place = vec![0_usize; layers.vertices.len()];
    for layer in &layers.order {
        layer.iter().enumerate().for_each(|(index, vertex)| place[*vertex] = index);
    }
    for chain in layers.chains.iter().flatten() {
        let mut rest = &chain.through[..];
        while !rest.is_empty() {
            let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut length = 0;
            for vertex in rest {
                let layer = &layers.order[layers.layer[*vertex]];
                let before = place[*vertex].checked_sub(1).map(|index| layer[index]);
                let low =
                    before.map_or(least, |before| least.max(x[before] + apart(layers, before, *vertex)));
                let after = layer.get(place[*vertex] + 1);
                let high = after.map_or(most, |after| most.min(x[*after] - apart(layers, *after, *vertex)));
                if low > high {
                    break;
                }
                (least, most) = (low, high);
                length += 1;
            }
            // One that is pressed from both sides stays where it is.
            let (run, others) = rest.split_at(length.max(1));
            let wanted = run.iter().map(|vertex| x[*vertex]).sum::<f64>() / run.len() as f64;
            run.iter().filter(|_| length > 0).for_each(|vertex| x[*vertex] = wanted.max(least).min(most));
            rest = others;
        }
    }
}

/// Where something is drawn to, and how strongly.
struct Pull {
    /// The places it is drawn to, each as often as it weighs.
    sum: f64,
    weight: f64,
}

/// Moves what is in a layer as near as can be to where it wants to be, in its order and without touching: the least squares of
/// that are found by joining neighbours that press against each other into blocks.
fn settle(layers: &Layers, layer: &[usize], wanted: impl Fn(usize, &[f64]) -> Pull, x: &mut [f64]) {
    struct Block {
        pull: Pull,
        first: usize,
    }
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    let mut blocks: Vec<Block> = Vec::new();
    let middle = |block: &Block| block.pull.sum / block.pull.weight;
    for (index, vertex) in layer.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|before| layer[before]) {
            offset += apart(layers, before, *vertex);
        }
        offsets.push(offset);
        let Pull { sum, weight } = wanted(*vertex, x);
        blocks.push(Block { pull: Pull { sum: sum - offset * weight, weight }, first: index });
        while let [.., left, right] = &blocks[..] {
            if middle(left) <= middle(right) {
                break;
            }
            let (sum, weight) = (left.pull.sum + right.pull.sum, left.pull.weight + right.pull.weight);
            let joined = Block { pull: Pull { sum, weight }, first: left.first };
            blocks.truncate(blocks.len() - 2);
            blocks.push(joined);
        }
    }
    for (number, block) in blocks.iter().enumerate() {
        let end = blocks.get(number + 1).map_or(layer.len(), |next| next.first);
        for index in block.first..end {
            x[layer[index]] = middle(block) + offsets[index];
        }
    }
}
