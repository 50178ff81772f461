//! The order within a layer: near what it is connected with, so that few arrows cross.

use super::layers::{Layers, Neighbour};

/// How often all layers are gone through, downwards and upwards. Less often in pictures that nobody looks at as a whole.
const SWEEPS: usize = 16;
/// How many vertices may be looked at in all sweeps.
const EFFORT: usize = 2_000_000;

/// How often a picture of this size is gone through.
pub(super) fn sweeps(vertices: usize, most: usize) -> usize {
    (EFFORT / vertices.max(1)).clamp(2, most)
}

/// Orders every layer.
pub(super) fn settle(layers: &mut Layers) {
    let count = layers.order.len();
    let mut place = vec![0_usize; layers.vertices.len()];
    number(layers, &mut place, 0..count);
    let mut best = (crossings(layers, &place), layers.order.clone());
    for sweep in 0..sweeps(layers.vertices.len(), SWEEPS) {
        if best.0 == 0 {
            break;
        }
        let is_down = sweep % 2 == 0;
        for step in 1..count {
            let row = if is_down { step } else { count - 1 - step };
            let neighbours = if is_down { &layers.above } else { &layers.below };
            let mut keyed: Vec<(f64, usize)> = layers.order[row]
                .iter()
                .enumerate()
                .map(|(index, vertex)| {
                    let near = neighbours[*vertex].iter().map(|near| across(layers, near, &place));
                    let count = near.len();
                    (if count == 0 { index as f64 } else { near.sum::<f64>() / count as f64 }, *vertex)
                })
                .collect();
            // Stable: what is equal stays as it was declared.
            keyed.sort_by(|left, right| left.0.total_cmp(&right.0));
            layers.order[row] = keyed.into_iter().map(|(_, vertex)| vertex).collect();
            number(layers, &mut place, row..row + 1);
        }
        let now = crossings(layers, &place);
        if now < best.0 {
            best = (now, layers.order.clone());
        }
    }
    layers.order = best.1;
}

/// Writes down the place of everything in these rows.
fn number(layers: &Layers, place: &mut [usize], rows: std::ops::Range<usize>) {
    for layer in &layers.order[rows] {
        for (index, vertex) in layer.iter().enumerate() {
            place[*vertex] = index;
        }
    }
}

/// Where in its layer an arrow meets a neighbour: those of one group are beside each other.
fn across(layers: &Layers, near: &Neighbour, place: &[usize]) -> f64 {
    place[near.vertex] as f64 + near.offset / layers.vertices[near.vertex].room.max(1.0)
}

/// How many arrows cross between layers.
fn crossings(layers: &Layers, place: &[usize]) -> usize {
    layers.order.iter().map(|layer| inversions(layers, layer, place)).sum()
}

/// How many pairs of arrows out of a layer end in another order than they begin: counted by merging.
fn inversions(layers: &Layers, layer: &[usize], place: &[usize]) -> usize {
    let mut ends: Vec<f64> = Vec::new();
    for vertex in layer {
        let targets = layers.below[*vertex].iter();
        let mut targets: Vec<(f64, f64)> =
            targets.map(|lower| (lower.own_offset, across(layers, lower, place))).collect();
        targets.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        ends.extend(targets.into_iter().map(|(_, end)| end));
    }
    let mut count = 0;
    let mut width = 1;
    while width < ends.len() {
        let mut merged = Vec::with_capacity(ends.len());
        for run in ends.chunks(2 * width) {
            let (left, right) = run.split_at(width.min(run.len()));
            let (mut one, mut other) = (0, 0);
            while one < left.len() || other < right.len() {
                let takes_left = other == right.len() || (one < left.len() && left[one] <= right[other]);
                if takes_left {
                    merged.push(left[one]);
                    one += 1;
                } else {
                    merged.push(right[other]);
                    count += left.len() - one;
                    other += 1;
                }
            }
        }
        ends = merged;
        width *= 2;
    }
    count
}
