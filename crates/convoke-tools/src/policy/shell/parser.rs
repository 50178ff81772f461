//! Parses text into simple commands.
//!
//! Precedence does not matter here: everything that could run is wanted. So a text is a flat sequence of simple commands
//! with operators and reserved words between them, and only what encloses text (`$(…)`, `(…)`, `case`) is nested.

use super::expansion::hides_a_substitution;
use super::redirect::HereDocument;
use super::word::Word;
use super::{ParsedCommandLine, SimpleCommand, UnclearPart, wrapper};

/// Nobody nests deeper, and a stack has an end.
pub(super) const DEEPEST: usize = 24;

/// Words after which another command begins.
const BEFORE_A_COMMAND: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];
/// Words that end what another began.
const AFTER_A_COMMAND: &[&str] = &["fi", "done", "}", "esac"];

pub(super) struct Parser<'t, 'r> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) within: Vec<&'static str>,
    pub(super) reading: &'r mut ParsedCommandLine,
    /// Here-documents whose text begins after the next line break.
    pub(super) awaited: Vec<HereDocument>,
    /// How many `{` are open.
    braces: usize,
    /// Functions whose bodies are being read.
    bodies: Vec<Body>,
    /// Whether a pipe leads into the next command.
    piped: bool,
}

/// The body of a function.
struct Body {
    name: String,
    /// How many `{` were open before it.
    braces: usize,
    /// How deep it is.
    depth: usize,
}

/// The end of a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// The text.
    End,
    /// A `)`.
    Parenthesis,
    /// `;;`, or the word `esac`.
    Clause,
}

/// A simple command while it is read.
#[derive(Default)]
pub(super) struct CommandDraft {
    pub(super) words: Vec<Word>,
    pub(super) variables: Vec<String>,
    /// What the program gets to read, if the text has it.
    pub(super) input: Option<Word>,
    /// The place in the list of awaited here-documents.
    pub(super) here: Option<usize>,
    pub(super) redirected: bool,
}

