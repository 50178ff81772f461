//! One line of the tree.

use std::time::Duration;

use convoke_core::store::Totals;
use convoke_core::{Timestamp, Usage};
use convoke_goals::Kind;
use convoke_history::Spent;

use super::activity::Activity;
use crate::human;
use crate::terminal::{Ink, text};

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// Its turn has not come.
    #[default]
    Waiting,
    Running,
    /// A person is being asked, or is to be.
    Person,
    Done,
    Skipped,
    Failed,
    /// It was stopped half-way.
    Stopped,
}

impl State {
    /// Whether there is nothing more to come of it, and nothing wrong with that.
    pub(super) fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }

    /// The sign before a name. `now` turns the spinner.
    pub(super) fn sign(self, now: Timestamp) -> (Ink, char) {
        const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
        const TURN: i64 = 100_000;
        match self {
            Self::Waiting => (Ink::Faint, '○'),
            Self::Running => {
                let turn = now.as_micros().div_euclid(TURN).rem_euclid(SPINNER.len() as i64);
                (Ink::Accent, SPINNER[usize::try_from(turn).unwrap_or(0)])
            }
            Self::Person => (Ink::Caution, '?'),
            Self::Done => (Ink::Good, '✓'),
            Self::Skipped => (Ink::Faint, '–'),
            Self::Failed => (Ink::Bad, '✗'),
            Self::Stopped => (Ink::Caution, '■'),
        }
    }
}

/// What was used, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Used {
    pub(super) usage: Usage,
    pub(super) calls: u64,
    pub(super) unpriced: u64,
}

impl From<Totals> for Used {
    fn from(totals: Totals) -> Self {
        Self { usage: totals.usage, calls: totals.model_calls, unpriced: totals.unpriced_calls }
    }
}

impl From<Spent> for Used {
    fn from(spent: Spent) -> Self {
        Self { usage: spent.usage, calls: spent.model_calls, unpriced: spent.unpriced_calls }
    }
}

impl Used {
    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            usage: self.usage + other.usage,
            calls: self.calls + other.calls,
            unpriced: self.unpriced + other.unpriced,
        }
    }

    pub(super) fn add(&mut self, usage: Option<Usage>) {
        self.calls += 1;
        self.unpriced += u64::from(usage.is_none_or(|usage| usage.cost.is_none()));
        self.usage += usage.unwrap_or_default();
    }

    /// `4.1k→320`: what went in and what came out.
    pub(super) fn tokens(&self) -> String {
        if self.usage.total_tokens() == 0 {
            return String::new();
        }
        let (read, written) =
            (human::tokens(self.usage.input_tokens), human::tokens(self.usage.output_tokens));
        format!("{}{read}→{written}", human::about(&self.usage))
    }

    pub(super) fn cost(&self) -> String {
        match self.usage.cost {
            _ if self.calls == 0 => String::new(),
            None => human::UNKNOWN.to_owned(),
            Some(cost) if self.unpriced > 0 => format!("≥{}", human::cost(cost)),
            Some(cost) => human::cost(cost),
        }
    }
}

/// A node of the tree, and what became of it so far.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    /// The last part of its path.
    pub(super) segment: String,
    /// Whether it was there before the run began, rather than made by it.
    pub(super) planned: bool,
    pub(crate) state: State,
    /// When it last began.
    pub(super) begun: Option<Timestamp>,
    /// How long it took before that.
    pub(super) took: Duration,
    /// Whether anything in it happened now rather than before the run was resumed.
    pub(crate) is_live: bool,
    pub(crate) iteration: u64,
    pub(crate) attempt: u32,
    pub(super) activities: Vec<(String, Activity)>,
    pub(super) used: Used,
    /// What there is to say about it: an error, a reason, a question.
    pub(crate) note: String,
}

impl Row {
    pub(super) fn new(name: &str, kind: Kind, segment: String, parent: Option<usize>) -> Self {
        Self {
            // Models name those they call in: nothing in it may move the cursor.
            name: text::one_line(name),
            kind,
            parent,
            children: Vec::new(),
            segment,
            planned: false,
            state: State::Waiting,
            begun: None,
            took: Duration::ZERO,
            is_live: false,
            iteration: 0,
            attempt: 1,
            activities: Vec::new(),
            used: Used::default(),
            note: String::new(),
        }
    }

    pub(super) fn begin(&mut self, at: Timestamp) {
        self.state = State::Running;
        self.begun = Some(at);
        self.is_live = false;
        self.iteration = 0;
        self.attempt = 1;
        self.activities.clear();
        self.note.clear();
    }

    pub(super) fn end(&mut self, state: State, at: Timestamp) {
        if self.state != State::Skipped {
            self.state = state;
        }
        if let Some(begun) = self.begun.take() {
            self.took += at.since(begun);
        }
        self.activities.clear();
    }

    pub(super) fn does(&mut self, key: &str, activity: Activity) {
        self.does_no_more(key);
        self.activities.push((key.to_owned(), activity));
    }

    pub(super) fn does_no_more(&mut self, key: &str) {
        self.activities.retain(|(own, _)| own != key);
    }

    /// How long it has taken so far.
    pub(crate) fn elapsed(&self, now: Timestamp) -> Duration {
        self.took + self.begun.map_or(Duration::ZERO, |begun| now.since(begun))
    }
}
