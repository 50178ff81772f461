//! Requests to spawn agents: the arguments of the spawn tools.

use serde_json::{Value, json};

use crate::tree::Output;

/// The longest name of a role in a path.
const LONGEST_NAME: usize = 60;

/// A request to spawn an agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpawnRequest {
    pub(super) role: String,
    pub(super) task: String,
    pub(super) outputs: Vec<Output>,
}

impl SpawnRequest {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, in words a model can act on.
    pub(super) fn read(arguments: &Value) -> Result<Self, String> {
        let text = |name: &str| match arguments.get(name).and_then(Value::as_str) {
            Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err(format!("`{name}` is required: a text that is not empty")),
        };
        let (role, task) = (text("role")?, text("task")?);
        let outputs = match arguments.get("outputs") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(names)) => {
                names.iter().map(output).collect::<Option<_>>().ok_or("`outputs` must be a list of names")?
            }
            Some(_) => return Err("`outputs` must be a list of names".to_owned()),
        };
        Ok(Self { role, task, outputs })
    }

    /// Reads several.
    ///
    /// # Errors
    /// What is wrong, and with which.
    pub(super) fn read_all(arguments: &Value, at_once: u32) -> Result<Vec<Self>, String> {
        let Some(Value::Array(agents)) = arguments.get("agents") else {
            return Err("agents array is required".to_owned());
        };
        if agents.len() > at_once as usize {
            let count = agents.len();
            return Err(format!(
                "{count} agents are too many at once: at most {at_once}, in several calls if need be"
            ));
        }
        let read = |(index, agent)| Self::read(agent).map_err(|why| format!("agent[{index}]: {why}"));
        agents.iter().enumerate().map(read).collect()
    }

    /// The role as part of a path.
    pub(super) fn name(&self) -> String {
        self.role.chars().take(LONGEST_NAME).collect()
    }
}

fn output(name: &Value) -> Option<Output> {
    let name = name.as_str()?.trim();
    (!name.is_empty()).then(|| Output::new(name))
}

/// What a model is told about the arguments for one.
pub(super) fn schema_of_one() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {
                "type": "string",
                "description": "Who it is, in a word or two; different for each",
            },
            "task": {
                "type": "string",
                "description": "What it is to do, understandable without anything else",
            },
            "outputs": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The names of the fields it is to answer with, if it is to answer in JSON",
            },
        },
        "required": ["role", "task"],
    })
}

/// What a model is told about the arguments for several.
pub(super) fn schema_of_several() -> Value {
    json!({
        "type": "object",
        "properties": {"agents": {"type": "array", "items": schema_of_one()}},
        "required": ["agents"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_087_without_a_role_or_a_task_nobody_is_called_in() {
        for arguments in [json!({"task": "x"}), json!({"role": "r"}), json!({"role": " ", "task": "x"})] {
            assert!(
                SpawnRequest::read(&arguments).is_err_and(|why| why.contains("is required")),
                "{arguments}"
            );
        }
        let all = SpawnRequest::read_all(&json!({"agents": [{"role": "a", "task": "b"}, {"role": "c"}]}), 4);
        assert_eq!(all, Err("agent[1]: `task` is required: a text that is not empty".to_owned()));
        assert_eq!(SpawnRequest::read_all(&json!({}), 4), Err("agents array is required".to_owned()));
        assert!(
            SpawnRequest::read_all(&json!({"agents": [1, 2]}), 1).is_err_and(|why| why.contains("at most 1"))
        );
    }
}
