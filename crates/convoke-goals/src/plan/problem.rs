//! Problems of a tree, and their messages.

use std::fmt;

use crate::agentfile::model::Type;
use crate::tree::{GoalNodeKind, Name};

/// A tree cannot be run: everything that is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidWorkflow {
    /// What is wrong, in the order of the tree. At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for InvalidWorkflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines(&self.problems, formatter)
    }
}

impl std::error::Error for InvalidWorkflow {}

/// A problem: something that is wrong, or looks as if it were, at a place in a tree. Its text is one line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// The names of the nodes on the way to the one it is about, that one included.
    pub path: Vec<Name>,
    /// The kind of that node.
    pub node: GoalNodeKind,
    /// The problem.
    pub kind: ProblemKind,
}

impl Problem {
    /// Returns whether the tree can be run all the same.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::UnknownTool { .. }
                | ProblemKind::Overwritten { .. }
                | ProblemKind::WatchedAllTheSame { .. }
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.last().map_or("", |name| &**name);
        write!(formatter, "{} `{}`", self.node, one_line(name))?;
        if self.path.len() > 2 {
            let way: Vec<&str> = self.path[..self.path.len() - 1].iter().map(|name| &**name).collect();
            write!(formatter, " in `{}`", one_line(&way.join("/")))?;
        }
        write!(formatter, ": {}", self.kind)
    }
}

/// The kind of a problem.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// It has no name.
    NoName,
    /// Its name cannot be one.
    BadName {
        /// Why.
        why: String,
    },
    /// A text is missing.
    NoText {
        /// Which one: `description`, `prompt`, `task`.
        text: &'static str,
    },
    /// Nothing is in it.
    Empty,
    /// Another node of this kind has the same name and is not the same.
    DuplicateName {
        /// Where the other one is.
        first: String,
    },
    /// The goal that uses it uses something else of the same name too.
    SharedName {
        /// What the other one is.
        other: GoalNodeKind,
    },
    /// It stands too deep below others of its kind.
    TooDeep {
        /// How deep it may stand.
        most: usize,
    },
    /// Its condition has too many others within each other.
    TooDeepCondition {
        /// How many it may have.
        most: usize,
    },
    /// Two inputs have the same name.
    DuplicateInput {
        /// The name.
        input: Name,
    },
    /// The name of an input or an output cannot be one.
    BadValueName {
        /// What is called so.
        what: &'static str,
        /// The name.
        name: Name,
    },
    /// The same output twice.
    DuplicateOutput {
        /// The output.
        output: Name,
    },
    /// The workflow of another kind that it is cannot be run.
    CannotEmbed {
        /// The kind.
        kind: String,
        /// Why.
        why: String,
    },
    /// A default is not of its input's type.
    BadDefault {
        /// The input.
        input: Name,
        /// What it may be.
        ty: Type,
    },
    /// A secret is something that it cannot be, or is used where it would show.
    SecretShown {
        /// The input.
        input: Name,
        /// What is wrong.
        why: &'static str,
    },
    /// A value has two types.
    TwoTypes {
        /// The value.
        value: Name,
        /// One type, and who gives it.
        one: (Type, String),
        /// The type here.
        other: Type,
    },
    /// Something that runs at the same time makes the same value.
    Conflict {
        /// The value.
        value: Name,
        /// Who else makes it.
        other: String,
    },
    /// A value that there is already is made again: from then on it is the new one.
    Overwritten {
        /// The value.
        value: Name,
        /// Who made it before.
        other: String,
    },
    /// Nothing is called so.
    Undeclared {
        /// What was written.
        variable: Name,
        /// What was perhaps meant.
        meant: Option<Name>,
    },
    /// Something is called so, but it is not a value that can be used here.
    NotAValue {
        /// What was written.
        variable: Name,
        /// What it is instead.
        what: String,
    },
    /// A value is not there yet, or not in every case.
    TooEarly {
        /// The value.
        variable: Name,
        /// Who makes it.
        maker: String,
        /// When.
        made: Availability,
    },
    /// A test does not suit the type of its variable.
    BadTest {
        /// The variable.
        variable: Name,
        /// What it may be.
        ty: Type,
        /// What is wrong.
        why: String,
    },
    /// A limit on how often something is done is none.
    BadLimit {
        /// What is wrong.
        why: String,
    },
    /// An agent that stands in a sequence has nothing to do.
    NoTask,
    /// A workflow cannot be an agent like this.
    BadTaskInput {
        /// The input it should be given its task in.
        input: Name,
        /// What is wrong.
        why: String,
    },
    /// There is nothing that it could be remembered in.
    NoMemory {
        /// The memory.
        memory: String,
    },
    /// There is no such model.
    NoModel {
        /// What it was called: `model "x"`, `profile "x"`.
        choice: String,
        /// Why there is none, and what to do.
        why: String,
    },
    /// No tool of those that are there fits a name.
    UnknownTool {
        /// The name.
        tool: String,
        /// What was perhaps meant.
        meant: Option<String>,
    },
    /// Research needs a scope.
    NoScope,
    /// Nobody would watch over something that a person is to watch over.
    Unwatched,
    /// Nobody was to watch over it, but a person watches over all of which it is a part.
    WatchedAllTheSame {
        /// Over what the person watches.
        whole: String,
    },
}

