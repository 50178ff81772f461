//! A run's record as one HTML page that needs nothing else: no network, no script or font from elsewhere.
//!
//! Everything that comes from a run is text. It is escaped where it is put into the page ([`html`]), and a policy on
//! the page lets a browser run our script and use our style, known by their digests, and nothing else ([`policy`]).
//! Whatever a model writes, none of it can act.
//!
//! Without a script everything is there and can be read, folded texts included; only searching and choosing is not.

mod head;
mod html;
mod item;
mod policy;
mod template;
mod tree;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_core::Timestamp;
use convoke_diagram::Diagram;

use super::{Filter, Gist, ItemKind, RecordItem};
use crate::History;
use crate::human::{grouped, moment};
use html::{Html, escaped};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The mark at the beginning of each page, by which it is known again.
pub const PAGE_MARK: &str = "<meta name=\"generator\" content=\"convoke\">";

/// A page with the record of a run.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The run.
    pub history: &'a History,
    /// What it was given and what it came to.
    pub gist: &'a Gist,
    /// Everything that happened in it.
    pub items: &'a [RecordItem<'a>],
    /// What of that is on the page.
    pub filter: &'a Filter,
    /// When the page is made.
    pub now: Timestamp,
    /// What it did as a diagram, with what became of that.
    pub diagram: Option<&'a Diagram>,
}

impl Page<'_> {
    /// The whole page.
    #[must_use]
    pub fn html(&self) -> String {
        let kept: Vec<&RecordItem<'_>> = self.items.iter().filter(|item| self.filter.keeps(item)).collect();
        let record = &self.history.record;
        template::fill(TEMPLATE, |name| match name {
            "policy" => policy::policy(STYLE, SCRIPT),
            "title" => escaped(&format!("{} · {}", record.workflow, record.id)),
            "style" => STYLE.to_owned(),
            "script" => SCRIPT.to_owned(),
            "head" => head::head(self.history, self.gist, self.now),
            "diagram" => self.diagram.map(diagram).unwrap_or_default(),
            "kinds" => kinds(&kept),
            "tree" => tree::tree(self.history, &kept),
            "items" => kept.iter().map(|item| item::item(self.history, item)).collect(),
            "count" => count(kept.len(), self.items.len()),
            "version" => escaped(env!("CARGO_PKG_VERSION")),
            "made" => escaped(&moment(self.now)),
            // The template is ours, and every page that is made fills in all of it.
            unknown => unreachable!("the page has no place for `{unknown}`"),
        })
    }
}

/// A picture of its own: a browser lets nothing in it act, and its style is not the page's.
fn diagram(diagram: &Diagram) -> String {
    let mut html = Html::default();
    html.raw(
        "<details class=\"diagram\" open><summary>diagram</summary><img src=\"data:image/svg+xml;base64,",
    );
    html.raw(&STANDARD.encode(diagram.to_svg()))
        .raw("\" alt=\"")
        .text("What it did, as a diagram")
        .raw("\"></details>\n");
    html.done()
}

/// A button for each kind of thing that is there.
fn kinds(kept: &[&RecordItem<'_>]) -> String {
    let mut html = Html::default();
    for kind in ItemKind::ALL {
        let count = kept.iter().filter(|item| item.is_about(kind)).count();
        if count > 0 {
            let name = kind.name();
            html.raw("<button type=\"button\" class=\"chip ").raw(name).raw("\" data-kind=\"").raw(name);
            html.raw("\" aria-pressed=\"false\">").text(name).raw(" <span>").text(&count.to_string());
            html.raw("</span></button>\n");
        }
    }
    html.done()
}

/// How much of the run is on the page. A script says the same as long as nothing is left out.
fn count(kept: usize, all: usize) -> String {
    let (class, text) = match kept == all {
        true => ("count", format!("{} events", grouped(all))),
        false => {
            let left = grouped(all - kept);
            (
                "partial",
                format!("This page has a part of the run: {left} of {} events were left out.", grouped(all)),
            )
        }
    };
    let mut html = Html::default();
    html.tagged("p", class, &text);
    html.done()
}
