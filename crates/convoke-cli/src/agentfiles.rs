//! Agentfiles as they come from disks and pipes, and what is wrong with them.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use convoke_goals::agentfile::diagnostic::{Diagnostics, Style, render};
use convoke_goals::agentfile::load::{FileLoader, Loader, NoFiles};
use convoke_goals::agentfile::model::SecurityMode;
use convoke_goals::agentfile::{Agentfile, Source, misspelt_tools, read};
use convoke_package::WithPackages;

use crate::failure::Failure;
use crate::package::{self, Unpacked};
use crate::run::{Keeping, Kept};
use crate::terminal::Output;

/// Larger files are not read: nobody wrote them.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The tools that come with the program, whether or not they are to be had here.
const TOOLS: &[&str] = &[
    "bash",
    "cp",
    "diff",
    "edit",
    "forget",
    "git",
    "glob",
    "grep",
    "head",
    "ls",
    "memory_list",
    "mkdir",
    "mv",
    "patch",
    "read",
    "recall",
    "remember",
    "rm",
    "scratchpad_list",
    "scratchpad_read",
    "scratchpad_search",
    "scratchpad_write",
    "spawn_agent",
    "spawn_agents",
    "tail",
    "tree",
    "use_skill",
    "web_fetch",
    "web_search",
    "write",
];

/// What a file is called on the command line if it comes on standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of a file, or of standard input, and what to call it.
pub(crate) fn bytes(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let name = if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() };
    if is_named_pipe(path) {
        return Err(Failure::failed(format!("{name} is a pipe, not a file"))
            .hint("write it to a file, or give it on standard input: the file is `-` then"));
    }
    let mut bytes = Vec::new();
    let reading = if is_standard_input(path) {
        std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    if let Err(error) = reading {
        return Err(match error.kind() {
            ErrorKind::NotFound => {
                let hint = package::meant(path).unwrap_or_else(|| {
                    "check the path; without one, `Agentfile` in this folder is meant".to_owned()
                });
                Failure::failed(format!("there is no file {name}")).hint(hint)
            }
            ErrorKind::IsADirectory => Failure::failed(format!("{name} is a folder"))
                .hint(format!("name a file in it, for instance {}", path.join("Agentfile").display())),
            _ => Failure::failed(format!("{name} cannot be read: {error}")).hint("check its permissions"),
        });
    }
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::failed(format!("{name} is larger than {} MiB", LARGEST >> 20))
            .hint("that is no Agentfile; check the path"));
    }
    Ok((name, bytes))
}

/// Whether this is a pipe that has a name. Opening it would wait until somebody writes into it, perhaps for ever. Those that a
/// shell gives this process, as for `<(…)`, are written to already.
#[cfg(unix)]
fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    let is_the_shells = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
    !is_the_shells && path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_named_pipe(_: &Path) -> bool {
    false
}

/// A file that was read, and what is wrong with it.
pub(crate) struct Checked {
    pub(crate) source: Source,
    pub(crate) file: Option<Agentfile>,
    pub(crate) diagnostics: Diagnostics,
    /// What is to be known of the package it is from: nobody vouches for it.
    pub(crate) note: Option<String>,
}

impl Checked {
    /// What else the user ought to know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let is_paranoid =
            self.file.as_ref().is_some_and(|file| file.security == Some(SecurityMode::Paranoid));
        let unheeded = is_paranoid.then(|| {
            format!(
                "{}: `SECURITY paranoid` has no effect yet: it is as with `default`. What tools may do is up to the policy",
                self.source.name()
            )
        });
        self.note.clone().into_iter().chain(unheeded).collect()
    }
}

/// Reads and checks a file, or a package. What a file names is looked for beside it, what a package names in the package;
/// skills also in `skills`.
pub(crate) fn check(path: &Path, skills: &[PathBuf]) -> Result<Checked, Failure> {
    Ok(check_keeping(path, skills)?.0)
}

/// Reads and checks a file, and keeps what it names.
pub(crate) fn check_keeping(path: &Path, skills: &[PathBuf]) -> Result<(Checked, Kept), Failure> {
    let (name, bytes) = bytes(path)?;
    let (name, bytes, note, loader): (_, _, _, Box<dyn Loader>) = match package::unpacked(&name, &bytes)? {
        Some(Unpacked { name, agentfile, files, note }) => (name, agentfile, note, Box::new(files)),
        None => (name, bytes, None, beside(path, skills)?),
    };
    let source = match Source::from_bytes(name, bytes) {
        Ok(source) => source,
        Err(error) => {
            let (source, diagnostic) = *error;
            let mut diagnostics = Diagnostics::default();
            diagnostics.error(|| diagnostic);
            return Ok((Checked { source, file: None, diagnostics, note }, Kept::default()));
        }
    };
    let keeping = Keeping::new(loader.as_ref());
    let (file, mut diagnostics) = read(&source, &keeping);
    misspelt_tools(&source, TOOLS, &mut diagnostics);
    let file = file.filter(|_| diagnostics.errors() == 0);
    Ok((Checked { source, file, diagnostics, note }, keeping.into_kept()))
}

/// The files beside a file, packages among them. A text from a pipe has this folder beside it, if there is one.
fn beside(path: &Path, skills: &[PathBuf]) -> Result<Box<dyn Loader>, Failure> {
    let files = if is_standard_input(path) { FileLoader::new(".") } else { FileLoader::beside(path) };
    let Ok(files) = files else { return Ok(Box::new(NoFiles)) };
    let files = skills.iter().fold(files, |files, folder| files.with_skills(folder));
    Ok(Box::new(WithPackages::new(files, package::trust_store()?)))
}

/// Shows what is wrong, on standard error.
pub(crate) fn tell(source: &Source, diagnostics: &Diagnostics, output: &mut Output) {
    if !diagnostics.is_empty() {
        let style = Style { color: output.colors_notes(), width: output.width().unwrap_or(100) };
        output.explanation(&render(source, diagnostics, style));
    }
}

/// "2 errors", "1 error and 3 warnings", "no errors".
pub(crate) fn counted(errors: usize, warnings: usize) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, 0) => "no errors".to_owned(),
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
}
