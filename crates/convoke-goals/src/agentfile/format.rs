//! The formatter.
//!
//! One statement per line, clauses in one order, one space between words, one blank line at most. What was spread over
//! several lines stays spread, a clause per line; what was in one line stays in one. Texts stay as they are, to the
//! byte. Comments stay where they are; one inside a statement moves above it.

use super::Span;
use super::diagnostic::Diagnostics;
use super::lexer::Comment;
use super::parser::parse;
use super::syntax::{
    Body, Clauses, Condition, Operator, Spanned, Statement, StatementKind, Supervise, Tools,
};

/// Formats a file. It means the same afterwards, and formatting it again changes nothing.
///
/// ```
/// use convoke_goals::agentfile::format;
///
/// let ugly = "NAME   plan\n\n\n\nGOAL sort SUPERVISED \"Sort it\"->order # first\nRUN main USING sort,sort";
/// assert_eq!(format(ugly).unwrap(), "\
/// NAME plan
///
/// GOAL sort \"Sort it\" -> order SUPERVISED  # first
/// RUN main USING sort, sort
/// ");
/// ```
///
/// # Errors
/// If it has syntax errors: then nobody knows what it means. Undefined names and the like do not matter.
pub fn format(text: &str) -> Result<String, Diagnostics> {
    let (file, mut diagnostics) = parse(text);
    if diagnostics.errors() > 0 {
        diagnostics.sort();
        return Err(diagnostics);
    }
    let mut writer = Writer { text, output: String::new(), end: 0 };
    let mut comments = file.comments.iter().copied().peekable();
    for (index, statement) in file.statements.iter().enumerate() {
        let span = statement.span;
        while let Some(comment) = comments.next_if(|comment| comment.span.start < span.start) {
            writer.comment(comment);
        }
        let blank = writer.blank_before(span.start);
        let mut inside = false;
        while let Some(comment) = comments.next_if(|comment| comment.span.start < span.end) {
            writer.line(comment.span.of(text).trim_end(), blank && !inside);
            inside = true;
        }
        let next = file.statements.get(index + 1).map_or(text.len(), |next| next.span.start);
        let behind = comments.next_if(|comment| {
            comment.span.start < next && !Span::new(span.end, comment.span.start).of(text).contains('\n')
        });
        let mut written = writer.statement(statement);
        if let Some(comment) = behind {
            written.push_str("  ");
            written.push_str(comment.span.of(text).trim_end());
        }
        writer.line(&written, blank && !inside);
        writer.end = behind.map_or(span.end, |comment| comment.span.end);
    }
    for comment in comments {
        writer.comment(comment);
    }
    Ok(writer.output)
}

