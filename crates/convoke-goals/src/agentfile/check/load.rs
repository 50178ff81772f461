//! Loads what `FROM` names: texts, skills and other Agentfiles.

use std::cell::Cell;

use convoke_text::nearest;

use super::embedded::GoalSource;
use super::{Checker, Use, check_nested};
use crate::agentfile::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::agentfile::load::{LoadError, Loader, PathContent, Skill, SkillError, folder_of, join, normal};
use crate::agentfile::model::{Agentfile, Input, Persona, Text, Type};
use crate::agentfile::parser::parse;
use crate::agentfile::{Source, Span};
use crate::embedded::WorkflowReader;

/// Agentfiles in Agentfiles: not deeper than this, and not more of them.
const DEEPEST: usize = 8;
const MOST: usize = 64;

/// Which Agentfile this is, seen from the outermost.
pub(super) struct Nesting<'l> {
    pub(super) loader: &'l dyn Loader,
    /// Who knows files of other kinds.
    pub(super) reader: &'l dyn WorkflowReader,
    /// The folder it is in.
    folder: String,
    /// The files that led here.
    chain: Vec<String>,
    /// How many have been loaded.
    loaded: &'l Cell<usize>,
    /// It is in a package, and may see nothing else.
    pub(super) packed: bool,
}

impl<'l> Nesting<'l> {
    pub(super) fn outermost(
        loader: &'l dyn Loader,
        reader: &'l dyn WorkflowReader,
        loaded: &'l Cell<usize>,
    ) -> Self {
        Self { loader, reader, folder: String::new(), chain: Vec::new(), loaded, packed: false }
    }
}

