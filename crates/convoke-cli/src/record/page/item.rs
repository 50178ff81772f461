//! One thing that happened, on the page.

use convoke_history::History;

use super::head::class;
use super::html::Html;
use crate::human;
use crate::record::{Kind, Told};
use crate::render::Block;
use crate::terminal::{Ink, text};

/// Longer texts are folded, with so many lines and characters of them to be seen: what was said, and everything else.
const SAID: (usize, usize) = (24, 2_000);
const OTHER: (usize, usize) = (6, 480);
/// Of a folded text, so much is seen.
const SEEN: (usize, usize) = (3, 240);

/// The item of something that happened.
pub(super) fn item(history: &History, told: &Told<'_>) -> String {
    let mut html = Html::default();
    let main = told.kinds.first().copied().unwrap_or(Kind::Run).name();
    html.raw("<li class=\"item ").raw(main);
    if told.is_about(Kind::Failure) {
        html.raw(" failed");
    }
    html.raw("\" data-kinds=\"");
    for kind in &told.kinds {
        html.raw(kind.name()).raw(" ");
    }
    html.raw("\"");
    if let Some(moment) = told.moment() {
        html.raw(" data-path=\"").text(moment.effect.path.as_str()).raw("\"");
    }
    if let Some(seq) = told.seq() {
        html.raw(" id=\"e").raw(&seq.to_string()).raw("\"");
    }
    html.raw(">\n<div class=\"when\"><time datetime=\"").text(&told.at().to_string()).raw("\" title=\"");
    html.text(&told.at().to_string()).raw("\">").text(&told.since(history)).raw("</time>");
    if let Some(seq) = told.seq() {
        html.raw("<a href=\"#e").raw(&seq.to_string()).raw("\">").text(&told.number()).raw("</a>");
    }
    html.raw("</div>\n<div class=\"what\">\n<p class=\"title\">");
    html.raw("<span class=\"kind ").raw(class(told.ink)).raw("\">").text(&told.title).raw("</span>");
    if let Some(moment) = told.moment() {
        html.raw(" ").tagged("span", "path", &moment.effect.path.to_string());
    }
    for (ink, fact) in &told.facts {
        html.raw(" ").tagged("span", &format!("fact {}", class(*ink)), fact);
    }
    html.raw("</p>\n");
    for text in &told.blocks {
        block(text, &mut html);
    }
    html.raw("</div></li>\n");
    html.done()
}

fn block(block: &Block, html: &mut Html) {
    let whole = block.text().trim_end();
    let limits =
        if matches!(block.label(), "reply" | "error" | "answer" | "question") { SAID } else { OTHER };
    let ink = if block.ink() == Ink::Plain { block.label() } else { class(block.ink()) };
    html.raw("<div class=\"block ").raw(ink).raw("\">").tagged("span", "label", block.label());
    if text::beginning(whole, limits.0, limits.1).1 == 0 {
        html.pre(whole);
    } else {
        let (seen, rest) = text::beginning(whole, SEEN.0, SEEN.1);
        html.raw("<details class=\"fold\"><summary><span class=\"seen\">")
            .text(seen)
            .raw("</span><span class=\"more\">");
        html.text(&format!("{} more characters", human::grouped(rest))).raw("</span></summary>");
        html.pre(whole).raw("</details>");
    }
    html.raw("</div>\n");
}
