//! A diagram as a picture.

use crate::diagram::{Arrow, Diagram, Item, ItemId, Line, Mark, Shape};
use crate::label;
use crate::layout::{LINE, Layout, Placed, Point, Way, layout, shown_label};
use crate::mermaid::put;

/// How far everything stays away from the edge.
const MARGIN: f64 = 16.0;

/// Colours for a light and a dark page. Nothing is fetched for it, and nothing in it can be run.
const STYLE: &str = "\
text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2328;text-anchor:middle;dominant-baseline:central}\
.box{fill:#f6f8fa;stroke:#59636e;stroke-width:1.2}\
.group{fill:#59636e;fill-opacity:.06;stroke:#59636e;stroke-opacity:.5;stroke-dasharray:2 3}\
.arrow{fill:none;stroke:#59636e;stroke-width:1.3}\
.dashed{stroke-dasharray:5 4}\
.label{font-size:12px;paint-order:stroke;stroke:#fff;stroke-width:5px;stroke-linejoin:round}\
.dot{fill:#59636e}\
.untouched{opacity:.45}\
.done{stroke:#1a7f37;stroke-width:2}\
.active{stroke:#0969da;stroke-width:3}\
.waiting{stroke:#bc4c00;stroke-width:3;stroke-dasharray:6 4}\
.failed{stroke:#cf222e;stroke-width:3}\
.taken{stroke-width:2.2}\
@media (prefers-color-scheme:dark){\
text{fill:#e6edf3}.box{fill:#21262d;stroke:#9198a1}.arrow{stroke:#9198a1}.dot{fill:#9198a1}.label{stroke:#0d1117}}";

impl Diagram {
    /// The diagram as an SVG picture, which is whole by itself.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let laid = layout(self);
        let (width, height) = (laid.size.width + 2.0 * MARGIN, laid.size.height + 2.0 * MARGIN);
        let mut svg = String::new();
        put(
            &mut svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
                 viewBox=\"{left:.0} {left:.0} {width:.0} {height:.0}\" role=\"img\">\n<style>{STYLE}</style>\n\
                 <defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" \
                 markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
                 <path class=\"dot\" d=\"M0 1 10 5 0 9z\"/></marker></defs>\n",
                left = -MARGIN
            ),
        );
        self.draw_groups(&laid, &mut svg);
        for (number, way) in &laid.ways {
            draw_arrow(&self.arrows()[*number], way, &mut svg);
        }
        for (id, item) in self.items().filter(|(id, _)| !self.is_group(*id)) {
            draw_box(item, laid.items[&id], &mut svg);
        }
        for (number, way) in &laid.ways {
            let label = shown_label(&self.arrows()[*number]);
            if !label.is_empty() {
                draw_text("label", &label, way.label, &mut svg);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The outer ones first: the inner ones lie upon them.
    fn draw_groups(&self, laid: &Layout, svg: &mut String) {
        let mut groups: Vec<(usize, ItemId)> = self
            .items()
            .filter(|(id, _)| self.is_group(*id))
            .map(|(id, _)| (self.ancestry(id).len(), id))
            .collect();
        groups.sort_unstable();
        for (_, id) in groups {
            let (item, placed) = (self.item(id), laid.items[&id]);
            draw_rectangle("group", item.mark, placed, 10.0, svg);
            let lines = label::lines(&item.lines);
            let top = placed.middle.y - placed.size.height / 2.0 + LINE * 0.8;
            draw_lines(&lines, Point { x: placed.middle.x, y: top }, svg);
        }
    }
}

fn draw_box(item: &Item, placed: Placed, svg: &mut String) {
    let Placed { middle: Point { x, y }, size } = placed;
    let (right, down) = (size.width / 2.0, size.height / 2.0);
    let class = class("box", item.mark);
    match item.shape {
        Shape::Start => {
            put(svg, format_args!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{right:.1}\"/>\n"))
        }
        Shape::End => put(
            svg,
            format_args!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{right:.1}\"/>\
                 <circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>\n",
                right * 0.6
            ),
        ),
        Shape::Box => draw_rectangle("box", item.mark, placed, 4.0, svg),
        Shape::Rounded => draw_rectangle("box", item.mark, placed, down.min(18.0), svg),
        Shape::Input | Shape::Decision => {
            let slant = 10.0;
            let corners = match item.shape {
                Shape::Decision => [(0.0, -down), (right, 0.0), (0.0, down), (-right, 0.0)],
                _ => [(slant - right, -down), (right, -down), (right - slant, down), (-right, down)],
            };
            let corners: Vec<String> =
                corners.iter().map(|(across, along)| format!("{:.1},{:.1}", x + across, y + along)).collect();
            put(svg, format_args!("<polygon class=\"{class}\" points=\"{}\"/>\n", corners.join(" ")));
        }
    }
    let lines = label::lines(&item.lines);
    let first = y - LINE * (lines.len() as f64 - 1.0) / 2.0;
    draw_lines(&lines, Point { x, y: first }, svg);
}

fn draw_rectangle(kind: &str, mark: Mark, placed: Placed, radius: f64, svg: &mut String) {
    let Placed { middle, size } = placed;
    put(
        svg,
        format_args!(
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\"/>\n",
            class(kind, mark),
            middle.x - size.width / 2.0,
            middle.y - size.height / 2.0,
            size.width,
            size.height
        ),
    );
}

fn draw_lines(lines: &[String], first: Point, svg: &mut String) {
    for (number, line) in lines.iter().enumerate() {
        draw_text("line", line, Point { y: first.y + LINE * number as f64, ..first }, svg);
    }
}

fn draw_text(class: &str, text: &str, at: Point, svg: &mut String) {
    if text.is_empty() {
        return;
    }
    let class = if class == "line" { String::new() } else { format!(" class=\"{class}\"") };
    put(svg, format_args!("<text{class} x=\"{:.1}\" y=\"{:.1}\">{}</text>\n", at.x, at.y, escaped(text)));
}

/// A curve that leaves every layer straight downwards or upwards.
fn draw_arrow(arrow: &Arrow, way: &Way, svg: &mut String) {
    let mut points = way.points.iter();
    let Some(first) = points.next() else { return };
    let mut curve = format!("M{:.1} {:.1}", first.x, first.y);
    let mut last = first;
    for next in points {
        let middle = (last.y + next.y) / 2.0;
        if arrow.from == arrow.to || last.x == next.x {
            put(&mut curve, format_args!("L{:.1} {:.1}", next.x, next.y));
        } else {
            put(
                &mut curve,
                format_args!(
                    "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
                    last.x, next.x, next.x, next.y
                ),
            );
        }
        last = next;
    }
    let dashed = if arrow.line == Line::Dashed { " dashed" } else { "" };
    let taken = match arrow.taken {
        None => "",
        Some(0) => " untouched",
        Some(_) => " taken",
    };
    put(
        svg,
        format_args!("<path class=\"arrow{dashed}{taken}\" marker-end=\"url(#head)\" d=\"{curve}\"/>\n"),
    );
}

fn class(kind: &str, mark: Mark) -> String {
    let mark = match mark {
        Mark::None => return kind.to_owned(),
        Mark::Untouched => "untouched",
        Mark::Done => "done",
        Mark::Active => "active",
        Mark::Waiting => "waiting",
        Mark::Failed => "failed",
    };
    format!("{kind} {mark}")
}

/// A text that means nothing to whoever reads the picture, without characters that XML does not have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                safe.push(' ')
            }
            character => safe.push(character),
        }
    }
    safe
}
