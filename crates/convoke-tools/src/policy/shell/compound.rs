//! Parses compound commands: `(…)`, `((…))`, `for`, `case`, functions, `[[…]]`, arrays.

use super::parser::{ListEnd, Parser};
use super::word::Word;
use super::{UnclearPart, arithmetic, expansion, wrapper};

impl Parser<'_, '_> {
    /// A subshell, or an arithmetic command.
    pub(super) fn parentheses(&mut self) -> Result<(), UnclearPart> {
        if self.rest().starts_with("((") {
            return self.arithmetic(2);
        }
        self.at += 1;
        self.nested("(…)", |parser| parser.list(ListEnd::Parenthesis))?;
        self.at += 1;
        Ok(())
    }

    /// Text between `((` and `))`, in which there may be substitutions. `opening` is how long what opens it is.
    pub(super) fn arithmetic(&mut self, opening: usize) -> Result<(), UnclearPart> {
        self.at += opening;
        let start = self.at;
        let mut word = Word::default();
        self.nested("((…))", |parser| parser.computed(&mut word))?;
        if word.output {
            self.reading.unclear.push(arithmetic::computes_output());
        }
        self.reading.values.compute(&self.text[start..self.at]);
        Ok(())
    }

    fn computed(&mut self, word: &mut Word) -> Result<(), UnclearPart> {
        let mut open = 2;
        loop {
            match self.peek() {
                None => return Err(UnclearPart::because("arithmetic is opened and not closed")),
                Some('(') => {
                    open += 1;
                    self.at += 1;
                }
                Some(')') => {
                    open -= 1;
                    self.at += 1;
                    match open {
                        // The two that end it stand together; otherwise these were subshells.
                        1 if self.rest().starts_with(')') => {
                            self.at += 1;
                            return Ok(());
                        }
                        1 => return Err(UnclearPart::because("`((` may be arithmetic or two subshells")),
                        _ => {}
                    }
                }
                Some('\\' | '\'' | '"' | '#') => {
                    return Err(UnclearPart::because("there are quotes in arithmetic"));
                }
                Some(_) => self.inside(word)?,
            }
        }
    }

    pub(super) fn for_loop(&mut self) -> Result<(), UnclearPart> {
        self.blanks();
        if self.rest().starts_with("((") {
            return self.arithmetic(2);
        }
        let name = self.word()?;
        if wrapper::steers_programs(name.known()) {
            self.reading.unclear.push(wrapper::sets(name.known()));
        }
        self.blanks_and_lines()?;
        if self.next_word_is("in") {
            self.at += 2;
            self.words_until_a_separator(name.known())?;
        } else {
            self.reading.values.give(name.known(), &Word::parameters());
        }
        Ok(())
    }

    fn words_until_a_separator(&mut self, name: &str) -> Result<(), UnclearPart> {
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => return Ok(()),
                Some('(') => return Err(UnclearPart::because("there is a `(` after a word")),
                Some('<' | '>') if !self.at_process_substitution() => {
                    return Err(UnclearPart::because("there is a redirection in a list of words"));
                }
                Some(_) => self.value(name)?,
            }
        }
    }

    /// A word that becomes the value of a variable.
    fn value(&mut self, name: &str) -> Result<(), UnclearPart> {
        let word = self.word()?;
        self.reading.values.give(name, &word);
        self.may_be_computed(word.known());
        Ok(())
    }

    pub(super) fn case(&mut self) -> Result<(), UnclearPart> {
        self.blanks();
        self.word()?;
        self.blanks_and_lines()?;
        if !self.next_word_is("in") {
            return Err(UnclearPart::because("a `case` has no `in`"));
        }
        self.at += 2;
        self.nested("case", |parser| {
            loop {
                parser.blanks_and_lines()?;
                if parser.next_word_is("esac") {
                    return Ok(());
                }
                parser.clause()?;
            }
        })
        // `esac` itself is read as the end of a compound command.
    }

    fn clause(&mut self) -> Result<(), UnclearPart> {
        if self.rest().starts_with('(') {
            self.at += 1;
        }
        loop {
            self.blanks();
            match self.peek() {
                Some(')') => break,
                Some('|') => self.at += 1,
                None | Some('\n' | ';' | '&' | '(' | '<' | '>') => {
                    return Err(UnclearPart::because("a pattern of a `case` is not closed"));
                }
                Some(_) => drop(self.word()?),
            }
        }
        self.at += 1;
        self.list(ListEnd::Clause)?;
        for end in [";;&", ";;", ";&"] {
            if self.rest().starts_with(end) {
                self.at += end.len();
                break;
            }
        }
        Ok(())
    }

    pub(super) fn function(&mut self) -> Result<(), UnclearPart> {
        self.blanks();
        let name = self.word()?;
        self.blanks();
        if let Some(rest) = self.rest().strip_prefix('(') {
            let Some(close) = rest.find(')') else {
                return Err(UnclearPart::because("something is opened and not closed"));
            };
            if !rest[..close].trim().is_empty() {
                return Ok(()); // The body is a subshell: it is read as one.
            }
            self.at += close + 2;
        }
        self.begin_body(&name);
        Ok(())
    }

    /// `[[ … ]]`: a test, in which nothing runs but substitutions.
    pub(super) fn condition(&mut self) -> Result<(), UnclearPart> {
        let mut before = Word::default();
        loop {
            self.blanks_and_lines()?;
            match self.peek() {
                None => return Err(UnclearPart::because("a `[[` is not closed")),
                Some(';') => return Err(UnclearPart::because("there is a `;` in a `[[`")),
                Some('<' | '>') if self.at_process_substitution() => drop(self.word()?),
                Some('(' | ')' | '<' | '>' | '&' | '|') => self.at += 1,
                Some(_) => {
                    let word = self.word()?;
                    if word.source == "]]" {
                        return Ok(());
                    }
                    // The shell computes what is compared as numbers, also what is quoted.
                    if expansion::hides_a_substitution(word.known()) {
                        return Err(UnclearPart::because("a test may compute what is in its words"));
                    }
                    // Both sides of a comparison of numbers are computed.
                    let compares = |word: &Word| {
                        matches!(word.source.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
                    };
                    let side = match (compares(&before), compares(&word)) {
                        (true, _) => Some(&word),
                        (_, true) => Some(&before),
                        _ => None,
                    };
                    if let Some(side) = side {
                        if side.output {
                            self.reading.unclear.push(arithmetic::computes_output());
                        }
                        self.reading.values.compute(&side.source);
                    }
                    before = word;
                }
            }
        }
    }

    /// The words of `name=(…)`.
    pub(super) fn array(&mut self, name: &str) -> Result<(), UnclearPart> {
        self.at += 1;
        loop {
            self.blanks_and_lines()?;
            match self.peek() {
                Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                None | Some(';' | '&' | '|' | '(') => {
                    return Err(UnclearPart::because("the words of an array are not closed"));
                }
                Some('<' | '>') if !self.at_process_substitution() => {
                    return Err(UnclearPart::because("there is a redirection in a list of words"));
                }
                Some(_) => self.value(name)?,
            }
        }
    }
}
