//! Classifies files of a repository by their path.

use std::path::{Component, Path};

/// What a file in a folder of git's is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepositoryFile {
    /// Settings, some of which execute.
    Config,
    /// A program that git runs, or the folder of those.
    Hook,
    /// An example of a hook, which git does not run.
    Sample,
    /// What is remembered of an interrupted rebase, pick or revert, some of which executes.
    Progress,
    /// Says where configuration and hooks, objects, attributes or other repositories are read from.
    Pointer,
    /// Objects, branches, the index: data.
    Data,
}

/// The part that a file is, by its path from the folder of git's that it is in.
pub(crate) fn part_of(path: &Path) -> RepositoryFile {
    let names: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match *names.as_slice() {
        // A working tree or a module in it is like a folder of git's itself.
        ["worktrees", _, ref rest @ ..] if !rest.is_empty() => {
            part_of(&rest.iter().collect::<std::path::PathBuf>())
        }
        ["config" | "config.worktree"] | ["config.lock" | "config.worktree.lock"] => RepositoryFile::Config,
        ["hooks", name] if name.ends_with(".sample") => RepositoryFile::Sample,
        ["hooks", ..] => RepositoryFile::Hook,
        ["rebase-merge" | "rebase-apply" | "sequencer", ..] => RepositoryFile::Progress,
        // Remotes can be written there as well as in the settings. Shells have read the names of a bisection.
        ["remotes" | "branches", ..] | ["bisect_names" | "bisect_run"] => RepositoryFile::Pointer,
        ["commondir"] | ["info", "attributes"] | ["objects", "info", "alternates" | "http-alternates"] => {
            RepositoryFile::Pointer
        }
        _ => RepositoryFile::Data,
    }
}

/// Whether git takes a folder with these in it for one of its own.
pub(crate) fn is_repository(is_there: &dyn Fn(&str) -> bool) -> bool {
    is_there("HEAD") && (is_there("objects") && is_there("refs") || is_there("commondir"))
}

/// Whether a file `.git`, or `commondir` in a working tree's folder, leads to a repository in the same workspace. `folder` is
/// where it stands, `top` the workspace, both from the root.
pub(crate) fn is_harmless_pointer(name: &str, content: &[u8], folder: &Path, top: &Path) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let target = text.trim_end_matches(['\n', '\r']);
    if target.contains(['\n', '\0']) {
        return false;
    }
    match name {
        "commondir" => {
            target == "../.."
                && folder.parent().is_some_and(|above| above.ends_with("worktrees"))
                && folder.starts_with(top)
                && folder
                    .ancestors()
                    .any(|above| above != top && above.starts_with(top) && above.ends_with(".git"))
        }
        ".git" => target.strip_prefix("gitdir: ").is_some_and(|target| {
            let Some(real) = plain(&folder.join(target)) else { return false };
            let parts: Vec<_> = real.strip_prefix(top).into_iter().flat_map(Path::components).collect();
            let mut pairs = parts.windows(2);
            pairs.any(|pair| {
                pair[0].as_os_str() == ".git"
                    && (pair[1].as_os_str() == "worktrees" || pair[1].as_os_str() == "modules")
            })
        }),
        _ => false,
    }
}

/// A path without `.` and `..`.
pub(super) fn plain(path: &Path) -> Option<std::path::PathBuf> {
    let mut plain = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        for (path, part) in [
            ("config", RepositoryFile::Config),
            ("Config.worktree", RepositoryFile::Config),
            ("worktrees/a/config.worktree", RepositoryFile::Config),
            ("hooks/pre-commit", RepositoryFile::Hook),
            ("HOOKS", RepositoryFile::Hook),
            ("hooks/pre-commit.sample", RepositoryFile::Sample),
            ("rebase-merge/git-rebase-todo", RepositoryFile::Progress),
            ("worktrees/a/rebase-merge/strategy", RepositoryFile::Progress),
            ("rebase-apply", RepositoryFile::Progress),
            ("sequencer/opts", RepositoryFile::Progress),
            ("remotes/origin", RepositoryFile::Pointer),
            ("branches/origin", RepositoryFile::Pointer),
            ("commondir", RepositoryFile::Pointer),
            ("objects/info/alternates", RepositoryFile::Pointer),
            ("objects/ab/cdef", RepositoryFile::Data),
            ("HEAD", RepositoryFile::Data),
            ("refs/heads/config", RepositoryFile::Data),
        ] {
            assert_eq!(part_of(Path::new(path)), part, "{path}");
        }
    }

    #[test]
    fn pointers_lead_into_repositories_of_the_workspace() {
        let (top, folder) = (Path::new("/w"), Path::new("/w/tree"));
        let leads = |content: &str| is_harmless_pointer(".git", content.as_bytes(), folder, top);
        assert!(leads("gitdir: /w/.git/worktrees/tree\n") && leads("gitdir: ../.git/modules/tree"));
        for evil in [
            "gitdir: /elsewhere/.git/worktrees/x",
            "gitdir: ../evil",
            "gitdir: ../../x/.git/modules/y",
            "x",
            "",
        ] {
            assert!(!leads(evil), "{evil}");
        }
        let common = |folder: &str| is_harmless_pointer("commondir", b"../..\n", Path::new(folder), top);
        assert!(common("/w/.git/worktrees/tree") && common("/w/a/.git/worktrees/tree"));
        assert!(!common("/w/worktrees/tree") && !common("/elsewhere/.git/worktrees/tree"));
    }
}