impl<'t, 'r> Parser<'t, 'r> {
    pub(super) fn new(text: &'t str, within: &[&'static str], reading: &'r mut ParsedCommandLine) -> Self {
        Self {
            text,
            at: 0,
            within: within.to_vec(),
            reading,
            awaited: Vec::new(),
            braces: 0,
            bodies: Vec::new(),
            piped: false,
        }
    }

    pub(super) fn whole(mut self) -> Result<(), UnclearPart> {
        if self.text.contains('\0') {
            return Err(UnclearPart::because("there is a NUL in it"));
        }
        self.list(ListEnd::End)?;
        if self.awaited.is_empty() {
            Ok(())
        } else {
            Err(UnclearPart::because("a here-document has no text"))
        }
    }

    /// Reads what is inside of something, one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, UnclearPart>,
    ) -> Result<T, UnclearPart> {
        if self.within.len() >= DEEPEST {
            return Err(UnclearPart::because(format!("it is nested more than {DEEPEST} levels deep")));
        }
        self.within.push(name);
        let result = read(self);
        self.within.pop();
        result
    }

    /// Commands, up to where they end. What ends them is left where it is.
    pub(super) fn list(&mut self, until: ListEnd) -> Result<(), UnclearPart> {
        loop {
            self.blanks();
            let rest = self.rest();
            match rest.as_bytes().first() {
                None if until == ListEnd::End => return Ok(()),
                None => return Err(UnclearPart::because("something is opened and not closed")),
                Some(b')') if until == ListEnd::Parenthesis => return Ok(()),
                Some(b')') => return Err(UnclearPart::because("there is a `)` that closes nothing")),
                Some(b';') if rest.starts_with(";;") || rest.starts_with(";&") => {
                    if until == ListEnd::Clause {
                        return Ok(());
                    }
                    return Err(UnclearPart::because("there is a `;;` outside of a `case`"));
                }
                Some(b'\n') => self.line_break()?,
                Some(b'|') => {
                    let is_or = rest.starts_with("||");
                    self.piped = !is_or;
                    self.at += if is_or { 2 } else { 1 };
                }
                Some(b';' | b'&') => self.at += 1,
                Some(b'(') => self.parentheses()?,
                Some(_) if until == ListEnd::Clause && self.next_word_is("esac") => return Ok(()),
                Some(_) => self.command()?,
            }
        }
    }

    /// One command: simple, or the beginning of a compound one.
    fn command(&mut self) -> Result<(), UnclearPart> {
        let mut draft = CommandDraft::default();
        loop {
            self.blanks();
            if self.redirection(&mut draft)? {
                continue;
            }
            let rest = self.rest();
            match rest.as_bytes().first() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    self.after_a_word(&mut draft)?;
                    continue;
                }
                Some(_) => {}
            }
            let begins = draft.words.is_empty() && draft.variables.is_empty();
            let word = self.word()?;
            if word.source.starts_with('{')
                && word.source.ends_with('}')
                && self.rest().starts_with(['<', '>'])
            {
                return Err(UnclearPart::because("a variable gets the number of a redirection"));
            }
            if begins && !word.quoted {
                if BEFORE_A_COMMAND.contains(&word.source.as_str()) {
                    self.braces += usize::from(word.source == "{");
                    // What may stand between the reserved word and the command.
                    if word.source == "time" {
                        self.skip_option("-p");
                        self.skip_option("--");
                    }
                    return if draft.redirected { Err(misplaced(&word)) } else { Ok(()) };
                }
                if AFTER_A_COMMAND.contains(&word.source.as_str()) {
                    if word.source == "}" {
                        self.braces = self.braces.saturating_sub(1);
                        self.bodies.retain(|body| body.braces < self.braces);
                    }
                    return Ok(());
                }
                match word.source.as_str() {
                    "for" | "select" => return self.for_loop(),
                    "case" => return self.case(),
                    "function" => return self.function(),
                    "[[" => return self.condition(),
                    _ => {}
                }
            }
            if draft.words.is_empty()
                && let Some(name) = word.assigned()
            {
                draft.variables.push(name.to_owned());
                self.may_be_computed(word.known());
                self.reading.values.give(name, &word);
                if self.rest().starts_with('(') && word.source.ends_with('=') {
                    self.array(name)?;
                }
                continue;
            }
            draft.words.push(word);
        }
        self.finish(draft)
    }

    /// A `(` after words: a function of that name, or nothing that we know.
    fn after_a_word(&mut self, draft: &mut CommandDraft) -> Result<(), UnclearPart> {
        let is_function = draft.words.len() == 1 && draft.variables.is_empty() && !draft.redirected;
        self.at += 1;
        self.blanks();
        if !is_function || !self.rest().starts_with(')') {
            return Err(UnclearPart::because("there is a `(` after a word"));
        }
        self.at += 1;
        // Whatever is in it is read as if it ran here.
        if let Some(name) = draft.words.pop() {
            self.begin_body(&name);
        }
        Ok(())
    }

    /// A function of this name is defined here.
    pub(super) fn begin_body(&mut self, name: &Word) {
        let Some(name) = name.fixed() else { return };
        self.reading.values.define(name);
        if self.rest().trim_start().starts_with('{') {
            let (braces, depth) = (self.braces, self.within.len());
            self.bodies.push(Body { name: name.to_owned(), braces, depth });
        }
    }

    /// Looks whether a function starts itself beside itself.
    fn watch_for_multiplying(&mut self, command: &SimpleCommand) {
        let rest = self.rest();
        let beside = std::mem::take(&mut self.piped)
            || rest.starts_with('|') && !rest.starts_with("||")
            || rest.starts_with('&') && !rest.starts_with("&&");
        let itself = |body: &&Body| command.program() == Some(&body.name);
        let Some(body) = self.bodies.iter().find(itself) else { return };
        if (beside || self.within.len() > body.depth) && !self.reading.multiplying.contains(&body.name) {
            self.reading.multiplying.push(body.name.clone());
        }
    }

    /// What becomes the value of a variable is run by the shell if it computes the variable: `$((x))`, `[[ $x -eq 1 ]]`.
    pub(super) fn may_be_computed(&mut self, text: &str) {
        if hides_a_substitution(text) {
            let why = "a variable gets a `$(…)` as text, which is run if the variable is computed";
            self.reading.unclear.push(UnclearPart::because(why));
        }
    }

    fn finish(&mut self, draft: CommandDraft) -> Result<(), UnclearPart> {
        // What is in a compound command may read as well.
        let reads = |program: &Word| matches!(program.fixed(), Some("read" | "mapfile" | "readarray"));
        if draft.words.first().is_none_or(reads) {
            if let Some(input) = &draft.input {
                self.may_be_computed(input.known());
            }
            if let Some(here) = draft.here.and_then(|index| self.awaited.get_mut(index)) {
                here.is_value = true;
            }
        }
        for name in &draft.variables {
            if wrapper::steers_programs(name) {
                self.reading.unclear.push(wrapper::sets(name));
            }
        }
        if draft.words.is_empty() {
            return Ok(());
        }
        let CommandDraft { words, variables, input, here, .. } = draft;
        let command = SimpleCommand { words, variables, within: self.within.clone(), transparent: false };
        self.watch_for_multiplying(&command);
        self.reading.values.note(&command);
        if let Some(here) = here.and_then(|index| self.awaited.get_mut(index))
            && wrapper::reads_commands(&command)
        {
            // Judged when its text is there.
            here.is_script = true;
            self.reading.commands.push(SimpleCommand { transparent: true, ..command });
            return Ok(());
        }
        wrapper::unwrap(command, input.as_ref(), self.reading);
        Ok(())
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips blanks, joined lines and comments.
    pub(super) fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) {
                self.at += 1;
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with('#') {
                // Only reached between words.
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// Skips blanks and line breaks, with the here-documents after them.
    pub(super) fn blanks_and_lines(&mut self) -> Result<(), UnclearPart> {
        loop {
            self.blanks();
            if !self.rest().starts_with('\n') {
                return Ok(());
            }
            self.line_break()?;
        }
    }

    pub(super) fn next_word_is(&self, word: &str) -> bool {
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>'])
    }

    fn skip_option(&mut self, option: &str) {
        self.blanks();
        if self.next_word_is(option) {
            self.at += option.len();
        }
    }
}

fn misplaced(word: &Word) -> UnclearPart {
    UnclearPart::because(format!("`{}` is where it cannot be", word.source))
}
