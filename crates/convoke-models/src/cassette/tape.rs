//! The recorded exchanges, and which of them have been used.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exchange::{Exchange, RecordedReply, RecordedRequest};
use super::{CassetteError, difference, file};

/// The exchanges of one file.
#[derive(Debug)]
pub(super) struct Tape {
    pub(super) file: PathBuf,
    slots: Mutex<Vec<Slot>>,
}

/// A place for one exchange, in the order in which requests are sent.
#[derive(Debug)]
struct Slot {
    /// None as long as the reply is on its way.
    exchange: Option<Exchange>,
    used: bool,
}

impl Tape {
    pub(super) fn new(file: PathBuf, exchanges: Vec<Exchange>) -> Self {
        let slots = exchanges.into_iter().map(|exchange| Slot { exchange: Some(exchange), used: false });
        Self { file, slots: Mutex::new(slots.collect()) }
    }

    /// The first answer to this question that was not used yet.
    pub(super) fn take(&self, asked: &RecordedRequest) -> Option<RecordedReply> {
        let mut slots = self.lock();
        let is_answer = |slot: &&mut Slot| {
            !slot.used && slot.exchange.as_ref().is_some_and(|exchange| exchange.request.equals(asked))
        };
        let slot = slots.iter_mut().find(is_answer)?;
        slot.used = true;
        slot.exchange.as_ref().map(|exchange| exchange.reply.clone())
    }

    /// A place for the exchange that begins now.
    pub(super) fn reserve(&self) -> usize {
        let mut slots = self.lock();
        slots.push(Slot { exchange: None, used: true });
        slots.len() - 1
    }

    /// Puts an exchange into its place and writes the file.
    ///
    /// Writing blocks, and the lock is held meanwhile, so that the file never loses what another thread has just put
    /// in. Files are small and recording is rare.
    pub(super) fn keep(&self, slot: usize, exchange: Exchange) -> Result<(), CassetteError> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get_mut(slot) {
            slot.exchange = Some(exchange);
        }
        file::write(&self.file, slots.iter().filter_map(|slot| slot.exchange.as_ref()))
    }

    /// Why there is no answer to this question: what comes closest, and where it differs first.
    pub(super) fn explain(&self, asked: &RecordedRequest) -> String {
        let slots = self.lock();
        let recorded = (1..).zip(slots.iter().filter_map(|slot| slot.exchange.as_ref()));
        let closest = recorded.clone().min_by_key(|(_, one)| difference::distance(&one.request, asked));
        let Some((number, closest)) = closest else { return "nothing is recorded in it".to_owned() };
        match difference::first(&closest.request, asked) {
            Some(difference) => {
                format!("the closest recorded is exchange {number}, which differs first {difference}")
            }
            None => {
                let times = recorded.filter(|(_, one)| one.request.equals(asked)).count();
                let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
                format!(
                    "exchange {number} is the same, but it is recorded {times} and was asked more often than that"
                )
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        // Nothing in here can be left half done.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
