//! A diagram of the steps that a run is made of.

use convoke_core::Path;
use convoke_diagram::{Arrow, Diagram, Item, ItemId, Shape};
use serde::Deserialize;

use crate::History;

/// The kinds of steps whose children come after each other.
const IN_ORDER: [&str; 5] = ["chain", "loop", "sequence", "workflow", "retry"];

impl History {
    /// The steps that the run is made of as a diagram, with what became of them; `None` if no outline was kept with the run.
    /// Whoever knows the file that the run was started from can draw more than that.
    #[must_use]
    pub fn diagram(&self) -> Option<Diagram> {
        let outline: DeclaredStep = serde_json::from_slice(self.record.outline.as_deref()?).ok()?;
        let mut diagram = Diagram::new(&self.record.workflow);
        add(&mut diagram, &outline, &Path::from(""), None);
        self.mark(&mut diagram);
        Some(diagram)
    }
}

/// A step of an outline as it is stored.
#[derive(Deserialize)]
struct DeclaredStep {
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    children: Vec<DeclaredStep>,
}

fn add(diagram: &mut Diagram, step: &DeclaredStep, parent: &Path, group: Option<ItemId>) -> ItemId {
    let path = Path::join(parent, &step.name, 1);
    let shape = match &*step.kind {
        "router" | "classifier" => Shape::Decision,
        "state" | "agent" => Shape::Rounded,
        _ => Shape::Box,
    };
    let mut item = Item::new(&step.name).shape(shape).at(path.as_str());
    if !step.kind.is_empty() && step.kind != step.name {
        item = item.line(if step.kind == "loop" { "↻ loop" } else { &step.kind });
    }
    item.parent = group;
    let id = diagram.add(item);
    let mut last = None;
    for child in &step.children {
        let child = add(diagram, child, &path, Some(id));
        if let Some(last) = last.replace(child).filter(|_| IN_ORDER.contains(&&*step.kind)) {
            diagram.connect(Arrow::new(last, child));
        }
    }
    id
}
