//! Decodes JSON into Rust types, with errors that say where.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Decodes a value; the error names the place.
pub(crate) fn decode<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        if path == "." { problem.to_string() } else { format!("`{path}`: {problem}") }
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Row {
        #[expect(dead_code, reason = "only decoded")]
        cells: Vec<u8>,
    }

    #[test]
    fn an_error_says_where() {
        let error = decode::<Row>(json!({"cells": [1, 700]})).unwrap_err();
        assert_eq!(error, "`cells[1]`: invalid value: integer `700`, expected u8");
    }
}
