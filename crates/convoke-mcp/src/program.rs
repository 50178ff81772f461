//! Resolves a server's command line: its program, and what of it lies in the workspace.
//!
//! Agents change files in the workspace, and a server runs outside of what confines them. So no program is looked up there: what
//! `python3` means must not depend on what an agent has put into a folder of the path. A program or script that is named there by
//! its path is meant, and is for whoever protects the workspace to keep as it is.
//!
//! It must never say that a file is not named because it is reached by a link.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::config::{ServerConfig, ServerSandbox, Transport};
use crate::footprint::Footprint;
use crate::prepare::path;

/// How programs end that are run by another one.
const SCRIPTS: [&str; 14] =
    ["bash", "cjs", "jar", "js", "jsx", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts", "wasm"];

/// The reason why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramNotFound {
    /// It is nowhere.
    Nowhere,
    /// It is only where it is not looked for.
    OnlyInside(PathBuf),
}

/// Finds a program by its name on a path, or takes the path that it is.
pub(crate) fn find(
    command: &str,
    path: &str,
    folder: &Path,
    workspaces: &[PathBuf],
) -> Result<PathBuf, ProgramNotFound> {
    if command.contains('/') {
        return Ok(folder.join(command));
    }
    let mut inside = None;
    for entry in std::env::split_paths(path) {
        let program = entry.join(command);
        if !is_program(&folder.join(&program)) {
            continue;
        }
        if is_trusted(&entry, workspaces) {
            return Ok(program);
        }
        inside.get_or_insert(program);
    }
    Err(inside.map_or(ProgramNotFound::Nowhere, ProgramNotFound::OnlyInside))
}

/// A path without the folders that programs are not looked up in.
pub(crate) fn without_workspaces(path: &str, workspaces: &[PathBuf]) -> String {
    let entries = std::env::split_paths(path).filter(|entry| is_trusted(entry, workspaces));
    let joined = std::env::join_paths(entries).unwrap_or_default();
    joined.to_string_lossy().into_owned()
}

