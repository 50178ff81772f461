//! A path that is under way through a graph.

use std::sync::Arc;

use convoke_core::{Moment, Scope};

use super::branches::Lineage;
use super::rules::Rules;
use crate::board::{Change, Difference, History, MergeConflict, Merging};
use crate::{Board, Reducer};

/// A path under way: what its board is, and how it came to be that.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) board: Board,
    /// What was changed since this was the only path.
    pub(super) history: History,
    /// Which branch it is, at every fork since then.
    pub(super) branch: Vec<usize>,
    /// The branches it is in that are open.
    pub(super) lineage: Lineage,
    /// How far the nodes had come that it comes from; nothing at the beginning.
    pub(super) moment: Option<Moment>,
    /// How many nodes ran on the way here.
    pub(super) steps: u64,
}

impl Token {
    pub(super) fn new(board: Board) -> Self {
        let (history, branch, lineage) = (History::new(), Vec::new(), Lineage::new());
        Self { board, history, branch, lineage, moment: None, steps: 0 }
    }

    /// It is the only path: what happened before does not matter any more.
    pub(super) fn settle(&mut self) {
        self.history.clear();
        self.branch.clear();
    }

    /// The only path, behind a node that has left this board.
    pub(super) fn after_alone(mut self, board: Board, scope: &Scope) -> Self {
        self.settle();
        Self { board, moment: Some(scope.composing().moment()), steps: self.steps + 1, ..self }
    }

    /// The branch with this number of a path that forks.
    pub(super) fn branch(&self, number: usize, lineage: Lineage) -> Self {
        let branch = self.branch.iter().copied().chain([number]).collect();
        let (board, history) = (self.board.clone(), self.history.clone());
        Self { board, history, branch, lineage, moment: self.moment, steps: self.steps }
    }

    /// The path behind a node that has left this board.
    pub(super) fn after(self, id: u64, node: Arc<str>, board: Board, scope: &Scope, rules: Rules) -> Self {
        let difference = Difference::between(&self.board, &board);
        let difference = match rules {
            Rules::Earlier => difference.without_writes_of_the_same(),
            _ => difference,
        };
        let mut history = self.history;
        history.push(Arc::new(Change { id, node, difference }));
        Self { board, history, moment: Some(scope.composing().moment()), steps: self.steps + 1, ..self }
    }
}

/// Puts paths together, in the order of their branches.
pub(super) fn together(
    mut tokens: Vec<Token>,
    base: &Board,
    reducer: &dyn Fn(&str) -> Reducer,
    id: u64,
) -> Result<Option<Token>, MergeConflict> {
    tokens.sort_by(|one, other| one.branch.cmp(&other.branch));
    let mut tokens = tokens.into_iter();
    let Some(mut all) = tokens.next() else { return Ok(None) };
    if tokens.len() == 0 {
        return Ok(Some(all));
    }
    // All of them come from the same path, as it was when it was the only one.
    let before = all.steps - nodes_of(&all.history);
    let mut merging = Merging::new(base, reducer, all.board, all.history);
    for token in tokens {
        merging.add(&token.board, &token.history)?;
        all.moment = all.moment.max(token.moment);
    }
    (all.board, all.history) = merging.finish(id);
    all.steps = before + nodes_of(&all.history);
    Ok(Some(all))
}

fn nodes_of(history: &History) -> u64 {
    history.iter().filter(|change| !change.is_merge()).count() as u64
}
