//! What a graph within a graph begins with: what it is given, compared with what it declares.
//!
//! A run that was begun by a build that did not look goes on as it began.

use convoke_core::{Error, Message, Scope};
use serde_json::{Map, Value};

use crate::board::MAIN_CHANNEL;
use crate::{Board, Graph, InvalidInputs};

/// How a graph takes what it is given.
#[derive(Clone, Copy)]
pub(super) enum Intake {
    /// As it is: the graph declares nothing, or the run was begun by a build that did not look.
    AsItIs,
    /// Compared with what the graph declares, whose defaults count.
    Declared,
}

impl Intake {
    pub(super) fn of(graph: &Graph, scope: &Scope) -> Result<Self, Error> {
        let is_declared = !graph.compiled.definition.inputs.is_empty();
        let checks = is_declared && scope.version("inputs of graphs within", 1..=2)? > 1;
        Ok(if checks { Self::Declared } else { Self::AsItIs })
    }

    /// The board that a graph begins with.
    pub(super) fn board(self, graph: &Graph, inputs: Map<String, Value>) -> Result<Board, Error> {
        if let Self::Declared = self {
            return graph.compiled.begin_with(inputs).map_err(|invalid| {
                Error::permanent(InvalidInputs {
                    problems: vec![format!(
                        "of graph `{}`: {}",
                        graph.compiled.definition.name,
                        invalid.problems.join("; ")
                    )],
                })
            });
        }
        let mut board = Board::new();
        for (key, value) in &inputs {
            board.set(key, value.clone())?;
        }
        if let Some(query) = inputs.get("query").and_then(Value::as_str) {
            board.push(MAIN_CHANNEL, Message::user(query))?;
        }
        Ok(board)
    }

    /// The board that a graph begins with which is run for an item of a list. It is given the item whatever it declares.
    pub(super) fn board_for_item(self, graph: &Graph, item: Value, index: usize) -> Result<Board, Error> {
        let given = [("item".to_owned(), item), ("index".to_owned(), index.into())];
        let declares = |name: &str| graph.compiled.definition.inputs.iter().any(|input| input.name == name);
        let Self::Declared = self else { return self.board(graph, given.into_iter().collect()) };
        let (declared, others): (Map<_, _>, Map<_, _>) =
            given.into_iter().partition(|(name, _)| declares(name));
        let mut board = self.board(graph, declared)?;
        for (name, value) in others {
            board.set(&name, value)?;
        }
        Ok(board)
    }
}
