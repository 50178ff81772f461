//! The shape of a pack: the format as a table, and one walk that compares a tree with it.
//!
//! The walk says what both dialects refuse, which is a mistake, and what each of them refuses, which is their report. A field
//! that nobody knows is kept and warned about.

mod field;
mod object;
mod rule;
mod table;

use super::dialect::{BOTH, Dialect, Dialects, NEITHER, Refusal};
use super::document::{Content, Entry, Gaps, Node};
use crate::finding::{Finding, child};
use crate::whole::whole;
use field::{Field, Object, Shape};

/// What the table says about a pack, while it is walked through and afterwards.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) findings: Vec<Finding>,
    pub(super) refusals: Vec<Refusal>,
    /// Whether the field that is looked at must be there.
    is_required: bool,
    /// What is missing or malformed.
    pub(super) gaps: Gaps,
    /// Whole numbers that are written with a point or an exponent, by their places.
    pub(super) wholes: Vec<(String, u32)>,
}

/// Compares a pack with the table.
pub(super) fn check(pack: &Node) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.visit(&Shape::Fields(&table::PACK), pack, "");
    verdict
}

impl Verdict {
    fn visit(&mut self, shape: &Shape, node: &Node, path: &str) {
        let wanted = match (shape, &node.content) {
            (Shape::Any, _)
            | (Shape::Text, Content::Text(_))
            | (Shape::Truth, Content::Bool(_))
            | (Shape::NullOr(_), Content::Null) => return,
            (Shape::NullOr(shape), _) => return self.visit(shape, node, path),
            (Shape::Length(least, most), Content::Text(text)) => {
                return self.length(text, *least, *most, path);
            }
            (Shape::Checked(rule), Content::Text(text)) => {
                if !rule.holds(text) {
                    let said = rule.message.replace("{}", &convoke_text::one_line_of(text, 60));
                    self.refuse(BOTH, Finding::error("bad-value", path, said).help(rule.help));
                }
                return;
            }
            (Shape::OneOf(values, by), Content::Text(text)) => {
                if !values.contains(&text.as_str()) {
                    let message = format!("`{text}` is none of {}", values.join(", "));
                    let finding = Finding::error("bad-value", path, message);
                    self.refuse(by, finding.suggest(text, values.iter().copied()));
                    if *by == BOTH {
                        self.gaps.add(path, empty(shape));
                    }
                }
                return;
            }
            (Shape::Whole(least), Content::Number(number)) => match whole(number) {
                Some(value) if (i128::from(*least)..=i128::from(u32::MAX)).contains(&value) => {
                    if let Some(value) = u32::try_from(value).ok().filter(|_| number.is_f64()) {
                        self.wholes.push((path.to_owned(), value));
                    }
                    return;
                }
                Some(value) if value > i128::from(*least) => format!("at most {}", u32::MAX),
                _ => format!("a whole number from {least} on"),
            },
            (Shape::Number(least, most), Content::Number(number)) => {
                if number.as_f64().is_some_and(|value| (*least..=*most).contains(&value)) {
                    return;
                }
                match (least.is_finite(), most.is_finite()) {
                    (true, true) => format!("a number from {least} to {most}"),
                    _ => format!("a number from {least} on"),
                }
            }
            (Shape::List(shape, least), Content::List(items)) => {
                self.count(items.len(), *least, path);
                for (index, item) in items.iter().enumerate() {
                    self.visit(shape, item, &child(path, index));
                }
                return;
            }
            (Shape::Names(shape, least), Content::Map(entries)) => {
                self.count(entries.len(), *least, path);
                for entry in entries {
                    self.visit(shape, &entry.node, &child(path, &entry.name));
                }
                return;
            }
            (Shape::Fields(object), Content::Map(_)) => return self.object(object, node, path),
            (Shape::Custom(check), _) => return check(self, node, path),
            // In quotes it would be refused as well.
            (Shape::Checked(rule), Content::Number(_)) if !rule.holds(&shown(node)) => {
                format!("a text ({})", rule.help)
            }
            (Shape::Text | Shape::Length(..) | Shape::Checked(_) | Shape::OneOf(..), _) => {
                "a text".to_owned()
            }
            (Shape::Truth, _) => "true or false".to_owned(),
            (Shape::Whole(_), _) => "a whole number".to_owned(),
            (Shape::Number(..), _) => "a number".to_owned(),
            (Shape::List(..), _) => "a list".to_owned(),
            (Shape::Names(..) | Shape::Fields(_), _) => "an object".to_owned(),
        };
        self.wrong_type(node, path, &wanted, empty(shape));
    }

    fn length(&mut self, text: &str, least: usize, most: usize, path: &str) {
        let (message, help) = match text.chars().count() {
            0 if least > 0 && self.is_required => ("this must not be empty".to_owned(), "write something"),
            0 if least > 0 => {
                ("this must not be empty".to_owned(), "write something, or leave the whole field out")
            }
            count if count > most => (format!("this has at most {most} characters"), "write a shorter one"),
            _ => return,
        };
        self.refuse(BOTH, Finding::error("bad-value", path, message).help(help));
    }

