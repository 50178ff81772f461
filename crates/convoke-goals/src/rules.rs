//! Versioned rules that a run keeps for its whole life.
//!
//! A run is resumed by running it again, so a prompt that a later build would put together otherwise is not the one in the
//! journal. Whatever decides about prompts, or about what is asked for next, and has changed since journals were first
//! written asks here which rule holds; a run has the rules it was begun under, written down with the first thing it does.

use serde::{Deserialize, Serialize};

/// The rules a run was begun under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rules(u32);

impl Rules {
    /// Those of runs that do not say which.
    pub(crate) const FIRST: Self = Self(1);
    /// Those of runs that begin now.
    pub(crate) const CURRENT: Self = Self(6);

    /// Whether this build knows them.
    pub(crate) fn are_known(self) -> bool {
        (Self::FIRST..=Self::CURRENT).contains(&self)
    }

    /// Tools are offered on demand, a first iteration is not told how to end the iterations, prompts end in what to do, and a
    /// reply that is none is asked for again.
    pub(crate) fn reworded(self) -> bool {
        self.0 >= 2
    }

    /// Values that could be markup are fenced, inputs too.
    pub(crate) fn fence_markup(self) -> bool {
        self.0 >= 2
    }

    /// An answer that is no JSON is the output, where one text and nothing else was asked for.
    pub(crate) fn take_text_as_sole_output(self) -> bool {
        self.0 >= 2
    }

    /// A budget of more turns than are usual raises the limit of those it is for.
    pub(crate) fn raise_turns(self) -> bool {
        self.0 >= 2
    }

    /// Whoever may make some calls of a tool has the tool.
    pub(crate) fn offer_by_call(self) -> bool {
        self.0 >= 2
    }

    /// Who has a scratchpad or a memory is told how to use it.
    pub(crate) fn guide_notes(self) -> bool {
        self.0 >= 3
    }

    /// What is too long for a prompt is summed up by a model.
    pub(crate) fn sum_up(self) -> bool {
        self.0 >= 4
    }

    /// So is what is too long for a persona, for a workflow that is an agent, for whoever spawned agents, and for judges.
    pub(crate) fn sum_up_everywhere(self) -> bool {
        self.0 >= 5
    }

    /// Marks of fences are taken out of replies wherever they stand, not only where a line is nothing else.
    pub(crate) fn take_out_all_marks(self) -> bool {
        self.0 >= 6
    }

    /// A goal whose answer lacks an output that others need has failed.
    pub(crate) fn need_outputs(self) -> bool {
        self.0 >= 2
    }
}