/// The availability of a value, seen from where it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Availability {
    /// Only in some cases.
    Sometimes,
    /// Later.
    Later,
    /// At the same time.
    AtTheSameTime,
    /// By the node that needs it.
    ByItself,
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => formatter.write_str("name is required; a name is more than white space"),
            Self::BadName { why } => write!(formatter, "this cannot be a name: {why}"),
            Self::NoText { text } => write!(formatter, "{text} is required; say it in words, with `$name` for values"),
            Self::Empty => formatter.write_str(
                "nothing is in it: a workflow needs at least one sequence, and a sequence at least one goal or agent",
            ),
            Self::DuplicateName { first } => {
                write!(formatter, "the name is taken by `{}`, which is not the same; give one of them another name", one_line(first))
            }
            Self::SharedName { other } => write!(
                formatter,
                "whoever uses it uses the {other} of this name too, and they could not be told apart; give one of them \
                 another name"
            ),
            Self::DuplicateInput { input } => {
                write!(formatter, "the input `{}` is declared more than once; keep one of them", one_line(input))
            }
            Self::BadValueName { what, name } if name.trim().is_empty() => {
                write!(formatter, "an {what} has no name; give it one")
            }
            Self::BadValueName { what, name } => write!(
                formatter,
                "`{}` cannot be the name of an {what}: texts refer to it as `$name`, so it is made of letters, digits, \
                 `_` and `-`, begins with a letter or `_` and does not end with `-`",
                one_line(name)
            ),
            Self::DuplicateOutput { output } => {
                write!(formatter, "the output `{output}` is declared twice; keep one of them")
            }
            Self::CannotEmbed { kind, why } => write!(formatter, "the {kind} cannot be run: {why}"),
            Self::BadDefault { input, ty } => {
                write!(formatter, "the default of the input `{input}` must be {}", ty.in_words())
            }
            Self::SecretShown { input, why } => write!(formatter, "the secret `{input}` {why}"),
            Self::TwoTypes { value, one, other } => write!(
                formatter,
                "`{value}` is `{other}` here and `{}` in {}; give it one type, or two names",
                one.0, one.1
            ),
            Self::Conflict { value, other } => write!(
                formatter,
                "output `{value}` conflicts with {other}, which runs at the same time; give one of them another name"
            ),
            Self::Overwritten { value, other } => write!(
                formatter,
                "output `{value}` conflicts with {other}: from here on it is the new value; use another name if both \
                 are needed"
            ),
            Self::Undeclared { variable, meant: Some(meant) } => write!(
                formatter,
                "${variable} is not declared as an input, and no goal or output is called so; did you mean `${meant}`?"
            ),
            Self::Undeclared { variable, meant: None } => write!(
                formatter,
                "${variable} is not declared as an input, and no goal or output is called so; declare it, or write \
                 `$$` if a dollar is meant"
            ),
            Self::NotAValue { variable, what } => write!(formatter, "${variable} is not a value here: {what}"),
            Self::TooEarly { variable, maker, made } => match made {
                Availability::Sometimes => write!(
                    formatter,
                    "${variable} may have no value here: {maker} makes it, which a condition may skip; use the same \
                     condition here, or make it in the other cases too"
                ),
                Availability::Later => write!(
                    formatter,
                    "${variable} has no value yet here: {maker} makes it, which runs later; put that before"
                ),
                Availability::AtTheSameTime => write!(
                    formatter,
                    "${variable} has no value yet here: {maker} makes it, which runs at the same time; run them one \
                     after the other"
                ),
                Availability::ByItself => write!(
                    formatter,
                    "${variable} has no value yet here: it is what this very node makes; say what is wanted without it"
                ),
            },
            Self::BadTest { variable, ty, why } => {
                write!(formatter, "${variable} is {} and {why}", ty.in_words())
            }
            Self::BadLimit { why } => formatter.write_str(why),
            Self::NoTask => formatter.write_str(
                "task is required for an agent that stands in a sequence: say it with `.task(...)`, or let a goal use \
                 the agent",
            ),
            Self::BadTaskInput { input, why } => {
                write!(formatter, "it cannot be given its task in the input `{input}`: {why}")
            }
            Self::NoMemory { memory } => {
                write!(formatter, "there is no place for the memory `{}` here", one_line(memory))
            }
            Self::NoModel { choice, why } => write!(formatter, "there is no {choice}: {}", one_line(why)),
            Self::UnknownTool { tool, meant } => {
                write!(formatter, "no tool is called `{}`", one_line(tool))?;
                match meant {
                    Some(meant) => write!(formatter, "; did you mean `{meant}`?"),
                    None => formatter.write_str("; if it comes from a server, see whether that is there"),
                }
            }
            Self::NoScope => {
                formatter.write_str("research requires a non-empty scope: say what is allowed")
            }
            Self::TooDeep { most } => write!(
                formatter,
                "it stands more than {most} deep below others of its kind; divide the work less, or into sequences"
            ),
            Self::TooDeepCondition { most } => write!(
                formatter,
                "in its condition `and` and `or` stand more than {most} deep within each other; let a goal decide it, and \
                 test what that says"
            ),
            Self::Unwatched => formatter.write_str(
                "nobody would watch over it, and a person is to watch over the whole workflow; let a person watch only \
                 where one is needed",
            ),
            Self::WatchedAllTheSame { whole } => {
                write!(formatter, "a person watches over it all the same, as over all of {whole}")
            }
        }
    }
}

/// Problems, one a line.
pub(super) fn lines(problems: &[impl fmt::Display], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            formatter.write_str("\n")?;
        }
        problem.fmt(formatter)?;
    }
    Ok(())
}

/// A text that may have anything in it, for one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
