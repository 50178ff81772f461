//! The shelf: the skills that are available.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::{DuplicateTool, ToolCall, Toolset, Transcript};

use super::active::ActiveSkills;
use super::text;
use super::tool::UseSkill;
use crate::agentfile::load::{FileLoader, LoadError, Loader, PathContent, Skill, SkillError};

/// The skills that those who pursue something may take up. Cheap to clone.
///
/// ```
/// use convoke_goals::SkillShelf;
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// let skill = folder.path().join("tidy");
/// std::fs::create_dir(&skill)?;
/// std::fs::write(skill.join("SKILL.md"), "---\nname: tidy\ndescription: Tidies up.\n---\nSort, then sweep.\n")?;
///
/// let shelf = SkillShelf::find_in([folder.path()]);
/// assert_eq!(shelf.catalogue(), [("tidy", "Tidies up.")]);
/// assert_eq!(shelf.find("tidy").map(|skill| skill.instructions.as_str()), Some("Sort, then sweep."));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct SkillShelf {
    skills: Arc<[Arc<Skill>]>,
    passed_over: Arc<[(PathBuf, SkillError)]>,
}

impl SkillShelf {
    /// The skills in these folders: the folders in them that have a `SKILL.md`. Of two of a name the first counts. A folder
    /// that is not there has none; what is not a valid skill is [passed over](Self::passed_over).
    #[must_use]
    pub fn find_in<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Self {
        let mut skills: Vec<Arc<Skill>> = Vec::new();
        let mut passed_over = Vec::new();
        for folder in folders {
            let Ok(loader) = FileLoader::new(folder.as_ref()) else { continue };
            for name in folders_in(folder.as_ref()) {
                if matches!(loader.find(&format!("{name}/SKILL.md")), Ok(PathContent::Nothing)) {
                    continue;
                }
                let path = folder.as_ref().join(&name);
                match Skill::load(&loader, &name) {
                    Ok(skill) if skills.iter().any(|known| known.name == skill.name) => {}
                    Ok(skill) => {
                        let folder = path.canonicalize().unwrap_or(path).display().to_string();
                        skills.push(Arc::new(Skill { folder, ..skill }));
                    }
                    Err(error) => passed_over.push((path, error)),
                }
            }
        }
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        Self { skills: skills.into(), passed_over: passed_over.into() }
    }

    /// Makes a shelf of these skills: kept with a run, for instance, so that it goes on with those it began with. Of two
    /// of a name the first counts.
    #[must_use]
    pub fn of(skills: impl IntoIterator<Item = Skill>) -> Self {
        let mut all: Vec<Arc<Skill>> = skills.into_iter().map(Arc::new).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|later, first| later.name == first.name);
        Self { skills: all.into(), passed_over: Arc::default() }
    }

    /// The skill of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.shared(name).map(|skill| &**skill)
    }

    pub(super) fn shared(&self, name: &str) -> Option<&Arc<Skill>> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The skills, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Skill> {
        self.skills.iter().map(|skill| &**skill)
    }

    /// Returns names and descriptions, in the order of names.
    #[must_use]
    pub fn catalogue(&self) -> Vec<(&str, &str)> {
        self.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect()
    }

    /// Returns the folders that look like a skill and are not a valid one, and why.
    #[must_use]
    pub fn passed_over(&self) -> &[(PathBuf, SkillError)] {
        &self.passed_over
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns what somebody with these tools is told about the skills; empty if there are none.
    #[must_use]
    pub fn introduction(&self, tools: &Toolset) -> String {
        text::introduction(self, tools.get(super::TOOL).is_some())
    }

    /// Adds the tool that takes up skills, if there are any. A tool of the user's own of this name is what the user wants.
    ///
    /// # Errors
    /// Never, as it is now: there is no tool of this name.
    pub fn offer(&self, tools: &mut Toolset) -> Result<(), DuplicateTool> {
        if self.is_empty() || tools.get(super::TOOL).is_some() {
            return Ok(());
        }
        tools.add(Arc::new(UseSkill::new(self.clone())))
    }
}

impl SkillShelf {
    /// Returns why a call must not be made, if a skill does not allow it that is in use in a conversation.
    #[must_use]
    pub fn refusal(&self, conversation: &Transcript, call: &ToolCall) -> Option<String> {
        ActiveSkills::new(self).refusal(conversation, call)
    }
}

impl Skill {
    /// The text of a file of the skill, such as `references/style.md`.
    ///
    /// # Errors
    /// If it is not text, or not in the skill's folder. `None`: there is no such file.
    pub(super) fn file(&self, path: &str) -> Result<Option<String>, LoadError> {
        let failed = |reason: String| LoadError::Failed { path: path.to_owned(), reason };
        let loader = FileLoader::new(&self.folder).map_err(|error| failed(error.to_string()))?;
        match loader.find(path)? {
            PathContent::Text(text) => Ok(Some(text)),
            PathContent::Nothing => Ok(None),
            PathContent::Folder => Err(failed("it is a folder".to_owned())),
            PathContent::Binary => Err(failed("it is not text".to_owned())),
        }
    }
}

/// The names of the folders in a folder, in order.
fn folders_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
