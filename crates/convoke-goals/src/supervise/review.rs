//! The review: everything a supervisor judges by.

use std::sync::Arc;

use convoke_core::{Model, ModelParams};

use super::{Assessment, Commitment, Correction, Product, Trigger};
use crate::context::Fence;

/// A statement of a model, or why it could not be had.
pub type Statement<T> = Result<T, String>;

/// The review: everything a supervisor judges by.
#[derive(Clone)]
#[non_exhaustive]
pub struct Review<'a> {
    /// The goal's name.
    pub step: &'a str,
    /// Its kind: `goal`, `convergence`.
    pub kind: &'a str,
    /// The goal's text.
    pub goal: &'a str,
    /// The commitment.
    pub commitment: &'a Statement<Commitment>,
    /// The product.
    pub product: &'a Product,
    /// The assessment, in the words of whoever did it.
    pub assessment: &'a Statement<Assessment>,
    /// All corrections so far, oldest first.
    pub corrections: &'a [Correction],
    /// How many of them were made before, about what it is part of.
    pub(super) inherited: usize,
    /// The triggers that escalate it to the supervisor.
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
    /// Returns the number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> usize {
        self.own_corrections().len() + 1
    }

    /// The corrections of what is judged here, without those of what it is part of.
    pub(super) fn own_corrections(&self) -> &[Correction] {
        &self.corrections[self.inherited..]
    }
}
