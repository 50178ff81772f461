//! The skills of a pack: folders beside it, those kept on this machine, and those written in place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::Toolset;
use convoke_goals::SkillShelf;
use convoke_goals::agentfile::load::{Loader, Skill};
use convoke_machine::finding::Finding;
use convoke_machine::pack::CompiledPack;
use convoke_machine::pack::model::SkillSource;
use convoke_machine::stage::{Skills, StateSkills};

/// The skills of a pack. Those written in place that are taken up from the start are the prompt's, and not here.
#[derive(Debug, Clone, Default)]
pub(super) struct PackSkills(Vec<PackSkill>);

#[derive(Debug, Clone)]
struct PackSkill {
    skill: Skill,
    /// Where it is, as seen from the pack: states name skills by that.
    path: String,
    /// Whether it is taken up from the start.
    is_preloaded: bool,
}

impl PackSkills {
    /// Finds the skills that a pack names. What is not there is warned about; what is there and is no skill is an error.
    pub(super) fn read(
        pack: &CompiledPack,
        name: &str,
        files: &dyn Loader,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let mut skills = Self::default();
        for (index, source) in pack.model().skills.iter().enumerate() {
            let found = match source {
                SkillSource::Inline { preload: true, .. } => continue,
                SkillSource::Inline { name, description, instructions, .. } => {
                    let skill = Skill::written(name, description, instructions);
                    skills.add(skill, name.clone(), false);
                    continue;
                }
                SkillSource::Path(path) => skills.find(path, false, folder, files),
                SkillSource::Folder { path, preload } => skills.find(path, *preload, folder, files),
                _ => continue,
            };
            if let Some(mut finding) = found {
                finding.path = format!("/skills/{index}");
                findings.push(finding);
            }
        }
        skills
    }

    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|own| own.skill.name.as_str())
    }

    /// Adds the skills at a path. Gives what is wrong with it.
    fn find(&mut self, path: &str, preload: bool, beside: &Path, files: &dyn Loader) -> Option<Finding> {
        let kept = path.strip_prefix('@').and_then(|named| {
            let named = named.rsplit('/').next().unwrap_or_default();
            files.skill(named.split('@').next().unwrap_or_default())
        });
        let place = match (&kept, path.starts_with('@')) {
            (Some(kept), _) => kept.as_str(),
            (None, true) => {
                let message = format!("there is no skill `{path}` on this machine");
                let help =
                    "say where skills are kept: `--skills FOLDER`, or `[skills] paths` in convoke.toml";
                return Some(Finding::warning("no-skill", "", message).help(help));
            }
            (None, false) => path,
        };
        match Skill::load_all(files, place) {
            Ok(found) if found.is_empty() => {
                let message = format!("there is no skill in `{path}`");
                let help =
                    "a skill is a folder with a file SKILL.md; paths are relative to the folder of the pack";
                Some(Finding::warning("no-skill", "", message).help(help))
            }
            Ok(found) => {
                for skill in found {
                    let seen = if kept.is_some() { path.to_owned() } else { skill.folder.clone() };
                    // Its files are read from there, whatever the process's own folder is.
                    let real = std::path::absolute(beside.join(&skill.folder));
                    let real = real.unwrap_or_else(|_| PathBuf::from(&skill.folder)).display().to_string();
                    let mut skill = skill;
                    skill.folder = real;
                    self.add(skill, seen, preload);
                }
                None
            }
            Err(error) => Some(Finding::error("bad-skill", "", error.to_string())),
        }
    }

    /// The first of a name counts; a later one may say that it is taken up from the start.
    fn add(&mut self, skill: Skill, path: String, is_preloaded: bool) {
        match self.0.iter_mut().find(|known| known.skill.name == skill.name) {
            Some(known) => known.is_preloaded |= is_preloaded,
            None => self.0.push(PackSkill { skill, path, is_preloaded }),
        }
    }
}

impl Skills for PackSkills {
    fn of_state(&self, has: &dyn Fn(&str, &str) -> bool) -> StateSkills {
        let own = self.0.iter().filter(|own| has(&own.skill.name, &own.path));
        let (at_once, later): (Vec<_>, Vec<_>) = own.partition(|own| own.is_preloaded);
        let mut given = StateSkills::default();
        for PackSkill { skill, .. } in at_once {
            given.text.push_str(&format!("\n\n## {}\n\n{}", skill.name, skill.instructions));
        }
        let shelf = SkillShelf::of(later.into_iter().map(|own| own.skill.clone()));
        let mut tools = Toolset::new();
        // There are no other tools that it could be called like.
        if !shelf.is_empty() && shelf.offer(&mut tools).is_ok() {
            given.text.push_str(&format!("\n\n{}", shelf.introduction(&tools)));
            given.tools = tools.iter().map(Arc::clone).collect();
            given.refusal = Some(Arc::new(move |said, call| shelf.refusal(said, call)));
        }
        given
    }
}
