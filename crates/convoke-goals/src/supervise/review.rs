//! The review: everything a supervisor judges by.

use std::sync::Arc;

use convoke_core::{Model, ModelParams};

use super::{Assessment, Commitment, Correction, Product, Trigger};
use crate::context::Fence;

/// What somebody was asked to say, or why it could not be had.
pub type Stated<T> = Result<T, String>;

/// Everything there is to judge by.
#[derive(Clone)]
#[non_exhaustive]
pub struct Review<'a> {
    /// What is supervised: a goal's name.
    pub step: &'a str,
    /// What that is: `goal`, `convergence`.
    pub kind: &'a str,
    /// What is to be achieved.
    pub goal: &'a str,
    /// What was going to be done.
    pub commitment: &'a Stated<Commitment>,
    /// What came of it.
    pub product: &'a Product,
    /// How that compares, in the words of whoever did it.
    pub assessment: &'a Stated<Assessment>,
    /// All corrections so far, oldest first.
    pub corrections: &'a [Correction],
    /// How many of them were made before, about what it is part of.
    pub(super) inherited: usize,
    /// Why somebody should look.
    pub triggers: Vec<Trigger>,
    /// The goal's model, for those who have none of their own.
    pub model: &'a Arc<dyn Model>,
    /// How that model is asked about the goal: with the goal's parameters, but without what shapes the goal's own answer
    /// (texts at which to stop, very few tokens).
    pub params: &'a ModelParams,
    /// The marks around what was written by others.
    pub fence: &'a Fence,
}

impl Review<'_> {
    /// Which attempt it is, from 1.
    #[must_use]
    pub fn attempt(&self) -> usize {
        self.own_corrections().len() + 1
    }

    /// The corrections of what is judged here, without those of what it is part of.
    pub(super) fn own_corrections(&self) -> &[Correction] {
        &self.corrections[self.inherited..]
    }
}
