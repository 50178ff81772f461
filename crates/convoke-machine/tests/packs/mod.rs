//! Packs for tests: the smallest one, and changes to it.
#![allow(dead_code, reason = "each test uses some of these")]

use convoke_machine::finding::Finding;
use convoke_machine::pack::{CompiledPack, read};
use serde_json::{Value, json};

/// The smallest pack.
pub(crate) fn smallest() -> Value {
    json!({
        "id": "small",
        "name": "Small",
        "version": "1.0.0",
        "template_engine": {"version": "v1", "syntax": "{{variable}}"},
        "prompts": {"chat": prompt("You talk.")},
    })
}

/// A prompt with a template.
pub(crate) fn prompt(template: &str) -> Value {
    json!({"id": "chat", "name": "Chat", "version": "1.0.0", "system_template": template})
}

/// The smallest pack with something else at some places, which JSON pointers name. What is not there yet is made.
pub(crate) fn with(changes: &[(&str, Value)]) -> Value {
    let mut pack = smallest();
    for (pointer, value) in changes {
        let mut place = &mut pack;
        for part in pointer.split('/').skip(1) {
            place = match part.parse::<usize>() {
                Ok(index) => &mut place[index],
                Err(_) => &mut place[part],
            };
        }
        *place = value.clone();
    }
    pack
}

/// Reads a pack that must be valid.
#[track_caller]
pub(crate) fn valid(pack: &Value) -> CompiledPack {
    let (compiled, findings) = read(&pack.to_string());
    compiled.unwrap_or_else(|| panic!("{findings:#?}"))
}

/// What is wrong with a pack.
pub(crate) fn findings(pack: &Value) -> Vec<Finding> {
    read(&pack.to_string()).1
}

/// The codes of a pack's errors.
pub(crate) fn errors(pack: &Value) -> Vec<&'static str> {
    findings(pack).iter().filter(|finding| finding.is_error()).map(|finding| finding.code).collect()
}

/// The codes of a pack's warnings, if it has no errors.
#[track_caller]
pub(crate) fn warnings(pack: &Value) -> Vec<&'static str> {
    valid(pack);
    findings(pack).iter().map(|finding| finding.code).collect()
}
