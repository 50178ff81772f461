//! A diagram as a picture.

use crate::diagram::{Arrow, Diagram, Item, ItemId, Line, Mark, Shape};
use crate::label;
use crate::layout::{LINE, Layout, LineStyle, Placed, Point, Way, layout, shown_label, shown_lines};
use crate::mermaid::put;

/// How far everything stays away from the edge.
const MARGIN: f64 = 16.0;

/// Colours for a light and a dark page. Nothing is fetched for it, nothing in it can be run, and within a page it changes nothing
/// around it.
const STYLE: &str = "\
.dg text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2328;text-anchor:middle}\
.dg-page{fill:#fff}\
.dg-box{fill:#f6f8fa;stroke:#59636e;stroke-width:1.2}\
.dg-group{fill:#59636e;fill-opacity:.07;stroke:#59636e;stroke-opacity:.55;stroke-dasharray:2 3}\
.dg-arrow{fill:none;stroke:#59636e;stroke-width:1.3}\
.dg-dashed{stroke-dasharray:5 4}\
.dg-dot{fill:#59636e}\
.dg text.dg-label{font-size:12px;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.dg text.dg-name{font-weight:600}\
.dg text.dg-note{font-size:12px;fill:#59636e}\
.dg .dg-untouched{opacity:.45}\
.dg-done{stroke:#1a7f37;stroke-width:2}\
.dg-active{stroke:#0969da;stroke-width:3}\
.dg-waiting{stroke:#bc4c00;stroke-width:3;stroke-dasharray:6 4}\
.dg-failed{stroke:#cf222e;stroke-width:3}\
.dg-cancelled{stroke-dasharray:2 3;opacity:.7}\
.dg-taken{stroke:#1a7f37;stroke-width:2.4}\
.dg-taken-head{fill:#1a7f37}\
@media (prefers-color-scheme:dark){\
.dg text{fill:#e6edf3}.dg-page{fill:#0d1117}.dg-box{fill:#21262d;stroke:#9198a1}.dg-group{fill:#9198a1;stroke:#9198a1}\
.dg-arrow{stroke:#9198a1}.dg-dot{fill:#9198a1}.dg text.dg-label{stroke:#0d1117}.dg text.dg-note{fill:#9198a1}\
.dg-done,.dg-taken{stroke:#3fb950}.dg-taken-head{fill:#3fb950}.dg-active{stroke:#4493f8}.dg-waiting{stroke:#db6d28}\
.dg-failed{stroke:#f85149}}";

impl Diagram {
    /// The diagram as an SVG picture, which is whole by itself and can also stand within a page.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let laid = layout(self);
        let (width, height) = (laid.size.width + 2.0 * MARGIN, laid.size.height + 2.0 * MARGIN);
        let mut svg = String::new();
        put(
            &mut svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dg\" width=\"{width:.0}\" height=\"{height:.0}\" \
                 viewBox=\"{left:.0} {left:.0} {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n\
                 <style>{STYLE}</style>\n<defs>",
                escaped(&self.title),
                left = -MARGIN
            ),
        );
        for (id, class) in [("dg-head", "dg-dot"), ("dg-taken-end", "dg-taken-head")] {
            put(
                &mut svg,
                format_args!(
                    "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" \
                     markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
                     <path class=\"{class}\" d=\"M0 1 10 5 0 9z\"/></marker>"
                ),
            );
        }
        put(
            &mut svg,
            format_args!(
                "</defs>\n<rect class=\"dg-page\" x=\"{left:.0}\" y=\"{left:.0}\" width=\"{width:.0}\" \
                 height=\"{height:.0}\" rx=\"6\"/>\n",
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
        for (id, title) in &laid.titles {
            draw_lines(self.item(*id), *title, &mut svg);
        }
        for (number, way) in &laid.ways {
            draw_text("dg-label", &shown_label(&self.arrows()[*number]), way.label.middle, &mut svg);
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
            draw_rectangle("dg-group", self.item(id).mark, laid.items[&id], 10.0, svg);
        }
    }
}

