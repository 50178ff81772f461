//! The questions and the files of `convoke init`.

mod agentfile;
mod settings;
mod wizard;

pub(crate) use agentfile::agentfile;
pub(crate) use settings::settings;
pub(crate) use wizard::{Wizard, Wizardry};

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The workflow's name.
    pub(crate) name: String,
    /// What it should do; `None` is the example.
    pub(crate) goal: Option<String>,
    /// The model to write down; `None` leaves it to be found.
    pub(crate) model: Option<String>,
    /// Who looks at results.
    pub(crate) watcher: Watcher,
}

/// Who looks at results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watcher {
    Nobody,
    Model,
    Person,
}

impl Plan {
    /// What is written if nobody is asked.
    pub(crate) fn usual(name: String) -> Self {
        Self { name, goal: None, model: None, watcher: Watcher::Nobody }
    }
}

/// A folder's name as the name of a workflow: letters, digits, `_` and `-`, a letter first.
pub(crate) fn name_of(folder: &str) -> String {
    let mut name = String::new();
    for letter in folder.chars().map(|letter| letter.to_ascii_lowercase()) {
        match letter {
            'a'..='z' | '0'..='9' | '_' => name.push(letter),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_matches('-');
    match name.chars().next() {
        None => "first".to_owned(),
        Some('a'..='z' | '_') => name.to_owned(),
        Some(_) => format!("flow-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_names_that_the_language_takes() {
        for (folder, name) in [
            ("My Project", "my-project"),
            ("2026 plans", "flow-2026-plans"),
            ("日本", "first"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(name_of(folder), name);
        }
    }
}