/// Whether a folder is the same one wherever somebody stands, and no agent's.
fn is_trusted(entry: &Path, workspaces: &[PathBuf]) -> bool {
    let real = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
    let is_inside = |path: &Path| workspaces.iter().any(|workspace| path.starts_with(workspace));
    entry.is_absolute() && !is_inside(entry) && !is_inside(&real)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

impl ServerConfig {
    /// The files and folders in a workspace that this server is started from, as far as its command line names them: its program
    /// and the virtual environment that it is of, every argument that is a file, the folder of a script (interpreters look there
    /// first for what it loads), the module after `-m`. Variables are looked up with `look`.
    ///
    /// Whoever can change these decides what the server does. There are none for a server that must run in a
    /// [sandbox](ServerSandbox::Required), which does not get beyond what agents themselves may do.
    #[must_use]
    pub fn files_in(&self, workspace: &Path, look: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let Ok(workspace) = workspace.canonicalize() else { return Vec::new() };
        let inside = |path: &PathBuf| path.starts_with(&workspace) && *path != workspace;
        let named = self.named(&workspace, look);
        let folders = named.iter().filter(|path| is_code(path)).filter_map(|script| script.parent());
        let folders = folders.map(Path::to_owned).filter(inside);
        let mut found: BTreeSet<PathBuf> =
            folders.chain(named.iter().filter(|path| inside(path)).cloned()).collect();
        // What is in a folder that is among them need not be.
        let all = found.clone();
        found.retain(|path| !path.ancestors().skip(1).any(|above| all.contains(above)));
        found.into_iter().collect()
    }

    /// Returns whether its program, a script, a module or the folder it was told to work in lies in the workspace: then agents have a say
    /// in what it does. Variables are looked up with `look`.
    #[must_use]
    pub fn is_started_from(&self, workspace: &Path, look: &dyn Fn(&str) -> Option<String>) -> bool {
        let Ok(workspace) = workspace.canonicalize() else { return false };
        let works_there = match &self.transport {
            Transport::Stdio { folder: Some(folder), .. } => {
                folder.canonicalize().is_ok_and(|folder| folder.starts_with(&workspace))
            }
            _ => false,
        };
        works_there || !self.loads_from(&workspace, look).is_empty()
    }

    /// What it may load from workspaces, as it is now: what is in the folders of its programs and scripts, and where it works if
    /// its interpreter looks there. Files that it is given and that are no programs are its data: it may write them.
    pub(crate) fn footprints(
        &self,
        workspaces: &[PathBuf],
        look: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Footprint> {
        let footprint = |workspace: &PathBuf| {
            let named = self.named(workspace, look).into_iter();
            let data = named.filter(|path| path.is_file() && !is_code(path)).collect();
            Footprint::of(&self.loads_from(workspace, look), workspace, &data)
        };
        workspaces.iter().map(footprint).collect()
    }

    /// The folders of a workspace that it loads from.
    fn loads_from(&self, workspace: &Path, look: &dyn Fn(&str) -> Option<String>) -> BTreeSet<PathBuf> {
        let named = self.named(workspace, look).into_iter().filter(|path| path.starts_with(workspace));
        let folders = named.filter_map(|path| match path.is_dir() {
            true => Some(path),
            false => path.parent().filter(|_| is_code(&path)).map(Path::to_owned),
        });
        let works_at = self.working_folder().filter(|folder| {
            folder.starts_with(workspace)
                && self.sandbox != ServerSandbox::Required
                && self.looks_where_it_works()
        });
        folders.chain(works_at).collect()
    }

    /// Where it works, by its real name.
    fn working_folder(&self) -> Option<PathBuf> {
        let Transport::Stdio { folder, .. } = &self.transport else { return None };
        let here = std::env::current_dir().ok()?;
        folder.as_ref().map_or(here.clone(), |folder| here.join(folder)).canonicalize().ok()
    }

    /// Whether an interpreter is told to run a module or a text, which load from where it works first of all.
    fn looks_where_it_works(&self) -> bool {
        let Transport::Stdio { arguments, .. } = &self.transport else { return false };
        arguments.iter().any(|argument| {
            matches!(
                &**argument,
                "-m" | "-c" | "-e" | "-p" | "-r" | "--eval" | "--print" | "--require" | "--import"
            )
        })
    }

    /// What its command line names that is there, each by its real names. Programs are not looked up in the workspace.
    fn named(&self, workspace: &Path, look: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let Transport::Stdio { command, arguments, folder, .. } = &self.transport else { return Vec::new() };
        let Ok(here) = std::env::current_dir() else { return Vec::new() };
        if self.sandbox == ServerSandbox::Required {
            return Vec::new();
        }
        let folder = folder.as_ref().map_or(here.clone(), |folder| here.join(folder));
        let program = find(command, &path(self, look), &folder, &[workspace.to_owned()]).ok();
        let environment = program.as_deref().and_then(virtual_environment);
        let values = arguments.iter().flat_map(|argument| {
            let value = argument.split_once('=').map(|(_, value)| value);
            [Some(argument.as_str()), value].into_iter().flatten()
        });
        let files = values.map(|text| folder.join(text)).filter(|path| path.is_file());
        let modules = arguments.iter().zip(arguments.iter().skip(1)).filter(|(option, _)| *option == "-m");
        let modules = modules.flat_map(|(_, module)| {
            let name = module.split('.').next().unwrap_or_default();
            [folder.join(name), folder.join(format!("{name}.py"))]
        });
        let named = program.into_iter().chain(environment).chain(files).chain(modules);
        named.filter(|path| path.exists()).flat_map(|path| names(&path)).collect()
    }
}

/// The names of a file without links in the folders above it: its own, and that of the file it leads to.
fn names(path: &Path) -> Vec<PathBuf> {
    let plain = plain(path);
    let own = plain
        .parent()
        .zip(plain.file_name())
        .and_then(|(folder, name)| Some(folder.canonicalize().ok()?.join(name)));
    own.into_iter().chain(path.canonicalize()).collect()
}

/// Without `.`, and without `..` at the end, which names no file.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// The virtual environment that a program is in.
fn virtual_environment(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?.parent()?;
    folder.join("pyvenv.cfg").is_file().then(|| folder.to_owned())
}

/// Whether a file is run, or loaded by what runs.
fn is_code(file: &Path) -> bool {
    use std::io::Read;

    let is_script = |extension: &OsStr| SCRIPTS.iter().any(|script| extension.eq_ignore_ascii_case(script));
    let begins_as_script = || {
        let mut first = [0; 2];
        File::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"#!"
    };
    file.is_file() && (is_program(file) || file.extension().is_some_and(is_script) || begins_as_script())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn put(folder: &Path, path: &str) -> PathBuf {
        let file = folder.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn programs_are_not_looked_up_in_a_workspace_nor_where_somebody_happens_to_stand() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (workspace, outside) = (top.join("work"), top.join("bin"));
        put(&workspace, ".venv/bin/server");
        put(&workspace, ".venv/bin/only");
        let real = put(&outside, "server");
        std::os::unix::fs::symlink(workspace.join(".venv/bin"), top.join("link")).unwrap();
        let workspaces = [workspace.clone()];
        for inside in [
            format!("{}/.venv/bin", workspace.display()),
            format!("{}/link", top.display()),
            ".venv/bin".to_owned(),
            String::new(),
        ] {
            let path = format!("{inside}:{}", outside.display());
            assert_eq!(find("server", &path, &workspace, &workspaces), Ok(real.clone()), "{inside}");
            assert_eq!(without_workspaces(&path, &workspaces), outside.display().to_string(), "{inside}");
        }
        let path = format!("{}/.venv/bin", workspace.display());
        assert_eq!(
            find("only", &path, &workspace, &workspaces),
            Err(ProgramNotFound::OnlyInside(workspace.join(".venv/bin/only")))
        );
        assert_eq!(find("none", &path, &workspace, &workspaces), Err(ProgramNotFound::Nowhere));
        // One that is named by its path is meant.
        assert_eq!(find("./tools/x", &path, &workspace, &workspaces), Ok(workspace.join("./tools/x")));
    }

    #[test]
    fn what_a_command_line_names_in_the_workspace_is_found_and_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().canonicalize().unwrap().join("work");
        for file in
            ["tools/server.py", "top.py", "other/real.py", ".venv/bin/python", "pkg/__init__.py", "data/x"]
        {
            put(&workspace, file);
        }
        std::fs::write(workspace.join("conf.json"), "{}").unwrap();
        put(&workspace, ".venv/pyvenv.cfg");
        std::os::unix::fs::symlink("other/real.py", workspace.join("linked.py")).unwrap();
        let found = |config: ServerConfig| -> Vec<String> {
            let files = config.folder(&workspace).files_in(&workspace, &|_| None);
            files.iter().map(|file| file.strip_prefix(&workspace).unwrap().display().to_string()).collect()
        };
        let server = |arguments: &[&str]| ServerConfig::stdio("x", "sh").args(arguments.iter().copied());
        // A script's folder is where it loads from.
        assert_eq!(found(server(&["./tools/../tools/server.py", "--verbose"])), ["tools"]);
        assert_eq!(found(server(&["top.py"])), ["top.py"]);
        assert_eq!(found(server(&["linked.py"])), ["linked.py", "other"]);
        assert_eq!(found(server(&["--config=conf.json", "none.py"])), ["conf.json"]);
        assert_eq!(found(server(&["-m", "pkg.main"])), ["pkg"]);
        assert_eq!(found(ServerConfig::stdio("x", ".venv/bin/python")), [".venv"]);
        // Folders are what servers work with, and files elsewhere nobody here changes.
        assert_eq!(found(server(&[".", "data", "/etc/passwd", "..", ""])), Vec::<String>::new());
        assert_eq!(
            found(server(&["tools/server.py"]).sandbox(ServerSandbox::Required)),
            Vec::<String>::new()
        );
    }
}
