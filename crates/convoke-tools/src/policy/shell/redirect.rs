//! Parses redirections and here-documents.

use super::parser::{CommandDraft, Parser};
use super::word::Word;
use super::{SimpleCommand, UnclearPart, read_within};

/// A here-document whose text is still to come.
pub(super) struct HereDocument {
    delimiter: String,
    /// Whether nothing is put into its text.
    literal: bool,
    without_tabs: bool,
    /// Whether it is fed to something that runs what it reads.
    pub(super) is_script: bool,
    /// Whether it becomes the value of variables.
    pub(super) is_value: bool,
}

impl Parser<'_, '_> {
    /// Reads a redirection, if there is one here.
    pub(super) fn redirection(&mut self, draft: &mut CommandDraft) -> Result<bool, UnclearPart> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let after = &self.rest()[digits..];
        if digits == 0 && self.at_process_substitution() {
            return Ok(false);
        }
        let operators = ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        let Some(operator) = operators.into_iter().find(|operator| after.starts_with(operator)) else {
            return Ok(false);
        };
        if digits > 0 && operator.starts_with('&') {
            return Ok(false);
        }
        self.at = start + digits + operator.len();
        self.blanks();
        draft.redirected = true;
        // The last one counts, and only what a program reads without being told to.
        let is_input = operator.starts_with('<') && matches!(&self.text[start..start + digits], "" | "0");
        if is_input {
            (draft.input, draft.here) = (None, None);
        }
        if matches!(operator, "<<" | "<<-") {
            let word = self.word()?;
            if word.dynamic {
                return Err(UnclearPart::because("the end of a here-document is only known when it runs"));
            }
            if is_input {
                draft.here = Some(self.awaited.len());
            }
            self.awaited.push(HereDocument {
                delimiter: word.text,
                literal: word.quoted,
                without_tabs: operator == "<<-",
                is_script: false,
                is_value: false,
            });
            return Ok(true);
        }
        let target = self.word()?;
        match operator {
            "<<<" if is_input => draft.input = Some(target),
            "<<<" => {}
            "<&" | ">&" if is_descriptor(&target) => {}
            "<&" => return Err(UnclearPart::because("a descriptor is only known when it runs")),
            "<" => self.touches("<", target),
            "<>" => {
                self.touches("<", target.clone());
                self.touches(">", target);
            }
            _ => self.touches(">", target),
        }
        Ok(true)
    }

    /// The shell itself opens this.
    fn touches(&mut self, how: &str, target: Word) {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];
        if target.fixed().is_some_and(|path| harmless.contains(&path)) {
            return;
        }
        let words = vec![Word::plain(how), target];
        let within = self.within.clone();
        self.reading.commands.push(SimpleCommand {
            words,
            variables: Vec::new(),
            within,
            transparent: false,
        });
    }

    /// A line break, and the here-documents that begin after it.
    pub(super) fn line_break(&mut self) -> Result<(), UnclearPart> {
        self.at += 1;
        for here in std::mem::take(&mut self.awaited) {
            let start = self.at;
            let mut body = String::new();
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return Err(UnclearPart::because(format!(
                        "the here-document up to `{}` does not end",
                        here.delimiter
                    )));
                }
                let line = rest.split_inclusive('\n').next().unwrap_or(rest);
                self.at += line.len();
                let bare = line.strip_suffix('\n').unwrap_or(line);
                let bare = if here.without_tabs { bare.trim_start_matches('\t') } else { bare };
                if bare == here.delimiter {
                    break;
                }
                // In one with substitutions a `\` joins lines, so that a delimiter could hide.
                if !here.literal && bare.ends_with('\\') {
                    return Err(UnclearPart::because("a line of a here-document is joined with the next"));
                }
                body.push_str(bare);
                body.push('\n');
            }
            self.here_document(&here, start, &body)?;
        }
        Ok(())
    }

    fn here_document(&mut self, here: &HereDocument, start: usize, body: &str) -> Result<(), UnclearPart> {
        let end = self.at;
        let mut has_substitutions = false;
        if !here.literal {
            self.at = start;
            let mut inner = Parser::new(&self.text[start..end], &self.within, self.reading);
            while inner.at < inner.text.len() {
                if inner.rest().starts_with('\\') {
                    inner.at += 1 + inner.rest()[1..].chars().next().map_or(0, char::len_utf8);
                    continue;
                }
                has_substitutions |= inner.rest().starts_with(['$', '`']);
                inner.inside(&mut Word::default())?;
            }
            self.at = end;
        }
        // What is put in is there before anything is read; what is text by then is what could be run.
        if here.is_value && (here.literal || body.contains("\\$(") || body.contains("\\`")) {
            self.may_be_computed(body);
        }
        if here.is_script && has_substitutions {
            return Err(UnclearPart::because("what a shell reads is only known when it runs"));
        }
        if here.is_script {
            self.nested("<<", |parser| {
                read_within(body, &parser.within, parser.reading);
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn is_descriptor(word: &Word) -> bool {
    let text = word.fixed().unwrap_or_default();
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