impl Checker<'_> {
    /// What a goal is: the text of a file, or a workflow of another kind.
    pub(super) fn goal_file(&mut self, goal: &str, target: &str, from: Span) -> GoalSource {
        let path = join(&self.nesting.folder, target);
        match self.find(target, &path) {
            Ok(PathContent::Text(text)) => {
                return match self.embedded(target, &path, &text, from, goal) {
                    Some(embedded) => embedded,
                    None => self.loaded(&text, target, from).into(),
                };
            }
            Ok(PathContent::Nothing) => self.not_found(target, &path, from),
            Ok(PathContent::Folder) => {
                self.cannot(from, format!("`{target}` is a folder"), "a goal needs a file with a text in it")
            }
            Ok(PathContent::Binary) => {
                self.cannot(from, format!("`{target}` is not UTF-8 text"), "save it as UTF-8")
            }
            Err(error) => self.refused(&error, from),
        }
        GoalSource::without_text(target)
    }

    /// Who an agent is.
    pub(super) fn agent_source(&mut self, target: &str, from: Span) -> (Persona, Vec<Use>) {
        let path = join(&self.nesting.folder, target);
        let name = path.rsplit('/').next().unwrap_or_default();
        match self.find(target, &path) {
            Ok(PathContent::Text(text)) if name.ends_with(".md") => {
                let (text, uses) = self.loaded(&text, target, from);
                return (Persona::Prompt(text), uses);
            }
            Ok(PathContent::Text(text)) if name.ends_with(".agent") || name == "Agentfile" => {
                if let Some(persona) = self.workflow(target, &path, &text, from, self.nesting.packed) {
                    return (persona, Vec::new());
                }
            }
            // A loader that opens packages shows them as folders.
            Ok(PathContent::Folder) if name.ends_with(".agent") => {
                let inner = join(&path, "Agentfile");
                let Ok(PathContent::Text(text)) = self.nesting.loader.find(&inner) else {
                    return self.skill(target, &path, from);
                };
                if let Some(persona) = self.workflow(target, &inner, &text, from, true) {
                    return (persona, Vec::new());
                }
            }
            Ok(PathContent::Text(text)) if self.is_of_other_kind(&path, &text) => self.cannot(
                from,
                format!("`{target}` cannot be an agent"),
                &format!("it can be a goal: `GOAL name FROM {target}`"),
            ),
            Ok(PathContent::Text(_)) => self.cannot(
                from,
                format!("`{target}` cannot be an agent: its file must be .md"),
                "instructions are in a `.md` file, skills in a folder, workflows in an `.agent` file",
            ),
            Ok(PathContent::Folder) => return self.skill(target, &path, from),
            Ok(PathContent::Nothing) => match self.kept_skill(target) {
                Some(folder) => return self.skill(target, &folder, from),
                None => self.not_found(target, &path, from),
            },
            Ok(PathContent::Binary) if name.ends_with(".agent") => self.cannot(
                from,
                format!("`{target}` is a packed archive"),
                "unpack it, and name the Agentfile that is in it",
            ),
            Ok(PathContent::Binary) => {
                self.cannot(from, format!("`{target}` is not UTF-8 text"), "save it as UTF-8")
            }
            Err(error) => self.refused(&error, from),
        }
        (Persona::Prompt(Text { template: Default::default(), path: Some(target.to_owned()) }), Vec::new())
    }

    /// What is at a path. Out of a package, no path leads anywhere by its root.
    fn find(&self, target: &str, path: &str) -> Result<PathContent, LoadError> {
        if self.nesting.packed && target.starts_with('/') {
            return Err(LoadError::Outside { path: target.to_owned() });
        }
        self.nesting.loader.find(path)
    }

    /// The folder of a skill that is kept elsewhere. Out of a package, nothing elsewhere is seen.
    fn kept_skill(&self, name: &str) -> Option<String> {
        if self.nesting.packed { None } else { self.nesting.loader.skill(name) }
    }

    fn skill(&mut self, target: &str, folder: &str, from: Span) -> (Persona, Vec<Use>) {
        match Skill::load(self.nesting.loader, folder) {
            Ok(skill) => {
                let (text, uses) = self.loaded(&skill.prompt(), target, from);
                (Persona::Skill { skill, text }, uses)
            }
            Err(error) => {
                match &error {
                    SkillError::Load(error) => self.refused(error, from),
                    _ => self.diagnostics.error(|| {
                        Diagnostic::new(Code::InvalidSkill, from, error.to_string())
                            .label("not a skill")
                            .help(
                                "a skill is a folder with a file SKILL.md that begins with `---`, `name: ...`, \
                                 `description: ...`, `---`",
                            )
                    }),
                }
                (
                    Persona::Prompt(Text { template: Default::default(), path: Some(target.to_owned()) }),
                    Vec::new(),
                )
            }
        }
    }

    /// Another Agentfile as an agent.
    fn workflow(
        &mut self,
        target: &str,
        path: &str,
        text: &str,
        from: Span,
        packed: bool,
    ) -> Option<Persona> {
        let place = normal(path);
        let mut chain = self.nesting.chain.clone();
        if let Some(start) = chain.iter().position(|before| *before == place) {
            let circle: Vec<String> =
                chain[start..].iter().chain([&place]).map(|file| format!("`{file}`")).collect();
            self.circle(from, "Agentfiles use each other in a circle".to_owned(), &[circle.join(" uses ")]);
            return None;
        }
        chain.push(place);
        self.nesting.loaded.set(self.nesting.loaded.get() + 1);
        if chain.len() > DEEPEST || self.nesting.loaded.get() > MOST {
            self.cannot(
                from,
                format!("`{target}` is one Agentfile too many"),
                "use fewer Agentfiles in Agentfiles",
            );
            return None;
        }
        let nesting = Nesting {
            loader: self.nesting.loader,
            reader: self.nesting.reader,
            folder: folder_of(path).to_owned(),
            chain,
            loaded: self.nesting.loaded,
            packed,
        };
        let (tree, mut inner) = parse(text);
        let file = check_nested(&tree, &nesting, &mut inner);
        let Some(file) = file else {
            self.nested_errors(target, text, from, inner);
            return None;
        };
        let task = self.task_of(&file, target, from)?;
        Some(Persona::Workflow { path: target.to_owned(), file: Box::new(file), task })
    }

    pub(super) fn nested_errors(&mut self, target: &str, text: &str, from: Span, mut inner: Diagnostics) {
        inner.sort();
        // A circle is the same mistake wherever it is seen from, and files of other kinds call it the same.
        let circle = inner.iter().find(|found| found.code.name() == Code::Circular.name());
        if let Some(circle) = circle {
            return self.circle(from, circle.message.clone(), &circle.notes);
        }
        self.diagnostics.error(|| {
            let count = inner.errors();
            let errors = if count == 1 { "an error".to_owned() } else { format!("{count} errors") };
            let mut diagnostic =
                Diagnostic::new(Code::CannotLoad, from, format!("`{target}` has {errors} in it"))
                    .label("cannot be used like this");
            if let Some(first) = inner.iter().next() {
                let line = Source::new(target, text).position(first.span.start).line;
                diagnostic = diagnostic.note(format!("line {line} there: {}", first.message));
                for note in &first.notes {
                    diagnostic = diagnostic.note(note.clone());
                }
            }
            diagnostic.help(format!("`convoke validate {target}` shows all of it"))
        });
    }

    /// Says that files lead back to each other.
    pub(super) fn circle(&mut self, from: Span, message: String, notes: &[String]) {
        self.diagnostics.error(|| {
            let found = Diagnostic::new(Code::Circular, from, message)
                .label("leads back to where it started")
                .help("let one of them do without the other");
            notes.iter().fold(found, |found, note| found.note(note.clone()))
        });
    }

    /// The input that is given the goal's text.
    fn task_of(&mut self, file: &Agentfile, target: &str, from: Span) -> Option<String> {
        let required: Vec<&str> = file
            .inputs
            .iter()
            .filter(|input| input.default.is_none())
            .map(|input| input.name.as_str())
            .collect();
        let unfit = |input: &Input| input.secret || !matches!(input.ty, Type::String | Type::Json);
        let task = required.first().copied().unwrap_or("task");
        if let Some(input) = file.inputs.iter().find(|input| input.name == task && unfit(input)) {
            let what = if input.secret { "a secret".to_owned() } else { input.ty.in_words() };
            self.cannot(
                from,
                format!("`{target}` cannot be an agent: its input `{task}` is {what}"),
                "it is given the text of the goal, so it must be a text, and not a secret",
            );
            return None;
        }
        let named = file.inputs.iter().find(|input| input.name == "task").map(|input| input.name.as_str());
        match (named, required.as_slice()) {
            (Some("task"), [] | ["task"]) | (None, [_]) => {
                Some(required.first().unwrap_or(&"task").to_string())
            }
            _ => {
                let needs = match required.as_slice() {
                    [] => "takes no input that the goal could be given as".to_owned(),
                    names => format!("needs the inputs {}", names.join(", ")),
                };
                self.cannot(
                    from,
                    format!("`{target}` cannot be an agent: it {needs}"),
                    "an Agentfile that is an agent has one input without a default, or one called `task`; it is given the \
                     text of the goal",
                );
                None
            }
        }
    }

    fn not_found(&mut self, target: &str, path: &str, from: Span) {
        let loader = self.nesting.loader;
        self.diagnostics.error(|| {
            let mut siblings = loader.names(folder_of(path)).unwrap_or_default();
            // A name alone may be that of a skill.
            if !target.contains(['/', '.']) {
                siblings.extend(loader.skill_names());
            }
            let file = target.rsplit('/').next().unwrap_or_default();
            let meant = nearest(file, siblings.iter().map(String::as_str));
            let diagnostic = Diagnostic::new(Code::NotFound, from, format!("`{target}` was not found"))
                .label("nothing is there")
                .note("paths are relative to the folder of the Agentfile");
            match meant {
                Some(meant) => {
                    let replacement = format!("FROM {}", join(folder_of(target), meant));
                    diagnostic.replace("did you mean this?", from, replacement)
                }
                // That is how a skill is named that is kept elsewhere.
                None if !target.contains(['/', '.']) => diagnostic
                    .help("check the path, or write the text here between quotes")
                    .help(format!("if `{target}` is a skill, say where skills are kept: `--skills FOLDER`, or `[skills] paths` in convoke.toml")),
                None => diagnostic.help("check the path, or write the text here between quotes"),
            }
        });
    }

    fn refused(&mut self, error: &LoadError, from: Span) {
        let help = match error {
            LoadError::Outside { .. } => "copy what is needed into the folder of the Agentfile",
            LoadError::TooLarge { .. } => "a text for a model is much shorter; name another file",
            LoadError::Failed { .. } => "check its permissions",
        };
        self.cannot(from, error.to_string(), help);
    }

    pub(super) fn cannot(&mut self, from: Span, message: String, help: &str) {
        self.diagnostics
            .error(|| Diagnostic::new(Code::CannotLoad, from, message).label("cannot be used").help(help));
    }
}
