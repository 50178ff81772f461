//! A walk over the tree of a file that notes everything that is wrong with it.

use convoke_text::document::{Content, Node};
use convoke_text::finding::{Finding, child};
use serde_json::{Map, Value};

/// Fields that scenarios of the Go program have and these do not, and what there is instead.
const ELSEWHERE: [(&str, &str); 10] = [
    ("context_carry_forward", "leave it out: states of a pack say themselves what they keep"),
    ("context_metadata", "write what the run is to know in `inputs`"),
    ("mode", "leave it out: what is run says how"),
    ("parts", "scenarios have words only: write `content`"),
    ("persona", "nobody makes up turns here: write `role: user` and what is said"),
    ("provider", "write `model: NAME`"),
    ("providers", "write `model: NAME`, or give --model"),
    ("streaming", "leave it out: what is said is the same, streamed or not"),
    ("tool_policy", "write it in the prompt of the pack, or give --policy"),
    ("state", "write `expect_state`, or an assertion of type `state_is`"),
];

/// What is wrong so far.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) findings: Vec<Finding>,
    /// Whether what is read only measures: an eval of a pack need not be able to fail.
    pub(super) measures: bool,
}

/// A value of the file, and its JSON pointer.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) node: &'a Node,
    pub(super) path: String,
}

impl<'a> Place<'a> {
    /// What has this name in it.
    pub(super) fn get(&self, name: &str) -> Option<Place<'a>> {
        Some(Place { node: self.node.get(name)?, path: child(&self.path, name) })
    }

    /// What is in it, in order.
    pub(super) fn items(&self) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let path = self.path.clone();
        let items = self.node.items().iter().enumerate();
        items.map(move |(index, node)| Place { node, path: child(&path, index) })
    }

    pub(super) fn value(&self) -> Value {
        self.node.to_value()
    }
}

impl Reader {
    pub(super) fn error(
        &mut self,
        code: &'static str,
        path: &str,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.findings.push(Finding::error(code, path, message));
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Refuses what holds whatever happens.
    pub(super) fn cannot_fail(&mut self, path: &str, why: &str, instead: &str) {
        let finding = self.error("cannot-fail", path, format!("this cannot fail: {why}"));
        finding.help = Some(instead.to_owned());
    }

    /// Refuses what never holds.
    pub(super) fn cannot_hold(&mut self, path: &str, why: &str) {
        self.error("cannot-hold", path, format!("this cannot hold: {why}"));
    }

    /// What has several names, of which one is used.
    pub(super) fn one_name<'a>(&mut self, place: &Place<'a>, names: &[&str]) -> Option<Place<'a>> {
        let mut given = names.iter().filter_map(|name| Some((*name, place.get(name)?)));
        let first = given.next();
        if let (Some((name, _)), Some((other, second))) = (&first, given.next()) {
            let message = format!("`{name}` and `{other}` mean the same: write one of them");
            self.error("twice", &second.path, message);
        }
        first.map(|(_, place)| place)
    }

    /// A share of runs of which there must be some.
    pub(super) fn share(&mut self, place: &Place<'_>) -> Option<f64> {
        let share = self.number(place, 0.0, 1.0)?;
        if share <= 0.0 {
            self.cannot_fail(&place.path, "no run has to pass", "write a share above 0, such as `0.8`");
            return None;
        }
        Some(share)
    }

    fn wanted(&mut self, place: &Place<'_>, wanted: &str) {
        let given = match &place.node.content {
            Content::Number(number) => number.to_string(),
            _ => place.node.kind().to_owned(),
        };
        self.error("wrong-type", &place.path, format!("{wanted} is wanted here, not {given}"));
    }

    /// Checks that it is an object, and has no fields but these.
    pub(super) fn object(&mut self, place: &Place<'_>, known: &[&str]) -> bool {
        let Content::Map(entries) = &place.node.content else {
            self.wanted(place, "an object");
            return false;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.name.as_str())) {
            let path = child(&place.path, &entry.name);
            let message = format!("`{}` is not known here: there are {}", entry.name, known.join(", "));
            let finding = Finding::error("unknown-field", path, message);
            let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == entry.name);
            self.findings.push(match elsewhere {
                Some((_, instead)) => finding.help(*instead),
                None => finding.suggest(&entry.name, known.iter().copied()),
            });
        }
        true
    }

    /// Checks that it is a list.
    pub(super) fn list<'a>(&mut self, place: &Place<'a>) -> Vec<Place<'a>> {
        if !matches!(place.node.content, Content::List(_)) {
            self.wanted(place, "a list");
        }
        place.items().collect()
    }

    pub(super) fn text(&mut self, place: &Place<'_>) -> Option<String> {
        let text = place.node.text().map(str::to_owned);
        if text.is_none() {
            self.wanted(place, "a text");
            if let (Content::Number(_) | Content::Bool(_), Some(last)) =
                (&place.node.content, self.findings.last_mut())
            {
                last.help = Some(format!("write it in quotes: \"{}\"", place.value()));
            }
        }
        text
    }

    pub(super) fn texts(&mut self, place: &Place<'_>) -> Vec<String> {
        self.list(place).iter().filter_map(|item| self.text(item)).collect()
    }

    pub(super) fn map(&mut self, place: &Place<'_>) -> Map<String, Value> {
        match place.value() {
            Value::Object(map) => map,
            _ => {
                self.wanted(place, "an object");
                Map::new()
            }
        }
    }

    pub(super) fn whole(&mut self, place: &Place<'_>) -> Option<u64> {
        let number = place.value().as_u64();
        if number.is_none() {
            self.wanted(place, "a whole number from 0 on");
        }
        number
    }

    pub(super) fn truth(&mut self, place: &Place<'_>) -> Option<bool> {
        let truth = place.value().as_bool();
        if truth.is_none() {
            self.wanted(place, "true or false");
        }
        truth
    }

    /// A number within these bounds.
    pub(super) fn number(&mut self, place: &Place<'_>, least: f64, most: f64) -> Option<f64> {
        let number = place.value().as_f64().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let range = match (least > f64::MIN, most.is_finite()) {
                (false, _) => String::new(),
                (true, true) => format!(" from {least} to {most}"),
                (true, false) => format!(" from {least} on"),
            };
            self.error("bad-value", &place.path, format!("a number{range} is wanted here"));
        }
        number
    }

    /// What must be there.
    pub(super) fn required<'a>(&mut self, place: &Place<'a>, name: &str, example: &str) -> Option<Place<'a>> {
        let found = place.get(name);
        if found.is_none() {
            let finding = self.error("missing-field", &place.path, format!("there is no `{name}`"));
            finding.help = Some(format!("write `{name}: {example}`"));
        }
        found
    }
}
