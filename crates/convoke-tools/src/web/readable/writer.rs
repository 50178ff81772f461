//! Writes the text of a page.

use std::collections::HashMap;

use html5ever::tokenizer::Tag;
use url::Url;

use super::ReadablePage;
use super::elements::{Gap, gap, is_invisible};

/// So many links have numbers.
const MOST_LINKS: usize = 2_000;
const LONGEST_TITLE: usize = 300;
/// Lists deeper than this are not indented further.
const DEEPEST: usize = 10;

pub(super) struct Writer {
    base: Url,
    longest: usize,
    pub(super) readable: ReadablePage,
    gap: Gap,
    /// What the next line begins with: the sign of a heading or of an item.
    sign: String,
    /// The lists one is in; how far an ordered one has counted.
    lists: Vec<Option<usize>>,
    in_title: bool,
    /// How many elements one is in that keep their lines.
    kept_lines: usize,
    cells: usize,
    link: Option<Link>,
    numbers: HashMap<String, usize>,
}

struct Link {
    to: String,
    /// How long the text was when it began.
    at: usize,
}

impl Writer {
    /// Keeps no more text than `longest` bytes.
    pub(super) fn new(base: &Url, longest: usize) -> Self {
        Self {
            base: base.clone(),
            longest,
            readable: ReadablePage::default(),
            gap: Gap::Nothing,
            sign: String::new(),
            lists: Vec::new(),
            in_title: false,
            kept_lines: 0,
            cells: 0,
            link: None,
            numbers: HashMap::new(),
        }
    }

    pub(super) fn finish(mut self) -> ReadablePage {
        self.end_link();
        self.readable.title.truncate(self.readable.title.trim_end().len());
        self.readable
    }

    pub(super) fn start(&mut self, tag: &Tag) {
        let name = &*tag.name;
        self.wants(gap(name));
        match name {
            "title" => self.in_title = self.readable.title.is_empty(),
            "base" => {
                if let Some(base) = attribute(tag, "href").and_then(|href| self.base.join(href).ok()) {
                    self.base = base;
                }
            }
            "pre" | "xmp" => self.kept_lines += 1,
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(0)),
            "li" => self.item(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.sign = format!("{} ", "#".repeat(level));
            }
            "tr" => self.cells = 0,
            "td" | "th" => {
                if self.cells > 0 {
                    self.wants(Gap::Space);
                    self.text("| ");
                }
                self.cells += 1;
            }
            "hr" => {
                self.text("---");
                self.wants(Gap::Paragraph);
            }
            "img" => {
                if let Some(shown) = attribute(tag, "alt").map(str::trim).filter(|shown| !shown.is_empty()) {
                    let shown: String = shown.chars().take(300).collect();
                    self.text(&format!("[image: {shown}]"));
                }
            }
            "a" => self.start_link(tag),
            _ => {}
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "title" => self.in_title = false,
            "pre" | "xmp" => self.kept_lines = self.kept_lines.saturating_sub(1),
            "ul" | "ol" => {
                self.lists.pop();
            }
            "a" => self.end_link(),
            _ => {}
        }
        // A sign nobody has written anything behind is not wanted any more.
        if matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "li") {
            self.sign.clear();
        }
        self.wants(gap(name));
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.in_title {
            return self.title(text);
        }
        for letter in text.chars().filter(|letter| !is_invisible(*letter)) {
            if self.readable.text.len() > self.longest {
                self.readable.cut = true;
                return;
            }
            if self.kept_lines > 0 {
                self.fill();
                self.readable.text.push(letter);
            } else if letter.is_whitespace() {
                self.wants(Gap::Space);
            } else {
                self.fill();
                self.readable.text.push(letter);
            }
        }
    }

    fn title(&mut self, text: &str) {
        let title = &mut self.readable.title;
        for letter in text.chars().filter(|letter| !is_invisible(*letter)) {
            if title.len() > LONGEST_TITLE {
                return;
            }
            match letter.is_whitespace() {
                true if title.is_empty() || title.ends_with(' ') => {}
                true => title.push(' '),
                false => title.push(letter),
            }
        }
    }

    fn wants(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Writes the gap that is due, and the sign behind it.
    fn fill(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        let text = &mut self.readable.text;
        if gap == Gap::Nothing && self.sign.is_empty() {
            return;
        }
        if !text.is_empty() {
            match gap {
                Gap::Nothing => {}
                Gap::Space if text.ends_with(char::is_whitespace) => {}
                Gap::Space => text.push(' '),
                Gap::Line | Gap::Paragraph => {
                    text.truncate(text.trim_end().len());
                    text.push_str(if gap == Gap::Line { "\n" } else { "\n\n" });
                }
            }
        }
        if gap >= Gap::Line || text.is_empty() {
            let depth = self.lists.len().clamp(1, DEEPEST) - 1;
            text.extend(std::iter::repeat_n("  ", depth));
        }
        text.push_str(&self.sign);
        self.sign.clear();
    }

    fn item(&mut self) {
        self.sign = match self.lists.last_mut() {
            Some(Some(count)) => {
                *count += 1;
                format!("{count}. ")
            }
            _ => "- ".to_owned(),
        };
    }

    fn start_link(&mut self, tag: &Tag) {
        self.end_link();
        let Some(to) = attribute(tag, "href").and_then(|href| self.leads_to(href)) else { return };
        self.link = Some(Link { to, at: self.readable.text.len() });
    }

    /// Where a link leads, if that is elsewhere and somewhere one can go.
    fn leads_to(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > 2_000 {
            return None;
        }
        let to = self.base.join(href).ok()?;
        matches!(to.scheme(), "http" | "https" | "mailto").then(|| to.to_string())
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        if self.readable.text.len() == link.at {
            return;
        }
        let number = match self.numbers.get(&link.to) {
            Some(number) => *number,
            None if self.readable.links.len() == MOST_LINKS => return,
            None => {
                self.readable.links.push(link.to.clone());
                self.numbers.insert(link.to, self.readable.links.len());
                self.readable.links.len()
            }
        };
        self.readable.marks.push((self.readable.text.len(), number));
        self.readable.text.push_str(&format!("[{number}]"));
    }
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}