fn draw_box(item: &Item, placed: Placed, svg: &mut String) {
    let Placed { middle: Point { x, y }, size } = placed;
    let (right, down) = (size.width / 2.0, size.height / 2.0);
    let class = class("dg-box", item.mark);
    match item.shape {
        Shape::Start => put(
            svg,
            format_args!("<circle class=\"dg-dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{right:.1}\"/>\n"),
        ),
        Shape::End => put(
            svg,
            format_args!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{right:.1}\"/>\
                 <circle class=\"dg-dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>\n",
                right * 0.6
            ),
        ),
        Shape::Box => draw_rectangle("dg-box", item.mark, placed, 4.0, svg),
        Shape::Rounded => draw_rectangle("dg-box", item.mark, placed, down.min(18.0), svg),
        Shape::Input | Shape::Decision => {
            let slant = 12.0;
            let corners: &[(f64, f64)] = match item.shape {
                Shape::Decision => &[
                    (slant - right, -down),
                    (right - slant, -down),
                    (right, 0.0),
                    (right - slant, down),
                    (slant - right, down),
                    (-right, 0.0),
                ],
                _ => &[(slant - right, -down), (right, -down), (right - slant, down), (-right, down)],
            };
            let corners: Vec<String> =
                corners.iter().map(|(across, along)| format!("{:.1},{:.1}", x + across, y + along)).collect();
            put(svg, format_args!("<polygon class=\"{class}\" points=\"{}\"/>\n", corners.join(" ")));
        }
    }
    draw_lines(item, placed, svg);
}

fn draw_rectangle(kind: &str, mark: Mark, placed: Placed, radius: f64, svg: &mut String) {
    put(
        svg,
        format_args!(
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\"/>\n",
            class(kind, mark),
            placed.left(),
            placed.top(),
            placed.size.width,
            placed.size.height
        ),
    );
}

/// The lines of a box or of a group's title.
fn draw_lines(item: &Item, placed: Placed, svg: &mut String) {
    let lines = shown_lines(item);
    let top = placed.middle.y - LINE * (lines.len() as f64 - 1.0) / 2.0;
    for (number, line) in lines.iter().enumerate() {
        let class = match line.style {
            LineStyle::Name => "dg-name",
            LineStyle::Usual => "",
            LineStyle::Note => "dg-note",
        };
        draw_text(class, &line.text, Point { y: top + LINE * number as f64, ..placed.middle }, svg);
    }
}

/// A text around a point. Its letters stand a third of their size below its middle.
fn draw_text(class: &str, text: &str, at: Point, svg: &mut String) {
    if text.is_empty() {
        return;
    }
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let y = at.y + label::LETTER / 3.0;
    put(svg, format_args!("<text{class} x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n", at.x, escaped(text)));
}

/// A line that is straight where its points are above each other, and bends where they are not.
fn draw_arrow(arrow: &Arrow, way: &Way, svg: &mut String) {
    let Some(first) = way.points.first() else { return };
    let mut curve = format!("M{:.1} {:.1}", first.x, first.y);
    match way.points[..] {
        [_, one, other, last] if arrow.from == arrow.to => put(
            &mut curve,
            format_args!(
                "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                one.x, one.y, other.x, other.y, last.x, last.y
            ),
        ),
        _ => way.points.windows(2).for_each(|pair| bend(pair[0], pair[1], &mut curve)),
    }
    let dashed = if arrow.line == Line::Dashed { " dg-dashed" } else { "" };
    let (taken, head) = match arrow.taken {
        None => ("", "dg-head"),
        Some(0) => (" dg-untouched", "dg-head"),
        Some(_) => (" dg-taken", "dg-taken-end"),
    };
    put(
        svg,
        format_args!("<path class=\"dg-arrow{dashed}{taken}\" marker-end=\"url(#{head})\" d=\"{curve}\"/>\n"),
    );
}

fn bend(from: Point, to: Point, curve: &mut String) {
    if (from.x - to.x).abs() < 0.05 {
        return put(curve, format_args!("L{:.1} {:.1}", to.x, to.y));
    }
    let middle = (from.y + to.y) / 2.0;
    put(curve, format_args!("C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}", from.x, to.x, to.x, to.y));
}

fn class(kind: &str, mark: Mark) -> String {
    let mark = match mark {
        Mark::None => return kind.to_owned(),
        Mark::Untouched => "untouched",
        Mark::Done => "done",
        Mark::Active => "active",
        Mark::Waiting => "waiting",
        Mark::Failed => "failed",
        Mark::Cancelled => "cancelled",
    };
    format!("{kind} dg-{mark}")
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
