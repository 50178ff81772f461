//! Variables and channels that a node would write and that are the engine's, found where its configuration names them.

use std::collections::BTreeSet;

use convoke_text::finding::{Finding, child};
use serde_json::Value;

use crate::board::allowed;
use crate::node::NodeType;

/// Finds variables and channels that a node would write and that are the engine's.
pub(super) fn outputs(kind: &dyn NodeType, config: &Value, path: &str, findings: &mut Vec<Finding>) {
    let ports = kind.ports(config);
    let written = ports.outputs.iter().map(|port| port.name.as_str());
    let channel = config.get("messages_key").and_then(Value::as_str).filter(|name| !name.contains("${"));
    let names: BTreeSet<&str> = written.chain(channel).collect();
    // A counter that nobody named has this name.
    for name in names.into_iter().filter(|name| *name != "__loop_count") {
        if let Err(reserved) = allowed(name) {
            let within = place_of(name, config).unwrap_or_default();
            findings.push(Finding::error("reserved-name", format!("{path}{within}"), reserved.to_string()));
        }
    }
}

/// Where a configuration names a variable, or something in it.
fn place_of(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (text.split('.').next() == Some(name)).then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(format!("/{index}{}", place_of(name, item)?))),
        Value::Object(fields) => {
            fields.iter().find_map(|(field, value)| Some(child("", field) + &place_of(name, value)?))
        }
        _ => None,
    }
}
