//! Patterns of commands, matched against a parsed command line.
//!
//! A pattern is a program and words: `git push`, `npm install -g`, `mkfs.*`. What it takes to match depends on what the
//! pattern is for, so that a slip errs on the safe side:
//!
//! - **to allow**, the arguments must begin with exactly these words; with a last word `$` they must be these and no more;
//! - **to ask or deny**, options may stand anywhere, be written together (`-fr` has `-r` and `-f` in it) or be cut short
//!   (`--recurs`), words that may be the value of an option are skipped (`git -C x push` is a push), as are variables, tool chains
//!   (`cargo +nightly publish`) and, of programs that make several things, what else is made; and `.` is every way to name all files.

use globset::{GlobBuilder, GlobMatcher};

use super::shell::{SimpleCommand, Word, base};

/// Folders whose programs are what their names say.
const SYSTEM: &[&str] =
    &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Programs whose words are what is to be made, in any order.
const MAKERS: &[&str] =
    &["make", "gmake", "ninja", "just", "rake", "ant", "mvn", "mvnw", "gradle", "gradlew", "scons"];

#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    program: Text,
    words: Vec<Text>,
    /// Whether a command has no more words than these.
    ends: bool,
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

    /// Whether it stands for everything: it counts wherever it is, and however that is written.
    fn is_whole_tree(&self) -> bool {
        matches!(self, Self::Exactly(own) if own == ".")
    }

    fn option(&self) -> Option<&str> {
        match self {
            Self::Exactly(own) if own.len() > 1 && own.starts_with('-') => Some(own),
            _ => None,
        }
    }
}

/// The last word of a pattern whose commands have no more words.
pub(super) const END: &str = "$";

impl CommandPattern {
    /// Reads a pattern of commands that are restricted. These have as many words as they like.
    pub(super) fn parse_open(text: &str) -> Result<Self, String> {
        match Self::parse(text)? {
            Self { ends: true, .. } => Err(format!("`{END}` is for what is allowed: leave it out here")),
            pattern => Ok(pattern),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let whole = text.trim_end();
        let without = whole.strip_suffix(END).filter(|rest| rest.ends_with(char::is_whitespace));
        let (text, ends) = without.map_or((text, false), |rest| (rest, true));
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("it names no program")?;
        let is_touch = program == ">" || program == "<";
        if !is_touch && let Some(letter) = text.chars().find(|letter| ";|&<>$`\"'\\".contains(*letter)) {
            return Err(format!("a pattern is a program and words, with no `{letter}` in it"));
        }
        // `ls *` says nothing more than `ls`.
        let mut words: Vec<&str> = words.collect();
        if words.last() == Some(&"*") && !is_touch && !ends {
            words.pop();
        }
        let words: Result<Vec<_>, _> = words.into_iter().map(Text::parse).collect();
        Ok(Self { program: Text::parse(program)?, words: words?, ends })
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
            && (!self.ends || self.words.len() == arguments.len())
            && self
                .words
                .iter()
                .zip(arguments)
                .all(|(word, argument)| argument.fixed().is_some_and(|text| word.is(text)))
    }

    /// Whether a command could be what is meant.
    pub(super) fn catches(&self, words: &[Word]) -> bool {
        let Some((program, arguments)) = words.split_first() else { return false };
        let is_program = |program: &str| self.program.is(base(program)) || self.program.is(program);
        program.fixed().is_some_and(|program| {
            is_program(program) && self.catches_words(arguments, MAKERS.contains(&base(program)))
        })
    }

    fn catches_words(&self, arguments: &[Word], is_maker: bool) -> bool {
        let options = self.words.iter().filter_map(Text::option);
        if !options.into_iter().all(|option| has_option(option, arguments)) {
            return false;
        }
        let mut wanted = self.words.iter().filter(|word| word.option().is_none());
        let Some(mut next) = wanted.next() else { return true };
        let mut after_option = false;
        for argument in arguments {
            if next.is_whole_tree() {
                if names_whole_tree(argument) {
                    return true;
                }
                continue;
            }
            if argument.fixed().is_none_or(|text| next.is(text)) {
                match wanted.next() {
                    Some(word) => next = word,
                    None => return true,
                }
                after_option = false;
                continue;
            }
            let is_option = argument.known().starts_with('-');
            if !is_option && !after_option && !is_maker && !is_setting(argument.known()) {
                return false;
            }
            after_option = is_option;
        }
        false
    }
}

/// Whether a word says how something is done, and not what: `ENV=prod`, `+nightly`.
fn is_setting(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    word.starts_with('+') || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Whether a word names all files from here on, or from the top: `.`, `*`, `:/`.
fn names_whole_tree(word: &Word) -> bool {
    let text = word.known().trim_end_matches('/');
    matches!(text, "." | ".." | "*" | "./*" | ":" | ":/*" | ":(top)" | ":(top)*")
        || text.starts_with(":!")
        || text.starts_with(":^")
}

/// Whether an option is given, or could be.
fn has_option(option: &str, arguments: &[Word]) -> bool {
    let given = |argument: &Word| {
        let text = argument.known();
        if argument.fixed().is_none() && (text.is_empty() || text.starts_with('-')) && !argument.quoted {
            return true;
        }
        // Long options may be cut short as long as it is clear which is meant.
        let name = text.split('=').next().unwrap_or_default();
        text == option
            || (option.starts_with("--")
                && name.len() > 2
                && name.starts_with("--")
                && option.starts_with(name))
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
