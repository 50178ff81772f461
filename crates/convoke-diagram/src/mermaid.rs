//! A diagram as a Mermaid flow chart.

use std::fmt::Write;

use crate::diagram::{Diagram, ItemId, Line, Mark, Shape};

/// The most characters of a line in a box.
const LONGEST: usize = 80;

impl Diagram {
    /// The diagram as a Mermaid flow chart.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let mut chart = "flowchart TD\n".to_owned();
        self.write_children(None, 1, &mut chart);
        for arrow in self.arrows() {
            let line = match arrow.line {
                Line::Solid => "-->",
                Line::Dashed => "-.->",
            };
            let times = arrow.taken.filter(|times| *times > 1).map(|times| format!(" ×{times}"));
            let text = format!("{}{}", escaped(&arrow.label), times.unwrap_or_default());
            let text = if text.is_empty() { String::new() } else { format!("|\"{}\"|", text.trim_start()) };
            put(&mut chart, format_args!("  {} {line}{text} {}\n", name(arrow.from), name(arrow.to)));
        }
        self.write_marks(&mut chart);
        self.write_taken(&mut chart);
        chart
    }

    fn write_children(&self, parent: Option<ItemId>, depth: usize, chart: &mut String) {
        let indent = "  ".repeat(depth);
        for id in self.children(parent) {
            let item = self.item(id);
            let note = (!item.note.is_empty()).then_some(&item.note);
            let lines: Vec<String> = item.lines.iter().chain(note).map(|line| escaped(line)).collect();
            let label = lines.join("<br/>");
            if self.is_group(id) {
                put(chart, format_args!("{indent}subgraph {}[\"{label}\"]\n", name(id)));
                self.write_children(Some(id), depth + 1, chart);
                put(chart, format_args!("{indent}end\n"));
                continue;
            }
            let (open, close) = match item.shape {
                Shape::Box => ("[", "]"),
                Shape::Rounded => ("([", "])"),
                Shape::Input => ("[/", "/]"),
                Shape::Decision => ("{", "}"),
                Shape::Start => ("((", "))"),
                Shape::End => ("(((", ")))"),
            };
            // A box without a text would show its name.
            let label = if label.is_empty() { " " } else { &label };
            put(chart, format_args!("{indent}{}{open}\"{label}\"{close}\n", name(id)));
        }
    }

    fn write_marks(&self, chart: &mut String) {
        let marks = [
            (Mark::Untouched, "untouched", "opacity:0.45"),
            (Mark::Done, "done", "stroke:#2e8b57,stroke-width:2px"),
            (Mark::Active, "active", "stroke:#1f6feb,stroke-width:3px"),
            (Mark::Waiting, "waiting", "stroke:#c27c0e,stroke-width:3px,stroke-dasharray:4"),
            (Mark::Failed, "failed", "stroke:#c93c37,stroke-width:3px"),
            (Mark::Cancelled, "cancelled", "stroke-dasharray:2 3,opacity:0.7"),
        ];
        for (mark, class, style) in marks {
            let names: Vec<String> =
                self.items().filter(|(_, item)| item.mark == mark).map(|(id, _)| name(id)).collect();
            if !names.is_empty() {
                put(chart, format_args!("  classDef {class} {style}\n  class {} {class}\n", names.join(",")));
            }
        }
    }

    /// Which arrows were taken: Mermaid knows them by their numbers.
    fn write_taken(&self, chart: &mut String) {
        for (is_taken, style) in [(true, "stroke:#2e8b57,stroke-width:3px"), (false, "stroke-opacity:0.4")] {
            let numbers: Vec<String> = self
                .arrows()
                .iter()
                .enumerate()
                .filter(|(_, arrow)| arrow.taken.is_some_and(|times| (times > 0) == is_taken))
                .map(|(number, _)| number.to_string())
                .collect();
            if !numbers.is_empty() {
                put(chart, format_args!("  linkStyle {} {style}\n", numbers.join(",")));
            }
        }
    }
}

fn name(id: ItemId) -> String {
    format!("n{}", id.0)
}

/// A text as a label: no character in it means anything to Mermaid.
fn escaped(text: &str) -> String {
    let mut label = String::new();
    let long = text.chars().count() > LONGEST;
    let kept = if long { LONGEST - 1 } else { LONGEST };
    for character in text.chars().take(kept) {
        match character {
            '"' => label.push_str("#quot;"),
            '<' => label.push_str("#lt;"),
            '>' => label.push_str("#gt;"),
            '&' => label.push_str("#amp;"),
            '#' | '`' | '\\' | '$' | '[' | ']' | '{' | '}' | '|' | ';' => {
                put(&mut label, format_args!("#{};", u32::from(character)));
            }
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                label.push(' ')
            }
            character => label.push(character),
        }
    }
    if long {
        label.push('…');
    }
    label
}

pub(crate) fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string never fails.
    let _ = text.write_fmt(what);
}
