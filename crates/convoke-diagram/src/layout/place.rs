//! How far to the right everything is: as near to the middle of what it is connected with as its neighbours allow.

use super::layers::Layers;

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
    for sweep in 0..SWEEPS {
        let count = layers.order.len();
        let rows: Vec<usize> = if sweep % 2 == 0 { (0..count).collect() } else { (0..count).rev().collect() };
        for row in rows {
            let neighbours = |vertex: usize| {
                let (above, below) = (&layers.above[vertex], &layers.below[vertex]);
                // At last everything is drawn to both sides.
                match (sweep % 2 == 0, sweep + 4 < SWEEPS) {
                    (true, true) => above.clone(),
                    (false, true) => below.clone(),
                    _ => above.iter().chain(below).copied().collect(),
                }
            };
            settle(layers, &layers.order[row], neighbours, &mut x);
        }
    }
    let left = (0..x.len())
        .map(|vertex| x[vertex] - layers.vertices[vertex].room / 2.0)
        .fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|x| *x -= left);
    x
}

/// Moves what is in a layer as near as can be to where it wants to be, in its order and without touching: the least squares of
/// that are found by joining neighbours that press against each other into blocks.
fn settle(layers: &Layers, layer: &[usize], neighbours: impl Fn(usize) -> Vec<usize>, x: &mut [f64]) {
    struct Block {
        sum: f64,
        count: f64,
        first: usize,
    }
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    let mut blocks: Vec<Block> = Vec::new();
    for (index, vertex) in layer.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|before| layer[before]) {
            offset += (layers.vertices[before].room + layers.vertices[*vertex].room) / 2.0 + GAP;
        }
        offsets.push(offset);
        let near = neighbours(*vertex);
        let wanted = match near.len() {
            0 => x[*vertex],
            count => near.iter().map(|neighbour| x[*neighbour]).sum::<f64>() / count as f64,
        };
        blocks.push(Block { sum: wanted - offset, count: 1.0, first: index });
        while let [.., left, right] = &blocks[..] {
            if left.sum / left.count <= right.sum / right.count {
                break;
            }
            let joined =
                Block { sum: left.sum + right.sum, count: left.count + right.count, first: left.first };
            blocks.truncate(blocks.len() - 2);
            blocks.push(joined);
        }
    }
    for (number, block) in blocks.iter().enumerate() {
        let end = blocks.get(number + 1).map_or(layer.len(), |next| next.first);
        for index in block.first..end {
            x[layer[index]] = block.sum / block.count + offsets[index];
        }
    }
}
