//! The skills of a pack: folders beside it, those kept on this machine, and those written in place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::Toolset;
use convoke_goals::SkillShelf;
use convoke_goals::agentfile::load::{Loader, Skill};
use convoke_machine::finding::{Finding, child};
use convoke_machine::pack::CompiledPack;
use convoke_machine::pack::model::SkillSource;
use convoke_machine::stage::{Skills, StateSkills, allows};

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
            for mut finding in found {
                finding.path = format!("/skills/{index}");
                findings.push(finding);
            }
        }
        // Where skills are missing, these may be among them.
        if !findings.iter().any(|finding| finding.path.starts_with("/skills/")) {
            skills.unused_filters(pack, findings);
        }
        skills
    }

    /// Warns of what states say of skills that fits none of them.
    fn unused_filters(&self, pack: &CompiledPack, findings: &mut Vec<Finding>) {
        let inline = pack.model().skills.iter().filter_map(|source| match source {
            SkillSource::Inline { name, .. } => Some((name.as_str(), name.as_str())),
            _ => None,
        });
        let known: Vec<(&str, &str)> =
            self.0.iter().map(|own| (own.skill.name.as_str(), own.path.as_str())).chain(inline).collect();
        for (name, state) in pack.model().workflow.iter().flat_map(|workflow| &workflow.states) {
            let filter = &state.skills;
            let is_none = filter.is_empty() || filter.eq_ignore_ascii_case("none");
            if !is_none && !known.iter().any(|(name, path)| allows(filter, name, path)) {
                let path = child(&child("/workflow/states", name), "skills");
                let message = format!("no skill of the pack is `{filter}` or in it");
                let finding = Finding::warning("no-skill", path, message).help("the state has no skills");
                findings
                    .push(finding.suggest(filter, known.iter().map(|(name, _)| *name)).sought_in("/skills"));
            }
        }
    }

    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|own| own.skill.name.as_str())
    }

    /// Adds the skills at a path. Gives everything that is wrong with it.
    fn find(&mut self, path: &str, preload: bool, beside: &Path, files: &dyn Loader) -> Vec<Finding> {
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
                return vec![Finding::warning("no-skill", "", message).help(help)];
            }
            (None, false) => path,
        };
        let found = Skill::load_all(files, place);
        if found.is_empty() {
            let message = format!("there is no skill in `{path}`");
            let help =
                "a skill is a folder with a file SKILL.md; paths are relative to the folder of the pack";
            return vec![Finding::warning("no-skill", "", message).help(help)];
        }
        let mut findings = Vec::new();
        for skill in found {
            match skill {
                Ok(mut skill) => {
                    let seen = if kept.is_some() { path.to_owned() } else { skill.folder.clone() };
                    // Its files are read from there, whatever the process's own folder is.
                    let real = std::path::absolute(beside.join(&skill.folder));
                    skill.folder =
                        real.unwrap_or_else(|_| PathBuf::from(&skill.folder)).display().to_string();
                    self.add(skill, seen, preload);
                }
                Err(error) => findings.push(Finding::error("bad-skill", "", error.to_string())),
            }
        }
        findings
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
    fn of_state(&self, has: &dyn Fn(&str, &str) -> Option<usize>) -> StateSkills {
        let own = self.0.iter().filter_map(|own| Some((own, has(&own.skill.name, &own.path)?)));
        let (at_once, later): (Vec<_>, Vec<_>) = own.partition(|(own, _)| own.is_preloaded);
        let mut given = StateSkills::default();
        for (PackSkill { skill, .. }, _) in at_once {
            given.text.push_str(&format!("\n\n## {}\n\n{}", skill.name, skill.instructions));
        }
        let shelf = SkillShelf::of(later.iter().map(|(own, _)| own.skill.clone()));
        let mut tools = Toolset::new();
        // There are no other tools that it could be called like.
        if !shelf.is_empty() && shelf.offer(&mut tools).is_ok() {
            given.text.push_str(&format!("\n\n{}", shelf.introduction(&tools)));
            given.tools = tools.iter().map(Arc::clone).collect();
            let mut by_time: BTreeMap<usize, Vec<Skill>> = BTreeMap::new();
            for (own, since) in later {
                by_time.entry(since).or_default().push(own.skill.clone());
            }
            let shelves: Vec<_> =
                by_time.into_iter().map(|(since, skills)| (since, SkillShelf::of(skills))).collect();
            given.refusal = Some(Arc::new(move |said, call| {
                shelves.iter().find_map(|(since, shelf)| match since {
                    0 => shelf.refusal(said, call),
                    // The instructions are before what was said.
                    since => shelf.refusal(&said.since(since + 1).cloned().collect(), call),
                })
            }));
        }
        given
    }
}
