//! Diagrams as people see them.

use convoke_diagram::{Arrow, Diagram, Item, Mark, Shape};
use insta::assert_snapshot;

/// A group, a circle, an arrow of a box to itself, and what became of them.
fn marked() -> Diagram {
    let mut diagram = Diagram::new("how a letter is written");
    let start = diagram.add(Item::start());
    let topic = diagram.add(Item::new("topic: string").shape(Shape::Input));
    let work = diagram.add(Item::new("work").line("in order"));
    let draft = diagram.add(Item::new("draft").within(work).shape(Shape::Rounded));
    let review = diagram.add(Item::new("review").within(work).shape(Shape::Decision));
    let send = diagram.add(Item::new("send").line("a person approves"));
    let end = diagram.add(Item::end());
    let arrows = [
        (Arrow::new(start, work), Some(1)),
        (Arrow::new(topic, draft).dashed(), None),
        (Arrow::new(draft, draft).label("longer"), Some(0)),
        (Arrow::new(draft, review).label("draft"), Some(3)),
        (Arrow::new(review, draft).label("not good enough"), Some(2)),
        (Arrow::new(review, send), Some(1)),
        (Arrow::new(send, end), Some(0)),
    ];
    for (mut arrow, taken) in arrows {
        arrow.taken = taken;
        diagram.connect(arrow);
    }
    for (id, item) in diagram.items_mut() {
        (item.mark, item.note) = match id {
            id if id == draft => (Mark::Done, "✓ 3 times, 2.1 s".to_owned()),
            id if id == review => (Mark::Failed, "✗ failed".to_owned()),
            id if id == work => (Mark::Active, "under way".to_owned()),
            id if id == send => (Mark::Waiting, "waits".to_owned()),
            _ => continue,
        };
    }
    diagram
}

#[test]
fn a_marked_diagram_as_mermaid() {
    assert_snapshot!(marked().to_mermaid());
}

#[test]
fn a_marked_diagram_as_a_picture() {
    assert_snapshot!(marked().to_svg());
}

#[test]
fn nothing_in_a_text_means_anything_to_who_draws_it() {
    let text = "</text><script>alert(1)</script> \"]; end --> #quot; `x` &amp; \u{0}\u{1b}[31m\u{ffff} 名前";
    let mut diagram = Diagram::new(text);
    let group = diagram.add(Item::new(text));
    let inner = diagram.add(Item::new(text).line("end").within(group));
    diagram.connect(Arrow::new(inner, inner).label(text));
    let (svg, chart) = (diagram.to_svg(), diagram.to_mermaid());
    assert!(!svg.contains("<script") && svg.matches("<text").count() == svg.matches("</text>").count());
    assert!(!chart.contains("<script") && !chart.contains("\"]; ") && !chart.contains("[31m"));
    assert!(svg.contains("名前") && chart.contains("名前"));
    for drawn in [svg, chart] {
        assert!(drawn.chars().all(|character| character == '\n' || !character.is_control()), "{drawn}");
        assert!(!drawn.contains('\u{ffff}'), "{drawn}");
    }
}

#[test]
fn long_texts_are_broken_and_shortened() {
    let mut diagram = Diagram::new("long");
    diagram.add(Item::new("word ".repeat(60)));
    diagram.add(Item::new("x".repeat(200)));
    let svg = diagram.to_svg();
    assert_eq!(svg.matches("<text").count(), 8);
    assert_eq!(svg.matches('…').count(), 2);
    assert!(svg.lines().filter(|line| line.starts_with("<text")).all(|line| line.chars().count() < 100));
}

#[test]
fn an_empty_diagram_and_boxes_without_texts_are_drawn() {
    assert_eq!(Diagram::new("nothing").to_mermaid(), "flowchart TD\n");
    assert!(Diagram::new("nothing").to_svg().contains("<title>nothing</title>"));
    let mut diagram = Diagram::new("no texts");
    let group = diagram.add(Item::default());
    diagram.add(Item::default().within(group));
    assert!(diagram.to_svg().contains("dg-group"));
}
