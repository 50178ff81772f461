//! Paths that a setting of git names, among the words of what it executes.
//!
//! Nobody can say for certain what a line of shell reads, so every word that may be a path counts, whether there is such a file
//! or not. It must never leave a path out because nothing is there yet: what is made there later would be executed.

use std::path::{Path, PathBuf};

/// What separates words of a shell.
const SEPARATORS: &str = " \t\n\r\"'`;&|()<>!{}=,";

/// The most places that words are looked at from.
const MOST_FOLDERS: usize = 8;

/// The paths that a command names, from the folder it runs in. They may have `.` and `..` in them.
pub(super) fn paths_in(command: &str, tree: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![tree.to_owned()];
    let mut is_folder_next = false;
    let words = command.split(|letter: char| SEPARATORS.contains(letter)).filter(|word| !word.is_empty());
    for (number, word) in words.enumerate() {
        let found = places_of(word, &folders);
        if std::mem::take(&mut is_folder_next)
            || (!word.starts_with('-') && found.iter().any(|at| at.is_dir()))
        {
            // What comes after `cd tools` is meant from there.
            let room = MOST_FOLDERS.saturating_sub(folders.len());
            folders.extend(found.into_iter().take(room));
            continue;
        }
        if matches!(word, "cd" | "pushd" | "-C" | "--directory" | "--prefix") {
            is_folder_next = true;
            continue;
        }
        // The first word without a slash is looked up on the path; others may be scripts for it.
        let is_script = number > 0 && !word.starts_with('-') && word.trim_matches('.').contains('.');
        if word.contains('/') || is_script {
            paths.extend(found);
        } else {
            paths.extend(found.into_iter().filter(|path| number > 0 && path.is_file()));
        }
    }
    paths
}

/// Where a word leads from each of these folders.
fn places_of(word: &str, folders: &[PathBuf]) -> Vec<PathBuf> {
    if let Some(below) = word.strip_prefix("~/") {
        return std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below)).into_iter().collect();
    }
    // `$PWD/x`, and what is left of `$(git rev-parse --show-toplevel)/x`, are taken to be in the tree.
    let below = match word.starts_with('$') {
        true => word.split_once('/').map_or("", |(_, below)| below),
        false => word.trim_start_matches('/'),
    };
    let from = |folder: &PathBuf| folder.join(below);
    let whole = word.starts_with('/').then(|| PathBuf::from(word));
    if whole.as_ref().is_some_and(|path| path.exists()) {
        return whole.into_iter().collect();
    }
    whole.into_iter().chain(folders.iter().filter(|_| !below.is_empty()).map(from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_may_be_a_path_counts_whether_it_is_there_or_not() {
        let tree = Path::new("/w");
        for (command, path) in [
            ("sh tools/clean.sh", "/w/tools/clean.sh"),
            ("bash -c \"exec sh ./tools/smudge.sh\"", "/w/./tools/smudge.sh"),
            ("tools/conv", "/w/tools/conv"),
            ("!f() { sh tools/lint.sh; }; f", "/w/tools/lint.sh"),
            ("!cd tools && ./l2.sh", "/w/tools/./l2.sh"),
            ("!cd a && cd b && sh x.sh", "/w/a/b/x.sh"),
            ("/w/tools/proc", "/w/tools/proc"),
            ("$PWD/tools/proc", "/w/tools/proc"),
            ("\"$(git rev-parse --show-toplevel)/tools/x\"", "/w/tools/x"),
            ("env X=1 tools/ed", "/w/tools/ed"),
            ("LESS=x tools/pg | cat", "/w/tools/pg"),
            ("python3 conv.py %O", "/w/conv.py"),
            ("store --file=tools/creds", "/w/tools/creds"),
        ] {
            let found = paths_in(command, tree);
            assert!(found.iter().any(|one| one.as_os_str() == path), "{command}: {found:?}");
        }
        // A program of the system is not one of the tree.
        assert_eq!(paths_in("code --wait", tree), Vec::<PathBuf>::new());
        assert_eq!(paths_in("less -FRX", tree), Vec::<PathBuf>::new());
    }
}
