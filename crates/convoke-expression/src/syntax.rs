//! What an expression is once it is read.

use crate::function::{Function, OverItems};
use crate::operator::Operator;
use crate::pattern::Pattern;

/// Values of its own, and what it comes to.
#[derive(Debug)]
pub(crate) struct Block {
    /// What stands in the order of `let`.
    pub(crate) lets: Vec<Expression>,
    pub(crate) value: Expression,
}

#[derive(Debug)]
pub(crate) enum Expression {
    Nil,
    Bool(bool),
    Whole(i64),
    Float(f64),
    Text(String),
    /// A variable of the board, by its place among the names of the expression.
    Variable(usize),
    /// What `let` named, or an item, by its place among what is known there.
    Local(usize),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    Not(Box<Self>),
    Signed(Sign, Box<Self>),
    Both(Box<(Self, Self)>),
    Either(Box<(Self, Self)>),
    Binary(&'static Operator, Box<(Self, Self)>),
    /// Whether a text fits a pattern that is known already, by its place among those.
    Matches(Box<Self>, Box<Pattern>, usize),
    /// Whether it fits one that is made.
    MatchesMade(Box<(Self, Self)>),
    /// Something in something, and whether that may be missing altogether.
    In(Box<(Self, Self)>, Access),
    Slice(Box<Self>, Option<Box<Self>>, Option<Box<Self>>),
    Default(Box<(Self, Self)>),
    Choice(Box<Self>, Box<(Block, Block)>),
    Call(&'static Function, Vec<Self>),
    /// What a function does with every item of its first argument.
    Items(OverItems, Vec<Self>, Option<Box<Block>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Needed,
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}
