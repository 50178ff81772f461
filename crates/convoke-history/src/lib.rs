#![doc = include_str!("../README.md")]
//!
//! What this crate may know is what stores and runs hand out; it must never write, take a lease or run a workflow, nor know
//! who shows what it gives: no terminal, no clock, no file.
//!
//! [`History::load`] reads a run's record, journal, content and questions, and puts them into the form a person wants
//! to see. It only reads: no lease is taken, no workflow is needed and nothing is performed, so the history of a run
//! under way, of a failed one and of one written by other code can be looked at alike.
//!
//! | to show | use |
//! |---|---|
//! | what was done, one item per effect | [`History::effects`] |
//! | where it was done, with what each part spent | [`History::tree`] |
//! | in which order it was written down | [`History::timeline`] |
//! | everything that happened, with what was spent by then | [`History::chronicle`] |
//! | of what kinds of steps it is made | [`History::steps`] |
//! | where it stands, in one word | [`DisplayStatus`] |
//! | lists of runs, and sums over them | [`RunFilter`], [`ListedRun`], [`Tally`], [`AllStats`] |
//! | what a fork could replace, and would do anew | [`History::cut_by_fork`], [`check_outcome`] |
//! | what a model was told | [`Conversations`] |
//! | how the run ended | [`History::ending`] |
//! | what became of a diagram of its workflow, and one of what it is made of | [`History::mark`], [`History::diagram`] |
//! | what it waits for | [`History::questions`], [`History::awaited`] |
//! | everything that happened, with its texts: as items, JSON, a page, a session log | [`account`] |
//! | a run, its effects, questions, events and sums as JSON | [`json`] |
//! | a run under way, from its events | [`progress`] |
//! | events of a run whose workflow is not known | [`History::events_after`] |
//! | any of it as lines of text, for terminals and logs | [`lines`] |
//! | numbers and texts for people | [`human`], [`text`] |
//!
//! What the journal does not know stays unknown here: a duration whose beginning was not written down is `None`, and
//! so is a cost without a price.

pub mod account;
mod attempt;
mod chronicle;
mod conversation;
mod detail;
mod diagram;
mod display_status;
mod effect;
mod ending;
mod fork;
pub mod human;
mod journal_events;
pub mod json;
pub mod lines;
mod load;
pub mod progress;
mod replacement;
mod runs;
mod spent;
mod stats;
mod steps;
mod tally;
#[cfg(test)]
mod tests;
pub mod text;
mod timeline;
mod tone;
mod tree;
mod when;

use std::collections::HashMap;
use std::time::Duration;

pub use attempt::{Attempt, EntryMark};
pub use chronicle::{ChronicleEntry, ChronicleEvent, Resumption};
pub use conversation::{Conversations, PromptDelta, PromptDeltas};
pub use detail::{Detail, ToolOutcome};
pub use display_status::{DisplayStatus, is_cancelled_for_good, run_duration};
pub use effect::{Effect, EffectStatus};
pub use ending::Ending;
pub use replacement::{check_outcome, outcome_example};
pub use runs::{ListedRun, RunFilter};
pub use spent::Spent;
pub use stats::{AllStats, Stats};
pub use steps::{PathStep, Steps};
pub use tally::Tally;
pub use timeline::TimelineEntry;
pub use tone::Tone;
pub use tree::{Tree, TreeItem, TreeNode};
pub use when::{InvalidWhen, When};

use convoke_core::ask::{Answer, PendingQuestion, QuestionId};
use convoke_core::store::RunRecord;
use convoke_core::{EffectKind, Event, RunStatus, Segment, StepNote, Timestamp};
use serde::Serialize;
use serde_json::Value;

/// Where people are asked what became of a call that was interrupted, below the call.
const IN_DOUBT: &str = "in doubt";

/// A stored run, read and put in order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct History {
    /// What the store knows about the run.
    pub record: RunRecord,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
    /// What it did: one item per effect, in the order in which they first appear in the journal.
    pub effects: Vec<Effect>,
    /// What was kept about its steps besides: [notes](convoke_core::StepNote), which are no effects.
    pub notes: Vec<Effect>,
    /// The effects by place.
    pub tree: Tree,
    /// Of what kinds of steps it is made.
    pub steps: Steps,
    /// What it waits for, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Answers to questions that are open no more and have none in the journal: the run ended before it went on with them.
    pub(crate) unheard: HashMap<QuestionId, Vec<Answer>>,
    /// What was said to models and by them.
    pub conversations: Conversations,
}

/// A question that waits, and what was answered so far.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The question.
    pub pending: PendingQuestion,
    /// The answers so far, in the order they came.
    pub answers: Vec<Answer>,
}

/// Mail that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AwaitedMail<'a> {
    /// The channel on which it is to be sent.
    pub channel: &'a str,
    /// What is expected there, as whoever waits describes it.
    pub expected: &'a Value,
}

impl<'a> AwaitedMail<'a> {
    /// Mail that is expected on a channel.
    #[must_use]
    pub fn new(channel: &'a str, expected: &'a Value) -> Self {
        Self { channel, expected }
    }
}

impl OpenQuestion {
    /// A question and the answers to it.
    #[must_use]
    pub fn new(pending: PendingQuestion, answers: Vec<Answer>) -> Self {
        Self { pending, answers }
    }

    /// Returns what the answers amount to; `None` while more are needed. A question stays open after that until its run is
    /// resumed and takes note of it.
    #[must_use]
    pub fn verdict(&self) -> Option<Answer> {
        self.pending.verdict(&self.answers)
    }

