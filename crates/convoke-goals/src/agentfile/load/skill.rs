//! Skills: folders with a `SKILL.md` in them.

use convoke_text::document::parse_strictly;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{LoadError, Loader, PathContent, join, normal};

/// Folders of skills in each other: not deeper than this.
const DEEPEST: usize = 8;

/// A skill, as read from its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it is done.
    pub instructions: String,
    /// The tools it says it needs; `None` if it does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// The names of the files in its folder `scripts`.
    pub scripts: Vec<String>,
    /// The names of the files in its folder `references`.
    pub references: Vec<String>,
    /// Its folder, as the loader calls it.
    pub folder: String,
}

/// Errors of reading a skill.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkillError {
    /// There is no `SKILL.md`.
    #[error("`{folder}` is not a valid skill: it has no SKILL.md")]
    Missing {
        /// The folder.
        folder: String,
    },
    /// The file does not begin as it must.
    #[error(
        "`{folder}/SKILL.md` must begin with a line `---`, then its name and description, then `---` again"
    )]
    NoFrontMatter {
        /// The folder.
        folder: String,
    },
    /// What stands between the lines is not what is needed there.
    #[error("`{folder}/SKILL.md`: {reason}")]
    Invalid {
        /// The folder.
        folder: String,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
}

#[derive(Deserialize)]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
    #[serde(rename = "allowed-tools")]
    allowed_tools: Option<Tools>,
}

/// Written as a list, or as one text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tools {
    List(Vec<String>),
    Text(String),
}

impl Skill {
    /// Reads the skill in a folder.
    ///
    /// # Errors
    /// If the folder is not a skill, or cannot be read.
    pub fn load(loader: &dyn Loader, folder: &str) -> Result<Self, SkillError> {
        let PathContent::Text(text) = loader.find(&join(folder, "SKILL.md"))? else {
            return Err(SkillError::Missing { folder: folder.to_owned() });
        };
        let (front, body) =
            split(&text).ok_or_else(|| SkillError::NoFrontMatter { folder: folder.to_owned() })?;
        let invalid = |reason: String| SkillError::Invalid { folder: folder.to_owned(), reason };
        let front =
            parse_strictly(front).map_err(|why| invalid(format!("its head cannot be read: {why}")))?;
        let front = FrontMatter::deserialize(&front)
            .map_err(|error| invalid(format!("its head has a field of another form: {error}")))?;
        let needed = |field: Option<String>, name: &str| {
            field
                .map(|field| field.trim().to_owned())
                .filter(|field| !field.is_empty())
                .ok_or_else(|| invalid(format!("its head has no `{name}`")))
        };
        let name = needed(front.name, "name")?;
        let description = needed(front.description, "description")?;
        if let Err(reason) = fit(&name) {
            return Err(invalid(format!("`{name}` cannot be its name: {reason}")));
        }
        // The folder that a loader begins at has no name.
        let called = normal(folder).rsplit('/').next().unwrap_or_default().to_owned();
        if !called.is_empty() && called != name {
            return Err(invalid(format!(
                "its name is `{name}` and its folder is `{called}`; both must be the same"
            )));
        }
        Ok(Self {
            name,
            description,
            instructions: body.trim().to_owned(),
            allowed_tools: front.allowed_tools.map(|tools| match tools {
                Tools::List(tools) => tools,
                Tools::Text(text) => listed(&text),
            }),
            scripts: loader.names(&join(folder, "scripts"))?,
            references: loader.names(&join(folder, "references"))?,
            folder: folder.to_owned(),
        })
    }

    /// A skill that is written in place: it has no folder, and no files but its text.
    #[must_use]
    pub fn written(
        name: impl Into<String>,
        description: impl Into<String>,
        instructions: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            instructions: instructions.into(),
            allowed_tools: None,
            scripts: Vec::new(),
            references: Vec::new(),
            folder: String::new(),
        }
    }

    /// Reads the skills in a folder and below: every folder with a `SKILL.md` in it, in the order of their paths.
    /// What is not a skill or cannot be read is an error in its place.
    #[must_use]
    pub fn load_all(loader: &dyn Loader, folder: &str) -> Vec<Result<Self, SkillError>> {
        let (mut skills, mut left) = (Vec::new(), vec![(folder.to_owned(), 0)]);
        while let Some((folder, depth)) = left.pop() {
            match loader.find(&join(&folder, "SKILL.md")) {
                Ok(PathContent::Nothing) if depth < DEEPEST => match loader.folders(&folder) {
                    Ok(inner) => {
                        left.extend(inner.iter().rev().map(|inner| (join(&folder, inner), depth + 1)));
                    }
                    Err(error) => skills.push(Err(error.into())),
                },
                Ok(PathContent::Nothing) => {}
                Ok(_) => skills.push(Self::load(loader, &folder)),
                Err(error) => skills.push(Err(error.into())),
            }
        }
        skills
    }

    /// Returns the prompt for an agent with this skill: the description, the instructions, and which scripts there are.
    #[must_use]
    pub fn prompt(&self) -> String {
        let mut text = format!("{}\n\n{}", self.description, self.instructions);
        if !self.scripts.is_empty() {
            text.push_str("\n\n## Available Scripts\n");
            for script in &self.scripts {
                text.push_str(&format!("\n- {script}"));
            }
        }
        text
    }
}

/// Names stand in prompts, in markers and in paths.
fn fit(name: &str) -> Result<(), &'static str> {
    const LONGEST: usize = 64;
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() > LONGEST {
        Err("it has more than 64 characters")
    } else if !name.bytes().all(fits) {
        Err("it may only have small letters, digits and `-` in it")
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        Err("a `-` stands between two letters or digits")
    } else {
        Ok(())
    }
}

/// The tools of a text, between commas or spaces; those between parentheses belong to a tool.
fn listed(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let tools = text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    });
    tools.filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
}

/// What stands between the first two lines `---`, and what comes after.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut place = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..place], &rest[place + line.len()..]));
        }
        place += line.len();
    }
    None
}
