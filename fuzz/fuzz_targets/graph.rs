//! Graphs: no text makes the reader panic, what it says is within the text, a graph that can be run says the same when it is written
//! out and read again, and no expression hangs or panics, whatever it is about.
#![no_main]

use convoke_graph::{Board, Condition, NodeTypes, looks_like_a_graph, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = looks_like_a_graph(text);
    if let Ok(condition) = Condition::new(text) {
        let vars = r#"{"vars": {"a": 1, "b": [1, "x", null], "c": {"d": true}, "s": "text"}}"#;
        let board: Board = serde_json::from_str(vars).expect("a board");
        let _ = (condition.holds(&board, 3), condition.holds(&Board::new(), 0));
    }
    let types = NodeTypes::standard();
    let (graph, findings) = read(text, &types);
    assert_eq!(graph.is_none(), findings.iter().any(|finding| finding.is_error()), "{text:?}");
    for finding in &findings {
        let place = finding.place.clone().unwrap_or_default();
        assert!(place.start <= place.end && place.start <= text.len(), "{finding:?} in {text:?}");
    }
    let Some(graph) = graph else { return };
    let drawn = graph.to_diagram();
    let _ = (graph.to_text(), graph.to_json(), graph.inputs_schema(), graph.definition().workflow_files());
    let _ = (drawn.to_mermaid(), drawn.to_svg());
    let written = serde_json::to_string(graph.definition()).expect("a definition is JSON");
    let (again, _) = read(&written, &types);
    assert_eq!(again.expect("a graph stays one").definition(), graph.definition(), "{text:?}");
});
