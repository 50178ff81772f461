//! Graphs that cannot go on: why, and what they leave on the board.

use convoke_core::{Error, Suspension};

use super::schedule::Schedule;
use super::token::Token;
use crate::Board;

impl Schedule<'_> {
    /// Why it cannot go on, if it cannot: something about the run, or what people have yet to answer.
    pub(super) fn stop(&self) -> Option<Error> {
        let stops = || self.stopped.values().map(|stopped| &stopped.stop);
        if let Some(stop) = stops().find(|stop| !matches!(stop.root(), Error::Suspended(_))) {
            return Some(stop.clone());
        }
        let questions = stops().filter_map(|stop| match stop.root() {
            Error::Suspended(suspension) => Some(&**suspension),
            _ => None,
        });
        let together = Suspension::together(questions);
        (!self.stopped.is_empty()).then(|| Error::Suspended(Box::new(together)))
    }

    /// What all paths have come to, as far as they have; who would conflict is left out.
    pub(super) fn so_far(&mut self) -> Board {
        let stopped = std::mem::take(&mut self.stopped).into_values().map(|stopped| stopped.token);
        let waiting = std::mem::take(&mut self.waiting).into_paths();
        let all: Vec<Token> = stopped.chain(waiting).chain(self.ended.drain(..)).collect();
        if let Ok(merged) = self.merge(all.clone()) {
            return merged.map_or_else(|| self.base.clone(), |token| token.board);
        }
        let mut known: Option<Token> = None;
        for token in all {
            let both = known.clone().into_iter().chain([token]).collect();
            if let Ok(merged) = self.merge(both) {
                known = merged;
            }
        }
        known.map_or_else(|| self.base.clone(), |token| token.board)
    }
}
