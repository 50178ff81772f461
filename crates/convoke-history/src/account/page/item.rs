//! One account item on the page.

use super::html::Html;
use crate::account::{ItemKind, RecordItem, TextBlock};
use crate::{History, Tone, human, text};

/// Longer texts are folded, with so many lines and characters of them to be seen: what was said, and everything else.
const SAID: (usize, usize) = (24, 2_000);
const OTHER: (usize, usize) = (6, 480);
/// Of a folded text, so much is seen.
const SEEN: (usize, usize) = (3, 240);

/// The item of something that happened.
pub(super) fn item(history: &History, item: &RecordItem<'_>) -> String {
    let mut html = Html::default();
    let main = item.kinds.first().copied().unwrap_or(ItemKind::Run).name();
    html.raw("<li class=\"item ").raw(main);
    if item.is_about(ItemKind::Failure) {
        html.raw(" failed");
    }
    html.raw("\" data-kinds=\"");
    for kind in &item.kinds {
        html.raw(kind.name()).raw(" ");
    }
    html.raw("\"");
    if let Some(moment) = item.moment() {
        html.raw(" data-path=\"").text(moment.effect.path.as_str()).raw("\"");
    }
    if let Some(seq) = item.seq() {
        html.raw(" id=\"e").raw(&seq.to_string()).raw("\"");
    }
    html.raw(">\n<div class=\"when\"><time datetime=\"").text(&item.at().to_string()).raw("\" title=\"");
    html.text(&item.at().to_string()).raw("\">").text(&item.since(history)).raw("</time>");
    if let Some(seq) = item.seq() {
        html.raw("<a href=\"#e").raw(&seq.to_string()).raw("\">").text(&item.number()).raw("</a>");
    }
    html.raw("</div>\n<div class=\"what\">\n<p class=\"title\">");
    html.raw("<span class=\"kind ").raw(item.tone.name()).raw("\">").text(&item.title).raw("</span>");
    if let Some(moment) = item.moment() {
        html.raw(" ").tagged("span", "path", &moment.effect.path.to_string());
    }
    for (tone, fact) in &item.facts {
        html.raw(" ").tagged("span", &format!("fact {}", tone.name()), fact);
    }
    html.raw("</p>\n");
    for text in &item.blocks {
        block(text, &mut html);
    }
    html.raw("</div></li>\n");
    html.done()
}

fn block(block: &TextBlock, html: &mut Html) {
    let whole = block.text().trim_end();
    let limits =
        if matches!(block.label(), "reply" | "error" | "answer" | "question") { SAID } else { OTHER };
    let tone = if block.tone() == Tone::Plain { block.label() } else { block.tone().name() };
    html.raw("<div class=\"block ").raw(tone).raw("\">").tagged("span", "label", block.label());
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
