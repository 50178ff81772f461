//! Patterns of commands, over what was read of a command line.
//!
//! A pattern is a program and words: `git push`, `npm install -g`, `mkfs.*`. What it takes to match depends on what the
//! pattern is for, so that a slip errs on the safe side:
//!
//! - **to allow**, the arguments must begin with exactly these words;
//! - **to ask or deny**, options may stand anywhere and be written together (`-fr` has `-r` and `-f` in it), and words that
//!   may be the value of an option are skipped (`git -C x push` is a push).

use globset::{GlobBuilder, GlobMatcher};

use super::shell::{SimpleCommand, Word, base};

/// Folders whose programs are what their names say.
const SYSTEM: &[&str] =
    &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    program: Text,
    words: Vec<Text>,
}

#[derive(Debug, Clone)]
enum Text {
    Exactly(String),
    Like(Box<GlobMatcher>),
}

impl Text {
    fn parse(text: &str) -> Result<Self, String> {
        if !text.contains(['*', '?', '[']) || text == "[" {
            return Ok(Self::Exactly(text.to_owned()));
        }
        let glob = GlobBuilder::new(text).build().map_err(|error| error.kind().to_string())?;
        Ok(Self::Like(Box::new(glob.compile_matcher())))
    }

    fn is(&self, text: &str) -> bool {
        match self {
            Self::Exactly(own) => own == text,
            Self::Like(glob) => glob.is_match(text),
        }
    }

    fn option(&self) -> Option<&str> {
        match self {
            Self::Exactly(own) if own.len() > 1 && own.starts_with('-') => Some(own),
            _ => None,
        }
    }
}

impl CommandPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("it names no program")?;
        let is_touch = program == ">" || program == "<";
        if !is_touch && let Some(letter) = text.chars().find(|letter| ";|&<>$`\"'\\".contains(*letter)) {
            return Err(format!("a pattern is a program and words, with no `{letter}` in it"));
        }
        // `ls *` says nothing more than `ls`.
        let mut words: Vec<&str> = words.collect();
        if words.last() == Some(&"*") && !is_touch {
            words.pop();
        }
        let words: Result<Vec<_>, _> = words.into_iter().map(Text::parse).collect();
        Ok(Self { program: Text::parse(program)?, words: words? })
    }

    /// The program's name, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.program {
            Text::Exactly(name) => Some(name),
            Text::Like(_) => None,
        }
    }

    /// Whether a command is certainly what is meant.
    pub(super) fn permits(&self, command: &SimpleCommand) -> bool {
        let Some(program) = command.program() else { return false };
        let folder = &program[..program.len() - base(program).len()];
        let is_program =
            self.program.is(program) || (SYSTEM.contains(&folder) && self.program.is(base(program)));
        let arguments = command.arguments();
        is_program
            && self.words.len() <= arguments.len()
            && self
                .words
                .iter()
                .zip(arguments)
                .all(|(word, argument)| argument.fixed().is_some_and(|text| word.is(text)))
    }

    /// Whether a command could be what is meant.
    pub(super) fn catches(&self, command: &SimpleCommand) -> bool {
        let Some(program) = command.program() else { return false };
        (self.program.is(base(program)) || self.program.is(program))
            && self.catches_words(command.arguments())
    }

    fn catches_words(&self, arguments: &[Word]) -> bool {
        let options = self.words.iter().filter_map(Text::option);
        if !options.into_iter().all(|option| has_option(option, arguments)) {
            return false;
        }
        let mut wanted = self.words.iter().filter(|word| word.option().is_none());
        let Some(mut next) = wanted.next() else { return true };
        let mut after_option = false;
        for argument in arguments {
            if argument.fixed().is_none_or(|text| next.is(text)) {
                match wanted.next() {
                    Some(word) => next = word,
                    None => return true,
                }
                after_option = false;
                continue;
            }
            let is_option = argument.known().starts_with('-');
            if !is_option && !after_option {
                return false;
            }
            after_option = is_option;
        }
        false
    }
}

/// Whether an option is given, or could be.
fn has_option(option: &str, arguments: &[Word]) -> bool {
    let given = |argument: &Word| {
        let text = argument.known();
        if argument.fixed().is_none() && (text.is_empty() || text.starts_with('-')) && !argument.quoted {
            return true;
        }
        text == option
            || text.strip_prefix(option).is_some_and(|rest| option.starts_with("--") && rest.starts_with('='))
    };
    if arguments.iter().any(given) {
        return true;
    }
    // A few letters may be written together or apart; `-delete` is one word.
    let letters = &option[1..];
    if letters.starts_with('-') || letters.len() > 3 {
        return false;
    }
    let is_cluster = |text: &str| text.starts_with('-') && !text.starts_with("--");
    let has = |letter: char| {
        arguments.iter().any(|argument| is_cluster(argument.known()) && argument.known().contains(letter))
    };
    letters.chars().all(has)
}
