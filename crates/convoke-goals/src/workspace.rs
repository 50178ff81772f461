//! A summary of a folder, for those who work in it.
//!
//! It reads names of files and folders, and a line or two of the files that say what kind of project it is. It never
//! follows links, never reads other files, and leaves out what is hidden.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::context::quoted;

/// Files that say what kind of project it is.
const KINDS: &[(&str, &str)] = &[
    ("go.mod", "Go"),
    ("Cargo.toml", "Rust"),
    ("package.json", "Node.js"),
    ("pyproject.toml", "Python"),
    ("setup.py", "Python"),
    ("requirements.txt", "Python"),
    ("pom.xml", "Java (Maven)"),
    ("build.gradle", "Java (Gradle)"),
    ("Gemfile", "Ruby"),
    ("mix.exs", "Elixir"),
    ("CMakeLists.txt", "C/C++ (CMake)"),
    ("Makefile", "Make"),
    ("docker-compose.yml", "Docker Compose"),
    ("docker-compose.yaml", "Docker Compose"),
    ("Dockerfile", "Docker"),
    (".terraform", "Terraform"),
    ("helm", "Helm"),
];

/// Files at the top that are worth a mention.
const KEY_FILES: &[&str] =
    &["README.md", "README", "Agentfile", "convoke.toml", "CHANGELOG.md", "CONTRIBUTING.md"];

/// Folders that say nothing.
const LEFT_OUT: &[&str] = &["node_modules", "vendor", "__pycache__", "venv", "target", "dist", "build"];

/// How many folders of one level are named.
const PER_LEVEL: usize = 15;

/// How deep folders are listed.
const DEPTH: usize = 2;

/// At most so much of a file is read to find a project's name.
const LONGEST_MANIFEST: u64 = 64 * 1024;

/// Summarises a folder; empty if it is not one.
#[must_use]
pub fn summary(folder: &Path) -> String {
    if folder.as_os_str().is_empty() || !folder.is_dir() {
        return String::new();
    }
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut text = format!("<workspace path={}>\n", quoted(&absolute.to_string_lossy()));
    let mut kinds: Vec<&str> = Vec::new();
    for (file, kind) in KINDS {
        if absolute.join(file).exists() && !kinds.contains(kind) {
            kinds.push(kind);
        }
    }
    if !kinds.is_empty() {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "Project type: {}", kinds.join(", "));
    }
    for (what, name) in named(&absolute) {
        let _ = writeln!(text, "{what}: {}", one_line(&name));
    }
    text.push_str("Directory structure:\n");
    list(&mut text, &absolute, 0);
    for file in KEY_FILES.iter().copied().chain(KINDS.iter().map(|(file, _)| *file)) {
        if absolute.join(file).is_file() {
            let _ = writeln!(text, "{file}");
        }
    }
    text.push_str("</workspace>");
    text
}

fn list(text: &mut String, folder: &Path, level: usize) {
    let folders = folders(folder);
    for name in folders.iter().take(PER_LEVEL) {
        let _ = writeln!(text, "{:indent$}{}/", "", one_line(name), indent = level * 2);
        if level + 1 < DEPTH + 1 {
            list(text, &folder.join(name), level + 1);
        }
    }
    if folders.len() > PER_LEVEL {
        let more = folders.len() - PER_LEVEL;
        let _ = writeln!(text, "{:indent$}... and {more} more directories", "", indent = level * 2);
    }
}

/// The folders in a folder, by name; not those that are hidden, links, or say nothing.
fn folders(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()))
        .collect()
}

/// What the project calls itself.
fn named(folder: &Path) -> Vec<(&'static str, String)> {
    let mut names = Vec::new();
    if let Some(text) = manifest(folder, "go.mod") {
        let word = |key: &str| {
            text.lines().find_map(|line| line.strip_prefix(key)).map(|rest| rest.trim().to_owned())
        };
        names.extend(word("module ").map(|name| ("Go module", name)));
        names.extend(word("go ").map(|version| ("Go version", version)));
    }
    if let Some(text) = manifest(folder, "package.json") {
        let name = serde_json::from_str::<serde_json::Value>(&text).ok();
        names.extend(name.and_then(|json| json["name"].as_str().map(|name| ("Package", name.to_owned()))));
    }
    names.extend(toml_name(folder, "Cargo.toml", "[package]").map(|name| ("Crate", name)));
    names.extend(toml_name(folder, "pyproject.toml", "[project]").map(|name| ("Project", name)));
    names
}

/// The `name` in a section of a file in TOML, if it is written in the usual way.
fn toml_name(folder: &Path, file: &str, section: &str) -> Option<String> {
    let text = manifest(folder, file)?;
    let lines = text.lines().map(str::trim).skip_while(|line| *line != section).skip(1);
    lines.take_while(|line| !line.starts_with('[')).find_map(|line| {
        let value = line.strip_prefix("name")?.trim_start().strip_prefix('=')?.trim();
        Some(value.strip_prefix('"')?.split('"').next()?.to_owned())
    })
}

fn manifest(folder: &Path, file: &str) -> Option<String> {
    let path = folder.join(file);
    let short =
        fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST_MANIFEST);
    short.then(|| fs::read_to_string(path).ok()).flatten()
}

/// A name cannot begin a line of its own.
fn one_line(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
