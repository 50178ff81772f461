//! Which of a layer comes first: near what it is connected with, so that few arrows cross.

use super::layers::Layers;

/// How often all layers are gone through, downwards and upwards.
const SWEEPS: usize = 12;

/// Orders every layer.
pub(super) fn settle(layers: &mut Layers) {
    let mut best = (crossings(layers), layers.order.clone());
    for sweep in 0..SWEEPS {
        let count = layers.order.len();
        let rows: Vec<usize> =
            if sweep % 2 == 0 { (1..count).collect() } else { (0..count).rev().skip(1).collect() };
        for row in rows {
            let next_to = if sweep % 2 == 0 { row - 1 } else { row + 1 };
            let mut place = vec![0_usize; layers.vertices.len()];
            for (index, vertex) in layers.order[next_to].iter().enumerate() {
                place[*vertex] = index;
            }
            let neighbours = if sweep % 2 == 0 { &layers.above } else { &layers.below };
            let mut keyed: Vec<(f64, usize)> = layers.order[row]
                .iter()
                .enumerate()
                .map(|(index, vertex)| {
                    let near = &neighbours[*vertex];
                    let sum: usize = near.iter().map(|neighbour| place[*neighbour]).sum();
                    (if near.is_empty() { index as f64 } else { sum as f64 / near.len() as f64 }, *vertex)
                })
                .collect();
            // Stable: what is equal stays as it was declared.
            keyed.sort_by(|left, right| left.0.total_cmp(&right.0));
            layers.order[row] = keyed.into_iter().map(|(_, vertex)| vertex).collect();
        }
        let now = crossings(layers);
        if now < best.0 {
            best = (now, layers.order.clone());
        }
    }
    layers.order = best.1;
}

/// How many arrows cross between layers.
fn crossings(layers: &Layers) -> usize {
    let mut place = vec![0_usize; layers.vertices.len()];
    for layer in &layers.order {
        for (index, vertex) in layer.iter().enumerate() {
            place[*vertex] = index;
        }
    }
    layers.order.iter().map(|layer| inversions(layers, layer, &place)).sum()
}

/// How many pairs of arrows out of a layer end in another order than they begin: counted by merging.
fn inversions(layers: &Layers, layer: &[usize], place: &[usize]) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    for vertex in layer {
        let mut targets: Vec<usize> = layers.below[*vertex].iter().map(|lower| place[*lower]).collect();
        targets.sort_unstable();
        ends.extend(targets);
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
