//! Classifies files of a repository by their path.

use std::path::{Component, Path};

/// What a file in a folder of git's is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
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
pub(crate) fn part_of(path: &Path) -> Part {
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
        ["config" | "config.worktree"] | ["config.lock" | "config.worktree.lock"] => Part::Config,
        ["hooks", name] if name.ends_with(".sample") => Part::Sample,
        ["hooks", ..] => Part::Hook,
        ["rebase-merge" | "rebase-apply" | "sequencer", ..] => Part::Progress,
        // Remotes can be written there as well as in the settings. Shells have read the names of a bisection.
        ["remotes" | "branches", ..] | ["bisect_names" | "bisect_run"] => Part::Pointer,
        ["commondir"] | ["info", "attributes"] | ["objects", "info", "alternates" | "http-alternates"] => {
            Part::Pointer
        }
        _ => Part::Data,
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
            ("config", Part::Config),
            ("Config.worktree", Part::Config),
            ("worktrees/a/config.worktree", Part::Config),
            ("hooks/pre-commit", Part::Hook),
            ("HOOKS", Part::Hook),
            ("hooks/pre-commit.sample", Part::Sample),
            ("rebase-merge/git-rebase-todo", Part::Progress),
            ("worktrees/a/rebase-merge/strategy", Part::Progress),
            ("rebase-apply", Part::Progress),
            ("sequencer/opts", Part::Progress),
            ("remotes/origin", Part::Pointer),
            ("branches/origin", Part::Pointer),
            ("commondir", Part::Pointer),
            ("objects/info/alternates", Part::Pointer),
            ("objects/ab/cdef", Part::Data),
            ("HEAD", Part::Data),
            ("refs/heads/config", Part::Data),
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
