//! Wait conditions of a suspended run: answers, mail, time.

use std::sync::{Mutex, PoisonError};

use crate::ask::{PendingQuestion, QuestionId};
use crate::journal::Mailbox;
use crate::store::{AwaitedChannel, WaitConditions};
use crate::{Path, Suspension, Timestamp};

/// Something that a suspended run waits for.
#[derive(Debug, Clone)]
pub(crate) struct WaitCondition {
    path: Path,
    what: ConditionKind,
}

#[derive(Debug, Clone)]
enum ConditionKind {
    Answer(Box<PendingQuestion>),
    Mail(String),
    Time(Timestamp),
}

impl WaitCondition {
    pub(crate) fn answer(question: &PendingQuestion) -> Self {
        Self { path: question.path.clone(), what: ConditionKind::Answer(Box::new(question.clone())) }
    }

    pub(crate) fn mail(path: &Path, channel: &str) -> Self {
        Self { path: path.clone(), what: ConditionKind::Mail(channel.to_owned()) }
    }

    pub(crate) fn time(path: &Path, until: Timestamp) -> Self {
        Self { path: path.clone(), what: ConditionKind::Time(until) }
    }
}

#[derive(Default)]
pub(crate) struct PendingWaits(Mutex<Vec<WaitCondition>>, Open);

/// Questions that were put to somebody and have no answer yet, by where they are asked.
type Open = Mutex<Vec<(Path, QuestionId)>>;

impl PendingWaits {
    /// A question is put to somebody.
    pub(crate) fn asks(&self, path: &Path, question: &QuestionId) {
        self.open().push((path.clone(), question.clone()));
    }

    /// It is answered.
    pub(crate) fn has_answer(&self, question: &QuestionId) {
        self.open().retain(|(_, open)| open != question);
    }

    /// Forgets the questions at or below a path that have no answer, and gives them.
    pub(crate) fn left_unanswered(&self, path: &Path) -> Vec<QuestionId> {
        self.open().extract_if(.., |(asked, _)| asked.is_within(path)).map(|(_, question)| question).collect()
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Vec<(Path, QuestionId)>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, awaited: WaitCondition) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(awaited);
    }

    /// No longer waits for what is awaited at or below a path. Gives the questions among it.
    pub(crate) fn withdraw(&self, path: &Path) -> Vec<PendingQuestion> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (withdrawn, kept): (Vec<_>, _) =
            waiting.drain(..).partition(|awaited| awaited.path.is_within(path));
        *waiting = kept;
        suspension(withdrawn.iter()).questions
    }

    /// What is awaited at or below a path, in the order it began; nothing if there is nothing.
    pub(crate) fn within(&self, path: &Path) -> Option<Suspension> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut within = waiting.iter().filter(|awaited| awaited.path.is_within(path)).peekable();
        within.peek().is_some().then(|| suspension(within))
    }

    /// What the store is told of all of it, given how much of its mail the run has taken.
    pub(crate) fn waits(&self, mailbox: &Mailbox) -> WaitConditions {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        let times = waiting.iter().filter_map(|awaited| match &awaited.what {
            ConditionKind::Answer(question) => question.next_change(now),
            ConditionKind::Time(until) => Some(*until),
            ConditionKind::Mail(_) => None,
        });
        let until = times.min();
        let channels = waiting.iter().filter_map(|awaited| match &awaited.what {
            ConditionKind::Mail(name) => {
                Some(AwaitedChannel { name: name.clone(), after: mailbox.seen(name) })
            }
            _ => None,
        });
        WaitConditions { until, channels: channels.collect() }
    }
}

/// One suspension, for whoever is told.
pub(crate) fn suspension<'a>(waiting: impl Iterator<Item = &'a WaitCondition>) -> Suspension {
    let mut suspension = Suspension::default();
    for awaited in waiting {
        match &awaited.what {
            ConditionKind::Answer(question) => suspension.questions.push((**question).clone()),
            ConditionKind::Mail(channel) if suspension.channels.contains(channel) => {}
            ConditionKind::Mail(channel) => suspension.channels.push(channel.clone()),
            ConditionKind::Time(until) => {
                suspension.until = Some(suspension.until.map_or(*until, |other| other.min(*until)));
            }
        }
    }
    suspension
}