    /// Returns what it has come to by this moment: what the answers amount to, or what holds when nobody has answered in time.
    #[must_use]
    pub fn settled(&self, now: Timestamp) -> Option<Answer> {
        self.pending.settled(&self.answers, now)
    }
}

impl History {
    /// Returns the timeline: everything in the order in which it was written down.
    #[must_use]
    pub fn timeline(&self) -> Vec<TimelineEntry<'_>> {
        timeline::of(&self.effects)
    }

    /// Returns the chronicle: everything that happened, in order: the run's beginning and end, each entry of the journal, and where the run had
    /// to be taken up again.
    #[must_use]
    pub fn chronicle(&self) -> Vec<ChronicleEntry<'_>> {
        chronicle::of(self)
    }

    /// Returns what follows from the entries after this one, as events: 0 for all of them, with the beginning of the run. What began and
    /// ended between effects is not known to a journal.
    #[must_use]
    pub fn events_after(&self, seq: u64) -> Vec<Event> {
        journal_events::after(self, seq)
    }

    /// The number of the last entry; 0 if the journal is empty.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.effects.iter().map(Effect::last_seq).max().unwrap_or(0)
    }

    /// The effect that the entry with this number is about, and which of its attempts.
    #[must_use]
    pub fn at(&self, seq: u64) -> Option<(&Effect, &Attempt)> {
        self.effects.iter().find_map(|effect| {
            let attempt =
                effect.attempts.iter().find(|attempt| attempt.marks().any(|mark| mark.seq == seq))?;
            Some((effect, attempt))
        })
    }

    /// Returns why nothing of an effect counts, if the step that it was done in was ended by another.
    #[must_use]
    pub fn left_out(&self, effect: &Effect) -> Option<String> {
        let is_about = |note: &&Effect| {
            note.ordinal == StepNote::LeftOut.ordinal()
                && note.generation == effect.generation
                && effect.path.is_within(&note.path)
        };
        self.notes.iter().find(is_about)?.choice()
    }

    /// Returns what the whole run spent, as its journal knows it.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.tree.root().spent
    }

    /// The models it called, in the order of their first call.
    #[must_use]
    pub fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = Vec::new();
        for effect in &self.effects {
            if let Detail::Model { model, .. } = &effect.current().detail
                && !models.contains(&&**model)
            {
                models.push(model);
            }
        }
        models
    }

    /// Returns how long an effect took, if both its beginning and its end were written down in this run. Whatever kept the run
    /// from going on in between (a crash, a person who took their time) counts.
    #[must_use]
    pub fn duration(&self, attempt: &Attempt) -> Option<Duration> {
        let (begun, ended) = (attempt.beginning()?, attempt.ended?);
        fork::are_together(&self.record, begun, ended).then(|| ended.at.since(begun.at))
    }

    /// Returns whether nobody knows if the effect acted: it was begun, its end was never written down, and nobody holds the
    /// run any more. Waits and questions are never in doubt: going on with them does no harm.
    #[must_use]
    pub fn is_in_doubt(&self, effect: &Effect) -> bool {
        self.record.holder.is_none() && self.may_have_acted(effect)
    }

    /// Returns whether an effect was begun, has no end, and may have acted by now. A call that is made of effects has not: it goes on
    /// with them where it was, and so is one made again that waits for the answer to what it asked first.
    #[must_use]
    pub fn may_have_acted(&self, effect: &Effect) -> bool {
        effect.status() == EffectStatus::Begun
            && matches!(effect.kind, EffectKind::Tool | EffectKind::Custom)
            && effect.generation == self.record.generation.number
            && !self.goes_on_within(effect)
    }

    fn goes_on_within(&self, call: &Effect) -> bool {
        let is_within = |other: &&Effect| {
            other.generation == call.generation && other.path != call.path && other.path.is_within(&call.path)
        };
        // What became of a call that was interrupted is asked below it, too.
        let is_about_it =
            |other: &&Effect| other.path.segments().any(|part| Segment::of(part).written() == IN_DOUBT);
        let mut within = self.effects.iter().filter(is_within).filter(|other| !is_about_it(other)).peekable();
        let asks_first = within
            .peek()
            .is_some_and(|first| first.kind == EffectKind::Ask && first.status() == EffectStatus::Begun);
        asks_first || within.any(|other| other.kind != EffectKind::Ask)
    }

    /// Returns the answers that came to a question and that the run ended before it went on with, in the order they came.
    #[must_use]
    pub fn unheard(&self, question: &Effect) -> &[Answer] {
        self.unheard.get(&question.key(&self.record.id)).map_or(&[], |answers| answers)
    }

    /// Returns the mail that it waits for and has said something about: the channel, and what is expected there.
    #[must_use]
    pub fn awaited(&self) -> Vec<AwaitedMail<'_>> {
        let is_awaited = |channel: &String| match self.record.status {
            RunStatus::Suspended => self.record.channels.contains(channel),
            status => status == RunStatus::Running,
        };
        let awaited = self.effects.iter().filter_map(|effect| match &effect.current().detail {
            Detail::Receive { channel, expected, .. }
                if effect.status() == EffectStatus::Begun && !expected.is_null() && is_awaited(channel) =>
            {
                Some(AwaitedMail { channel, expected })
            }
            _ => None,
        });
        awaited.collect()
    }

    /// Returns whether an entry is from the past of the run this one branched off from.
    #[must_use]
    pub fn is_inherited(&self, mark: EntryMark) -> bool {
        self.record.has_inherited(mark.seq, mark.at)
    }
}