    fn count(&mut self, count: usize, least: usize, path: &str) {
        if count < least {
            let noun = if least == 1 { "something is" } else { "more is" };
            let message = format!("{noun} needed here: at least {least}");
            self.refuse(BOTH, Finding::error("too-few", path, message));
        }
    }

    /// Refuses what is not as it must be. Something else is looked at instead.
    fn wrong_type(&mut self, node: &Node, path: &str, wanted: &str, instead: Content) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let subject = if path.is_empty() { "a pack".to_owned() } else { format!("`{name}`") };
        let finding =
            Finding::error("wrong-type", path, format!("{subject} must be {wanted}, not {}", shown(node)));
        let finding = match node.content {
            Content::Number(_) | Content::Bool(_) if wanted == "a text" => {
                finding.help(format!("write \"{}\", in quotes", shown(node)))
            }
            _ => finding,
        };
        self.refuse(BOTH, finding);
        self.gaps.add(path, instead);
    }

    fn object(&mut self, object: &Object, node: &Node, path: &str) {
        for (field, name) in object.rows() {
            match node.get(name) {
                Some(value) => self.field(field, name, value, &child(path, name)),
                None if field.required != NEITHER => self.missing(object, field, name, path),
                None => {}
            }
        }
        let unknown = node.entries().iter().filter(|entry| object.field(&entry.name).is_none());
        // Where anybody may write what they like, only what was perhaps meant otherwise is told.
        let misspelt =
            |name: &str| convoke_text::nearest(name, object.rows().map(|(_, name)| name)).map(|_| NEITHER);
        for (entry, by) in
            unknown.filter_map(|entry| Some((entry, object.closed_to.or_else(|| misspelt(&entry.name))?)))
        {
            let place = child(path, &entry.name);
            let message = format!("`{}` is not a field of {}", entry.name, object.title);
            self.note(by, &place, &message);
            let finding =
                Finding::warning("unknown-field", place, message).help("it is kept, and has no effect");
            self.findings.push(finding.suggest(&entry.name, object.rows().map(|(_, name)| name)));
        }
        if let Some(also) = object.also {
            also(self, node, path);
        }
    }

    fn field(&mut self, field: &Field, name: &str, value: &Node, path: &str) {
        let is_new_to = |dialect: &Dialect| !field.known.contains(dialect);
        let by: Vec<Dialect> = Dialect::ALL.into_iter().filter(is_new_to).collect();
        self.note(&by, path, &format!("`{name}` is not known"));
        self.findings.extend(field.idle.map(|why| Finding::warning("no-effect", path, why)));
        self.is_required = field.required != NEITHER;
        self.visit(&field.shape, value, path);
    }

    fn missing(&mut self, object: &Object, field: &Field, name: &str, path: &str) {
        let message = format!("{} needs a `{name}`", object.title);
        let finding = Finding::error("missing-field", path, message);
        self.refuse(field.required, finding.help(format!("write \"{name}\": {}", field.example)));
        if field.required == BOTH {
            self.gaps.add(child(path, name), empty(&field.shape));
        }
    }

    /// What is refused by both dialects is a mistake.
    fn refuse(&mut self, by: Dialects, finding: Finding) {
        self.note(by, &finding.path, &finding.message);
        if by == BOTH {
            self.findings.push(finding);
        }
    }

    fn note(&mut self, by: &[Dialect], path: &str, message: &str) {
        for dialect in by {
            let (path, message) = (path.to_owned(), message.to_owned());
            self.refusals.push(Refusal { dialect: *dialect, path, message });
        }
    }
}

/// The least that has a shape.
fn empty(shape: &Shape) -> Content {
    match shape {
        Shape::Any | Shape::NullOr(_) | Shape::Custom(_) => Content::Null,
        Shape::Text | Shape::Length(..) | Shape::Checked(_) => Content::Text(String::new()),
        Shape::OneOf(values, _) => Content::Text(values.first().copied().unwrap_or_default().to_owned()),
        Shape::Truth => Content::Bool(false),
        Shape::Whole(least) => Content::Number((*least).into()),
        Shape::Number(..) => Content::Number(0.into()),
        Shape::List(..) => Content::List(Vec::new()),
        Shape::Names(..) => Content::Map(Vec::new()),
        Shape::Fields(object) => {
            let needed = object.rows().filter(|(field, _)| field.required == BOTH);
            let entries = needed.map(|(field, name)| Entry::new(name, empty(&field.shape)));
            Content::Map(entries.collect())
        }
    }
}

/// A plain value as it is, anything else by its kind.
fn shown(node: &Node) -> String {
    match &node.content {
        Content::Bool(value) => value.to_string(),
        Content::Number(value) => value.to_string(),
        _ => node.kind().to_owned(),
    }
}
