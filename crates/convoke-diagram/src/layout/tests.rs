//! Properties of layouts.

use proptest::prelude::*;

use super::{Layout, Placed, Point, layout};
use crate::{Arrow, Diagram, Item, ItemId, Shape};

const TOLERANCE: f64 = 0.01;

/// Any diagram: boxes of all forms, groups in groups, arrows from anything to anything, texts of all kinds.
fn diagrams() -> impl Strategy<Value = Diagram> {
    let item = (0..6_usize, 0..4_usize, ".{0,60}", any::<prop::sample::Index>());
    let arrow = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), ".{0,40}", any::<bool>());
    (prop::collection::vec(item, 1..24), prop::collection::vec(arrow, 0..40)).prop_map(|(items, arrows)| {
        let mut diagram = Diagram::new("any");
        let mut ids: Vec<ItemId> = Vec::new();
        for (shape, depth, text, parent) in items {
            let shapes =
                [Shape::Box, Shape::Rounded, Shape::Input, Shape::Decision, Shape::Start, Shape::End];
            let mut item = Item::new(text).shape(shapes[shape]);
            // Half of them are in some group.
            if depth < 2 && !ids.is_empty() {
                item = item.within(*parent.get(&ids));
            }
            ids.push(diagram.add(item));
        }
        for (from, to, label, is_dashed) in arrows {
            let arrow = Arrow::new(*from.get(&ids), *to.get(&ids)).label(label);
            diagram.connect(if is_dashed { arrow.dashed() } else { arrow });
        }
        diagram
    })
}

fn overlap(one: &Placed, other: &Placed) -> bool {
    one.left() + TOLERANCE < other.right()
        && other.left() + TOLERANCE < one.right()
        && one.top() + TOLERANCE < other.bottom()
        && other.top() + TOLERANCE < one.bottom()
}

fn contains(outer: &Placed, inner: &Placed) -> bool {
    outer.left() <= inner.left() + TOLERANCE
        && inner.right() <= outer.right() + TOLERANCE
        && outer.top() <= inner.top() + TOLERANCE
        && inner.bottom() <= outer.bottom() + TOLERANCE
}

fn is_on_edge(placed: &Placed, point: Point) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() < TOLERANCE;
    let within = |value: f64, low: f64, high: f64| low - TOLERANCE <= value && value <= high + TOLERANCE;
    let is_across = within(point.x, placed.left(), placed.right());
    let is_along = within(point.y, placed.top(), placed.bottom());
    (is_across && (near(point.y, placed.top()) || near(point.y, placed.bottom())))
        || (is_along && (near(point.x, placed.left()) || near(point.x, placed.right())))
}

/// Everything that takes room and must not lie upon anything else: boxes that are no groups, titles of groups, texts of arrows.
fn occupied(diagram: &Diagram, laid: &Layout) -> Vec<(String, Placed)> {
    let boxes = diagram.items().filter(|(id, _)| !diagram.is_group(*id));
    let boxes = boxes.map(|(id, _)| (format!("box {id:?}"), laid.items[&id]));
    let titles = laid.titles.iter().map(|(id, placed)| (format!("title of {id:?}"), *placed));
    let labels = laid.ways.iter().filter(|(number, _)| !diagram.arrows()[**number].label.trim().is_empty());
    let labels = labels.map(|(number, way)| (format!("text of arrow {number}"), way.label));
    boxes.chain(titles).chain(labels).collect()
}