struct Writer<'a> {
    text: &'a str,
    output: String,
    /// Where what has been written so far ends in the text.
    end: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: &str, blank_before: bool) {
        if blank_before && !self.output.is_empty() {
            self.output.push('\n');
        }
        self.output.push_str(line);
        self.output.push('\n');
    }

    fn comment(&mut self, comment: Comment) {
        let blank = self.blank_before(comment.span.start);
        self.line(comment.span.of(self.text).trim_end(), blank);
        self.end = comment.span.end;
    }

    /// Whether there is a blank line between what was written last and a place.
    fn blank_before(&self, place: usize) -> bool {
        Span::new(self.end, place).of(self.text).matches('\n').count() > 1
    }

    fn statement(&self, statement: &Statement) -> String {
        let mut parts = self.clauses(&statement.clauses);
        let mut text = match statement.kind {
            StatementKind::Supervised | StatementKind::Setting => String::new(),
            kind => kind.word().to_owned(),
        };
        if let Some(name) = &statement.name {
            text.push(' ');
            text.push_str(&name.value);
        }
        if let Some(ty) = &statement.clauses.ty {
            text.push_str(&format!(":{}", ty.value));
        }
        if let Some(supervise) = &statement.clauses.supervise {
            // In a line of its own it would be a statement.
            let word = match supervise.value {
                Supervise::Model => "SUPERVISED",
                Supervise::Human => "SUPERVISED HUMAN",
                Supervise::Nobody => "UNSUPERVISED",
            };
            match parts.last_mut() {
                Some(last) => *last = format!("{last} {word}"),
                None => parts.push(word.to_owned()),
            }
        }
        for (index, part) in parts.iter().enumerate() {
            if !text.is_empty() {
                text.push_str(if statement.continued && index > 0 { "\n  " } else { " " });
            }
            text.push_str(part);
        }
        text
    }

    /// All clauses in the order they are written in, but for the supervision.
    fn clauses(&self, clauses: &Clauses) -> Vec<String> {
        let mut parts = Vec::new();
        if let Some(body) = &clauses.body {
            parts.push(match body.value {
                Body::Text(_) => self.raw(body.span).to_owned(),
                Body::From(_) => format!("FROM {}", self.after_word(body.span)),
            });
        }
        if let Some(outputs) = &clauses.outputs {
            let fields = outputs.value.iter().map(|field| match &field.ty {
                None => field.name.value.clone(),
                Some(ty) => format!("{}:{}", field.name.value, ty.value),
            });
            parts.push(format!("-> {}", fields.collect::<Vec<_>>().join(", ")));
        }
        if clauses.parallel.is_some() {
            parts.push("PARALLEL".to_owned());
        }
        if let Some(using) = &clauses.using {
            parts.push(format!("USING {}", self.list(&using.value)));
        }
        if let Some(requires) = &clauses.requires {
            parts.push(format!("REQUIRES {}", self.after_word(requires.span)));
        }
        if let Some(within) = &clauses.within {
            parts.push(format!("WITHIN {}", self.after_word(within.span)));
        }
        if let Some(default) = &clauses.default {
            parts.push(format!("DEFAULT {}", self.raw(default.value.span)));
        }
        if clauses.secret.is_some() {
            parts.push("SECRET".to_owned());
        }
        if let Some(security) = &clauses.security {
            let raw = self.raw(security.span);
            parts.push(match raw.split_once(char::is_whitespace) {
                None => raw.to_owned(),
                Some((mode, scope)) => format!("{mode} {}", scope.trim_start()),
            });
        }
        if let Some(model) = &clauses.model {
            parts.push(format!("MODEL {}", self.after_word(model.span)));
        }
        if let Some(tools) = &clauses.tools {
            parts.push(match &tools.value {
                Tools::None => "TOOLS none".to_owned(),
                Tools::Named(names) => format!("TOOLS {}", self.list(names)),
            });
        }
        if let Some(timeout) = &clauses.timeout {
            parts.push(format!("TIMEOUT {}", self.after_word(timeout.span)));
        }
        if let Some(retry) = &clauses.retry {
            parts.push(self.raw(retry.span).split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if let Some(budget) = &clauses.budget {
            parts.push(format!("BUDGET {}", budget.value.written.join(", ")));
        }
        if let Some(memory) = &clauses.memory {
            parts.push(format!("MEMORY {}", self.after_word(memory.span)));
        }
        if let Some(when) = &clauses.when {
            parts.push(format!("WHEN {}", self.condition(&when.value)));
        }
        parts
    }

    fn condition(&self, condition: &Condition) -> String {
        let lists = condition.any.iter().map(|all| {
            let tests = all.iter().map(|test| {
                let variable = self.raw(test.value.variable.span);
                let values = self.list(&test.value.values);
                match test.value.operator {
                    Operator::True => variable.to_owned(),
                    Operator::False => format!("NOT {variable}"),
                    Operator::Is => format!("{variable} IS {values}"),
                    Operator::IsNot => format!("{variable} IS NOT {values}"),
                    Operator::In => format!("{variable} IN {values}"),
                    Operator::NotIn => format!("{variable} NOT IN {values}"),
                    Operator::Contains => format!("{variable} CONTAINS {values}"),
                    Operator::Compare(comparison) => format!("{variable} {} {values}", comparison.sign()),
                }
            });
            tests.collect::<Vec<_>>().join(" AND ")
        });
        lists.collect::<Vec<_>>().join(" OR ")
    }

    fn list(&self, items: &[Spanned<String>]) -> String {
        items.iter().map(|item| self.raw(item.span)).collect::<Vec<_>>().join(", ")
    }

    fn raw(&self, span: Span) -> &str {
        span.of(self.text)
    }

    /// What is written behind the first word.
    fn after_word(&self, span: Span) -> &str {
        let raw = self.raw(span);
        raw.trim_start_matches(|character: char| character.is_ascii_uppercase()).trim_start()
    }
}
