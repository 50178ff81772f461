//! The ways of arrows, once boxes and points have their places: straight through layers, across between them.

use super::group::Row;
use super::layers::{Chain, Layers, Link};
use super::{LOOP, PADDING, Placed, Point, Size, Way};

/// How far the ends of arrows stay away from the corners of a box.
const CORNER: f64 = 18.0;
/// How far the ends of arrows at one edge stay away from each other, where there is room.
const APART: f64 = 16.0;

/// Where every arrow leaves its upper box and reaches its lower one.
pub(super) struct Ends<'a> {
    layers: &'a Layers,
    x: &'a [f64],
    /// By the number of the link.
    upper: Vec<Point>,
    lower: Vec<Point>,
}

impl<'a> Ends<'a> {
    /// Spreads the ends of arrows over the edges of their boxes, in the order of where they lead, except those that are fixed.
    pub(super) fn new(
        layers: &'a Layers,
        links: &[Link],
        x: &'a [f64],
        places: &[Placed],
        fixed: impl Fn(usize, usize) -> Option<Point>,
    ) -> Self {
        let none = vec![Point::default(); links.len()];
        let mut ends = Self { layers, x, upper: none.clone(), lower: none };
        let mut leaving = vec![Vec::new(); places.len()];
        let mut reaching = vec![Vec::new(); places.len()];
        for (number, chain) in layers.chains.iter().enumerate() {
            let Some(chain) = chain else { continue };
            let (first, last) = (chain.through.first(), chain.through.last());
            match fixed(chain.upper, links[number].arrow) {
                Some(point) => ends.upper[number] = point,
                None => leaving[chain.upper].push((x[*first.unwrap_or(&chain.lower)], number)),
            }
            match fixed(chain.lower, links[number].arrow) {
                Some(point) => ends.lower[number] = point,
                None => reaching[chain.lower].push((x[*last.unwrap_or(&chain.upper)], number)),
            }
        }
        for (place, (leaving, reaching)) in places.iter().zip(leaving.into_iter().zip(reaching)) {
            for (number, x) in spread(place, leaving) {
                ends.upper[number] = Point { x, y: place.bottom() };
            }
            for (number, x) in spread(place, reaching) {
                ends.lower[number] = Point { x, y: place.top() };
            }
        }
        ends
    }

    /// The points of an arrow in its own direction, and where its text is.
    pub(super) fn way(
        &self,
        number: usize,
        chain: &Chain,
        rows: &[Row],
        label: Size,
    ) -> (Vec<Point>, Placed) {
        let row = |vertex: usize| rows[self.layers.layer[vertex]];
        let (upper, lower) = (self.upper[number], self.lower[number]);
        let mut points = vec![upper, Point { y: row(chain.upper).bottom().max(upper.y), ..upper }];
        for vertex in &chain.through {
            let x = self.x[*vertex];
            points.extend([Point { x, y: row(*vertex).top() }, Point { x, y: row(*vertex).bottom() }]);
        }
        points.extend([Point { y: row(chain.lower).top().min(lower.y), ..lower }, lower]);
        points.dedup();
        if chain.is_reversed {
            points.reverse();
        }
        let middle = chain.label.map_or(upper, |vertex| Point {
            x: self.x[vertex],
            y: (row(vertex).top() + row(vertex).bottom()) / 2.0,
        });
        (points, Placed { middle, size: label })
    }
}

/// Where at an edge of a box arrows begin or end, by how far to the right they lead.
fn spread(place: &Placed, mut toward: Vec<(f64, usize)>) -> Vec<(usize, f64)> {
    toward.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let reach = (place.size.width / 2.0 - CORNER).max(0.0);
    let (left, right) = (place.middle.x - reach, place.middle.x + reach);
    let gaps = toward.len().saturating_sub(1) as f64;
    let apart = if gaps > 0.0 { APART.min(2.0 * reach / gaps) } else { 0.0 };
    let mut least = left;
    let mut ends = Vec::with_capacity(toward.len());
    for (index, (wanted, number)) in toward.into_iter().enumerate() {
        let most = right - (gaps - index as f64) * apart;
        let x = wanted.min(most).max(least);
        least = x + apart;
        ends.push((number, x));
    }
    ends
}

/// The nth of so many arrows from a box to itself, to the right of it.
pub(super) fn loop_beside(around: Placed, label: Size, nth: usize, count: usize) -> Way {
    let y = around.middle.y + (nth as f64 - (count as f64 - 1.0) / 2.0) * LOOP;
    let right = around.right();
    let far = right + 1.6 * PADDING;
    let points = [(right, y + 7.0), (far, y + 9.0), (far, y - 9.0), (right, y - 7.0)];
    let middle = Point { x: right + 1.4 * PADDING + label.width / 2.0, y };
    Way { points: points.map(|(x, y)| Point { x, y }).into(), label: Placed { middle, size: label } }
}
