//! One thing that is wrong with a document, addressed by JSON path.
//!
//! Whoever checks knows values, not texts; whoever has the text finds the place of a path in it.

use std::ops::Range;

use crate::diagnostic::Severity;

/// So many names are listed where none is near.
const LISTED: usize = 12;

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for what it is: `unknown-target`.
    pub code: &'static str,
    /// Where: `/workflow/states/intake/on_event/Escalate`, a JSON pointer.
    pub path: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to write instead, if something can be said.
    pub help: Option<String>,
    /// The bytes of the file that the path is about, once somebody with the text has looked.
    pub place: Option<Range<usize>>,
    /// Where a name was looked for that is not there, as JSON pointers: it may be in what of these cannot be read.
    pub sought: Vec<String>,
    /// What must be readable for it to hold, as a JSON pointer.
    pub needs: Option<String>,
}

impl Finding {
    fn new(severity: Severity, code: &'static str, path: String, message: String) -> Self {
        Self { severity, code, path, message, help: None, place: None, sought: Vec::new(), needs: None }
    }

    /// A mistake: the document cannot be used.
    #[must_use]
    pub fn error(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, path.into(), message.into())
    }

    /// Something that looks wrong.
    #[must_use]
    pub fn warning(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, path.into(), message.into())
    }

    /// Says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says where the name was looked for that it is about.
    #[must_use]
    pub fn sought_in(mut self, path: impl Into<String>) -> Self {
        self.sought.push(path.into());
        self
    }

    /// Says that it holds only where all of this can be read.
    #[must_use]
    pub fn needs(mut self, path: impl Into<String>) -> Self {
        self.needs = Some(path.into());
        self
    }

    /// Suggests the known name nearest to a misspelt one, if there is one.
    #[must_use]
    pub fn suggest<'a>(self, written: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match crate::nearest(written, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Suggests the known name nearest to a misspelt one; if none is near, names those there are, unless they are many.
    #[must_use]
    pub fn suggest_or_list<'a>(self, written: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        // What is said does not depend on the order of the document.
        names.sort_unstable();
        let listed = (1..=LISTED).contains(&names.len());
        match self.suggest(written, names.iter().copied()) {
            finding if finding.help.is_none() && listed => {
                finding.help(format!("there are {}", names.join(", ")))
            }
            finding => finding,
        }
    }

    /// Returns whether the document cannot be used because of it.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The JSON pointer of what is called `name` in what `path` points at.
///
/// ```
/// use convoke_text::finding::child;
///
/// assert_eq!(child("/tools", "a/b"), "/tools/a~1b");
/// ```
#[must_use]
pub fn child(path: &str, name: impl std::fmt::Display) -> String {
    format!("{path}/{}", name.to_string().replace('~', "~0").replace('/', "~1"))
}