fn check(diagram: &Diagram) -> Result<(), TestCaseError> {
    let laid = layout(diagram);
    let occupied = occupied(diagram, &laid);
    for (number, (what, one)) in occupied.iter().enumerate() {
        for (other_what, other) in &occupied[number + 1..] {
            prop_assert!(!overlap(one, other), "{what} {one:?} lies upon {other_what} {other:?}");
        }
    }
    for (id, item) in diagram.items() {
        if let Some(parent) = item.parent {
            prop_assert!(contains(&laid.items[&parent], &laid.items[&id]), "{id:?} is not in {parent:?}");
        }
        let page =
            Placed { middle: Point { x: laid.size.width / 2.0, y: laid.size.height / 2.0 }, size: laid.size };
        prop_assert!(contains(&page, &laid.items[&id]), "{id:?} is not in the picture");
    }
    for (number, arrow) in diagram.arrows().iter().enumerate() {
        let is_within = |one: ItemId, other: ItemId| one != other && diagram.ancestry(one).contains(&other);
        let Some(way) = laid.ways.get(&number) else {
            let is_left_out = is_within(arrow.from, arrow.to) || is_within(arrow.to, arrow.from);
            prop_assert!(is_left_out, "arrow {number} is not drawn");
            continue;
        };
        let (first, last) = (way.points[0], way.points[way.points.len() - 1]);
        prop_assert!(
            is_on_edge(&laid.items[&arrow.from], first),
            "arrow {number} begins in the air: {way:?}"
        );
        prop_assert!(is_on_edge(&laid.items[&arrow.to], last), "arrow {number} ends in the air: {way:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_lies_upon_anything_else_and_every_arrow_is_attached(diagram in diagrams()) {
        check(&diagram)?;
    }

    #[test]
    fn the_same_diagram_gives_the_same_text(diagram in diagrams()) {
        prop_assert_eq!(diagram.to_svg(), diagram.clone().to_svg());
        prop_assert_eq!(diagram.to_mermaid(), diagram.clone().to_mermaid());
    }
}

#[test]
fn arrows_pass_no_box_that_they_do_not_lead_to() {
    let mut diagram = Diagram::new("passing");
    let group = diagram.add(Item::new("group"));
    let mut before = None;
    let members: Vec<ItemId> = (0..4)
        .map(|number| {
            let member = diagram.add(Item::new(format!("a member, number {number}")).within(group));
            if let Some(before) = before.replace(member) {
                diagram.connect(Arrow::new(before, member));
            }
            member
        })
        .collect();
    let outside = diagram.add(Item::new("outside"));
    members.iter().for_each(|member| diagram.connect(Arrow::new(*member, outside).label("made")));
    diagram.connect(Arrow::new(outside, members[0]).label("again"));
    let laid = layout(&diagram);
    for (number, way) in &laid.ways {
        let arrow = &diagram.arrows()[*number];
        let others = members.iter().filter(|member| **member != arrow.from && **member != arrow.to);
        for (member, pair) in others.flat_map(|member| way.points.windows(2).map(move |pair| (member, pair)))
        {
            let [one, other] = [pair[0], pair[1]];
            let middle = Point { x: (one.x + other.x) / 2.0, y: (one.y + other.y) / 2.0 };
            let size = super::Size { width: (one.x - other.x).abs(), height: (one.y - other.y).abs() };
            assert!(
                !overlap(&Placed { middle, size }, &laid.items[member]),
                "arrow {number} lies upon {member:?}"
            );
        }
    }
}

#[test]
fn the_title_of_a_group_stands_beside_what_is_in_it() {
    let mut diagram = Diagram::new("composition");
    let before = diagram.add(Item::new("triage"));
    let group = diagram.add(Item::new("look_at").line("composition"));
    let sort = diagram.add(Item::new("sort").within(group));
    let branch = diagram.add(Item::new("is_complaint").shape(Shape::Decision).within(group));
    let both = diagram.add(Item::new("both_sides").within(group));
    diagram.add(Item::new("mood").line("prompt mood").within(both));
    diagram.add(Item::new("facts").line("prompt facts").within(both));
    let report = diagram.add(Item::new("report").within(group));
    for (from, to) in [(sort, branch), (branch, both), (sort, report), (both, report), (before, group)] {
        diagram.connect(Arrow::new(from, to));
    }
    let laid = layout(&diagram);
    // Nothing in it is wider than that which is widest.
    let (whole, widest) = (laid.items[&group].size.width, laid.items[&both].size.width);
    assert!(whole < widest + 100.0, "the group is {whole} wide, and what is in it {widest}");
}

#[test]
fn a_thousand_boxes_with_circles_are_laid_out() {
    let mut diagram = Diagram::new("large");
    let ids: Vec<ItemId> = (0..1_000).map(|number| diagram.add(Item::new(format!("box {number}")))).collect();
    // A fixed mixture of short arrows, long ones and circles.
    for number in 0..1_000_usize {
        for step in [1, 7, 31 * number % 97] {
            diagram.connect(Arrow::new(ids[number], ids[(number * 13 + step) % 1_000]).label("next"));
        }
    }
    check(&diagram).unwrap();
}
