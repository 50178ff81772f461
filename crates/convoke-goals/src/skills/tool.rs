//! The tool that loads a skill.

use convoke_core::{
    Access, BoxFuture, Error, EventKind, Invocation, Tool, ToolEffect, ToolEffects, ToolSpec,
};
use convoke_text::nearest;
use serde_json::{Value, json};

use super::{SkillShelf, TOOL, text};
use crate::agentfile::load::Skill;

/// Takes up a skill: gives its text. That its limits hold from then on is seen to by whoever makes calls, from the
/// conversation that this call is in.
pub(super) struct UseSkill {
    spec: ToolSpec,
    shelf: SkillShelf,
}

impl UseSkill {
    pub(super) fn new(shelf: SkillShelf) -> Self {
        let names: Vec<&str> = shelf.iter().map(|skill| skill.name.as_str()).collect();
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": names, "description": "The skill"},
                "file": {
                    "type": "string",
                    "description": "A file of the skill to read instead, such as references/style.md",
                },
            },
            "required": ["name"],
        });
        let description = "Takes up a skill: gives its instructions. If it names the tools it allows, only those may be called \
                           afterwards.";
        let effects = ToolEffects::from(ToolEffect::Reads);
        Self { spec: ToolSpec::new(TOOL, description, effects).parameters(parameters), shelf }
    }

    fn read(&self, arguments: &Value) -> Result<(&Skill, Option<String>), String> {
        let text = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` must be a text")),
        };
        let name = text("name")?.ok_or("`name` is required: the name of a skill")?;
        let skill = self.shelf.find(&name).ok_or_else(|| {
            let names: Vec<&str> = self.shelf.iter().map(|skill| skill.name.as_str()).collect();
            let meant = nearest(&name, names.iter().copied())
                .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            format!("there is no skill `{name}`{meant} There are: {}", names.join(", "))
        })?;
        Ok((skill, text("file")?))
    }
}

impl Tool for UseSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.read(arguments).map(drop)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let (skill, file) = self.read(call.arguments).map_err(Error::failed)?;
            if let Some(file) = file {
                let missing = || Error::failed(format!("the skill `{}` has no file `{file}`", skill.name));
                return skill.file(&file).map_err(Error::failed)?.ok_or_else(missing);
            }
            if call.scope.has_listeners() {
                let value = json!({"name": skill.name});
                call.scope.emit(EventKind::Custom { name: "skill_loaded".to_owned(), value }).await;
            }
            Ok(text::whole(skill, true))
        })
    }

    /// It changes nothing, and reads nothing that others change.
    fn accesses(&self, _: &Value) -> Vec<Access> {
        Vec::new()
    }
}
