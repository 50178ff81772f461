//! The tree of steps on the page.

use std::collections::HashSet;

use convoke_core::Timestamp;

use super::html::Html;
use crate::account::RecordItem;
use crate::{Attempt, Effect, History, TreeItem, TreeNode, human};

/// However short something was, so much of a bar is to be seen, in percent.
const THINNEST: f64 = 1.0;

/// The steps as a list of lists. Each leads to the first thing on the page that happened in it.
pub(super) fn tree(history: &History, kept: &[&RecordItem<'_>]) -> String {
    let on_page: HashSet<u64> = kept.iter().filter_map(|item| item.seq()).collect();
    let mut extents = vec![Extent::default(); history.tree.nodes().len()];
    measure(history, &on_page, &mut extents, 0);
    let mut walk = Walk { history, extents, html: Html::default() };
    walk.list(history.tree.root());
    walk.html.done()
}

/// From when to when a step lasted, and where it begins on the page.
#[derive(Clone, Copy, Default)]
struct Extent {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    first: Option<u64>,
}

impl Extent {
    fn of(effect: &Effect, on_page: &HashSet<u64>) -> Self {
        let marks = || effect.attempts.iter().flat_map(Attempt::marks);
        let began = effect.attempts.iter().filter_map(|attempt| attempt.began);
        Self {
            from: began.chain(marks().map(|mark| mark.at)).min(),
            to: marks().map(|mark| mark.at).max(),
            first: marks().map(|mark| mark.seq).filter(|seq| on_page.contains(seq)).min(),
        }
    }

    fn include(&mut self, other: Self) {
        self.from = [self.from, other.from].into_iter().flatten().min();
        self.to = self.to.max(other.to);
        self.first = [self.first, other.first].into_iter().flatten().min();
    }
}

fn measure(history: &History, on_page: &HashSet<u64>, extents: &mut [Extent], number: usize) -> Extent {
    let mut extent = Extent::default();
    for item in &history.tree.node(number).items {
        extent.include(match *item {
            TreeItem::Effect(effect) => Extent::of(&history.effects[effect], on_page),
            TreeItem::Node(inner) => measure(history, on_page, extents, inner),
        });
    }
    extents[number] = extent;
    extent
}

struct Walk<'a> {
    history: &'a History,
    extents: Vec<Extent>,
    html: Html,
}

impl Walk<'_> {
    fn list(&mut self, node: &TreeNode) {
        self.html.raw("<ul>\n");
        for item in &node.items {
            if let TreeItem::Node(number) = *item {
                self.step(number);
            }
        }
        self.html.raw("</ul>\n");
    }

    fn step(&mut self, number: usize) {
        let node = self.history.tree.node(number);
        let has_steps = node.items.iter().any(|item| matches!(item, TreeItem::Node(_)));
        self.html.raw("<li>");
        if has_steps {
            self.html.raw("<details open><summary>");
        } else {
            self.html.raw("<div class=\"leaf\">");
        }
        self.line(node, self.extents[number]);
        if has_steps {
            self.html.raw("</summary>\n");
            self.list(node);
            self.html.raw("</details>");
        } else {
            self.html.raw("</div>");
        }
        self.html.raw("</li>\n");
    }

    fn line(&mut self, node: &TreeNode, extent: Extent) {
        let html = &mut self.html;
        html.raw("<span class=\"step\">");
        match extent.first {
            Some(seq) => {
                html.raw("<a href=\"#e")
                    .raw(&seq.to_string())
                    .raw("\" data-step=\"")
                    .text(node.path.as_str())
                    .raw("\">");
                html.text(&node.name).raw("</a>");
            }
            None => {
                html.tagged("span", "faint", &node.name);
            }
        }
        let kind = self.history.steps.along(&node.path).last().and_then(|stop| stop.kind);
        if let Some(kind) = kind {
            html.raw(" ").tagged("span", "of", kind);
        }
        if node.spent.failures > 0 {
            html.raw(" ").tagged("span", "bad", &human::count(node.spent.failures, "failure"));
        }
        html.raw("</span><span class=\"spent\">");
        let tokens = node.spent.usage.total_tokens();
        let facts = [
            node.duration.map(human::duration).unwrap_or_default(),
            if tokens > 0 { format!("{} tok", human::tokens(tokens)) } else { String::new() },
            human::spent_cost(&node.spent),
        ];
        for fact in facts.iter().filter(|fact| !fact.is_empty()) {
            html.tagged("span", "", fact);
        }
        html.raw("</span>");
        self.bar(extent);
    }

    /// When in the run the step was at work. A picture only: the times are on the items.
    fn bar(&mut self, extent: Extent) {
        let Extent { from: Some(began), to: Some(ended), .. } = self.extents[0] else { return };
        let (Some(from), Some(to)) = (extent.from, extent.to) else { return };
        let whole = ended.since(began).as_secs_f64();
        if whole <= 0.0 {
            return;
        }
        let percent = |part: f64| part / whole * 100.0;
        let width = percent(to.since(from).as_secs_f64()).max(THINNEST);
        let left = percent(from.since(began).as_secs_f64()).min(100.0 - width);
        self.html.raw("<svg class=\"bar\" aria-hidden=\"true\"><rect x=\"").raw(&format!("{left:.2}%"));
        self.html.raw("\" width=\"").raw(&format!("{width:.2}%")).raw("\" height=\"100%\"/></svg>");
    }
}
